"""Reads Parquet files, of any writer and with columns of other types than the schema's."""

from __future__ import annotations

import pyarrow as pa
from pyarrow import parquet

from tidemark.config import SourceSpec
from tidemark.core.batch import LandedObject
from tidemark.spark.read import codecs
from tidemark.spark.read.columnar import beyond, parse, scan
from tidemark.spark.read.file_types import differences, taken_for_others, types_of
from tidemark.spark.read.format import SHOWN, FormatReader, Sight
from tidemark.storage import seen


def _look(source: SourceSpec, item: LandedObject) -> Sight:
    """`Sight` of a file, from its footer. Spark has no type for nanoseconds or for columns without values; pandas
    writes both."""
    if item.size == 0:
        return Sight(codecs.EMPTY)
    written = parquet.read_metadata(seen(item.path, (item.size, item.tag))).schema
    schema = written.to_arrow_schema()
    types = types_of(schema)
    old = {
        column.path.lower() for column in map(written.column, range(len(written))) if column.physical_type == "INT96"
    }
    times = {column.name.lower() for column in source.columns if column.type.startswith("TIMESTAMP")}
    nanos = {name for name in times & types.keys() - old if str(types[name]).startswith("timestamp[ns")}
    nulls = {column.name.lower() for column in source.columns} & {
        name for name in types if pa.types.is_null(types[name])
    }
    wrong = taken_for_others(source.columns, types) if source.exact else []
    refusal = "; ".join(wrong)[:SHOWN] or None
    return Sight(refusal, frozenset(nulls), frozenset(nanos), beyond(source, schema))


def _verify(item: LandedObject) -> parquet.FileMetaData:
    return parquet.read_metadata(seen(item.path))


def _is_bare(_: SourceSpec, item: LandedObject) -> bool:
    return bool(_verify(item).num_rows == 0)


def _mistyped(source: SourceSpec, item: LandedObject) -> list[str]:
    return differences(source.columns, types_of(parquet.read_schema(seen(item.path))))


PARQUET = FormatReader(look=_look, scan=scan, parse=parse, verify=_verify, is_bare=_is_bare, mistyped=_mistyped)
