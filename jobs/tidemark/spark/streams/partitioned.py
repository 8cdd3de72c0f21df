"""Adds to rows the times that their part of a step with `partition_by` had passed before the run and after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.config import PipelineSpec
from tidemark.core.stream_output import Due
from tidemark.spark.columns import KEY, PARTITION
from tidemark.spark.judge import substreams
from tidemark.spark.judge.substreams import KEY_WATERMARK
from tidemark.spark.local_frames import small_frame
from tidemark.spark.plans.parameters import Parameter, constant
from tidemark.spark.streams import windows
from tidemark.spark.streams.windows import AFTER, BEFORE

OPENED = "__tidemark_opened"
_OWNER = "__tidemark_owner"


@dataclass(frozen=True)
class PartitionedSteps:
    """Progress of the parts of steps, from the tables under `root`.

    With `recompute`, watermarks of substreams are computed from the rows that set them. `opened` gives, by part, the
    start (`OPENED`) of the earliest session window that a step leaves open. `known` gives plan parameters.
    """

    spark: SparkSession
    root: str
    spec: PipelineSpec
    recompute: bool
    opened: Callable[[Due], DataFrame | None]
    known: Parameter = constant

    def with_passed_times(self, rows: DataFrame, due: Due) -> DataFrame:
        """Rows with the times `BEFORE` and `AFTER` that their part had passed, microseconds or null."""
        by = due.step.partition_by
        if by is None:
            passed = {BEFORE: ("before", due.before.reached), AFTER: ("after", due.after.reached)}
            return rows.withColumns({name: self.known(*values, "_batch_id") for name, values in passed.items()})
        listed = small_frame(
            self.spark,
            [
                (part.partition, part.before, part.after)
                for part in (due.passed_by_part() if due.listed else due.parts)
            ],
            [("_partition", pa.string()), (BEFORE, pa.int64()), (AFTER, pa.int64())],
        )
        joined = rows.join(listed, "_partition", "left")
        if due.listed:
            return joined
        joined = joined.withColumn(KEY, key_of_substream())
        for column, at in ((BEFORE, due.earlier()), (AFTER, due)):
            joined = self._own(joined, column, at) if by == "substream" else joined
            joined = self._through(joined, column, at)
        if due.added:  # as `Due.passed_by_part` has it
            most, own = F.lit(due.before.reached).cast("long"), F.col(BEFORE)
            joined = joined.withColumn(BEFORE, F.when(own <= most, own).when(own.isNotNull(), most))
        return joined.drop(KEY)

    def _own(self, rows: DataFrame, column: str, due: Due) -> DataFrame:
        """Raise the column to a substream's own watermark, where that is above its partition's floor."""
        own = self._substreams(due, {part.partition: part.after for part in due.parts})
        if own is None:
            return rows
        joined = rows.join(own.withColumnRenamed(PARTITION, "_partition"), ["_partition", KEY], "left")
        return joined.withColumn(column, F.greatest(column, KEY_WATERMARK)).drop(KEY_WATERMARK)

    def _substreams(self, due: Due, floors: Mapping[str, int | None]) -> DataFrame | None:
        """Watermarks of substreams above their floors, after the last batch; None if none is recorded."""
        source, before = due.path[0].sources[0], due.last_batch + 1
        if not self.recompute:
            return substreams.recorded(self.spark, f"{self.root}/substreams", source, before, floors)
        whole = self.spark.read.format("delta").load(f"{self.root}/events/{source}")
        return substreams.recomputed(whole, before, self.spec.sources[source].policy.disorder, floors)

    def _through(self, rows: DataFrame, column: str, due: Due) -> DataFrame:
        """Carry a column of watermarks along the path, as `part_watermark` does, and through session windows."""
        for number, step in enumerate(due.path):
            reached = F.col(column) + step.shift
            if step.windowed:
                reached = F.greatest(reached, F.lit(due.states[1][step.name].idle_bound).cast("long"))
            last = number == len(due.path) - 1
            if step.fixed is not None and not last:
                reached = windows.pulled_back(step.fixed, reached)
            rows = rows.withColumn(column, reached)
            if step.data_driven is not None and not last:
                rows = self._pulled_back(rows, column, due.below(number), step.data_driven.lateness)
        return rows

    def _pulled_back(self, rows: DataFrame, column: str, due: Due, lateness: int) -> DataFrame:
        lowered = rows.withColumn(column, F.col(column) - lateness)
        found = None if due.after.complete else self.opened(due)
        if found is None:
            return lowered
        keys = ["_partition", KEY] if due.step.partition_by == "substream" else ["_partition"]
        known = found.select(*[F.col(name).alias(f"{_OWNER}{name}") for name in keys], OPENED)
        equal = [F.col(name).eqNullSafe(F.col(f"{_OWNER}{name}")) for name in keys]
        joined = lowered.join(known, equal, "left").withColumn(column, F.least(column, OPENED))
        return joined.drop(OPENED, *[f"{_OWNER}{name}" for name in keys])


def key_of_substream() -> Column:
    """Key of a row's substream, never null."""
    return F.coalesce(F.concat(F.lit("="), F.col("_substream")), F.lit(""))
