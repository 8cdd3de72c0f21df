"""Spark puts instants into the windows that the time rules give them, without asking the JVM's zone database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from pyspark.sql import functions as F

from oracle_calendar import utc, window_of, windows
from tidemark.core.calendar.calendars import Calendar, Unit
from tidemark.core.calendar.clocks import clock_of
from tidemark.core.times import DAY, HOUR, MAX_TIME, MIN_TIME, MINUTE
from tidemark.core.windows import CalendarWindows
from tidemark.spark.columns import JUDGED
from tidemark.spark.session.zone_database import database
from tidemark.spark.streams.numbers.calendars import number_in, start_in
from tidemark.spark.streams.windows import AFTER, BEFORE, bounded, closing, late, outside, pulled_back

pytestmark = pytest.mark.usefixtures("quick")
ZONES = ("UTC", "Europe/Amsterdam", "Australia/Lord_Howe", "Pacific/Apia", "America/Santiago", "Africa/Casablanca")
CALENDARS = (
    (Unit.DAY, 0),
    (Unit.DAY, 2 * HOUR + 30 * MINUTE),
    (Unit.WEEK, 0),
    (Unit.MONTH, 1),
    (Unit.QUARTER, DAY),
    (Unit.YEAR, 0),
)
SYSTEM = (
    "_system_timestamp TIMESTAMP, _end_time TIMESTAMP, _watermark TIMESTAMP,"
    f" {JUDGED} BOOLEAN, {BEFORE} BIGINT, {AFTER} BIGINT"
)
APIA = CalendarWindows(Calendar(Unit.DAY, "Pacific/Apia"))
SKIPPED = utc("2011-12-30T10:00")


def at(micros):
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


@pytest.mark.parametrize("zone", ZONES)
def test_numbers_and_bounds_are_those_of_the_time_rules(spark, zone):
    dice = Random(zone)  # noqa: S311 # times of a test
    times = [dice.randrange(MIN_TIME - 400 * DAY, MAX_TIME + 400 * DAY) for _ in range(200)] + [MIN_TIME, MAX_TIME]
    begins = [each.begin for each in clock_of(zone).stretches[1:]]
    times += [
        begin + moved for begin in begins for moved in (-1, 0, 1, HOUR - 1, dice.randrange(-30 * HOUR, 30 * HOUR))
    ]
    frame = spark.createDataFrame([(time,) for time in [*times, None]], "t BIGINT")
    calendars = [Calendar(unit, zone, offset) for unit, offset in CALENDARS]
    numbers = frame.select("t", *[number_in(each, F.col("t")).alias(str(n)) for n, each in enumerate(calendars)])
    starts = [start_in(each, F.col(str(n)) + 1) for n, each in enumerate(calendars)]
    for row in numbers.select("t", F.array(*map(str, range(len(calendars)))), F.array(*starts)).collect():
        time, found, ends = row
        if time is None:
            assert (set(found), set(ends)) == ({None}, {None})
            continue
        assert found == [each.number(time) for each in calendars], time
        assert ends == [each.start(number + 1) for each, number in zip(calendars, found, strict=True)], time


def test_windows_that_close_and_windows_that_rows_are_late_for_hold_an_instant(spark):
    """A row that lives over the day that Apia skipped is in the days around it, but not in that one."""
    begin, end = utc("2011-12-29T12:00"), utc("2012-01-01T12:00")
    rows = [(begin, end, SKIPPED + DAY), (SKIPPED, SKIPPED + 1, None)]
    frame = spark.createDataFrame(
        [(at(one), at(other), None, True, None, after) for one, other, after in rows], SYSTEM
    )
    around = [found for found, _ in zip(windows("day", "Pacific/Apia", 0, begin), range(40), strict=False)]
    over = [(one, other) for one, other in around if one < end and other > begin]
    assert (len(over), SKIPPED) == (4, over[1][0])
    everything = bounds_of(closing(frame, APIA, complete=True), APIA)
    assert sorted(everything) == sorted([*over, window_of("day", "Pacific/Apia", 0, SKIPPED)])
    assert bounds_of(closing(frame, APIA, complete=False), APIA) == over[:2]
    passed = frame.withColumn(BEFORE, F.lit(SKIPPED).cast("long"))
    assert bounds_of(late(passed, APIA), APIA) == over[:1]
    assert outside(frame, APIA).count() == 0


def test_points_count_in_one_window_each_and_the_watermark_is_pulled_back_to_open_ones(spark):
    day = CalendarWindows(Calendar(Unit.DAY, "Europe/Amsterdam"), lateness=HOUR)
    start, end = utc("2026-10-24T22:00"), utc("2026-10-25T23:00")
    times = [start - 1, start, end - 1, end]
    rows = [(at(time), at(time + 1), None, True, start - 1, end + HOUR) for time in times]
    frame = spark.createDataFrame(rows, SYSTEM)
    found = bounds_of(closing(frame, day, complete=False, points=True), day)
    assert found == [(start - DAY, start), (start, end), (start, end)]
    before = frame.withColumn(AFTER, F.col(AFTER) - 1)
    assert bounds_of(closing(before, day, complete=False, points=True), day) == found[:1]
    moved = frame.select(pulled_back(day, F.col(AFTER) - 1), pulled_back(day, F.col(AFTER))).first()
    assert tuple(moved) == (start, end)
    assert day.pulled_back(end + HOUR - 1) == start


def bounds_of(rows, window):
    times = [F.unix_micros(name) for name in ("_window_start", "_window_end")]
    return sorted(map(tuple, bounded(rows, window).select(*times).collect()))


def test_the_zone_database_has_a_version():
    assert database() not in ("none", "unknown")
