"""Periods of time: hours of UTC, and days, weeks, months, quarters and years of a time zone.

A period is [start, end), in microseconds UTC. It is complete once the stream's watermark is at its end or later: then
all points, lifetimes that end, and windows that begin in it are written. Its key is its start by the clocks of its
zone, such as `2026-03-01T00:00:00`, which is the form that Airflow's partition mappers read by default.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from tidemark.core.calendar.calendars import Calendar, Unit
from tidemark.core.times import DAY, EPOCH, MAX_TIME, MIN_TIME

_MARGIN = 400 * DAY


@dataclass(frozen=True)
class Period:
    """One period, [start, end), and its key."""

    start: int
    end: int
    key: str


@dataclass(frozen=True)
class Periods:
    """All periods of a unit in a time zone; hours are always those of UTC."""

    unit: Unit
    zone: str = "UTC"

    def at(self, time: int) -> Period:
        """The period that a time is in. Times within 400 days of the bounds of the years 1 to 9999 count as these."""
        return next(self._onward(time))

    def first_from(self, time: int) -> Period:
        """The first period that begins at a time or later."""
        kept = _kept(time)
        return next(found for found in self._onward(time) if found.start >= kept)

    def ended(self, after: int, through: int) -> Iterator[Period]:
        """Periods whose end is later than `after` and not later than `through`, the oldest first."""
        for found in self._onward(after):
            if found.end > through:
                return
            if found.end > after:
                yield found

    def whole(self, first: int, last: int) -> tuple[int, int]:
        """The range around [first, last) that begins and ends with a period; with a day if periods are hours, since
        consumers put hours together to days."""
        outer = Periods(Unit.DAY) if self.unit is Unit.HOUR else self
        end = outer.at(last)
        return outer.at(first).start, end.start if end.start == last else end.end

    def _onward(self, time: int) -> Iterator[Period]:
        """The period that a time is in, and all that follow; one that clocks skip whole is left out."""
        kept = _kept(time)
        number = self._calendar.number(kept)
        while True:
            found = self._numbered(number)
            if found.start < found.end:
                yield found
            number += 1

    def _numbered(self, number: int) -> Period:
        calendar = self._calendar
        shown = EPOCH + timedelta(microseconds=calendar.local_start(number))
        key = shown.replace(tzinfo=None).isoformat(timespec="seconds")
        return Period(calendar.start(number), calendar.start(number + 1), key)

    @property
    def _calendar(self) -> Calendar:
        return Calendar(self.unit, "UTC" if self.unit is Unit.HOUR else self.zone)


def _kept(time: int) -> int:
    return min(max(time, MIN_TIME + _MARGIN), MAX_TIME - _MARGIN)
