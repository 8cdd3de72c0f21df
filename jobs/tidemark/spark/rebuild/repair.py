"""Puts rows of recorded batches back into tables that have lost them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame, SparkSession

from tidemark.config import PipelineSpec
from tidemark.config.models.stream_graph import columns_of
from tidemark.core.batch_result import APPLICATION, TableDigest
from tidemark.core.stream_output import Due
from tidemark.spark.digests import measured
from tidemark.spark.streams.writer import Outputs, statistics_of
from tidemark.spark.tables import delta
from tidemark.spark.tables.delta import quoted


def put_back(
    spark: SparkSession,
    rows: DataFrame,
    location: str,
    batch_id: int,
    *,
    partition_by: str | None = None,
    statistics: str | None = None,
) -> None:
    """Replace the rows of a batch by these, in one commit. If the table's log does not know the batch, the commit
    records that it was appended."""
    if not delta.exists(location):
        delta.append(rows, location, batch_id, partition_by=partition_by, statistics=statistics)
        return
    writer = rows.write.format("delta").mode("overwrite").option("replaceWhere", f"_batch_id = {batch_id}")
    if not delta.holds(location, batch_id):
        writer = writer.options(txnAppId=APPLICATION, txnVersion=str(batch_id))
    writer.option("mergeSchema", "true").save(location)
    spark.catalog.refreshByPath(location)


def withdraw(spark: SparkSession, location: str, first: int, last: int, writer: str) -> None:
    """Delete the rows of batches first..last in one commit, which records that `writer` has done so."""
    none = spark.read.format("delta").load(location).limit(0)
    column = "batch_id" if "batch_id" in none.columns and "_batch_id" not in none.columns else "_batch_id"
    rows = none.write.format("delta").mode("overwrite")
    rows = rows.option("replaceWhere", f"{column} >= {first} AND {column} <= {last}")
    rows.options(txnAppId=writer, txnVersion=str(last)).save(location)
    spark.catalog.refreshByPath(location)


def know(spark: SparkSession, location: str, writer: str, batch_id: int) -> None:
    """Record in the log of a rebuilt table that a writer has appended a batch to it."""
    if delta.exists(location):
        none = spark.read.format("delta").load(location).limit(0)
        delta.append(none, location, batch_id, application=writer)


@dataclass(frozen=True)
class RepairedOutputs(Outputs):
    """Repairs the `broken` tables of a run by computing its rows again. `recorded` has the run's digests: only rows
    with an equal digest are put back, with columns in the order of `like`. Other digests go to `unlike`."""

    broken: Collection[str] = ()
    recorded: Mapping[str, TableDigest] = field(default_factory=dict)
    like: PipelineSpec | None = None
    restored: dict[str, int] = field(default_factory=dict)
    unlike: dict[str, TableDigest] = field(default_factory=dict)

    def _ordered(self, stream: str, names: Sequence[str]) -> list[Column]:
        """Columns in the order of the pipeline file, which a recorded configuration does not keep."""
        known = [] if self.like is None else [column.name for column in columns_of(self.like, stream) or ()]
        own = [name for name in names if name not in known]
        return [quoted(name) for name in [*own, *(name for name in known if name in names)]]

    def restore(self, due: Due) -> None:
        """Put back the rows that the run wrote for a stream."""
        for table, make in self._tables(due).items():
            if table not in self.broken or table not in self.recorded:
                continue
            rows = make()
            if rows is None:
                continue
            rows = rows.select(*self._ordered(due.step.name, rows.columns)).persist()
            try:
                found = measured(table, rows, self.recorded[table].version)
                if found == self.recorded[table]:
                    ranges = statistics_of(rows.columns)
                    put_back(self.spark, rows, f"{self.root}/{table}", due.last_batch, statistics=ranges)
                    self.restored[table] = found.rows
                else:
                    self.unlike[table] = found
            finally:
                rows.unpersist()
