"""Delta tables that Spark writes: idempotent appends and slices of one micro-batch."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

APPLICATION = "tidemark"
"""Name under which a micro-batch's id is recorded in a table's log, so that it is appended once."""


def append(
    rows: DataFrame,
    place: str,
    batch_id: int,
    *,
    partition_by: str | None = None,
    statistics: str | None = None,
    application: str = APPLICATION,
) -> None:
    """Append the rows of one micro-batch; a repeated call with the same id changes nothing."""
    writer = (
        rows.write.format("delta")
        .mode("append")
        .option("txnAppId", application)
        .option("txnVersion", batch_id)
        .option("mergeSchema", "true")
        .option("delta.logRetentionDuration", "interval 7 days")
    )
    if statistics:
        writer = writer.option("delta.dataSkippingStatsColumns", statistics)
    if partition_by:
        writer = writer.partitionBy(partition_by)
    writer.save(place)


def exists(place: str) -> bool:
    """Whether a Delta table is at `place`."""
    return (Path(place) / "_delta_log").is_dir()


def slice_of(spark: SparkSession, place: str, batch_id: int) -> DataFrame:
    """The rows that one micro-batch appended to a table; files without any are skipped."""
    return spark.read.format("delta").load(place).where(F.col("_batch_id") == batch_id)
