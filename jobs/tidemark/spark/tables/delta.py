"""Delta tables that Spark writes: idempotent appends and slices of one micro-batch."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import NamedTuple
from urllib.parse import unquote
from uuid import uuid4

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from tidemark.core.batch_result import APPLICATION
from tidemark.spark.compat.jvm import rows_of, scala_map, scala_sequence, session_of
from tidemark.spark.compat.plain import Way, plain
from tidemark.spark.jvm_functions import java_class
from tidemark.spark.session.settings import PAGES
from tidemark.spark.tables.row_counter import CountedRows, Counting
from tidemark.storage import LOG, Location, delta_table, is_table, location_of, read_bytes

CHECKPOINT_EVERY = 50
"""Commits between checkpoints of a table's log: each lists all live files, which grow with history."""

_SETTINGS = {
    "delta.logRetentionDuration": "interval 7 days",
    "delta.checkpointInterval": str(CHECKPOINT_EVERY),
    **PAGES,
}
"""Properties of a new table."""


class CommitRows(NamedTuple):
    """Rows that a commit wrote, and their number, from the table's log. `rows` reads them from the files of this
    commit when it is called; it is None if the commit has no rows."""

    rows: Callable[[], DataFrame] | None
    number: int


def append(
    rows: DataFrame,
    location: str,
    batch_id: int,
    *,
    partition_by: str | None = None,
    statistics: str | None = None,
    application: str = APPLICATION,
) -> CommitRows | None:
    """Append the rows of one micro-batch. A repeated call for this id writes nothing and returns None; observations
    of the rows then never get a value.

    The rows returned are read from the commit's own files, without a search among all files of the table.
    """
    version = _appended(rows, location, batch_id, partition_by, statistics, application)
    return None if version is None else _written(rows, location_of(location), version)


def _appended(
    rows: DataFrame, location: str, batch_id: int, partition_by: str | None, statistics: str | None, application: str
) -> int | None:
    """Append the rows. Returns the version of the table that this made; None if the batch had been appended
    before."""
    spark = rows.sparkSession
    options = {"mergeSchema": "true", "txnAppId": application, "txnVersion": str(batch_id)}
    table = dict(_SETTINGS)
    if statistics:
        table["delta.dataSkippingStatsColumns"] = statistics
    if plain(Way.APPEND):
        made = holds(location, batch_id, application)
        return None if made else _appended_by_delta(rows, location, partition_by, options | table)
    by = scala_sequence([partition_by] if partition_by else [])
    settings = scala_map(options), scala_map(table)
    version: int = java_class("plans.TableAppend").appendOnce(
        session_of(spark), location, rows_of(rows), by, *settings, application, batch_id
    )
    return None if version < 0 else version


def _appended_by_delta(
    rows: DataFrame, location: str, partition_by: str | None, options: Mapping[str, str]
) -> int | None:
    """Append the rows with Delta's public writer, which looks the batch's number up in the state of the whole table.

    The writer does not return the version that it made, nor whether another process appended the batch meanwhile. So
    the commit is found by a unique mark of this call.
    """
    mark, before = uuid4().hex, delta_table(location).version() if exists(location) else -1
    writer = rows.write.format("delta").mode("append").options(**options, userMetadata=mark)
    (writer.partitionBy(partition_by) if partition_by else writer).save(location)
    versions = range(before + 1, delta_table(location).version() + 1)
    return next((each for each in versions if mark.encode() in _commit(location_of(location), each)), None)


def append_measured(
    rows: DataFrame,
    location: str,
    batch_id: int,
    table: str,
    *,
    partition_by: str | None = None,
    statistics: str | None = None,
    application: str = APPLICATION,
    matching: Column | None = None,
) -> CountedRows | None:
    """Append as `append` does. Returns the digest of the rows and the number of rows for which `matching` is true,
    both taken during the write; None if the batch had been appended before."""
    counting = Counting.of(rows, matching)
    return append_counted(counting, location, batch_id, table, partition_by, statistics, application)


def append_counted(
    counting: Counting,
    location: str,
    batch_id: int,
    table: str,
    partition_by: str | None = None,
    statistics: str | None = None,
    application: str = APPLICATION,
) -> CountedRows | None:
    """Append, as `append_measured` does, rows that are already set up for counting."""
    if _appended(counting.rows, location, batch_id, partition_by, statistics, application) is None:
        return None
    return counting.result(table)


def holds(location: str, batch_id: int, application: str = APPLICATION) -> bool:
    """True if a micro-batch was appended to the table at `location`, even one without rows."""
    known = last_of(location, application) if exists(location) else None
    return known is not None and known >= batch_id


def last_of(location: str, application: str) -> int | None:
    """The last number that an application recorded in the log of the table at `location`; None if there is none."""
    return delta_table(location).transaction_version(application)


def _written(rows: DataFrame, location: Location, version: int) -> CommitRows:
    actions = map(json.loads, _commit(location, version).splitlines())
    files = [action["add"] for action in actions if "add" in action]
    if not files:
        return CommitRows(None, 0)
    added, count = [file["path"] for file in files], sum(json.loads(file["stats"])["numRecords"] for file in files)

    def read() -> DataFrame:
        return files_of(rows.sparkSession, location, added, rows.schema).select(*map(quoted, rows.columns))

    return CommitRows(cache(read), count)


def _commit(location: Location, version: int) -> bytes:
    """The log's entry for a version of the table at `location`, a JSON object a line, as bytes: text would also be
    split at U+0085 and U+2028, which may be in names and values."""
    return read_bytes(location / LOG / f"{version:020d}.json")


def files_of(spark: SparkSession, location: Location, paths: Sequence[str], schema: StructType) -> DataFrame:
    """Rows of some files of the table at `location`, given their `paths` in its log. Partition columns come last."""
    reader = spark.read.schema(schema).option("basePath", str(location)).option("__globPaths__", "false")
    return reader.parquet(*whole(location, paths))


def whole(location: Location, paths: Sequence[str]) -> list[str]:
    """Paths of files as Spark takes them, given their paths in the log of the table at `location`."""
    return [str(location / unquote(path)) for path in paths]


def quoted(name: str) -> Column:
    """The column of exactly this name, whatever characters it has."""
    return F.col(f"`{name.replace('`', '``')}`")


def exists(location: str) -> bool:
    """True if there is a Delta table at `location`. A log without a commit, as a crash may leave, is none."""
    return is_table(location)


def take_columns(rows: DataFrame, location: str) -> None:
    """Give a table without rows the columns of `rows`: a run that was abandoned may have made it with others."""
    if exists(location) and not delta_table(location).file_uris():
        none = rows.sparkSession.createDataFrame([], rows.schema)
        none.write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(location)


def slice_of(spark: SparkSession, location: str, batch_id: int) -> DataFrame:
    """The rows that one micro-batch appended to a table; files without any are skipped."""
    return spark.read.format("delta").load(location).where(F.col("_batch_id") == batch_id)
