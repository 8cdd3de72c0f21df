"""Reads files that record names and types of their columns: the part that Parquet and ORC share."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_

import pyarrow as pa
from pyspark.sql import Column, DataFrame, DataFrameReader
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.spark.columns import BLOCK, CORRUPT, PATH, ROW, TEXT
from tidemark.spark.read.format import METADATA, Sight, positioned, required_times, row_text
from tidemark.spark.times import divided
from tidemark.spark.validity import beyond_years, column_of, not_utf8, payload_of


def scan(reader: DataFrameReader, source: SourceSpec, paths: Sequence[str], sight: Sight) -> DataFrame:
    """The columns of the schema that objects with this `Sight` have."""
    types = {column.name: _type_in(sight, column.name, column.type) for column in source.columns}
    reader = reader.schema(", ".join(f"{column_of(name)} {kind}" for name, kind in types.items() if kind))
    return reader.options(**source.options).format(source.format).load(list(paths))


def parse(source: SourceSpec, found: DataFrame, sight: Sight, share: float) -> DataFrame:
    """Rows as `FormatReader.parse` returns them; a row with a value that no table can hold is corrupt."""
    rows = positioned(found, found.metadataColumn(METADATA), share)
    typed = [_value_in(sight, column.name, column.type).alias(column.name) for column in source.columns]
    rows = rows.select(*typed, PATH, BLOCK, ROW)
    values = {column.name: F.col(column_of(column.name)) for column in source.columns}
    bad: dict[str, Column] = {}
    for name, value in values.items():
        kind = rows.schema[name].dataType
        checks = [check for check in (beyond_years(kind, value), not_utf8(kind, value)) if check is not None]
        if checks:
            bad[name] = F.coalesce(reduce(or_, checks), F.lit(False))
    payload, corrupt = payload_of(values, bad, required_times(source))
    lost = reduce(or_, bad.values(), F.lit(False))
    text = F.when(lost, row_text(list(values.values())))
    return rows.select(*payload, corrupt.alias(CORRUPT), text.alias(TEXT), PATH, BLOCK, ROW)


def beyond(source: SourceSpec, schema: pa.Schema) -> tuple[str, ...]:
    """Names of a file's columns that the schema lacks."""
    known = {column.name.lower() for column in source.columns}
    return tuple(name for name in schema.names if name.lower() not in known)


def _type_in(sight: Sight, name: str, kind: str) -> str | None:
    """Type to read a column as; None if its type in the file holds only null."""
    lower = name.lower()
    if lower in sight.nanos:
        return "BIGINT"
    return None if lower in sight.nulls else kind


def _value_in(sight: Sight, name: str, kind: str) -> Column:
    """A column of the schema from the column that was read: nanoseconds are cut to microseconds, never rounded up."""
    if name.lower() in sight.nulls:
        return F.lit(None).cast(kind)
    value = F.col(column_of(name))
    if name.lower() not in sight.nanos:
        return value
    return F.timestamp_micros(divided(value, 1000)).cast(kind)
