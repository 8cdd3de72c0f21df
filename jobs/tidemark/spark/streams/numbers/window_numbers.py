"""Numbers and bounds of numbered windows in Spark, as `core.windows` has them; times are microseconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidemark.core.windows import CalendarWindows, FixedWindows, NumberedWindows
from tidemark.spark.streams.numbers.calendars import number_in, start_in
from tidemark.spark.times import divided


class WindowNumbers(Protocol):
    """Expressions over times and window numbers; null gives null."""

    def first(self, time: Column) -> Column:
        """Number of the first window that ends after a time."""

    def last(self, time: Column) -> Column:
        """Number of the last window that begins at or before a time; windows without any time do not count."""

    def start(self, number: Column) -> Column:
        """The start of a window."""

    def end(self, number: Column) -> Column:
        """The end of a window."""

    def lone(self, time: Column, number: Column) -> Column | None:
        """True if a time is in the window `number`, the last that begins at or before it; None: it always is."""

    def held(self, number: Column) -> Column | None:
        """True if a window holds a time; None: all do."""


def numbers_of(window: NumberedWindows) -> WindowNumbers:
    """The expressions of a kind of windows."""
    if isinstance(window, CalendarWindows):
        return _ByCalendar(window)
    if isinstance(window, FixedWindows):
        return _OfSize(window)
    raise TypeError(f"{window} has no numbers in Spark")


@dataclass(frozen=True)
class _OfSize:
    window: FixedWindows

    def first(self, time: Column) -> Column:
        return divided(time - self.window.offset - self.window.size, self.window.hop) + 1

    def last(self, time: Column) -> Column:
        return divided(time - self.window.offset, self.window.hop)

    def start(self, number: Column) -> Column:
        return number * self.window.hop + self.window.offset

    def end(self, number: Column) -> Column:
        return number * self.window.hop + (self.window.offset + self.window.size)

    def lone(self, time: Column, number: Column) -> Column | None:  # noqa: ARG002 # a seam's form
        if not self.window.gaps:
            return None
        return F.pmod(time - self.window.offset, F.lit(self.window.hop)) < self.window.size

    def held(self, number: Column) -> Column | None:  # noqa: ARG002 # a seam's form
        return None


@dataclass(frozen=True)
class _ByCalendar:
    window: CalendarWindows

    def first(self, time: Column) -> Column:
        return number_in(self.window.calendar, time)

    def last(self, time: Column) -> Column:
        return number_in(self.window.calendar, time)

    def start(self, number: Column) -> Column:
        return start_in(self.window.calendar, number)

    def end(self, number: Column) -> Column:
        return start_in(self.window.calendar, number + 1)

    def lone(self, time: Column, number: Column) -> Column | None:  # noqa: ARG002 # a seam's form
        return None

    def held(self, number: Column) -> Column | None:
        skipped = self.window.calendar.skipped()
        return ~number.isin(*skipped) if skipped else None
