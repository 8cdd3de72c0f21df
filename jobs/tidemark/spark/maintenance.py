"""Keeps Spark's tables small: compacts small files and deletes rows that are superseded or beyond retention.

Readers of events see no change, so a replay is unaffected. Spark's own retention of removed files keeps its defaults,
since no replay reads an old snapshot.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from delta.tables import DeltaTable
from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.core.times import format_time
from tidemark.core.watermarks import PartitionState
from tidemark.spark.judge import seen
from tidemark.spark.judge.events import PARTITION_COLUMN
from tidemark.spark.punctuation import lifetimes
from tidemark.spark.tables.delta import exists
from tidemark.storage import Location

_WIDE_BY_DEFAULT = ("spark.sql.shuffle.partitions", "spark.sql.sources.parallelPartitionDiscovery.parallelism")
"""Settings for the number of tasks that look for files: Delta would take 10,000 for each table."""


@dataclass(frozen=True)
class TableMaintenance:
    """Compacts and deletes under `root`, the folder of one version. Called only after a commit."""

    spark: SparkSession
    root: Location

    def merge(self, sources: Iterable[str], outputs: Iterable[str], since: int) -> float:
        """Compact small files: in events and ended lifetimes of `sources`, files of the day of `since` (microseconds
        UTC) and later days; in `outputs`, tables of streams, all files. Returns seconds."""
        begun = time.monotonic()
        self._narrow()
        for name in sources:
            for table, column in _by_day(name):
                self._merge_days(table, column, since)
        for output in outputs:
            location = str(self.root / output)
            if exists(location):
                DeltaTable.forPath(self.spark, location).optimize().executeCompaction()
        return time.monotonic() - begun

    def forget_ended(self, sources: Iterable[str], through: int, every: int) -> float | None:
        """Drop open lifetimes that a batch up to `through` has ended, if this was last done at least `every` batches
        ago. Returns seconds; None if nothing was due."""
        begun, root = time.monotonic(), str(self.root)
        due = [name for name in sources if through - lifetimes.forgotten(root, name) >= every]
        for name in due:
            lifetimes.forget_ended(self.spark, root, name, through)
        return time.monotonic() - begun if due else None

    def forget_keys(self, source: SourceSpec, states: Mapping[str, PartitionState]) -> None:
        """Rewrite the keys of a source without keys that no later row can repeat."""
        location = str(self.root / seen.table_of(source.name))
        if exists(location):
            rows = self.spark.read.format("delta").load(location)
            seen.replace_all(seen.kept(rows, source, states), location, 0)

    def forget_substreams(self, floors: Mapping[tuple[str, str], int]) -> None:
        """Rewrite the table of substreams: keep each one's latest row, if it is above its partition's floor."""
        location = str(self.root / "substreams")
        if not exists(location):
            return
        rows = self.spark.read.format("delta").load(location)
        newest = Window.partitionBy("source", "partition", "substream").orderBy(
            F.desc("watermark"), F.desc("batch_id")
        )
        known = [(source, partition, floor) for (source, partition), floor in floors.items()]
        bounds = self.spark.createDataFrame(known, "source STRING, partition STRING, floor LONG")
        kept = (
            rows.withColumn("rank", F.row_number().over(newest))
            .join(F.broadcast(bounds), ["source", "partition"], "left")
            .where((F.col("rank") == 1) & (F.col("floor").isNull() | (F.unix_micros("watermark") > F.col("floor"))))
            .select(*rows.columns)
        )
        kept.write.format("delta").mode("overwrite").option("dataChange", "true").save(location)

    def retain(self, sources: Iterable[str], before: int, needed: Mapping[str, int | None]) -> None:
        """Delete events that arrived before the day of `before` (microseconds UTC), and lifetimes whose end edge did.
        For a source in `needed`, keep rows that end at that time (microseconds UTC) or later; None keeps all of its
        rows."""
        day = F.lit(format_time(before)[:10])
        for name in sources:
            bound = needed.get(name)
            if name in needed and bound is None:
                continue
            for table, column in _by_day(name):
                location, old = str(self.root / table), F.col(column) < day
                if bound is not None:
                    end = F.unix_micros(F.coalesce("_end_time", "_system_timestamp"))
                    old &= end.isNull() | (end < bound)
                if exists(location):
                    DeltaTable.forPath(self.spark, location).delete(old)

    def retain_letters(self, tables: Iterable[str], first: int) -> None:
        """Delete the dead letters of batches before `first`."""
        for table in tables:
            location = str(self.root / table)
            if exists(location):
                DeltaTable.forPath(self.spark, location).delete(F.col("_batch_id") < first)

    def vacuum(self, tables: Iterable[str], hours: int) -> int:
        """Delete files that their table has not needed for so many hours. Returns the number of tables that were
        looked at."""
        there = [location for table in tables if exists(location := str(self.root / table))]
        self._narrow()
        for location in there:
            DeltaTable.forPath(self.spark, location).vacuum(hours)
        return len(there)

    def _narrow(self) -> None:
        for key in _WIDE_BY_DEFAULT:
            self.spark.conf.set(key, str(4 * self.spark.sparkContext.defaultParallelism))

    def _merge_days(self, table: str, column: str, since: int) -> None:
        location = str(self.root / table)
        if exists(location):
            days = (
                DeltaTable.forPath(self.spark, location).optimize().where(f"{column} >= '{format_time(since)[:10]}'")
            )
            days.executeCompaction()


def _by_day(source: str) -> list[tuple[str, str]]:
    """The tables of a source that are partitioned by day, each with the column of the day."""
    return [(f"events/{source}", PARTITION_COLUMN), (lifetimes.ended_table(source), lifetimes.CLOSED_DATE)]
