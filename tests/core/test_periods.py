"""Periods by the clocks of a zone, and which of them a watermark completes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import accumulate
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidemark.core.calendar.calendars import Unit
from tidemark.core.completeness.periods import Periods
from tidemark.core.times import DAY, HOUR, format_time, from_datetime, parse_time

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "America/Sao_Paulo", "Pacific/Apia", "Asia/Kathmandu")
TIMES = st.datetimes(datetime(1990, 1, 1), datetime(2030, 1, 1)).map(from_datetime)  # noqa: DTZ001


@pytest.mark.parametrize(
    ("unit", "zone", "time", "key", "start", "end"),
    [
        (
            "hour",
            "UTC",
            "2026-03-01T10:30:00Z",
            "2026-03-01T10:00:00",
            "2026-03-01T10:00:00Z",
            "2026-03-01T11:00:00Z",
        ),
        ("day", "UTC", "2026-03-01T00:00:00Z", "2026-03-01T00:00:00", "2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"),
        (
            "day",
            "Europe/Berlin",
            "2026-03-29T10:00:00Z",
            "2026-03-29T00:00:00",
            "2026-03-28T23:00:00Z",
            "2026-03-29T22:00:00Z",
        ),
        (
            "week",
            "UTC",
            "2026-03-29T10:00:00Z",
            "2026-03-23T00:00:00",
            "2026-03-23T00:00:00Z",
            "2026-03-30T00:00:00Z",
        ),
        (
            "quarter",
            "America/New_York",
            "2026-01-01T00:30:00Z",
            "2025-10-01T00:00:00",
            "2025-10-01T04:00:00Z",
            "2026-01-01T05:00:00Z",
        ),
        (
            "day",
            "America/Sao_Paulo",
            "2018-11-04T12:00:00Z",
            "2018-11-04T00:00:00",
            "2018-11-04T03:00:00Z",
            "2018-11-05T02:00:00Z",
        ),
        (
            "year",
            "UTC",
            "2026-12-31T23:59:59Z",
            "2026-01-01T00:00:00",
            "2026-01-01T00:00:00Z",
            "2027-01-01T00:00:00Z",
        ),
    ],
    ids=["hour", "day", "day of 23 hours", "week", "quarter", "day whose midnight the clocks skip", "year"],
)
def test_a_time_is_in_one_period(unit, zone, time, key, start, end):
    found = Periods(Unit(unit), zone).at(parse_time(time))
    assert (found.key, format_time(found.start), format_time(found.end)) == (key, start, end)


def test_a_local_start_that_clocks_skip_in_part_is_the_first_instant_after_it():
    """In Toronto clocks went from 23:30 to 00:30 on 1919-03-30: that day has no midnight."""
    found = Periods(Unit.DAY, "America/Toronto").at(parse_time("1919-03-31T12:00:00Z"))
    assert format_time(found.start) == "1919-03-31T04:30:00Z"
    assert datetime.fromisoformat("1919-03-31T04:30:00Z").astimezone(ZoneInfo("America/Toronto")).hour == 0


@settings(deadline=None)
@given(unit=st.sampled_from(list(Unit)), zone=st.sampled_from(ZONES), time=TIMES)
def test_periods_follow_one_another_without_gaps(unit, zone, time):
    periods = Periods(unit, zone)
    found = periods.at(time)
    assert found.start <= time < found.end
    after = periods.at(found.end)
    assert after.start == found.end
    assert after.key > found.key
    assert periods.first_from(found.start) == found
    assert periods.first_from(found.start + 1) == after


@settings(deadline=None)
@given(time=TIMES, hours=st.integers(0, 60), rest=st.integers(0, HOUR - 1))
def test_an_hour_is_complete_exactly_at_its_end(time, hours, rest):
    first = time // HOUR * HOUR
    found = list(Periods(Unit.HOUR).ended(first, first + hours * HOUR + rest))
    assert [period.start for period in found] == [first + number * HOUR for number in range(hours)]


def test_hours_are_put_together_to_days():
    first, last = parse_time("2026-01-01T10:30:00Z"), parse_time("2026-01-03T00:00:00Z")
    assert Periods(Unit.HOUR).whole(first, last) == (parse_time("2026-01-01T00:00:00Z"), last)
    assert Periods(Unit.HOUR).whole(first, last + 1) == (parse_time("2026-01-01T00:00:00Z"), last + DAY)
    assert Periods(Unit.MONTH).whole(first, last)[1] == parse_time("2026-02-01T00:00:00Z")


def test_times_beyond_the_calendar_count_as_those_near_its_ends():
    for unit in Unit:
        for time in (-(10**18), 10**18):
            found = Periods(unit, "America/New_York").at(time)
            assert found.start < found.end
            assert datetime.fromisoformat(found.key).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "zone", ["America/St_Johns", "America/Havana", "America/Santiago", "Africa/Cairo", "Australia/Lord_Howe"]
)
def test_a_day_begins_when_clocks_first_show_it(zone):
    """Minute by minute around each change of clocks, the day is the latest that clocks have shown so far. In St.
    John's they went from 0:01 back to 23:01."""
    place, periods = ZoneInfo(zone), Periods(Unit.DAY, zone)
    hours = [datetime(1985, 1, 1, tzinfo=UTC) + timedelta(hours=number) for number in range(25 * 366 * 24)]
    offsets = [hour.astimezone(place).utcoffset() for hour in hours]
    changes = [hour for hour, one, next_ in zip(hours, offsets, offsets[1:], strict=False) if one != next_]
    assert changes
    for change in changes:
        minutes = [change + timedelta(minutes=number) for number in range(-5, 130)]
        shown = accumulate((minute.astimezone(place).date() for minute in minutes), max)
        for minute, day in zip(minutes, shown, strict=True):
            found = periods.at(from_datetime(minute))
            assert (found.key[:10], found.start <= from_datetime(minute) < found.end) == (str(day), True)


def test_a_day_that_clocks_skip_is_no_period():
    """Apia went from 29 to 31 December 2011."""
    periods = Periods(Unit.DAY, "Pacific/Apia")
    first, last = parse_time("2011-12-29T10:00:00Z"), parse_time("2011-12-31T10:00:00Z")
    assert [found.key[:10] for found in periods.ended(first, last)] == ["2011-12-29", "2011-12-31"]
    assert periods.first_from(first + 1).key[:10] == "2011-12-31"
