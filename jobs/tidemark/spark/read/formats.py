"""Reads objects of the four formats row by row, keeping the text of what does not parse."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_

import pyarrow as pa
from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.core.batch import LandedObject
from tidemark.spark.columns import BEYOND, BLOCK, CORRUPT, PATH, ROW, TEXT
from tidemark.spark.compat.sessions import verify_checksums
from tidemark.spark.local_frames import small_frame
from tidemark.spark.read.documents import scanned_whole, texts_of
from tidemark.spark.read.peek import Sight
from tidemark.spark.read.text_formats import FLAG, VALUE, parse_csv, parse_json, required_times
from tidemark.spark.session.isolation import use_utc
from tidemark.spark.session.s3a import spark_reads
from tidemark.spark.times import divided
from tidemark.spark.validity import beyond_years, column_of, not_utf8, payload_of

UNREADABLE = "object cannot be read: "
"""Beginning of the raw text of the one row that an unreadable object becomes."""
_BYTES = "ISO-8859-1"
"""Encoding that reads bytes as they are: bytes that are no UTF-8 must be found, not replaced."""
_WHOLE_LINES = {
    "encoding": _BYTES,
    "sep": "\u2028",
    "quote": "\u2029",
    "escape": "\u2029",
    "comment": "\u2060",
    "maxCharsPerColumn": "-1",
    "mode": "PERMISSIVE",
    "columnNameOfCorruptRecord": FLAG,
}
"""CSV options whose signs no byte can give, so that a line is one value whatever is in it."""
_ORC_CALENDAR = {"orc.proleptic.gregorian.default": "true"}
"""ORC option: writers other than Java's do not record their calendar, and days before 1582 would be moved."""
_METADATA = "_metadata"
"""Spark's column of file metadata. A file's own column of this name hides it, but not from `metadataColumn`."""
_RAW_OPTIONS = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


def read(
    spark: SparkSession,
    source: SourceSpec,
    objects: Sequence[LandedObject],
    sights: Mapping[str, Sight],
    share: float = 1.0,
) -> DataFrame:
    """Rows of objects: payload columns, true if corrupt, text, file, and position in the file.

    The text is null if the payload holds all of the row. `sights` has the `Sight` of each object by URI; objects of
    one kind are read together. A `share` below 1 reads a sample of the rows.
    """
    kinds: dict[Sight, list[str]] = {}
    for item in objects:
        kinds.setdefault(sights[item.uri], []).append(spark_reads(item))
    frames = [_parsed(source, scanned(spark, source, paths, sight), sight, share) for sight, paths in kinds.items()]
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


def row_text(values: list[Column]) -> Column:
    """All values of a row of a columnar file as JSON text."""
    return F.to_json(F.struct(*values), _RAW_OPTIONS)


def _reader(spark: SparkSession) -> DataFrameReader:
    _prepare()
    return spark.read.option("recursiveFileLookup", "true").option("__globPaths__", "false")


def scanned(spark: SparkSession, source: SourceSpec, paths: Sequence[str], sight: Sight) -> DataFrame:
    """Rows that Spark's readers give for files of one kind: lines, whole objects, or the columns that there are."""
    reader = _reader(spark)
    if source.spans_lines:
        return scanned_whole(reader, paths)
    if source.format == "json":
        return reader.text(list(paths))
    if source.format == "csv":
        return _csv_lines(reader, source, paths)
    types = {column.name: _type_in(sight, column.name, column.type) for column in source.columns}
    reader = reader.schema(", ".join(f"{column_of(name)} {kind}" for name, kind in types.items() if kind))
    return reader.options(**_ORC_CALENDAR, **source.options).format(source.format).load(list(paths))


def _parsed(source: SourceSpec, found: DataFrame, sight: Sight, share: float) -> DataFrame:
    if source.spans_lines:
        texts = _placed(texts_of(source, found, UNREADABLE), F.col(_METADATA), share, F.col(VALUE))
        return parse_json(source, texts) if source.format == "json" else parse_csv(source, texts)
    if source.format == "json":
        return parse_json(source, _placed(found.withColumnRenamed("value", VALUE), F.col(_METADATA), share))
    if source.format == "csv":
        line = F.encode(F.coalesce(FLAG, VALUE), _BYTES).cast("string").alias(VALUE)
        return parse_csv(source, _placed(found, F.col(_METADATA), share, line))
    return _typed(source, _placed(found, found.metadataColumn(_METADATA), share), sight)


def _prepare() -> None:
    """Set up the JVM for readers.

    ORC has times without a zone, which its reader takes to be in the JVM's: that is set to UTC. Hadoop looks for
    checksums beside local files, and cannot where a name has a colon: that is turned off. Raises RuntimeError without
    an open Spark session.
    """
    use_utc()
    verify_checksums(False)


def _placed(rows: DataFrame, place: Column, share: float, *given: Column) -> DataFrame:
    """Rows (`given` columns, or all of them) with path, split and number.

    A `share` below 1 keeps the rows that a hash of their number picks, which costs less than a random number for
    each.
    """
    placed = rows.select(
        *(given or [F.col(column_of(name)) for name in rows.columns]),
        place.getField("file_path").alias(PATH),
        place.getField("file_block_start").alias(BLOCK),
        F.monotonically_increasing_id().alias(ROW),
    )
    return placed if share >= 1 else placed.where(F.pmod(F.xxhash64(ROW), F.lit(math.ceil(1 / share))) == 0)


def _csv_lines(reader: DataFrameReader, source: SourceSpec, paths: Sequence[str]) -> DataFrame:
    """Lines that are rows, bytes as characters; without headers, comments and blank lines.

    Spark finds the header of a file that it splits, too.
    """
    given = {key.lower(): value for key, value in source.options.items()}
    options = _WHOLE_LINES | {key: given[key] for key in ("header", "comment") if given.get(key)}
    return reader.options(**options).schema(f"`{VALUE}` STRING, `{FLAG}` STRING").csv(list(paths))


def _type_in(sight: Sight, name: str, kind: str) -> str | None:
    """Type to read a column as; None if the object has nothing to read for it."""
    lower = name.lower()
    if lower in sight.nanos:
        return "BIGINT"
    return None if lower in sight.nulls else kind


def _value_in(sight: Sight, name: str, kind: str) -> Column:
    """A column of the schema from what was read: nanoseconds are cut to microseconds, never rounded up."""
    if name.lower() in sight.nulls:
        return F.lit(None).cast(kind)
    value = F.col(column_of(name))
    if name.lower() not in sight.nanos:
        return value
    return F.timestamp_micros(divided(value, 1000)).cast(kind)


def _typed(source: SourceSpec, rows: DataFrame, sight: Sight) -> DataFrame:
    """Rows of a columnar file; those with a value that no table can hold are corrupt."""
    typed = [_value_in(sight, column.name, column.type).alias(column.name) for column in source.columns]
    rows = rows.select(*typed, PATH, BLOCK, ROW)
    values = {column.name: F.col(column_of(column.name)) for column in source.columns}
    bad: dict[str, Column] = {}
    for name, value in values.items():
        kind = rows.schema[name].dataType
        found = [check for check in (beyond_years(kind, value), not_utf8(kind, value)) if check is not None]
        if found:
            bad[name] = F.coalesce(reduce(or_, found), F.lit(False))
    payload, corrupt = payload_of(values, bad, required_times(source))
    lost = reduce(or_, bad.values(), F.lit(False))
    text = F.when(lost, row_text(list(values.values())))
    return rows.select(*payload, corrupt.alias(CORRUPT), text.alias(TEXT), PATH, BLOCK, ROW)
