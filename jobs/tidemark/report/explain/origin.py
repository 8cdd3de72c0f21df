"""The cause of a watermark or an arrival: an earlier row, the end of a run, or a late start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

import pyarrow.compute as pc
from pyarrow.dataset import Dataset

from tidemark.core.batch_result import BatchRecord
from tidemark.core.policy import Policy
from tidemark.core.punctuation import POINT, Punctuation, Shape
from tidemark.core.times import MAX_TIME
from tidemark.core.watermarks import MIN_TIME, UNKNOWN, PartitionState
from tidemark.records.rows import OriginRecord
from tidemark.report.events import EventRow, instant, read_row
from tidemark.report.explain.history import TIMED, TIMES, PolicyHistory, Span, may_be_staged, staged, staged_sql
from tidemark.report.scan import UNREPEATED, Condition, both, first_offset, single, sql, stream
from tidemark.report.words import iso


class RunLookup(Protocol):
    """Read access to the ledger's records of runs."""

    def states(self, source: str, partition: str) -> Sequence[tuple[int, PartitionState]]:
        """Return the recorded states of one partition with their batches, in the order of batches."""
        ...

    def batch(self, batch_id: int) -> BatchRecord | None:
        """Return a recorded batch, or None."""
        ...

    def before(self, first: int) -> BatchRecord | None:
        """Return the last batch before a run whose first batch is `first`, without abandoned ones; or None."""
        ...

    def landed(self, source: str, uri: str) -> int | None:
        """Return the landing time of an object that was taken; None if it is not recorded."""
        ...

    def why_excluded(self, source: str, uri: str) -> str | None:
        """Return the reason given for excluding an object; None if none was given."""
        ...


@dataclass(frozen=True)
class SourceFacts:
    """The parts of a source's declaration that explain a row, as they were when the row was judged.

    `arrival_time` is a column or an expression. `partitions` are the declared ones. A `punctuation` replaces the
    policy. `before` holds the policies that judged earlier rows, if they differ. `require`: requirements by name.
    `duplicates`: columns by which rows are duplicates, and for how long, microseconds. Texts may contain values from
    the environment: they are hidden where they are shown.
    """

    name: str
    policy: Policy
    timestamp_by: str | None
    arrival_time: str | None
    landing_delay: int = 0
    over: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    punctuation: Punctuation | None = None
    shape: Shape = POINT
    before: PolicyHistory | None = None
    require: Mapping[str, str] = field(default_factory=dict)
    duplicates: tuple[tuple[str, ...], int] | None = None

    @property
    def history(self) -> PolicyHistory:
        """The policies up to the row."""
        return self.before or PolicyHistory(((0, self.policy),))

    @property
    def substreams(self) -> bool:
        return bool(self.over) and self.timestamp_by is not None


class OriginKind(StrEnum):
    ROW = "row"
    FLOOR = "floor"
    LATE_START = "late_start"
    IMPORTED = "imported"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Origin:
    """The cause of a watermark: a row, or the batch that ended a run (with the partition's state at that time).
    `policy` was in effect. `time` is the row's time after the early and late steps."""

    kind: OriginKind
    watermark: int
    row: EventRow | None = None
    batch_id: int | None = None
    as_of: int | None = None
    state: PartitionState | None = None
    policy: Policy | None = None
    time: int | None = None

    def record(self) -> OriginRecord:
        found: OriginRecord = {"kind": self.kind.value, "watermark": iso(self.watermark)}
        if self.row is not None:
            found["offset"], found["batch_id"], found["file"] = self.row.offset, self.row.batch_id, self.row.file
            found["event_time"] = iso(self.row.event_time)
            found["arrival_time"] = iso(self.row.arrival_time)
            found["system_timestamp"] = iso(self.row.system_timestamp)
            found["substream"] = self.row.substream
            return found
        if self.batch_id is not None:
            found["batch_id"], found["as_of"] = self.batch_id, iso(self.as_of)
        if self.state is not None:
            found["last_arrival"] = iso(self.state.last_arrival)
            found["estimated_arrival"] = iso(self.state.estimated_arrival)
            found["last_seen"] = iso(self.state.last_seen)
            found["idle"] = self.state.idle
        return found


