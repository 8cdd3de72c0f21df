"""Numbers and starts of a calendar's periods in Spark, from the stretches of its clock in `core.calendar.clocks`: the
JVM has a zone database of its own, which is not asked."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidemark.core.calendar.calendars import DAYS, MONTHS, Calendar
from tidemark.core.calendar.clocks import CYCLE, REPEATS, Clock
from tidemark.core.times import DAY
from tidemark.spark.jvm_functions import call

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
    stretches = [(each.begin, each.reached - 1, each.offset) for each in clock.stretches]
    return _clock_time(instant, stretches)


def _instant(clock: Clock, local: Column) -> Column:
    return _clock_time(local, [(each.reached, each.begin, -each.offset) for each in clock.stretches])


def _clock_time(time: Column, stretches: Sequence[tuple[int, int, int]]) -> Column:
    """A time by another clock, from the begin, the least time and the shift of each stretch."""
    if len(stretches) == 1:
        return time + stretches[0][2]
    tables = [",".join(map(str, numbers)) for numbers in zip(*stretches, strict=True)]
    return call("rows.ClockTime", time, settings=(*tables, REPEATS, CYCLE))


def _floored(number: Column, by: int) -> Column:
    """A whole number less than 10^18 in size, divided and rounded down. The expression has `number` once, which keeps
    nested expressions short; `spark.times.divided` has it twice."""
    if by == 1:
        return number
    moved = -(-_MOST // by)
    return F.call_function("div", number + moved * by, F.lit(by).cast("bigint")) - moved
