"""Reads objects whose rows may span lines: each whole, by one task, and cut into the texts of its rows in order."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, DataFrameReader
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.config.models.values import members_of
from tidemark.spark.compat.jvm import scala_map, scala_sequence
from tidemark.spark.jvm_functions import invoked
from tidemark.spark.read.text_formats import VALUE, line_options

_REST = "the rest of the object cannot be read: "
"""Beginning of the text that replaces the unreadable rest of an object."""
_FOUND = "__tidemark_found"


def scanned_whole(reader: DataFrameReader, paths: Sequence[str]) -> DataFrame:
    """Objects as binary content, one per row."""
    return reader.format("binaryFile").load(list(paths)).select("content", "_metadata")


def texts_of(source: SourceSpec, objects: DataFrame, unreadable: str) -> DataFrame:
    """Text of each row as `VALUE`; the rows of an object are in its order.

    A text that begins with `unreadable` replaces a whole object.
    """
    content = F.col("content"), F.col("_metadata.file_path")
    cut = (
        _documents(source, content, unreadable) if source.format == "json" else _records(source, content, unreadable)
    )
    found = objects.select(cut.alias(_FOUND), "_metadata")
    return found.select(F.explode(_FOUND).alias(VALUE), "_metadata")


def _documents(source: SourceSpec, content: Sequence[Column], unreadable: str) -> Column:
    members = None if source.rows is None else scala_sequence(members_of(source.rows))
    options = scala_map(line_options(source))
    return invoked("text.JsonDocuments", *content, settings=(members, options, unreadable, _REST))


def _records(source: SourceSpec, content: Sequence[Column], unreadable: str) -> Column:
    options = line_options(source)
    mark = options.get("quote", '"').replace("\x00", "")
    signs = scala_sequence([options.get("sep", ","), mark, options.get("escape", "\\"), options.get("comment", "")])
    header = {key.lower(): value.lower() for key, value in source.options.items()}.get("header") == "true"
    blanks = options.get("ignoreLeadingWhiteSpace", "false").lower() == "true"
    return invoked("text.CsvRecords", *content, settings=(signs, header, blanks, unreadable))
