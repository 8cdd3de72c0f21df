"""The events tables: every input row with its fate, appended once per micro-batch."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.config.types import EVENT_COLUMNS
from tidemark.core.times import DAY
from tidemark.spark.columns import (
    ARRIVAL,
    BEYOND,
    END,
    EVENT,
    OBJECT,
    OFFSET,
    PARTITION,
    RAW,
    REST,
    SKIPPED,
    SUBSTREAM,
)
from tidemark.spark.judge.policy import verdict
from tidemark.spark.punctuation.verdict import verdict as punctuated_verdict
from tidemark.spark.read.object_columns import Objects
from tidemark.spark.tables.delta import CommitRows, append, quoted, slice_of
from tidemark.spark.tables.fate_counter import Counts, FateCounter

PARTITION_COLUMN = "_arrival_date"
_NAMED = "__tidemark_named"
STATISTICS = "_offset,_arrival_time,_system_timestamp,_batch_id"
"""Columns with bounds for each file: readers and closing windows skip files by them."""


def event_rows(judged: DataFrame, source: SourceSpec, objects: Objects) -> DataFrame:
    """Convert judged rows to rows of `events/<source>`, without rows that `start` skips. `OBJECT` is the number of a
    row's object; `BEYOND` has its members that the schema lacks, if the source counts them."""
    rest, named = F.col(REST), F.col(_NAMED)
    fates = verdict() if source.punctuation is None else punctuated_verdict(judged)
    arrival = F.timestamp_micros(F.col(ARRIVAL))
    days = F.expr(f"({ARRIVAL} - pmod({ARRIVAL}, {DAY})) div {DAY}")
    columns = {
        "_partition": F.col(PARTITION),
        "_offset": F.col(OFFSET).cast("long"),
        "_arrival_time": arrival,
        "_arrival_date": F.date_from_unix_date(days.cast("int")),
        "_event_time": F.timestamp_micros(F.col(EVENT)),
        "_end_time": F.lit(None).cast("timestamp") if source.interval_end is None else F.timestamp_micros(END),
        **fates,
        "_substream": rest[SUBSTREAM],
        "_batch_id": named["batch"],
        "_file": named["uri"],
        "_raw": rest[RAW],
    }
    payload = [rest[column.name].alias(column.name) for column in source.columns]
    rows = judged.where(~F.col(SKIPPED)).withColumn(_NAMED, objects.named(F.col(OBJECT)))
    unknown = [rest[BEYOND].alias(BEYOND)] if source.counts_unknown else []
    return rows.select(*[columns[name].alias(name) for name in EVENT_COLUMNS], *payload, OBJECT, *unknown)


def write_events(
    counted: DataFrame, tally: FateCounter, source: SourceSpec, location: str, batch_id: int
) -> tuple[Counts | None, CommitRows]:
    """Append one micro-batch of `event_rows`, which `tally` counts inside the write.

    Returns the counts and the appended rows. The counts are None if the batch was appended before: its rows are kept.
    """
    ranges = STATISTICS if source.longest is not None or source.lifetimes.edges else f"{STATISTICS},_end_time"
    written = append(counted, location, batch_id, partition_by=PARTITION_COLUMN, statistics=ranges)
    if written is not None:
        return tally.counts(), written
    return None, as_appended(counted.sparkSession, source, location, batch_id)


def as_appended(spark: SparkSession, source: SourceSpec, location: str, batch_id: int) -> CommitRows:
    """Rows that an earlier attempt at a micro-batch appended, and their number."""
    rows = appended(spark, source, location, batch_id)
    return CommitRows(None, 0) if rows is None else CommitRows(lambda: rows, rows.count())


def appended(spark: SparkSession, source: SourceSpec, location: str, batch_id: int) -> DataFrame | None:
    """Rows that a micro-batch appended, with the columns that `source` declares, in their order; None without
    rows."""
    rows = slice_of(spark, location, batch_id)
    payload = [column.name for column in source.columns]
    fixed = [name for name in rows.columns if name.startswith("_") and name not in payload]
    return None if rows.isEmpty() else rows.select(*[quoted(name) for name in [*fixed, *payload]])
