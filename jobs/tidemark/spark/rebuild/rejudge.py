"""Judges recorded micro-batches again, from the events of one version into the tables of another.

The events tables have every input row, whatever its fate. Only rows of a slice of arrivals are read, from the files
of the slice's days. Numbers and arrivals of the rows left out come from recorded states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.core.advance import States
from tidemark.core.backfill.ranges import JudgedRows, Range, ReadRange
from tidemark.core.batch import LandedObject, ObjectState
from tidemark.core.batch_result import Outcome
from tidemark.core.times import DAY
from tidemark.core.watermarks import Seen
from tidemark.spark.judge import events
from tidemark.spark.judge.engine import Engine
from tidemark.spark.micro_batch import MicroBatch
from tidemark.spark.punctuation import state as marks
from tidemark.spark.read.excluded import without_events
from tidemark.spark.read.landed_rows import rows_of_events
from tidemark.spark.rebuild.comparison import in_range
from tidemark.spark.tables import accounts, delta
from tidemark.spark.tables.delta import CommitRows, quoted
from tidemark.spark.tables.fate_counter import NOTHING, Counts, FateCounter
from tidemark.storage import Location


@dataclass(frozen=True)
class SliceEngine:
    """Judges rows of the version at `base` again; `engine` writes into the tables of another version. `states`
    returns the base's recorded states before a batch. `reads` has the arrivals to read by source; all rows of other
    sources are read."""

    engine: Engine
    base: Location
    states: Callable[[int], States]
    reads: Mapping[str, ReadRange]

    @property
    def timings(self) -> dict[str, float]:
        """Seconds by phase."""
        return self.engine.timings

    def judge(self, batch: MicroBatch, recovering: bool) -> Outcome:
        """Append the rows of a batch, judged again, and return their outcome."""
        source, batch_id, objects = batch.source, batch.number, batch.objects
        part = replace(batch, opening=replace(batch.opening, read_from=None), objects=_taken(objects))
        location = self.engine.location(batch.events)
        counts: Counts | None = None
        if recovering and delta.holds(location, batch_id):
            written = events.as_appended(self.engine.spark, source, location, batch_id)
        else:
            counts, written = self._rejudged(part)
            self.engine.checkpoint("events")
        if written.rows is None:
            return Outcome(objects=tuple(objects), skipped=self._left_out(source, batch_id, {}))
        counts = counts or self.engine.count(source, written.rows(), part.objects)
        found = accounts.partitions_of(counts, source.name)
        if source.punctuated is not None:
            left = marks.marks_of(written.rows(), source.punctuated, source.lifetimes, part.opening)
            found = accounts.with_marks(found, left)
        rows = {name: report.seen.rows for name, report in found.items()}
        skipped = self._left_out(source, batch_id, rows)
        late = self.engine.landed_too_late(part, found, written.rows)
        left_open, states = self.engine.write_states(part, written.rows, found, recovering)
        digests = (counts.digest(batch.events), *states)
        return Outcome(digests, found, tuple(objects), skipped, late, left_open, recorded=written.number)

    def judged(self, table: str, first: int, last: int) -> DataFrame | None:
        """Rows of an events table that streams may take, as the engine has written them."""
        return self.engine.judged(table, first, last)

    def _rejudged(self, batch: MicroBatch) -> tuple[Counts | None, CommitRows]:
        source, batch_id, objects = batch.source, batch.number, batch.objects
        rows = self.recorded(source, batch_id, batch_id)
        if not objects or rows is None or rows.isEmpty():
            return NOTHING, CommitRows(None, 0)
        engine = self.engine
        if source.name in engine.excluded:
            rows = without_events(rows, source, engine.excluded[source.name])
        again = rows_of_events(engine.spark, source, rows, objects)
        with engine.timed("judge"):
            judged = engine.rejudge(batch, again, from_events=True)
            tally = FateCounter(engine.spark, source, batch.uris)
            counted = tally.counted(judged)
            return events.write_events(counted, tally, source, engine.location(batch.events), batch_id)

    def recorded(self, source: SourceSpec, first: int, last: int) -> DataFrame | None:
        """Rows of batches first..last in the base that belong to the slice, with the columns that the source
        declares; None if the base has no such table."""
        location = str(self.base / f"events/{source.name}")
        if not delta.exists(location):
            return None
        whole = (
            self.engine.spark.read.format("delta")
            .load(location)
            .where(within(self.reads.get(source.name, ReadRange())))
        )
        payload = [column.name for column in source.columns]
        fixed = [name for name in whole.columns if name.startswith("_") and name not in payload]
        mine = whole.where(F.col("_batch_id").between(first, last))
        return mine.select(*map(quoted, [*fixed, *payload]))

    def _left_out(self, source: SourceSpec, batch_id: int, read: Mapping[str, int]) -> dict[str, Seen]:
        """By partition, the number and last arrival of the batch's rows that are not read, from recorded states."""
        before, after = self.states(batch_id), self.states(batch_id + 1)
        found = {}
        for (name, partition), state in after.items():
            earlier = before.get((name, partition))
            number = state.next_offset - (earlier.next_offset if earlier else 0) - read.get(partition, 0)
            if name == source.name and number:
                found[partition] = Seen(number, state.last_arrival, None)
        return found


def judged_in(spark: SparkSession, version: Location, sources: Iterable[str], asked: Range) -> dict[str, JudgedRows]:
    """By source, the rows of a version's events tables with a time in the range; sources without such rows are left
    out."""
    arrival, found = F.unix_micros("_arrival_time"), {}
    for name in sources:
        location = str(version / f"events/{name}")
        if delta.exists(location):
            rows = spark.read.format("delta").load(location).where(in_range(F.col("_system_timestamp"), asked))
            (bounds,) = rows.agg(F.min(arrival), F.max(arrival), F.max("_batch_id")).collect()
            if bounds[0] is not None:
                found[name] = JudgedRows(*bounds)
    return found


def within(reading: ReadRange) -> Column:
    """True if an event row is to be read. The day column is compared, too, so that files of other days are
    skipped."""
    arrival, day = F.col("_arrival_time"), F.col(events.PARTITION_COLUMN)
    wanted = F.lit(True)
    if reading.begin is not None:
        wanted = wanted & (day >= _day(reading.begin)) & (arrival >= F.timestamp_micros(F.lit(reading.begin)))
    if reading.end is not None:
        wanted = wanted & (day <= _day(reading.end - 1)) & (arrival < F.timestamp_micros(F.lit(reading.end)))
    return wanted


def _day(micros: int) -> Column:
    return F.date_from_unix_date(F.lit(micros // DAY))


def _taken(objects: Sequence[LandedObject]) -> list[LandedObject]:
    return [item for item in objects if item.state is not ObjectState.VANISHED]
