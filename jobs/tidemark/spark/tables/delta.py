"""Delta tables that Spark writes: idempotent appends and slices of one micro-batch."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple
from urllib.parse import unquote

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from tidemark.core.batch_result import APPLICATION
from tidemark.spark.session.settings import PAGES
from tidemark.spark.tables.row_counter import CountedRows, Counting
from tidemark.storage import Place, delta_table, is_table, place_of, read_bytes

CHECKPOINT_EVERY = 50
"""Commits between checkpoints of a table's log: each lists all live files, which grow with history."""

_SETTINGS = {
    "delta.logRetentionDuration": "interval 7 days",
    "delta.checkpointInterval": str(CHECKPOINT_EVERY),
    **PAGES,
}
"""Of a table when it is made."""


class CommitRows(NamedTuple):
    """What a commit wrote, as the table's log has it: the rows, read from the files of this very commit once they are
    asked for (None: it has none), and how many there are."""

    rows: Callable[[], DataFrame] | None
    number: int


def append(
    rows: DataFrame,
    place: str,
    batch_id: int,
    *,
    partition_by: str | None = None,
    statistics: str | None = None,
    application: str = APPLICATION,
) -> CommitRows | None:
    """Append the rows of one micro-batch; a repeated call with the same id changes nothing, runs nothing, and
    returns None: whoever waits for what it would have observed waits for ever.

    Reading back what was written does not have to look for it among all the table's files.
    """
    version = _appended(rows, place, batch_id, partition_by, statistics, application)
    return None if version is None else _written(rows, place_of(place), version)


def _appended(
    rows: DataFrame, place: str, batch_id: int, partition_by: str | None, statistics: str | None, application: str
) -> int | None:
    """Append; returns the version of the table that this made, None if it had been made before."""
    spark = rows.sparkSession
    options = {"mergeSchema": "true", "txnAppId": application, "txnVersion": str(batch_id)}
    table = dict(_SETTINGS)
    if statistics:
        table["delta.dataSkippingStatsColumns"] = statistics
    jvm = spark.sparkContext._jvm
    if jvm is None:
        raise RuntimeError("no Spark session is open")
    scala = jvm.PythonUtils
    by = scala.toSeq([partition_by] if partition_by else [])
    told = scala.toScalaMap(options), scala.toScalaMap(table)
    version: int = jvm.tidemark.Append.run(spark._jsparkSession, place, rows._jdf, by, *told, application, batch_id)
    return None if version < 0 else version


def append_measured(
    rows: DataFrame,
    place: str,
    batch_id: int,
    table: str,
    *,
    partition_by: str | None = None,
    statistics: str | None = None,
    application: str = APPLICATION,
    matching: Column | None = None,
) -> CountedRows | None:
    """Append as `append`, and tell the digest of the rows and how many of them are `matching`, both taken inside the
    write; None: it was made before."""
    counting = Counting.of(rows, matching)
    return append_counted(counting, place, batch_id, table, partition_by, statistics, application)


def append_counted(
    counting: Counting,
    place: str,
    batch_id: int,
    table: str,
    partition_by: str | None = None,
    statistics: str | None = None,
    application: str = APPLICATION,
) -> CountedRows | None:
    """The same of rows that are counted already."""
    if _appended(counting.rows, place, batch_id, partition_by, statistics, application) is None:
        return None
    return counting.told(table)


def holds(place: str, batch_id: int, application: str = APPLICATION) -> bool:
    """Whether a micro-batch was appended to the table at `place`, be it without a row."""
    known = last_of(place, application) if exists(place) else None
    return known is not None and known >= batch_id


def last_of(place: str, application: str) -> int | None:
    """The last number that an application recorded in the log of the table at `place`."""
    return delta_table(place).transaction_version(application)


def _written(rows: DataFrame, place: Place, version: int) -> CommitRows:
    log = read_bytes(place / "_delta_log" / f"{version:020d}.json").decode()
    files = [action["add"] for action in map(json.loads, log.splitlines()) if "add" in action]
    if not files:
        return CommitRows(None, 0)
    added, count = [file["path"] for file in files], sum(json.loads(file["stats"])["numRecords"] for file in files)

    def read() -> DataFrame:
        return files_of(rows.sparkSession, place, added, rows.schema).select(*map(quoted, rows.columns))

    return CommitRows(cache(read), count)


def files_of(spark: SparkSession, place: Place, paths: Sequence[str], schema: StructType) -> DataFrame:
    """The rows of some files of the table at `place`, of which `paths` are its log's: columns that the table is kept
    by are the last ones."""
    reader = spark.read.schema(schema).option("basePath", str(place)).option("__globPaths__", "false")
    return reader.parquet(*whole(place, paths))


def whole(place: Place, paths: Sequence[str]) -> list[str]:
    """The paths of files of the table at `place`, as Spark takes them, from those of its log."""
    return [str(place / unquote(path)) for path in paths]


def quoted(name: str) -> Column:
    """The column of exactly this name, whatever characters it has."""
    return F.col(f"`{name.replace('`', '``')}`")


def exists(place: str) -> bool:
    """Whether a Delta table is at `place`; a log that a crash left without a commit is none."""
    return is_table(place)


def slice_of(spark: SparkSession, place: str, batch_id: int) -> DataFrame:
    """The rows that one micro-batch appended to a table; files without any are skipped."""
    return spark.read.format("delta").load(place).where(F.col("_batch_id") == batch_id)
