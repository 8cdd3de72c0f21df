"""Numbers and starts of a calendar's periods in Spark, from the stretches of its clock in `core.calendar.clocks`: the
JVM has a zone database of its own, which is not asked.

Stretches are looked up through an index: a sixth of a year has a place, which names the stretch at its begin, and the
few stretches that begin in it are counted on from there.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cache, reduce
from itertools import pairwise

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidemark.core.calendar.calendars import DAYS, MONTHS, Calendar
from tidemark.core.calendar.clocks import CYCLE, FIRST, REPEATS, Clock
from tidemark.core.times import DAY

_PLACE = CYCLE // 2400
_FROM = REPEATS - -(-(REPEATS - FIRST) // _PLACE) * _PLACE
_PLACES = (REPEATS + CYCLE - _FROM) // _PLACE
_EPOCH = "date_from_unix_date(0)"
_MOST = 10**18


def number_in(calendar: Calendar, instant: Column) -> Column:
    """Number of the period that an instant (microseconds) is in."""
    day = _floored(_local(calendar.clock, instant) - calendar.offset, DAY)
    if calendar.unit in DAYS:
        length, before = DAYS[calendar.unit]
        return _floored(day + before, length)
    date = F.date_from_unix_date(day.cast("int"))
    months = (F.year(date) * 12 + F.month(date)).cast("long") - (1970 * 12 + 1)
    return _floored(months, MONTHS[calendar.unit])


def start_in(calendar: Calendar, number: Column) -> Column:
    """The instant (microseconds) at which a period begins."""
    if calendar.unit in DAYS:
        length, before = DAYS[calendar.unit]
        day = number * length - before
    else:
        day = F.unix_date(F.add_months(F.expr(_EPOCH), (number * MONTHS[calendar.unit]).cast("int"))).cast("long")
    return _instant(calendar.clock, day * DAY + calendar.offset)


def _local(clock: Clock, instant: Column) -> Column:
    offsets = [each.offset for each in clock.stretches]
    if len(offsets) == 1:
        return instant + offsets[0]
    lows = [each.reached - 1 for each in clock.stretches]

    def shown(moved: Column, at: Column) -> Column:
        return F.greatest(F.get(_numbers(lows), at), moved + F.get(_numbers(offsets), at))

    return _in_stretch([each.begin for each in clock.stretches], instant, shown)


def _instant(clock: Clock, local: Column) -> Column:
    offsets = [each.offset for each in clock.stretches]
    if len(offsets) == 1:
        return local - offsets[0]
    begins = [each.begin for each in clock.stretches]

    def first(moved: Column, at: Column) -> Column:
        return F.greatest(F.get(_numbers(begins), at), moved - F.get(_numbers(offsets), at))

    return _in_stretch([each.reached for each in clock.stretches], local, first)


def _in_stretch(bounds: Sequence[int], time: Column, value: Callable[[Column, Column], Column]) -> Column:
    """A value of a time and of the place of the last of `bounds` that is not later; times that lie whole cycles later
    have that of the cycle that is known, moved by these."""
    cycles = F.greatest(_floored(time - REPEATS, CYCLE), F.lit(0)) * CYCLE
    near, most = _index(tuple(bounds))
    moved = time - cycles
    place = F.greatest(F.least(_floored(moved - _FROM, _PLACE), F.lit(_PLACES - 1)), F.lit(0))
    known = F.get(_numbers(near), place.cast("int"))
    next_ = [F.get(_numbers([*bounds, *[1 << 62] * most]), known + step) for step in range(1, most + 1)]
    at = reduce(Column.__add__, [(bound <= moved).cast("int") for bound in next_], known)
    return value(moved, at) + cycles


@cache
def _index(bounds: tuple[int, ...]) -> tuple[list[int], int]:
    """For each place the number of the last bound up to its begin, and the most bounds that lie further in one."""
    near = [bisect_right(bounds, _FROM + place * _PLACE) - 1 for place in range(_PLACES + 1)]
    return near[:-1], max(after - before for before, after in pairwise(near))


def _numbers(values: Sequence[int]) -> Column:
    """A constant array, from one text: an expression for each number would be slow to make."""
    kind = "int" if all(abs(value) < 1 << 31 for value in values) else "bigint"
    return F.split(F.lit(",".join(map(str, values))), ",").cast(f"array<{kind}>")


def _floored(number: Column, by: int) -> Column:
    """A whole number less than 10^18 in size, divided and rounded down. It is written once, since expressions of
    expressions of it are long; `spark.times.divided` repeats it."""
    if by == 1:
        return number
    moved = -(-_MOST // by)
    return F.call_function("div", number + moved * by, F.lit(by).cast("bigint")) - moved
