"""Clocks of time zones that never go back: while clocks repeat times after they were set back, such a clock waits
until they show later times (time rules: calendar windows).

Zones come from the database that Python's `zoneinfo` finds. Instants are microseconds UTC; local times are
microseconds from 1970-01-01T00:00 by the clock. Both may be any whole numbers: before 1800 a zone has its first
offset, and from 2100 on its changes repeat every 400 years, as the calendar does.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

from tidemark.core.times import DAY, EPOCH, from_datetime

CYCLE = 146_097 * DAY
"""400 years, after which dates, weekdays and changes of clocks repeat."""
FIRST, REPEATS = (from_datetime(datetime(year, 1, 1, tzinfo=UTC)) for year in (1800, 2100))
"""No zone has a change before the first time; from the second on changes repeat."""
_BEFORE = -(1 << 62)
_SECOND = timedelta(seconds=1)
_STEPS = ((REPEATS, timedelta(days=4)), (REPEATS + CYCLE, timedelta(days=28)))
"""Up to each time changes of clocks are further apart than this; so none undoes the one before within its length."""


@dataclass(frozen=True)
class ClockStretch:
    """A time from `begin` to the next stretch in which the clock shows the instant plus `offset`, but never less than
    `reached`, the local time up to which it was shown before."""

    begin: int
    reached: int
    offset: int


@dataclass(frozen=True)
class Clock:
    """The clock of a zone, as stretches up to `REPEATS` + `CYCLE`; both their begins and their reached times grow."""

    stretches: tuple[ClockStretch, ...]

    def local(self, instant: int) -> int:
        """The latest local time that clocks have shown up to an instant."""
        moved = repeated(instant)
        found = self.stretches[bisect_right(self.stretches, instant - moved, key=lambda each: each.begin) - 1]
        return max(found.reached - 1, instant - moved + found.offset) + moved

    def instant(self, local: int) -> int:
        """The first instant at which clocks show a local time or a later one."""
        moved = repeated(local)
        found = self.stretches[bisect_right(self.stretches, local - moved, key=lambda each: each.reached) - 1]
        return max(found.begin, local - moved - found.offset) + moved


def repeated(time: int) -> int:
    """Whole cycles by which a time lies behind the stretches of a clock, microseconds."""
    return max(0, (time - REPEATS) // CYCLE) * CYCLE


@cache
def clock_of(zone: str) -> Clock:
    """The clock of a zone. Raises `zoneinfo.ZoneInfoNotFoundError`."""
    (_, offset), *changes = _offsets(ZoneInfo(zone))
    found = [ClockStretch(_BEFORE, _BEFORE, offset)]
    for begin, offset in changes:
        found.append(ClockStretch(begin, begin + found[-1].offset, offset))
    return Clock(tuple(found))


def _offsets(zone: ZoneInfo) -> Iterator[tuple[int, int]]:
    """The offsets of a zone, each with the instant from which it holds; the first holds from any time."""
    low = _at(FIRST)
    offset = low.astimezone(zone).utcoffset()
    yield FIRST, _micros(offset)
    for end, step in _STEPS:
        until = _at(end)
        while low < until:
            high = low + step
            if (other := high.astimezone(zone).utcoffset()) != offset:
                yield _change(zone, low, high), _micros(other)
                offset = other
            low = high


def _change(zone: ZoneInfo, low: datetime, high: datetime) -> int:
    """The instant between two of different offsets at which the second one begins."""
    offset = high.astimezone(zone).utcoffset()
    while high - low > _SECOND:
        middle = (low + (high - low) / 2).replace(microsecond=0)
        low, high = (low, middle) if middle.astimezone(zone).utcoffset() == offset else (middle, high)
    return from_datetime(high)


def _at(instant: int) -> datetime:
    return EPOCH + timedelta(microseconds=instant)


def _micros(offset: timedelta | None) -> int:
    return (offset or timedelta()) // timedelta(microseconds=1)
