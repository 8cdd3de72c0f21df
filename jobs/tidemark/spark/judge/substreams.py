"""Watermarks of substreams that are above their partition's floor, written when a batch changes them.

The table is appended to, never updated: recovery after a crash must see the state from before its batch. The latest
row of a key is the one with the highest watermark; compaction keeps only that row.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.core.batch_result import TableDigest, writer_of
from tidemark.core.watermarks import MIN_TIME
from tidemark.spark.columns import KEY, PARTITION
from tidemark.spark.digests import measured
from tidemark.spark.tables.delta import append_measured, exists, holds

KEY_WATERMARK = "__tidemark_key_watermark"


def changed(events: DataFrame, source: str, batch_id: int, trail: int) -> DataFrame:
    """Substreams whose watermark rose in a batch, with their new watermark and highest time.

    A key that stays at its partition's floor is not recorded: forgetting it changes no result.
    """
    high, before = F.unix_micros("_system_timestamp"), F.unix_micros("_watermark")
    raised = events.where(before.isNull() | (_watermark_after(high, trail) > before)).where(high.isNotNull())
    found = raised.groupBy("_partition", "_substream").agg(F.max(high).alias("high"))
    return _rows(found, source, F.lit(batch_id), trail)


def recorded(
    spark: SparkSession, location: str, source: str, before: int, floors: Mapping[str, int | None]
) -> DataFrame | None:
    """Watermark of each key above its partition's floor, from batches before `before`; None without a table."""
    if not exists(location):
        return None
    rows = spark.read.format("delta").load(location)
    rows = rows.where((F.col("source") == source) & (F.col("batch_id") < before))
    known = [floor for floor in floors.values() if floor is not None]
    if known and len(known) == len(floors):
        rows = rows.where(F.col("watermark") > F.timestamp_micros(F.lit(min(known))))
    return _keyed(rows, F.unix_micros("watermark"))


def recomputed(events: DataFrame, before: int, trail: int, floors: Mapping[str, int | None]) -> DataFrame:
    """Watermarks as in `recorded`, computed from the rows that set them.

    Replays need this: the table no longer holds keys that were forgotten since. Only rows above the lowest floor can
    have set a watermark above it, so older files are not read.
    """
    rows = _above(events, before, trail, floors)
    rows = rows.withColumnsRenamed({"_partition": "partition", "_substream": "substream"})
    return _keyed(rows, _watermark_after(F.unix_micros("_system_timestamp"), trail))


def left(events: DataFrame, source: str, before: int, trail: int, floors: Mapping[str, int | None]) -> DataFrame:
    """Rows of the table, recomputed from batches before `before`, each with the last batch that has its substream."""
    rows = _above(events, before, trail, floors)
    high = F.max(F.unix_micros("_system_timestamp"))
    found = rows.groupBy("_partition", "_substream").agg(high.alias("high"), F.max("_batch_id").alias("batch_id"))
    return _rows(found, source, F.col("batch_id"), trail)


def _rows(found: DataFrame, source: str, batch_id: Column, trail: int) -> DataFrame:
    """Rows of the table, from the highest time found of each substream."""
    return found.select(
        F.lit(source).alias("source"),
        F.col("_partition").alias("partition"),
        F.col("_substream").alias("substream"),
        F.timestamp_micros(_watermark_after(F.col("high"), trail)).alias("watermark"),
        F.timestamp_micros("high").alias("high"),
        batch_id.cast("long").alias("batch_id"),
    )


def _watermark_after(high: Column, trail: int) -> Column:
    """Watermark after a highest time: that time less `trail`, microseconds."""
    return F.greatest(high - trail, F.lit(MIN_TIME))


def _above(events: DataFrame, before: int, trail: int, floors: Mapping[str, int | None]) -> DataFrame:
    """The rows of batches before `before` that may have set a watermark above the lowest floor."""
    rows = events.where((F.col("_batch_id") < before) & F.col("_system_timestamp").isNotNull())
    known = [floor for floor in floors.values() if floor is not None]
    if known and len(known) == len(floors):
        rows = rows.where(F.col("_system_timestamp") > F.timestamp_micros(F.lit(min(known) + trail)))
    return rows


def _keyed(rows: DataFrame, watermark: Column) -> DataFrame:
    key = F.coalesce(F.concat(F.lit("="), F.col("substream")), F.lit(""))
    found = rows.select(F.col("partition").alias(PARTITION), key.alias(KEY), watermark.alias(KEY_WATERMARK))
    return found.groupBy(PARTITION, KEY).agg(F.max(KEY_WATERMARK).alias(KEY_WATERMARK))


def write(
    spark: SparkSession, rows: DataFrame, location: str, source: str, batch_id: int, recovering: bool
) -> TableDigest:
    """Append the rows that a batch changed and return their digest; `recovering`: rows already there are kept."""
    application, table = writer_of(source), table_of(source)
    if not (recovering and holds(location, batch_id, application)):
        written = append_measured(rows, location, batch_id, table, application=application)
        if written is not None:
            return written.digest
    whole = spark.read.format("delta").load(location)
    return measured(table, whole.where((F.col("batch_id") == batch_id) & (F.col("source") == source)))


def table_of(source: str) -> str:
    """The name under which the digest of a source's substreams is kept."""
    return f"substreams/{source}"
