"""Periods of time: hours of UTC, and days, weeks, months, quarters and years of a time zone.

A period is [start, end), in microseconds UTC. It is complete once the stream's watermark is at its end or later: then
all points, lifetimes that end, and windows that begin in it are written. Its key is its start by the clocks of its
zone, such as `2026-03-01T00:00:00`, which is the form that Airflow's partition mappers read by default.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

from tidemark.core.times import DAY, EPOCH, MAX_TIME, MIN_TIME, from_datetime

_MARGIN = 400 * DAY
_SECOND = timedelta(seconds=1)


class Unit(StrEnum):
    """Lengths of a period. Weeks begin on Monday."""

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"


_MONTHS = {Unit.MONTH: 1, Unit.QUARTER: 3, Unit.YEAR: 12}
_LENGTHS = {Unit.HOUR: timedelta(hours=1), Unit.DAY: timedelta(days=1), Unit.WEEK: timedelta(days=7)}


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
        """The period that a time is in, and all that follow.

        After clocks go back over the start of a period they show the period before it again, which has ended then. A
        period that clocks skip whole, such as 30 December 2011 in Apia, has no length and is left out.
        """
        kept = _kept(time)
        local = self._floor(self._local(kept))
        while True:
            found = self._from(local)
            if max(found.start, kept) < found.end:
                yield found
            local = self._next(local)

    def _from(self, local: datetime) -> Period:
        return Period(self._instant(local), self._instant(self._next(local)), local.isoformat(timespec="seconds"))

    def _local(self, time: int) -> datetime:
        return (EPOCH + timedelta(microseconds=time)).astimezone(self._zone).replace(tzinfo=None)

    @property
    def _zone(self) -> ZoneInfo:
        return ZoneInfo("UTC" if self.unit is Unit.HOUR else self.zone)

    def _floor(self, local: datetime) -> datetime:
        if self.unit is Unit.HOUR:
            return local.replace(minute=0, second=0, microsecond=0)
        day = local.replace(hour=0, minute=0, second=0, microsecond=0)
        if self.unit in _MONTHS:
            return day.replace(month=local.month - (local.month - 1) % _MONTHS[self.unit], day=1)
        return day - timedelta(days=day.weekday()) if self.unit is Unit.WEEK else day

    def _next(self, local: datetime) -> datetime:
        if self.unit in _LENGTHS:
            return local + _LENGTHS[self.unit]
        months = local.year * 12 + local.month - 1 + _MONTHS[self.unit]
        return local.replace(year=months // 12, month=months % 12 + 1)

    def _instant(self, local: datetime) -> int:
        """The instant at which clocks show a local time: the first one of two, and if the clocks skip it, the first
        instant after it."""
        found = local.replace(tzinfo=self._zone).astimezone(UTC)
        if found.astimezone(self._zone).replace(tzinfo=None) == local:
            return from_datetime(found)
        low, high = local.replace(tzinfo=self._zone, fold=1).astimezone(UTC), found
        while high - low > _SECOND:
            middle = (low + (high - low) / 2).replace(microsecond=0)
            later = middle.astimezone(self._zone).replace(tzinfo=None) > local
            low, high = (low, middle) if later else (middle, high)
        return from_datetime(high)


def _kept(time: int) -> int:
    return min(max(time, MIN_TIME + _MARGIN), MAX_TIME - _MARGIN)
