"""Calendar windows from the rules alone, with the zones of `pytz`, which has a database and code of its own.

Source of the rules: semantics section 9. A window is [local start, next local start); a local start that a change of
clocks skips is the first instant after it, one that occurs twice is the first. All times are int microseconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache

import pytz

from oracle_streams import Window

SECOND = 1_000_000
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 # by the clock
_MICRO = timedelta(microseconds=1)


@cache
def spans(zone: str) -> tuple[tuple[float, float, int], ...]:
    """(begin, end, offset) of each span of time in which a zone's clocks have one offset."""
    place = pytz.timezone(zone)
    if not hasattr(place, "_utc_transition_times"):
        return ((-math.inf, math.inf, place.utcoffset(EPOCH) // _MICRO),)
    begins = [(time - EPOCH) // _MICRO for time in place._utc_transition_times]
    offsets = [info[0] // _MICRO for info in place._transition_info]
    bounds: list[float] = [-math.inf, *begins[1:], math.inf]
    return tuple(zip(bounds, bounds[1:], offsets, strict=False))


def first_shown(zone: str, local: int) -> int:
    """The first instant at which clocks show a local time; if they never do, the first at which they show a later
    one."""
    found = [max(begin, local - offset) for begin, end, offset in spans(zone) if local - offset < end]
    return int(min(found))


def local_starts(unit: str, around: datetime) -> Iterator[datetime]:
    """Local starts of a unit, from at least a period before a local time on."""
    if unit in ("day", "week"):
        day = around.date() - timedelta(days=around.weekday() + 14)
        while True:
            yield datetime(day.year, day.month, day.day)  # noqa: DTZ001 # by the clock
            day += timedelta(days=1 if unit == "day" else 7)
    year, month = around.year - 2, 1
    while True:
        yield datetime(year, month, 1)  # noqa: DTZ001 # by the clock
        month += {"month": 1, "quarter": 3, "year": 12}[unit]
        year, month = (year + 1, 1) if month > 12 else (year, month)


def windows(unit: str, zone: str, offset: int, time: int) -> Iterator[tuple[int, int]]:
    """The windows one after the other, from one that ends before a time on; those without an instant are left out."""
    starts = local_starts(unit, EPOCH + timedelta(microseconds=time))
    bounds = (first_shown(zone, (start - EPOCH) // _MICRO + offset) for start in starts)
    begin = next(bounds)
    for end in bounds:
        if end > begin:
            yield begin, end
        begin = end


def window_of(unit: str, zone: str, offset: int, time: int) -> tuple[int, int]:
    """The window that an instant is in."""
    return next((start, end) for start, end in windows(unit, zone, offset, time) if start <= time < end)


def utc(text: str) -> int:
    """Microseconds of a text such as 2026-01-01T00:00, UTC."""
    return (datetime.fromisoformat(text) - EPOCH) // _MICRO


@dataclass(frozen=True)
class CalendarWindow(Window):
    """Windows of a calendar, for streams of the oracle; `size` and `hop` are not looked at."""

    calendar: str = "day"
    zone: str = "UTC"

    def over(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        for found in windows(self.calendar, self.zone, self.offset, start):
            if found[0] >= end:
                return
            if found[1] > start:
                yield found

    def earliest_open(self, watermark: float) -> int:
        reached = math.floor(watermark) - self.allowed_lateness
        return next(start for start, end in windows(self.calendar, self.zone, self.offset, reached) if end > reached)

    def last_end(self, limit: int) -> int:
        return window_of(self.calendar, self.zone, self.offset, limit)[0]
