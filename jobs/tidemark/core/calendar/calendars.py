"""Days, weeks, months, quarters and years by the clock of a zone, numbered from the one of 1970-01-01."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import cache

from tidemark.core.calendar.clocks import Clock, clock_of
from tidemark.core.times import DAY, HOUR

_DAYS_OF_CYCLE, _YEARS_OF_CYCLE = 146_097, 400
_EPOCH_DAY = date(1970, 1, 1).toordinal()


class Unit(StrEnum):
    """Lengths of a period. Weeks begin on Monday."""

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"


MONTHS = {Unit.MONTH: 1, Unit.QUARTER: 3, Unit.YEAR: 12}
"""Months of a unit that is made of months."""
DAYS = {Unit.DAY: (1, 0), Unit.WEEK: (7, 3)}
"""Days of another unit, and days of the one that is numbered 0 before 1970-01-01."""
_NOMINAL = {
    Unit.DAY: (1, 1),
    Unit.WEEK: (7, 7),
    Unit.MONTH: (28, 31),
    Unit.QUARTER: (90, 92),
    Unit.YEAR: (365, 366),
}
"""Days of the shortest and the longest period of a unit by the clock."""


@dataclass(frozen=True)
class Calendar:
    """Periods of a unit by the clock of a zone; they begin `offset` later by the clock, microseconds.

    A period begins at the first instant at which the clock shows its local start or a later time: of a local start
    that is shown twice this is the first, and of one that is skipped the instant after the gap. A period that is
    skipped whole, such as 30 December 2011 in Apia, begins where the next one begins, and holds no instant.
    """

    unit: Unit
    zone: str = "UTC"
    offset: int = 0

    @property
    def clock(self) -> Clock:
        """The clock of the zone."""
        return clock_of(self.zone)

    def number(self, instant: int) -> int:
        """Number of the period that an instant is in."""
        local = self.clock.local(instant) - self.offset
        if self.unit is Unit.HOUR:
            return local // HOUR
        if self.unit in DAYS:
            length, before = DAYS[self.unit]
            return (local // DAY + before) // length
        cycles, day = divmod(local // DAY + _EPOCH_DAY - 1, _DAYS_OF_CYCLE)
        found = date.fromordinal(day + 1)
        years = found.year + cycles * _YEARS_OF_CYCLE - 1970
        return (years * 12 + found.month - 1) // MONTHS[self.unit]

    def start(self, number: int) -> int:
        """The instant at which a period begins."""
        return self.clock.instant(self.local_start(number) + self.offset)

    def local_start(self, number: int) -> int:
        """The local time at which a period begins, without `offset`."""
        if self.unit is Unit.HOUR:
            return number * HOUR
        if self.unit in DAYS:
            length, before = DAYS[self.unit]
            return (number * length - before) * DAY
        years, month = divmod(number * MONTHS[self.unit], 12)
        cycles, year = divmod(years + 1970 - 1, _YEARS_OF_CYCLE)
        return (date(year + 1, month + 1, 1).toordinal() - _EPOCH_DAY + cycles * _DAYS_OF_CYCLE) * DAY

    @property
    def longest(self) -> int:
        """Length of the longest period, a day or longer: without a change of clocks it is what the calendar says."""
        return _longest(self)

    @property
    def shortest(self) -> int:
        """Length of the shortest period by the clock, a day or longer."""
        return _NOMINAL[self.unit][0] * DAY

    def skipped(self) -> tuple[int, ...]:
        """Numbers of the periods that hold no instant."""
        return _skipped(self)


@cache
def _longest(calendar: Calendar) -> int:
    changed = [calendar.number(each.begin) for each in calendar.clock.stretches[1:]]
    lengths = [calendar.start(number + 1) - calendar.start(number) for number in changed]
    return max([_NOMINAL[calendar.unit][1] * DAY, *lengths])


@cache
def _skipped(calendar: Calendar) -> tuple[int, ...]:
    found = set[int]()
    for each in calendar.clock.stretches[1:]:
        found.update(range(calendar.number(each.begin - 1) + 1, calendar.number(each.begin)))
    return tuple(sorted(found))
