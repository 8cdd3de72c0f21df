"""Reads objects whose rows may span lines: each whole, by one task, and cut into the texts of its rows in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql import Column, DataFrame, DataFrameReader
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.config.models.values import members_of
from tidemark.core.batch import LandedObject
from tidemark.spark.compat.jvm import scala_map, scala_sequence
from tidemark.spark.jvm_functions import invoked
from tidemark.spark.read.format import UNREADABLE
from tidemark.spark.read.text_formats import VALUE, line_options

MOST_WHOLE = 512 << 20
"""Most bytes of an object that is read whole."""
_REST = "the rest of the object cannot be read: "
"""Beginning of the text that replaces the unreadable rest of an object."""
_FOUND = "__tidemark_found"

Cut = Callable[[SourceSpec, Sequence[Column], str], Column]
"""Function of source, content and path, and a prefix: column of the texts of an object's rows. One text with the
prefix replaces an object that cannot be read."""


def too_large(source: SourceSpec, item: LandedObject, lines: str) -> str | None:
    """Reason why an object cannot be read whole by one task; None if it can, or if its rows are lines.

    `lines` says how to write lines.
    """
    if not source.spans_lines or item.size <= MOST_WHOLE:
        return None
    return f"it is larger than {MOST_WHOLE >> 20} MiB, too large to be read whole: write lines ({lines})"


def scanned_whole(reader: DataFrameReader, paths: Sequence[str]) -> DataFrame:
    """Objects as binary content, one per row."""
    return reader.format("binaryFile").load(list(paths)).select("content", "_metadata")


def texts_of(source: SourceSpec, objects: DataFrame, cut: Cut) -> DataFrame:
    """Text of each row as `VALUE`; the rows of an object are in its order."""
    content = F.col("content"), F.col("_metadata.file_path")
    found = objects.select(cut(source, content, UNREADABLE).alias(_FOUND), "_metadata")
    return found.select(F.explode(_FOUND).alias(VALUE), "_metadata")


def documents(source: SourceSpec, content: Sequence[Column], unreadable: str) -> Column:
    """`Cut` of JSON: documents, or the elements of arrays in them."""
    members = None if source.rows is None else scala_sequence(members_of(source.rows))
    options = scala_map(line_options(source))
    return invoked("text.JsonDocuments", *content, settings=(members, options, unreadable, _REST))


def records(source: SourceSpec, content: Sequence[Column], unreadable: str) -> Column:
    """`Cut` of CSV: records, whose quoted values may have line ends."""
    options = line_options(source)
    mark = options.get("quote", '"').replace("\x00", "")
    signs = scala_sequence([options.get("sep", ","), mark, options.get("escape", "\\"), options.get("comment", "")])
    header = {key.lower(): value.lower() for key, value in source.options.items()}.get("header") == "true"
    blanks = options.get("ignoreLeadingWhiteSpace", "false").lower() == "true"
    return invoked("text.CsvRecords", *content, settings=(signs, header, blanks, unreadable))
