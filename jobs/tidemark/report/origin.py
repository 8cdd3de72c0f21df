"""What put a watermark or an arrival in force: an earlier row, the end of a run, or a late start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

import pyarrow.compute as pc
from pyarrow.dataset import Dataset

from tidemark.core.account import BatchRecord
from tidemark.core.policy import Policy
from tidemark.core.progress import MIN_TIME, UNKNOWN, PartitionState
from tidemark.core.punctuation import POINT, Punctuation, Shape
from tidemark.core.times import MAX_TIME
from tidemark.report.events import EventRow, instant, read_row
from tidemark.report.scan import between, first_offset
from tidemark.report.wording import iso


class Recorded(Protocol):
    """What the ledger knows of runs."""

    def states(self, source: str, partition: str) -> Sequence[tuple[int, PartitionState]]:
        """The recorded states of one partition with their batches, in the order of batches."""
        ...

    def batch(self, batch_id: int) -> BatchRecord | None:
        """A recorded batch; None where there is none."""
        ...

    def landed(self, source: str, uri: str) -> int | None:
        """The landing time of an object that was taken; None where it is not known."""
        ...

    def why_excluded(self, source: str, uri: str) -> str | None:
        """What was said of an object that was taken out; None where nothing was."""
        ...


@dataclass(frozen=True)
class SourceFacts:
    """What of a source's declaration a row's story needs; `arrival_time` is its column or expression,
    `partitions` are the declared ones. A `punctuation` stands in the place of the policy."""

    name: str
    policy: Policy
    timestamp_by: str | None
    arrival_time: str | None
    landing_delay: int = 0
    over: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    punctuation: Punctuation | None = None
    shape: Shape = POINT

    @property
    def substreams(self) -> bool:
        return bool(self.over) and self.timestamp_by is not None


class Kind(StrEnum):
    ROW = "row"
    FLOOR = "floor"
    LATE_START = "late_start"
    IMPORTED = "imported"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Origin:
    """What set a watermark: the row, or the batch that ended the run (with the partition's state then)."""

    kind: Kind
    watermark: int
    row: EventRow | None = None
    batch_id: int | None = None
    as_of: int | None = None
    state: PartitionState | None = None

    def record(self) -> dict[str, Any]:
        found: dict[str, Any] = {"kind": self.kind.value, "watermark": iso(self.watermark)}
        if self.row is not None:
            full = self.row.record()
            names = ("offset", "batch_id", "file", "event_time", "arrival_time", "system_timestamp", "substream")
            return found | {name: full[name] for name in names}
        if self.batch_id is not None:
            found |= {"batch_id": self.batch_id, "as_of": iso(self.as_of)}
        if self.state is not None:
            found |= {
                "last_arrival": iso(self.state.last_arrival),
                "estimated_arrival": iso(self.state.estimated_arrival),
                "last_seen": iso(self.state.last_seen),
                "idle": self.state.idle,
            }
        return found


@dataclass(frozen=True)
class Past:
    """The log and the ledger before one row."""

    events: Dataset
    facts: SourceFacts
    recorded: Recorded
    row: EventRow
    states: Sequence[tuple[int, PartitionState]]

    @classmethod
    def of(cls, events: Dataset, facts: SourceFacts, recorded: Recorded, row: EventRow) -> Past:
        return cls(events, facts, recorded, row, recorded.states(facts.name, row.partition))

    @property
    def key(self) -> tuple[str | None] | None:
        """The row's substream; None when the partition is the key."""
        return (self.row.substream,) if self.facts.substreams else None

    def earlier(self) -> pc.Expression:
        """Rows of the partition before this one."""
        return (pc.field("_partition") == self.row.partition) & (pc.field("_offset") < self.row.offset)

    def floors(self) -> list[tuple[int, PartitionState]]:
        """States recorded before the row's batch; their floors were in force for it."""
        return [(batch, state) for batch, state in self.states if batch < self.row.batch_id]

    def late_start(self) -> tuple[int, BatchRecord] | None:
        """The combined watermark at which an undeclared partition started, and the batch that left it."""
        name = self.row.partition
        if not self.states or name in self.facts.partitions or name == UNKNOWN:
            return None
        first = self.recorded.batch(self.states[0][0])
        before = first and self.recorded.batch(first.run_first - 1)
        combined = before.combined.get(self.facts.name) if before else None
        if before is None or combined is None or combined.watermark is None:
            return None
        return combined.watermark, before


def origin_of_watermark(past: Past) -> Origin | None:
    """What set the watermark in force before the row: whatever reached it first. None without one."""
    watermark = past.row.watermark
    if watermark is None:
        return None
    start = past.late_start()
    if start is not None and start[0] == watermark:
        return Origin(Kind.LATE_START, watermark, batch_id=start[1].batch_id, as_of=start[1].as_of)
    row = _row_that_reached(past, watermark)
    floor = next(((batch, state) for batch, state in past.floors() if state.floor == watermark), None)
    if row is not None and (floor is None or row.batch_id <= floor[0]):
        return Origin(Kind.ROW, watermark, row=row)
    if floor is None:
        return Origin(Kind.UNKNOWN, watermark)
    record = past.recorded.batch(floor[0])
    as_of = record.as_of if record else None
    return Origin(Kind.FLOOR, watermark, batch_id=floor[0], as_of=as_of, state=floor[1])


def row_of_arrival(past: Past) -> EventRow | None:
    """The first earlier row of the partition that has the arrival in force for this one."""
    arrival = past.row.arrival_time
    if arrival is None:
        return None
    where = past.earlier() & (pc.field("_arrival_time") == instant(arrival))
    return _at(past, first_offset(past.events, where, None))


def _row_that_reached(past: Past, watermark: int) -> EventRow | None:
    time = watermark + past.facts.policy.disorder
    low = MIN_TIME if watermark == MIN_TIME else time
    if low > MAX_TIME:
        return None
    where = past.earlier() & pc.field("_system_timestamp").is_valid()
    reached = between("_system_timestamp", low, time)
    return _at(past, first_offset(past.events, where if reached is None else where & reached, past.key))


def _at(past: Past, offset: int | None) -> EventRow | None:
    return None if offset is None else read_row(past.facts.name, past.events, past.row.partition, offset)
