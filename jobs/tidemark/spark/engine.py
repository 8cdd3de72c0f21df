"""Judges the micro-batches of one pipeline version: the Spark room's front door."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.config.crowds import crowded, most_after
from tidemark.core.account import Occurrence, Outcome, TableDigest
from tidemark.core.advance import Opening
from tidemark.core.batch import LandedObject
from tidemark.core.progress import SINGLE
from tidemark.places import Place
from tidemark.spark import accounts, damage, edges, events, marks, substreams, tables
from tidemark.spark.damage import Damage
from tidemark.spark.hot import cut_hot
from tidemark.spark.importing import ranges_of
from tidemark.spark.judge import judge, judge_punctuated, limited, stage, told_crowded
from tidemark.spark.landing import read_rows, uris, with_object, with_own_arrival
from tidemark.spark.layout import CELL_BITS, Layout, place, sampled_share
from tidemark.spark.names import OBJECT, OFFSET, OWN, ROW
from tidemark.spark.punctuation import stamped
from tidemark.spark.repair import found_then
from tidemark.spark.settled import settled_objects, skipped_rows
from tidemark.spark.sight import Sight, look_at
from tidemark.spark.tables import Written
from tidemark.spark.tally import NOTHING, Tally, Told
from tidemark.spark.timer import Timer


def _nothing(step: str) -> None:
    """No step is watched."""


_TASK_BYTES = 32 << 20
"""Of objects, per task: rows that wait in memory while they are judged are several times as large."""
_SMALL_BYTES = 16 << 20
"""What one task judges alone; of text, which holds few rows for its size, as much as a task takes."""
_COSTLY_TO_PARSE = ("json", "csv")
"""Formats whose rows are worth keeping when they are read more than once."""


@dataclass(frozen=True)
class Engine:
    """Judges under `root`, the folder of one version. `tasks` and `cell_bits` change no result; `reached`
    is called at each step that a crash may follow."""

    spark: SparkSession
    root: Place
    tasks: int | None = None
    cell_bits: int = CELL_BITS
    reached: Callable[[str], None] = _nothing
    timings: dict[str, float] = field(default_factory=dict)

    def place(self, table: str) -> str:
        return str(self.root / table)

    def judge(
        self,
        source: SourceSpec,
        batch_id: int,
        objects: Sequence[LandedObject],
        opening: Opening,
        repairing: bool,
    ) -> Outcome:
        """Append the judged rows of `objects` and tell what became of them.

        When `repairing`, what a crashed attempt has already appended stands and is only read.
        """
        place = self.place(f"events/{source.name}")
        told: Told | None = None
        if not (repairing and tables.holds(place, batch_id)):
            told, found, written = self._write(source, batch_id, objects, opening)
            self.reached("events")
        if told is None:
            written = events.as_appended(self.spark, source, place, batch_id)
            found = found_then(self.spark, source, objects, opening, written.rows)
        rows = written.rows
        if rows is None:
            settled = settled_objects(objects, {}, found)
            skipped = skipped_rows(self.spark, source, rows, settled, opening)
            return Outcome((), objects=settled, skipped=skipped)
        with self._timed("accounts"):
            told = told or self.count(source, rows, objects)
            outcome = self.report(source, rows, told, objects, opening, found)
        kept = self._write_substreams(source, batch_id, rows, repairing)
        left, lived = self._write_lifetimes(source, batch_id, rows, objects, repairing)
        digests = (*outcome.digests, *kept, *lived)
        return replace(outcome, digests=digests, left_open=left, recorded=written.number)

    def judged(self, table: str, first: int, last: int) -> DataFrame | None:
        """The rows of an events table that batches first..last brought and that streams may take."""
        place = self.place(table)
        if not tables.exists(place):
            return None
        rows = self.spark.read.format("delta").load(place)
        return rows.where(F.col("_batch_id").between(first, last) & F.col("_system_timestamp").isNotNull())

    def report(
        self,
        source: SourceSpec,
        rows: DataFrame,
        told: Told,
        objects: Sequence[LandedObject],
        opening: Opening,
        found: Damage,
    ) -> Outcome:
        """Counts and findings of judged rows, whether written or only recomputed, and `told` of them."""
        partitions = accounts.partitions_of(told, source.name)
        if source.punctuated is not None:
            left = marks.marks_of(rows, source.punctuated, source.lifetimes, opening)
            partitions = accounts.with_marks(partitions, left)
        limits = {
            name: state.estimated_high
            for name, state in opening.states.items()
            if name in partitions and state.estimated_high is not None and source.policy.late is not None
        }
        late = {}
        if limits:
            arrived = with_own_arrival(self.spark, source, rows, objects)
            late = accounts.count_arrivals_before(arrived, OWN, limits)
        settled = settled_objects(objects, accounts.files_of(told), found)
        skipped = skipped_rows(self.spark, source, rows, settled, opening)
        return Outcome((told.digest(f"events/{source.name}"),), partitions, settled, skipped, late)

    def count(self, source: SourceSpec, rows: DataFrame, objects: Sequence[LandedObject]) -> Told:
        """What became of event rows of these objects, as it is counted where they are written."""
        tally = Tally(self.spark, source, [item.uri for item in objects])
        tally.counted(rows if OBJECT in rows.columns else with_object(self.spark, rows, objects)).count()
        return tally.told()

    def rejudge(
        self,
        source: SourceSpec,
        batch_id: int,
        rows: DataFrame,
        objects: Sequence[LandedObject],
        opening: Opening,
        from_events: bool = False,
        sample: DataFrame | None = None,
    ) -> DataFrame:
        """Event rows of a batch with the numbers of their objects, computed again and written nowhere; keys'
        watermarks come from the rows that set them. Rows `from_events` come in any order and stand at their offsets
        already: others, which they followed, may be missing. A `sample` of the rows spares reading all of them to
        find their layout."""
        recorded = None
        place = self.place(f"events/{source.name}")
        if source.over and source.timestamp_by and tables.exists(place):
            whole = self.spark.read.format("delta").load(place)
            floors = {name: state.floor for name, state in opening.states.items()}
            recorded = substreams.recomputed(whole, batch_id, source.policy.disorder, floors)
        size = sum(item.size for item in objects)
        layout, staged = self._staged(source, rows, opening, size, sample, scattered=from_events)
        staged = staged.withColumn(OFFSET, F.col(ROW)) if from_events else staged
        named = uris(self.spark, objects, batch_id)
        return events.event_rows(self._judged(source, batch_id, staged, recorded, opening, layout), source, named)

    def _judged(
        self,
        source: SourceSpec,
        batch_id: int,
        staged: DataFrame,
        recorded: DataFrame | None,
        opening: Opening,
        layout: Layout,
    ) -> DataFrame:
        """Staged rows with what their fate follows from; `recorded` holds the watermarks of substreams."""
        if source.punctuated is None:
            return judge(staged, source, recorded, layout)
        rows = stamped(judge_punctuated(staged, opening, str(self.root), layout), source.punctuated)
        if not source.lifetimes.edges:
            return rows
        return edges.with_pairs(str(self.root), source, rows, batch_id, layout.tasks)

    def edges_of(
        self, source: SourceSpec, batch_id: int, rows: DataFrame, objects: Sequence[LandedObject]
    ) -> AbstractContextManager[edges.Kept]:
        """What the edges among event rows of a batch leave, good until it is closed."""
        tasks = self._tasks(source, sum(item.size for item in objects))
        return edges.kept(str(self.root), source, rows, batch_id, tasks)

    def _write(
        self, source: SourceSpec, batch_id: int, objects: Sequence[LandedObject], opening: Opening
    ) -> tuple[Told | None, Damage, Written]:
        refused = {item.uri: item.refusal for item in objects if item.refusal is not None}
        found = Damage(refused, damage.gone([item for item in objects if item.refusal is None]))
        try:
            told, written = self._attempt(source, batch_id, objects, opening, found)
        except damage.SPARK_ERRORS as error:
            if told_crowded(error):
                raise crowded(source.name, [item.uri for item in objects]) from None
            named = [item for item in objects if item.refusal is None]
            missing = damage.gone(named)
            with self._timed("damage"):
                unreadable = damage.find_unreadable(
                    self.spark, source, [item for item in named if item.uri not in missing]
                )
            if not unreadable and missing == found.gone:
                raise
            found = Damage(refused | unreadable, missing)
            told, written = self._attempt(source, batch_id, objects, opening, found)
        return told, found, written

    def _attempt(
        self,
        source: SourceSpec,
        batch_id: int,
        objects: Sequence[LandedObject],
        opening: Opening,
        found: Damage,
    ) -> tuple[Told | None, Written]:
        left = [item for item in objects if item.uri not in found.gone]
        if not left:
            return NOTHING, Written(None, 0)
        recorded = None
        if source.over and source.timestamp_by:
            floors = {name: state.floor for name, state in opening.states.items()}
            recorded = substreams.recorded(self.spark, self.place("substreams"), source.name, batch_id, floors)
        sights = look_at(source, [item for item in left if item.uri not in found.unreadable])
        rows = self._read(source, left, found.unreadable, 1.0, sights)
        with self._timed("judge"):
            size = sum(item.size for item in left)
            share = sampled_share(source, size, opening)
            sample = None if share is None else self._read(source, left, found.unreadable, share, sights)
            try:
                layout, staged = self._staged(source, rows, opening, size, sample, keep=True)
                staged = limited(staged, most_after(), layout.tasks)
                named = uris(self.spark, left, batch_id)
                found_ = self._judged(source, batch_id, staged, recorded, opening, layout)
                judged = events.event_rows(found_, source, named)
                tally = Tally(self.spark, source, [item.uri for item in left])
                return events.write_events(judged, tally, source, self.place(f"events/{source.name}"), batch_id)
            finally:
                rows.unpersist()

    def _read(
        self,
        source: SourceSpec,
        objects: Sequence[LandedObject],
        damaged: Mapping[str, str],
        share: float,
        sights: Mapping[str, Sight],
    ) -> DataFrame:
        return read_rows(self.spark, source, objects, damaged, share, sights)

    def _staged(
        self,
        source: SourceSpec,
        rows: DataFrame,
        opening: Opening,
        size: int,
        sample: DataFrame | None = None,
        keep: bool = False,
        scattered: bool = False,
    ) -> tuple[Layout, DataFrame]:
        """The layout, found from a `sample` of the rows if there is one, and the staged rows. `keep` rows that
        are read more than once and cost much to parse; the caller lets go of them. `scattered` rows do not come in
        their order."""
        layout = Layout(self._tasks(source, size), self.cell_bits)
        self.spark.conf.set("spark.sql.shuffle.partitions", str(layout.tasks))
        if layout.tasks > 1 and source.partition is not None:
            cores = self.tasks or self.spark.sparkContext.defaultParallelism
            layout = place(rows if sample is None else sample, layout, cores)
        elif layout.tasks > 1:
            layout = replace(layout, hot=(SINGLE,))
        if layout.hot:
            if keep and source.format in _COSTLY_TO_PARSE:
                rows.persist()
            layout = cut_hot(rows, source, opening, layout, scattered)
        if opening.imported is not None:
            looked, share = (rows, 1.0) if sample is None else (sample, sampled_share(source, size, opening) or 1.0)
            found = ranges_of(looked, share, opening.imported, str(self.root), layout.tasks)
            layout = replace(layout, ranges=found)
        return layout, stage(rows, source, opening, layout)

    def _tasks(self, source: SourceSpec, size: int) -> int:
        if self.tasks is not None:
            return self.tasks
        if size <= (_TASK_BYTES if source.format in _COSTLY_TO_PARSE else _SMALL_BYTES):
            return 1
        return max(self.spark.sparkContext.defaultParallelism, math.ceil(size / _TASK_BYTES))

    def _write_substreams(
        self, source: SourceSpec, batch_id: int, slice_: DataFrame, repairing: bool
    ) -> tuple[TableDigest, ...]:
        if not source.over or source.timestamp_by is None:
            return ()
        rows = substreams.changed(slice_, source.name, batch_id, source.policy.disorder)
        place = self.place("substreams")
        with self._timed("substreams"):
            digest = substreams.write(self.spark, rows, place, source.name, batch_id, repairing)
        self.reached("substreams")
        return (digest,)

    def _write_lifetimes(
        self,
        source: SourceSpec,
        batch_id: int,
        slice_: DataFrame,
        objects: Sequence[LandedObject],
        repairing: bool,
    ) -> tuple[Mapping[str, Occurrence], tuple[TableDigest, ...]]:
        if not source.lifetimes.edges:
            return {}, ()
        with self._timed("lifetimes"), self.edges_of(source, batch_id, slice_, objects) as found:
            digests = tuple(found.write(str(self.root), repairing, self.reached))
        return found.left_open, digests

    def _timed(self, phase: str) -> Timer:
        return Timer(self.timings, phase)
