"""Kinds of windows: of fixed size (tumbling, hopping), and data-driven ones (session, snapshot, sliding), which have
their bounds from rows (time rules: windows). All times and durations are microseconds.

In data-driven windows a row takes part from its start on, or from its own watermark less the allowed lateness,
whichever is later. If the step is ahead of the watermarks of rows, it takes part from what the step had *passed* when
the row came. So no row of a later run reaches back beyond what is *settled*, the step's watermark less the allowed
lateness: windows that end by then are final, and all others are open.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from tidemark.core.watermarks import idle_limit


@dataclass(frozen=True)
class FixedWindows:
    """Windows [n * hop + offset, n * hop + offset + size) for every integer n. `partition_by`: None, `partition` or
    `substream`."""

    size: int
    hop: int
    offset: int = 0
    lateness: int = 0
    idle_timeout: int | None = None
    partition_by: str | None = None

    def reach(self, _: int) -> int:
        """Time before the end of a window in which rows can decide about it."""
        return self.size

    def lives(self, _: int) -> int:
        """The longest lifetime of a window."""
        return self.size

    def first_open(self, reached: int) -> int:
        """Number of the earliest window that is not closed at a watermark."""
        return (reached - self.lateness - self.size - self.offset) // self.hop + 1

    def start(self, number: int) -> int:
        return number * self.hop + self.offset

    def pulled_back(self, reached: int | None) -> int | None:
        """The watermark of the windows' stream: no window that starts before it is still open."""
        return None if reached is None else min(reached, self.start(self.first_open(reached)))

    def closes_between(self, before: int | None, after: int | None, complete: bool) -> bool:
        """True if a window closes while the watermark goes from `before` to `after`."""
        if complete:
            return True
        return after is not None and (before is None or self.first_open(after) > self.first_open(before))

    def idle_bound(self, as_of: int, last_row: int | None) -> int | None:
        """The latest window end that a step without rows for its idle_timeout counts as passed; None if it is not
        idle."""
        limit = idle_limit(self.idle_timeout, as_of, last_row)
        if limit is None:
            return None
        return (limit - self.offset - self.size) // self.hop * self.hop + self.offset + self.size


class _DataDriven(ABC):
    """Windows whose bounds come from rows."""

    lateness: int

    @abstractmethod
    def reach(self, life: int) -> int:
        """Time before the end of a window in which rows can decide about it; `life` is the longest lifetime of a
        row."""

    @abstractmethod
    def lives(self, life: int) -> int:
        """The longest lifetime of a window."""

    def settled(self, reached: int | None) -> int | None:
        """The time by which windows are final at a watermark: a window closes when it ends at this time or before."""
        return None if reached is None else reached - self.lateness

    def begun(self, reached: int | None, life: int) -> int | None:
        """A time before which no open window, and no row of one, starts; for use when rows are not looked up."""
        return None if reached is None else reached - self.lateness - self.reach(life) - life


@dataclass(frozen=True)
class SessionWindows(_DataDriven):
    """Windows of rows one after the other, until none has come for `gap` or `max_duration` is over. `partition_by`:
    None, `partition` or `substream`."""

    gap: int
    max_duration: int
    lateness: int = 0
    idle_timeout: int | None = None
    partition_by: str | None = None

    def reach(self, _: int) -> int:
        return self.max_duration + self.gap

    def lives(self, _: int) -> int:
        return self.max_duration


@dataclass(frozen=True)
class SnapshotWindows(_DataDriven):
    """Windows between successive starts and ends of rows; with `size`, of rows that live so long from their start
    (sliding)."""

    size: int | None = None
    lateness: int = 0
    idle_timeout: int | None = None
    partition_by: str | None = None

    def reach(self, life: int) -> int:
        """As above: one row is alive in a window, and another may end where it begins."""
        return life if self.size is None else 2 * self.size

    def lives(self, life: int) -> int:
        """As above: at least one row is alive in all of a window."""
        return life if self.size is None else self.size


DataDrivenWindows = SessionWindows | SnapshotWindows
Windows = FixedWindows | SessionWindows | SnapshotWindows


@dataclass(frozen=True)
class Passed:
    """Time that a step had passed, by its idleness or before a partition was known, when the rows of batches from
    `batch_id` on came."""

    batch_id: int
    time: int


def needed(windows: DataDrivenWindows, passed: Sequence[Passed], watermark: int | None) -> tuple[Passed, ...]:
    """Those of `passed` that can still bound a window or a row to come, if no open window starts before `watermark`;
    always the last one."""
    return tuple(
        each
        for each in passed
        if each is passed[-1] or watermark is None or each.time - windows.lateness >= watermark
    )
