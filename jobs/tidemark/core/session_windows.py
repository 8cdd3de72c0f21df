"""Session windows: windows whose bounds come from rows, sessions and snapshots (time rules: windows).

A row takes part from its start on, or from its own watermark less the allowed lateness, whichever is later. If the
step is ahead of the watermarks of rows, it takes part from what the step had *passed* when the row came. So no row of
a later run reaches back beyond what is *settled*, the step's watermark less the allowed lateness: windows that end by
then are final, and all others are open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Session:
    """Windows of rows one after the other, until none has come for `gap` or `max_duration` is over; microseconds.
    `partition_by`: None, `partition` or `substream`."""

    gap: int
    max_duration: int
    lateness: int = 0
    idle_timeout: int | None = None
    partition_by: str | None = None

    def reach(self, _: int) -> int:
        """Microseconds before the end of a session in which rows can decide about it."""
        return self.max_duration + self.gap

    def lives(self, _: int) -> int:
        """The longest lifetime of a window."""
        return self.max_duration


@dataclass(frozen=True)
class Snapshot:
    """Windows between successive starts and ends of rows; with `size`, of rows that live so long from their start
    (sliding); microseconds."""

    size: int | None = None
    lateness: int = 0
    idle_timeout: int | None = None
    partition_by: str | None = None

    def reach(self, life: int) -> int:
        """Microseconds before the end of a window in which rows can decide about it: one is alive in it, and another
        may end where it begins. `life` is the longest lifetime of a row."""
        return life if self.size is None else 2 * self.size

    def lives(self, life: int) -> int:
        """The longest lifetime of a window: at least one row is alive in all of it."""
        return life if self.size is None else self.size


Measured = Session | Snapshot


def settled(measured: Measured, reached: int | None) -> int | None:
    """The time by which windows are final at a watermark: a window closes when it ends at this time or before."""
    return None if reached is None else reached - measured.lateness


def begun(measured: Measured, reached: int | None, life: int) -> int | None:
    """A time before which no open window, and no row of one, starts; a bound for use when rows are not looked up."""
    passed = settled(measured, reached)
    return None if passed is None else passed - measured.reach(life) - life


@dataclass(frozen=True)
class Passed:
    """Time that a step had passed, by its idleness or before a partition was known, when the rows of batches from
    `batch_id` on came; microseconds."""

    batch_id: int
    time: int


def needed(measured: Measured, passed: Sequence[Passed], watermark: int | None) -> tuple[Passed, ...]:
    """Those of `passed` that can still bound a window or a row to come, if no open window starts before `watermark`;
    always the last one."""
    return tuple(
        each
        for each in passed
        if each is passed[-1] or watermark is None or each.time - measured.lateness >= watermark
    )
