"""Reads objects row by row, each by the reader of its format, and keeps the text of rows that do not parse."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.config.address import is_remote
from tidemark.core.batch import LandedObject
from tidemark.spark.columns import BEYOND, BLOCK, CORRUPT, PATH, ROW, TEXT
from tidemark.spark.compat.sessions import verify_checksums
from tidemark.spark.local_frames import small_frame
from tidemark.spark.read import codecs
from tidemark.spark.read.csv_format import CSV
from tidemark.spark.read.format import UNREADABLE, FormatReader, Sight
from tidemark.spark.read.json_format import JSON
from tidemark.spark.read.orc_format import ORC
from tidemark.spark.read.parquet_format import PARQUET
from tidemark.spark.session.isolation import use_utc
from tidemark.spark.session.object_stores import spark_reads
from tidemark.storage import at_once

READERS: dict[str, FormatReader] = {"json": JSON, "csv": CSV, "parquet": PARQUET, "orc": ORC}
"""The reader of each format of `config.formats.FORMATS`."""


def reader_of(source: SourceSpec) -> FormatReader:
    """The reader of a source's objects."""
    return READERS[source.format]


def look_at(source: SourceSpec, objects: Iterable[LandedObject]) -> dict[str, Sight]:
    """`Sight` of each object by URI; an empty one if looking at it fails: reading it will raise the error."""
    items = list(objects)
    sights = at_once(lambda item: _look(source, item), items, remote=is_remote(source.landing))
    return {item.uri: sight for item, sight in zip(items, sights, strict=True)}


def _look(source: SourceSpec, item: LandedObject) -> Sight:
    try:
        return reader_of(source).look(source, item)
    except codecs.DAMAGED:
        return Sight()


def read(
    spark: SparkSession,
    source: SourceSpec,
    objects: Sequence[LandedObject],
    sights: Mapping[str, Sight],
    share: float = 1.0,
) -> DataFrame:
    """Rows of objects as `FormatReader.parse` returns them.

    `sights` has the `Sight` of each object by URI; objects with equal `Sight` are read together. A `share` below 1
    reads a sample of the rows.
    """
    kinds: dict[Sight, list[str]] = {}
    for item in objects:
        kinds.setdefault(sights[item.uri], []).append(spark_reads(item))
    form, frames = reader_of(source), []
    for sight, paths in kinds.items():
        rows = form.scan(_reader(spark), source, paths, sight)
        frames.append(form.parse(source, rows, sight, share))
    result = frames[0]
    for frame in frames[1:]:
        result = result.unionByName(frame)
    return result


def unreadable(spark: SparkSession, source: SourceSpec, notes: Sequence[tuple[str, str]]) -> DataFrame:
    """One corrupt row for each (path, note): an object that cannot be read, with the reason as its text."""
    texts = [(path, UNREADABLE + note) for path, note in notes]
    found = small_frame(spark, texts, [(PATH, pa.string()), (TEXT, pa.string())])
    payload = [F.lit(None).cast(column.type).alias(column.name) for column in source.columns]
    return found.select(
        *payload,
        F.lit(True).alias(CORRUPT),
        TEXT,
        *([F.lit(None).cast("string").alias(BEYOND)] if source.counts_unknown else []),
        PATH,
        F.lit(0).cast("long").alias(BLOCK),
        F.lit(0).cast("long").alias(ROW),
    )


def _reader(spark: SparkSession) -> DataFrameReader:
    _prepare()
    return spark.read.option("recursiveFileLookup", "true").option("__globPaths__", "false")


def _prepare() -> None:
    """Set up the JVM for readers.

    ORC's reader takes times without a zone to be in the JVM's zone: that is set to UTC. Hadoop looks for checksums
    beside local files, which fails if a name has a colon: that is turned off. Raises RuntimeError without an open
    Spark session.
    """
    use_utc()
    verify_checksums(False)
