"""Delta tables that Spark writes: idempotent appends and slices of one micro-batch."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import unquote

from pyspark.sql import Column, DataFrame, SparkSession
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
) -> DataFrame | None:
    """Append the rows of one micro-batch; a repeated call with the same id changes nothing.

    Returns the rows as written, read from the files of this very commit (None: it has none), so that
    reading them back does not have to look for them among all the table's files.
    """
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
    version = rows.sparkSession.conf.get("spark.databricks.delta.lastCommitVersionInSession")
    return _files_of(rows, Path(place), int(version or 0))


def _files_of(rows: DataFrame, place: Path, version: int) -> DataFrame | None:
    log = (place / "_delta_log" / f"{version:020d}.json").read_text()
    added = [action["add"]["path"] for action in map(json.loads, log.splitlines()) if "add" in action]
    if not added:
        return None
    reader = (
        rows.sparkSession.read.schema(rows.schema).option("basePath", str(place)).option("__globPaths__", "false")
    )
    return reader.parquet(*[str(place / unquote(path)) for path in added]).select(*map(quoted, rows.columns))


def quoted(name: str) -> Column:
    """The column of exactly this name, whatever characters it has."""
    return F.col(f"`{name.replace('`', '``')}`")


def exists(place: str) -> bool:
    """Whether a Delta table is at `place`."""
    return (Path(place) / "_delta_log").is_dir()


def slice_of(spark: SparkSession, place: str, batch_id: int) -> DataFrame:
    """The rows that one micro-batch appended to a table; files without any are skipped."""
    return spark.read.format("delta").load(place).where(F.col("_batch_id") == batch_id)
