"""Builds the plans that read a micro-batch's rows, assign them to tasks and judge them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.config.rules.partition_limit import most_after
from tidemark.core.watermarks import SINGLE
from tidemark.spark.columns import BEYOND, OFFSET, ROW
from tidemark.spark.judge import events, seen, substreams
from tidemark.spark.judge.judge import judge, judge_punctuated, limited, stage
from tidemark.spark.judge.plan_cache import PARTITIONS, BatchPlanKey, Prepared, shape_of
from tidemark.spark.judge.skew import cut_skewed
from tidemark.spark.maxima import unseen
from tidemark.spark.micro_batch import MicroBatch
from tidemark.spark.partitioning.layout import (
    CELL_BITS,
    Layout,
    assign,
    sampled_share,
    sizes_of,
    skewed_share,
    tasks_of,
)
from tidemark.spark.partitioning.shuffle import PartitionTasks
from tidemark.spark.punctuation import edges
from tidemark.spark.punctuation.imported import ranges_of
from tidemark.spark.punctuation.verdict import stamped
from tidemark.spark.read.excluded import without_objects
from tidemark.spark.read.format import Sight
from tidemark.spark.read.landed_rows import read_rows
from tidemark.spark.read.object_columns import Objects
from tidemark.spark.tables import delta
from tidemark.spark.tables.fate_counter import FateCounter
from tidemark.storage import Location

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject


@dataclass(frozen=True)
class Builder:
    """Builds plans over the tables under `root`, the folder of one version. `tasks` and `cell_bits` change no
    result. Rows of `excluded` objects (stored URIs, by source) are quarantined."""

    spark: SparkSession
    root: Location
    tasks: int | None = None
    cell_bits: int = CELL_BITS
    excluded: Mapping[str, Collection[str]] = field(default_factory=dict)

    def location(self, table: str) -> str:
        return str(self.root / table)

    def rejudge(
        self, batch: MicroBatch, rows: DataFrame, from_events: bool = False, sample: DataFrame | None = None
    ) -> DataFrame:
        """Judge `rows` of a batch again and return event rows with the numbers of their objects; writes nothing.

        Watermarks of substreams and remembered keys are computed from events. Rows `from_events` come in any order
        and keep their offsets, since rows before them may be missing. The layout is computed from the `sample` of the
        rows, if given, else from all rows.
        """
        source, opening, recorded = batch.source, batch.opening, None
        location = self.location(batch.events)
        if source.over and source.timestamp_by and delta.exists(location):
            whole = self.spark.read.format("delta").load(location)
            floors = {name: state.floor for name, state in opening.states.items()}
            recorded = substreams.recomputed(whole, batch.number, source.policy.disorder, floors)
        known = None
        if source.deduplicate is not None:
            known = seen.recomputed(self.spark, location, source, batch.number, opening)
        layout, staged = self._staged(batch, rows, sample, scattered=from_events, known=known)
        staged = staged.withColumn(OFFSET, F.col(ROW)) if from_events else staged
        judged = self._judged(batch, staged, recorded, layout)
        return events.event_rows(judged, source, Objects(source, batch.objects, batch.number)).drop(BEYOND)

    @contextmanager
    def _planned(
        self, batch: MicroBatch, damaged: Mapping[str, str], sights: Mapping[str, Sight]
    ) -> Iterator[Prepared]:
        """Context manager: the plan of a micro-batch's event rows; rows that are read more than once are kept until
        exit."""
        source, opening, recorded = batch.source, batch.opening, None
        if source.over and source.timestamp_by:
            floors = {name: state.floor for name, state in opening.states.items()}
            recorded = substreams.recorded(self.spark, self.location("substreams"), source.name, batch.number, floors)
        keys = None
        if source.deduplicate is not None:
            location = self.location(seen.table_of(source.name))
            keys = seen.recorded(self.spark, location, source, batch.number, opening)
        known = Objects(source, batch.objects, batch.number)
        rows = self._read(batch, damaged, 1.0, sights, known)
        share = sampled_share(source, batch.size, opening)
        sample = None if share is None else self._read(batch, damaged, share, sights)
        start, tasks = unseen(opening.unseen.watermark), PartitionTasks()
        try:
            layout, staged = self._staged(batch, rows, sample, landed=True, start=start, tasks=tasks, known=keys)
            staged = limited(staged, most_after(), layout.tasks)
            judged = self._judged(batch, staged, recorded, layout)
            tally = FateCounter(self.spark, source, batch.uris)
            found = events.event_rows(judged, source, known)
            yield Prepared(tally.counted(found), tally, start, known, layout, tasks)
        finally:
            if rows.is_cached:
                rows.unpersist()

    def _shape(
        self, batch: MicroBatch, damaged: Mapping[str, str], sights: Mapping[str, Sight]
    ) -> BatchPlanKey | None:
        """Key of a micro-batch's cached plan; None if its plan cannot be used for others.

        That is so if the source has excluded objects. With several tasks it is also so if the source has no
        partitions, or if partition sizes come from a sample.
        """
        source = batch.source
        if self.excluded.get(source.name):
            return None
        tasks = self._tasks(source, batch.size)
        whole = source.partition is not None and sampled_share(source, batch.size, batch.opening) is None
        return shape_of(batch, damaged, sights, (tasks, most_after())) if tasks == 1 or whole else None

    def _read(
        self,
        batch: MicroBatch,
        damaged: Mapping[str, str],
        share: float,
        sights: Mapping[str, Sight],
        known: Objects | None = None,
    ) -> DataFrame:
        source, objects = batch.source, batch.objects
        rows = read_rows(self.spark, source, objects, damaged, share, sights, known)
        return without_objects(rows, source, objects, self.excluded.get(source.name, ()))

    def _staged(
        self,
        batch: MicroBatch,
        rows: DataFrame,
        sample: DataFrame | None = None,
        landed: bool = False,
        scattered: bool = False,
        start: JavaObject | None = None,
        tasks: PartitionTasks | None = None,
        known: DataFrame | None = None,
    ) -> tuple[Layout, DataFrame]:
        """The layout, computed from the `sample` of the rows if given, and the staged rows.

        `landed`: rows come from landing. They are persisted if they are read more than once and cost much to parse;
        the caller unpersists them. `scattered`: rows are not in log order. `known`: keys of earlier batches, if the
        source looks for duplicates.
        """
        source, opening = batch.source, batch.opening
        layout = Layout(self._tasks(source, batch.size), self.cell_bits)
        self.spark.conf.set(PARTITIONS, str(layout.tasks))
        if layout.tasks > 1 and source.partition is not None:
            layout = assign(sizes_of(rows if sample is None else sample), layout, self._skewed_share(batch))
        elif layout.tasks > 1 and known is None:
            layout = replace(layout, skewed=(SINGLE,))
        if layout.skewed:
            if landed and _is_text(source):
                rows.persist()
            layout = cut_skewed(rows, source, opening, layout, scattered)
        layout = self._with_ranges(layout, batch, rows, sample)
        return layout, stage(rows, source, opening, layout, start, tasks, known)

    def _with_ranges(self, layout: Layout, batch: MicroBatch, rows: DataFrame, sample: DataFrame | None) -> Layout:
        """The layout with the ranges of arrivals by which imported punctuations are found, if there are any."""
        imported = batch.opening.imported
        if not imported:
            return layout
        share = None if sample is None else sampled_share(batch.source, batch.size, batch.opening)
        found = ranges_of(rows if sample is None else sample, share or 1.0, imported, str(self.root), layout.tasks)
        return replace(layout, ranges=found)

    def _judged(self, batch: MicroBatch, staged: DataFrame, recorded: DataFrame | None, layout: Layout) -> DataFrame:
        """Staged rows with the columns that decide their fate; `recorded` has the watermarks of substreams."""
        source = batch.source
        if source.punctuated is None:
            return judge(staged, source, recorded, layout, batch.opening)
        rows = stamped(judge_punctuated(staged, batch.opening, str(self.root), layout), source.punctuated)
        if not source.lifetimes.edges:
            return rows
        return edges.with_pairs(str(self.root), source, rows, batch.number, layout.tasks)

    def _skewed_share(self, batch: MicroBatch) -> float:
        """Share of a micro-batch's rows above which a partition is cut as skewed. With `deduplicate`, none is cut:
        one task must remember all keys of a partition."""
        if batch.source.deduplicate is not None:
            return 1.0
        if self.tasks is not None:
            return 1 / self.tasks
        return skewed_share(batch.size, self.spark.sparkContext.defaultParallelism, _is_text(batch.source))

    def _tasks(self, source: SourceSpec, size: int) -> int:
        if self.tasks is not None:
            return self.tasks
        cores = self.spark.sparkContext.defaultParallelism
        return tasks_of(size, cores, _is_text(source), source.partition is not None)


def _is_text(source: SourceSpec) -> bool:
    """True for text: it has few rows for its size, and they are worth persisting if they are read more than once."""
    return source.file_format.text