@dataclass(frozen=True)
class Past:
    """The log and the ledger before one row."""

    events: Dataset
    facts: SourceFacts
    recorded: RunLookup
    row: EventRow
    states: Sequence[tuple[int, PartitionState]]

    @classmethod
    def of(cls, events: Dataset, facts: SourceFacts, recorded: RunLookup, row: EventRow) -> Past:
        return cls(events, facts, recorded, row, recorded.states(facts.name, row.partition))

    @property
    def key(self) -> tuple[str | None] | None:
        """The row's substream; None if the partition as a whole has one watermark."""
        return (self.row.substream,) if self.facts.substreams else None

    def earlier(self) -> pc.Expression:
        """Return a condition for the rows of the partition before this one."""
        return (pc.field("_partition") == self.row.partition) & (pc.field("_offset") < self.row.offset)

    def floors(self) -> list[tuple[int, PartitionState]]:
        """Return the states recorded before the row's batch; their floors were in force for it."""
        return [(batch, state) for batch, state in self.states if batch < self.row.batch_id]

    @property
    def started_unknown(self) -> bool:
        """True if the partition may have started late at a combined watermark that is not recorded."""
        return self.facts.history.apart and self._starts_late()

    def late_start(self) -> tuple[int, BatchRecord] | None:
        """Return the combined watermark at which an undeclared partition started, and the batch that recorded it."""
        if not self._starts_late() or self.facts.history.apart:
            return None
        first = self.recorded.batch(self.states[0][0])
        before = first and self.recorded.before(first.run_first)
        combined = before.combined.get(self.facts.name) if before else None
        if before is None or combined is None or combined.watermark is None:
            return None
        return combined.watermark, before

    def _starts_late(self) -> bool:
        name = self.row.partition
        if not self.states or name in self.facts.partitions or name == UNKNOWN:
            return False
        return self.states[0][0] >= self.facts.history.rebased


def origin_of_watermark(past: Past) -> Origin | None:
    """Return the cause of the watermark in force before the row: whatever reached it first; None without one."""
    watermark, history = past.row.watermark, past.facts.history
    if watermark is None:
        return None
    start = past.late_start()
    if start is not None and start[0] == watermark:
        return Origin(OriginKind.LATE_START, watermark, batch_id=start[1].batch_id, as_of=start[1].as_of)
    row = _row_that_reached(past, watermark)
    floor = next(((batch, state) for batch, state in past.floors() if history.floor(batch, state) == watermark), None)
    if row is not None and row.row is not None and (floor is None or row.row.batch_id <= floor[0]):
        return Origin(OriginKind.UNKNOWN, watermark) if past.started_unknown and _was_so(past, row.row) else row
    if floor is None or past.started_unknown:
        return Origin(OriginKind.UNKNOWN, watermark)
    record = past.recorded.batch(floor[0])
    as_of = record.as_of if record else None
    return Origin(
        OriginKind.FLOOR, watermark, batch_id=floor[0], as_of=as_of, state=floor[1], policy=history.at(floor[0])
    )


def row_of_arrival(past: Past) -> EventRow | None:
    """Return the first earlier row of the partition whose arrival is in force for this one."""
    arrival = past.row.arrival_time
    if arrival is None:
        return None
    where = past.earlier() & (pc.field("_arrival_time") == instant(arrival))
    return _at(past, first_offset(past.events, where, None))


def _row_that_reached(past: Past, watermark: int) -> Origin | None:
    """Find the first row that moved the watermark to `watermark`, which is the row's time after the early and late
    steps less `disorder` of the policy that judged it."""
    found = [_reached(past, watermark, span) for span in past.facts.history.spans()]
    return next((each for each in found if each is not None), None)


def _reached(past: Past, watermark: int, span: Span) -> Origin | None:
    first, end, policy = span
    time = watermark + policy.disorder
    if time > MAX_TIME and watermark != MIN_TIME:
        return None
    least = watermark == MIN_TIME
    where = past.earlier() & (pc.field("_disposition") != "quarantined") & (pc.field("_batch_id") >= first)
    if end is not None:
        where &= pc.field("_batch_id") < end
    offset = _first(past, where if least else both(where, may_be_staged(policy, time)), policy, time, least=least)
    row = _at(past, offset)
    if row is None or row.event_time is None or row.arrival_time is None:
        return None
    left = staged(policy, row.event_time, row.arrival_time, row.end_time)
    return Origin(OriginKind.ROW, watermark, row=row, policy=policy, time=left)


def _first(past: Past, where: Condition, policy: Policy, time: int, *, least: bool) -> int | None:
    """Return the smallest offset in the row's partition or substream that fulfils `where` and has `time` after the
    early and late steps (`least`: `time` or earlier)."""
    columns = ["_offset", *TIMES, "_reasons", *(["_substream"] if past.key else [])]
    key = "AND _substream IS NOT DISTINCT FROM ?" if past.key else ""
    with sql() as connection:
        connection.register("earlier", stream(past.events, columns, where))
        reached = f"{UNREPEATED} AND {staged_sql(policy)} {'<=' if least else '='} {time}"
        return single(connection, f"SELECT min(_offset) FROM {TIMED} WHERE {reached} {key}", past.key or ())  # noqa: S608


def _was_so(past: Past, row: EventRow) -> bool:
    """True if the watermark of `past` was in force already before `row`, so that `row` did not set it."""
    where = past.earlier() & (pc.field("_offset") <= row.offset)
    was = where & (pc.field("_watermark") == instant(past.row.watermark or 0))
    return first_offset(past.events, was, None) is not None


def _at(past: Past, offset: int | None) -> EventRow | None:
    return None if offset is None else read_row(past.facts.name, past.events, past.row.partition, offset)
