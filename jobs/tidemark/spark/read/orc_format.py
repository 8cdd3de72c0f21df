"""Reads ORC files, also files of old Hive, whose columns are named `_col0`, `_col1` and so on."""

from __future__ import annotations

from collections.abc import Sequence

from pyarrow import orc
from pyspark.sql import DataFrame, DataFrameReader

from tidemark.config import SourceSpec
from tidemark.core.batch import LandedObject
from tidemark.spark.read import codecs
from tidemark.spark.read.columnar import beyond, parse, scan
from tidemark.spark.read.file_types import differences, types_of
from tidemark.spark.read.format import SHOWN, FormatReader, Sight
from tidemark.storage import seen

_CALENDAR = {"orc.proleptic.gregorian.default": "true"}
"""Writers other than Java's do not record their calendar, and days before 1582 would be moved."""


def _look(source: SourceSpec, item: LandedObject) -> Sight:
    """`Sight` of a file, refused if types do not fit: Spark would convert values, to null if it cannot."""
    if item.size == 0:
        return Sight(codecs.EMPTY)
    written = orc.ORCFile(seen(item.path, (item.size, item.tag))).schema
    types = types_of(written)
    if all(name.startswith("_col") for name in types):
        types = dict(zip((column.name.lower() for column in source.columns), types.values(), strict=False))
        return Sight("; ".join(differences(source.columns, types))[:SHOWN] or None)
    return Sight("; ".join(differences(source.columns, types))[:SHOWN] or None, beyond=beyond(source, written))


def _scan(reader: DataFrameReader, source: SourceSpec, paths: Sequence[str], sight: Sight) -> DataFrame:
    return scan(reader.options(**_CALENDAR), source, paths, sight)


def _verify(item: LandedObject) -> orc.ORCFile:
    return orc.ORCFile(seen(item.path))


def _is_bare(_: SourceSpec, item: LandedObject) -> bool:
    return bool(_verify(item).nrows == 0)


ORC = FormatReader(look=_look, scan=_scan, parse=parse, verify=_verify, is_bare=_is_bare)
