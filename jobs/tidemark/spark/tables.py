"""Delta tables that Spark writes: idempotent appends and slices of one micro-batch."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import unquote

from deltalake import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

APPLICATION = "tidemark"
"""Name under which a micro-batch's id is recorded in a table's log, so that it is appended once."""
CHECKPOINT_EVERY = 50
"""Commits between checkpoints of a table's log: each lists all live files, which grow with history."""
_LAST_COMMIT = "spark.databricks.delta.lastCommitVersionInSession"


def append(
    rows: DataFrame,
    place: str,
    batch_id: int,
    *,
    partition_by: str | None = None,
    statistics: str | None = None,
    application: str = APPLICATION,
) -> tuple[bool, DataFrame | None]:
    """Append the rows of one micro-batch; a repeated call with the same id changes nothing, runs nothing, and
    returns False: whoever waits for what it would have observed waits for ever.

    Returns also the rows as written, read from the files of this very commit (None: it has none), so that
    reading them back does not have to look for them among all the table's files.
    """
    writer = (
        rows.write.format("delta")
        .mode("append")
        .option("txnAppId", application)
        .option("txnVersion", batch_id)
        .option("mergeSchema", "true")
        .option("delta.logRetentionDuration", "interval 7 days")
        .option("delta.checkpointInterval", CHECKPOINT_EVERY)
    )
    if statistics:
        writer = writer.option("delta.dataSkippingStatsColumns", statistics)
    if partition_by:
        writer = writer.partitionBy(partition_by)
    settings = rows.sparkSession.conf
    settings.unset(_LAST_COMMIT)
    writer.save(place)
    version = settings.get(_LAST_COMMIT, None)
    if version is None:
        return False, None
    return True, _files_of(rows, Path(place), int(version))


def holds(place: str, batch_id: int, application: str = APPLICATION) -> bool:
    """Whether a micro-batch was appended to the table at `place`, be it without a row."""
    if not exists(place):
        return False
    known = DeltaTable(place).transaction_version(application)
    return known is not None and known >= batch_id


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
