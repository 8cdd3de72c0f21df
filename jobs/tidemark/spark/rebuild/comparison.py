"""Compares rows of two versions: the columns that count, the times of a range, and the content of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from tidemark.core.backfill.ranges import Range
from tidemark.core.batch_result import TableDigest
from tidemark.spark.digests import HIGH, LOW, ROWS, digest_columns, row_hash, table_digest
from tidemark.spark.tables.delta import quoted
from tidemark.spark.times import timestamp_of

FATE = ("_system_timestamp", "_disposition", "_reasons", "_watermark", "_substream")
"""Columns that may change when a row is judged again."""
REPORTED = FATE[:3]
"""Columns whose changes are reported."""
DIFFERENCE = "difference"
"""Folder of a version with the rows and outputs that differ from its base."""
_FIRST, _LAST = "first_batch", "last_batch"
SAME, RANK = "__tidemark_same", "__tidemark_rank"
"""Columns by which rows are matched: a hash of their content, and their number among rows with that hash."""


def in_range(time: Column, asked: Range) -> Column:
    """True if a time lies in the range; false for null."""
    wanted = time >= timestamp_of(asked.begin)
    if asked.end is not None:
        wanted = wanted & (time < timestamp_of(asked.end))
    return F.coalesce(wanted, F.lit(False))


def any_of(conditions: Sequence[Column]) -> Column:
    """True if one of the conditions is."""
    found = conditions[0]
    for condition in conditions[1:]:
        found = found | condition
    return found


class Content(NamedTuple):
    """Digest of rows without their batch ids, and their first and last batch. Equal rows have equal digests, whatever
    run wrote them."""

    digest: TableDigest
    batches: tuple[int, ...]


def content_of(rows: DataFrame | None) -> Content:
    """The content of rows; None is no rows."""
    if rows is None:
        return Content(table_digest("", 0, 0, 0), ())
    hashed = row_hash(rows.drop("_batch_id"))
    low, high = F.min("_batch_id").alias(_FIRST), F.max("_batch_id").alias(_LAST)
    found = rows.agg(*digest_columns(hashed), low, high).collect()[0]
    batches = () if found[_FIRST] is None else (found[_FIRST], found[_LAST])
    return Content(table_digest("", found[ROWS], found[LOW], found[HIGH]), batches)


def without(rows: DataFrame | None, others: DataFrame | None) -> DataFrame | None:
    """Rows without `_batch_id`, less the rows of `others` with equal content (a difference of multisets)."""
    if rows is None:
        return None
    own = rows.drop("_batch_id")
    return own if others is None else missing(own, others.drop("_batch_id").select(*map(quoted, own.columns)))


def missing(rows: DataFrame, others: DataFrame) -> DataFrame:
    """Rows less the rows of `others`, which has the columns of `rows` (a difference of multisets). Rows are compared
    by hash; a column with two types is compared in the type that holds both."""
    kinds = rows.union(others).schema
    return _counted(rows, kinds).join(_counted(others, kinds), [SAME, RANK], "left_anti").drop(SAME, RANK)


def _counted(rows: DataFrame, kinds: StructType) -> DataFrame:
    """Rows with their hash and their number among rows with it."""
    cast = rows.select(*[quoted(each.name).cast(each.dataType).alias(each.name) for each in kinds])
    hashed = cast.withColumn(SAME, row_hash(cast))
    return hashed.withColumn(RANK, F.row_number().over(Window.partitionBy(SAME).orderBy(SAME)))
