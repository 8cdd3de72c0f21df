"""Judges the micro-batches of one pipeline version: the entry point to judging."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.config.rules.partition_limit import too_many_partitions
from tidemark.core.batch import LandedObject
from tidemark.core.batch_result import NEWEST, Occurrence, Outcome, PartitionReport, TableDigest
from tidemark.spark.columns import OBJECT, OWN
from tidemark.spark.judge import events, seen, substreams
from tidemark.spark.judge.empty_objects import without_rows
from tidemark.spark.judge.judge import failed_by_partitions
from tidemark.spark.judge.object_states import judged_objects, skipped_rows
from tidemark.spark.judge.plan_cache import prepared
from tidemark.spark.judge.planner import Builder
from tidemark.spark.judge.recovery import found_then
from tidemark.spark.judge.timer import Timer
from tidemark.spark.judge.unknown_columns import counted_again, of_files, unknown_columns
from tidemark.spark.micro_batch import MicroBatch
from tidemark.spark.punctuation import edges
from tidemark.spark.punctuation import state as marks
from tidemark.spark.read import unreadable as damage
from tidemark.spark.read.formats import look_at
from tidemark.spark.read.landed_rows import with_object, with_own_arrival
from tidemark.spark.read.unreadable import Damage
from tidemark.spark.tables import accounts, delta
from tidemark.spark.tables.delta import CommitRows
from tidemark.spark.tables.fate_counter import NOTHING, Counts, FateCounter


def _nothing(step: str) -> None:
    """Do nothing after a step: the default of `Engine.checkpoint`."""


@dataclass(frozen=True)
class Engine(Builder):
    """Judges micro-batches into the tables under `root`, the folder of one version.

    `checkpoint` is called with the name of each step that a crash may follow. `timings` sums up the seconds by phase.
    """

    checkpoint: Callable[[str], None] = _nothing
    timings: dict[str, float] = field(default_factory=dict)

    def judge(self, batch: MicroBatch, recovering: bool) -> Outcome:
        """Append the judged rows of a micro-batch, and the tables that follow from them, and return the outcome.

        With `recovering` (recovery after a crash), rows that the crashed attempt appended are kept and only read.
        """
        location = self.location(batch.events)
        counts: Counts | None = None
        if not (recovering and delta.holds(location, batch.number)):
            counts, found, written = self._write(batch)
            self.checkpoint("events")
        if counts is None:
            written = events.as_appended(self.spark, batch.source, location, batch.number)
            found = found_then(self.spark, batch, written.rows() if written.rows else None)
        rows = written.rows
        if rows is None:
            return self._without_rows(batch, found)
        with self.timed("accounts"):
            counted = counts or self.count(batch.source, rows(), batch.objects)
            outcome = self.report(batch, rows, counted, found)
            if counts is None:
                counted = counted_again(self.spark, batch, outcome.objects, counted)
        left, states = self.write_states(batch, rows, outcome.partitions, recovering)
        whole = replace(outcome, digests=(*outcome.digests, *states), left_open=left, recorded=written.number)
        return _with_content(batch.source, whole, counted)

    def recall(self, batch: MicroBatch, version: int = NEWEST) -> Outcome:
        """Return the outcome of a committed batch, computed from the events that it appended; writes nothing.

        `version` is the digest version of these events.
        """
        written = events.as_appended(self.spark, batch.source, self.location(batch.events), batch.number)
        rows = written.rows
        found = found_then(self.spark, batch, rows() if rows else None)
        if rows is None:
            return self._without_rows(batch, found)
        counts = self.count(batch.source, rows(), batch.objects, version)
        outcome = self.report(batch, rows, counts, found)
        outcome = _with_content(batch.source, outcome, counted_again(self.spark, batch, outcome.objects, counts))
        if not batch.source.lifetimes.edges:
            return outcome
        with self.edges_of(batch.source, batch.number, rows(), batch.objects) as lived:
            return replace(outcome, left_open=lived.left_open)

    def judged(self, table: str, first: int, last: int) -> DataFrame | None:
        """Rows of an events table that streams may take, of batches `first` to `last`; None without a table."""
        location = self.location(table)
        if not delta.exists(location):
            return None
        rows = self.spark.read.format("delta").load(location)
        return rows.where(F.col("_batch_id").between(first, last) & F.col("_system_timestamp").isNotNull())

    def report(self, batch: MicroBatch, rows: Callable[[], DataFrame], counts: Counts, found: Damage) -> Outcome:
        """Return the outcome of judged rows, whether written or only recomputed, from their counts."""
        source, opening = batch.source, batch.opening
        partitions = accounts.partitions_of(counts, source.name)
        if source.punctuated is not None:
            left = marks.marks_of(rows(), source.punctuated, source.lifetimes, opening)
            partitions = accounts.with_marks(partitions, left)
        late = self.landed_too_late(batch, partitions, rows)
        judged = judged_objects(batch.objects, accounts.files_of(counts), found)
        skipped = skipped_rows(self.spark, source, rows, judged, opening)
        return Outcome((counts.digest(batch.events),), partitions, judged, skipped, late)

    def landed_too_late(
        self, batch: MicroBatch, partitions: Collection[str], rows: Callable[[], DataFrame]
    ) -> dict[str, Occurrence]:
        """Count, by partition, event rows whose own arrival is before an estimated arrival that was used before the
        batch."""
        source, states = batch.source, batch.opening.states
        used = {name: states[name].estimated_high for name in partitions if name in states}
        limits = {name: high for name, high in used.items() if high is not None and source.policy.late is not None}
        if not limits:
            return {}
        return accounts.count_arrivals_before(
            with_own_arrival(self.spark, source, rows(), batch.objects), OWN, limits
        )

    def count(
        self, source: SourceSpec, rows: DataFrame, objects: Sequence[LandedObject], version: int = NEWEST
    ) -> Counts:
        """Count event rows of these objects as a write counts them."""
        tally = FateCounter(self.spark, source, [item.uri for item in objects], version)
        tally.counted(rows if OBJECT in rows.columns else with_object(self.spark, rows, objects)).count()
        return tally.counts()

    def edges_of(
        self, source: SourceSpec, batch_id: int, rows: DataFrame, objects: Sequence[LandedObject]
    ) -> AbstractContextManager[edges.KeptLifetimes]:
        """Context manager: the lifetimes that the edges among a batch's event rows end or open; valid until exit."""
        tasks = self._tasks(source, sum(item.size for item in objects))
        return edges.kept(str(self.root), source, rows, batch_id, tasks)

    def write_states(
        self,
        batch: MicroBatch,
        rows: Callable[[], DataFrame],
        partitions: Mapping[str, PartitionReport],
        recovering: bool,
    ) -> tuple[Mapping[str, Occurrence], tuple[TableDigest, ...]]:
        """Append what a batch's event rows change in the tables of substreams, keys and lifetimes. Returns, by
        partition, the dropped end edges whose lifetime stays open, and the digests of the tables."""
        kept = self._write_substreams(batch, rows, recovering)
        keys = self._write_seen(batch, rows, partitions, recovering)
        left, lived = self._write_lifetimes(batch, rows, recovering)
        return left, (*kept, *keys, *lived)

    def timed(self, phase: str) -> Timer:
        """Context manager: adds the seconds of a block to the seconds of a phase."""
        return Timer(self.timings, phase)

    def _without_rows(self, batch: MicroBatch, found: Damage) -> Outcome:
        judged = judged_objects(batch.objects, {}, found)
        skipped = skipped_rows(self.spark, batch.source, None, judged, batch.opening)
        return _with_content(batch.source, Outcome((), objects=judged, skipped=skipped), NOTHING)

    def _write(self, batch: MicroBatch) -> tuple[Counts | None, Damage, CommitRows]:
        named = [item for item in batch.objects if item.refusal is None]
        refused = {item.uri: item.refusal for item in batch.objects if item.refusal is not None}
        found = Damage(refused, damage.gone(named))
        try:
            counts, written = self._attempt(batch, found)
        except damage.SPARK_ERRORS as error:
            if failed_by_partitions(error):
                raise too_many_partitions(batch.source.name, batch.uris) from None
            missing = damage.gone(named)
            with self.timed("damage"):
                unreadable = damage.find_unreadable(
                    self.spark, batch.source, [item for item in named if item.uri not in missing]
                )
            if not unreadable and missing == found.gone:
                raise
            found = Damage(refused | unreadable, missing)
            counts, written = self._attempt(batch, found)
        return counts, found, written

    def _attempt(self, whole: MicroBatch, found: Damage) -> tuple[Counts | None, CommitRows]:
        batch = replace(whole, objects=[item for item in whole.objects if item.uri not in found.gone])
        if not batch.objects:
            return NOTHING, CommitRows(None, 0)
        sights = look_at(batch.source, [item for item in batch.objects if item.uri not in found.unreadable])
        shape, skewed = self._shape(batch, found.unreadable, sights), self._skewed_share(batch)
        with (
            self.timed("judge"),
            prepared(
                self.spark, shape, skewed, batch, lambda: self._planned(batch, found.unreadable, sights)
            ) as plan,
        ):
            location = self.location(batch.events)
            counts, written = events.write_events(plan.counted, plan.tally, batch.source, location, batch.number)
        return counts and of_files(counts, batch.objects, sights), written

    def _write_substreams(
        self, batch: MicroBatch, slice_: Callable[[], DataFrame], recovering: bool
    ) -> tuple[TableDigest, ...]:
        source, batch_id = batch.source, batch.number
        if not source.over or source.timestamp_by is None:
            return ()
        rows = substreams.changed(slice_(), source.name, batch_id, source.policy.disorder)
        location = self.location("substreams")
        with self.timed("substreams"):
            digest = substreams.write(self.spark, rows, location, source.name, batch_id, recovering)
        self.checkpoint("substreams")
        return (digest,)

    def _write_seen(
        self,
        batch: MicroBatch,
        slice_: Callable[[], DataFrame],
        partitions: Mapping[str, PartitionReport],
        recovering: bool,
    ) -> tuple[TableDigest, ...]:
        source, table = batch.source, seen.table_of(batch.source.name)
        if source.deduplicate is None:
            return ()
        rows = seen.changed(slice_(), source, batch.number, partitions)
        with self.timed("seen"):
            digest = seen.write(rows, self.location(table), source.name, batch.number, recovering)
        self.checkpoint("seen")
        return (digest,)

    def _write_lifetimes(
        self, batch: MicroBatch, slice_: Callable[[], DataFrame], recovering: bool
    ) -> tuple[Mapping[str, Occurrence], tuple[TableDigest, ...]]:
        if not batch.source.lifetimes.edges:
            return {}, ()
        with self.timed("lifetimes"), self.edges_of(batch.source, batch.number, slice_(), batch.objects) as found:
            digests = tuple(found.write(str(self.root), recovering, self.checkpoint))
        return found.left_open, digests


def _with_content(source: SourceSpec, outcome: Outcome, counted: Counts) -> Outcome:
    """Add the findings on the content of objects. If `start` skipped rows, an object may have none."""
    found = () if outcome.skipped else without_rows(source, outcome.objects)
    return replace(outcome, content=(*found, *unknown_columns(source, counted.unknown, outcome.objects)))
