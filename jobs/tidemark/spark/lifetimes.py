"""The rows that a punctuated source gives to streams: lifetimes, without punctuations and end edges."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.core.punctuation import Mark
from tidemark.core.times import MAX_TIME
from tidemark.spark.edges import table_of
from tidemark.spark.marks import mark_columns
from tidemark.spark.names import CLOSED, MARK
from tidemark.spark.tables import exists

_PLACE = ("_partition", "_offset")


def of_stream(spark: SparkSession, root: str, source: SourceSpec, events: DataFrame, last: int) -> DataFrame:
    """Surviving event rows as rows of the source's stream, with their `_end_time`.

    A start edge has the end that an end edge of a batch up to `last` gave it, null while it is open, and in `CLOSED`
    the batch that brought that. One that ends where it starts is no row.
    """
    if source.punctuated is None:
        return events.withColumn("_end_time", _next_tick())
    marks = mark_columns(events, source.punctuated, source.lifetimes)
    rows = events.withColumn(MARK, marks[MARK]).where(F.col(MARK).isin(*_LIVING)).drop(MARK)
    if source.lifetimes.edges:
        return _ended(spark, f"{root}/{table_of(source.name)}", rows, last)
    return rows if source.longest is None else rows.withColumn("_end_time", _next_tick())


def end_of(source: SourceSpec) -> Column:
    """A time that is not before the end of a row's lifetime, to leave files out by; of an open one, and of one that
    ended in this very moment, it is later."""
    if not source.lifetimes.edges:
        return F.col("_end_time")
    return F.coalesce(F.col("_end_time"), F.timestamp_micros(F.lit(MAX_TIME))) + F.expr("interval 1 microsecond")


def _ended(spark: SparkSession, place: str, starts: DataFrame, last: int) -> DataFrame:
    rows = starts.drop("_end_time")
    if not exists(place):
        none = {"_end_time": F.lit(None).cast("timestamp"), CLOSED: F.lit(None).cast("long")}
        return rows.withColumns(none)
    pairs = spark.read.format("delta").load(place).where(F.col("_batch_id") <= last)
    known = pairs.select(*_PLACE, "_end_time", F.col("_batch_id").alias(CLOSED))
    joined = rows.join(known, list(_PLACE), "left")
    return joined.where(F.col("_end_time").isNull() | (F.col("_end_time") > F.col("_system_timestamp")))


def _next_tick() -> Column:
    return F.col("_system_timestamp") + F.expr("interval 1 microsecond")


_LIVING = tuple(mark.value for mark in (Mark.POINT, Mark.INTERVAL, Mark.START))
