"""Kinds of windows: numbered ones, of fixed size (tumbling, hopping) or by a calendar, and data-driven ones (session,
snapshot, sliding), which have their bounds from rows (time rules: windows). All times and durations are microseconds.

In data-driven windows a row takes part from its start on, or from its own watermark less the allowed lateness,
whichever is later. If the step is ahead of the watermarks of rows, it takes part from what the step had *passed* when
the row came. So no row of a later run reaches back beyond what is *settled*, the step's watermark less the allowed
lateness: windows that end by then are final, and all others are open.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from tidemark.core.calendar.calendars import Calendar
from tidemark.core.times import HOUR
from tidemark.core.watermarks import idle_limit


class NumberedWindows(ABC):
    """Windows with a number each, whose bounds do not depend on rows; later ones neither begin nor end earlier.
    `partition_by`: None, `partition` or `substream`."""

    lateness: int
    idle_timeout: int | None
    partition_by: str | None

    @abstractmethod
    def reach(self, _: int) -> int:
        """Time before the end of a window in which rows can decide about it."""

    @abstractmethod
    def lives(self, _: int) -> int:
        """The longest lifetime of a window."""

    @abstractmethod
    def first(self, time: int) -> int:
        """Number of the first window that ends after a time."""

    @abstractmethod
    def start(self, number: int) -> int:
        """The start of a window."""

    @abstractmethod
    def end(self, number: int) -> int:
        """The end of a window."""

    @property
    @abstractmethod
    def overlap(self) -> bool:
        """True if a point may be in several windows."""

    @property
    @abstractmethod
    def gaps(self) -> bool:
        """True if a point may be in no window."""

    def first_open(self, reached: int) -> int:
        """Number of the earliest window that is not closed at a watermark."""
        return self.first(reached - self.lateness)

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
        return None if limit is None else self.end(self.first(limit) - 1)


@dataclass(frozen=True)
class FixedWindows(NumberedWindows):
    """Windows [n * hop + offset, n * hop + offset + size) for every integer n."""

    size: int
    hop: int
    offset: int = 0
    lateness: int = 0
    idle_timeout: int | None = None
    partition_by: str | None = None

    def reach(self, _: int) -> int:
        return self.size

    def lives(self, _: int) -> int:
        return self.size

    def first(self, time: int) -> int:
        return (time - self.size - self.offset) // self.hop + 1

    def start(self, number: int) -> int:
        return number * self.hop + self.offset

    def end(self, number: int) -> int:
        return self.start(number) + self.size

    @property
    def overlap(self) -> bool:
        return self.hop < self.size

    @property
    def gaps(self) -> bool:
        return self.hop > self.size


@dataclass(frozen=True)
class CalendarWindows(NumberedWindows):
    """The periods of a calendar, one after the other."""

    calendar: Calendar
    lateness: int = 0
    idle_timeout: int | None = None
    partition_by: str | None = None

    def reach(self, _: int) -> int:
        """As above; one hour more than the longest window."""
        return self.calendar.longest + HOUR

    def lives(self, _: int) -> int:
        return self.calendar.longest

    def first(self, time: int) -> int:
        return self.calendar.number(time)

    def start(self, number: int) -> int:
        return self.calendar.start(number)

    def end(self, number: int) -> int:
        return self.calendar.start(number + 1)

    @property
    def overlap(self) -> bool:
        return False

    @property
    def gaps(self) -> bool:
        return False


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
    """Windows of rows one after the other, until none has come for `gap` or `max_duration` is over (None: it never
    is). `partition_by`: None, `partition` or `substream`."""

    gap: int
    max_duration: int | None
    lateness: int = 0
    idle_timeout: int | None = None
    partition_by: str | None = None

    def reach(self, life: int) -> int:
        return self.lives(life) + self.gap

    def lives(self, _: int) -> int:
        """As above; 0 without a longest one, which makes the step `endless`."""
        return self.max_duration or 0


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
Windows = FixedWindows | CalendarWindows | SessionWindows | SnapshotWindows


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
