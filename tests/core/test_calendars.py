"""Calendar windows are those of the rules, by another library's zones, at every kind of change of clocks."""

from __future__ import annotations

from random import Random

import pytest

from oracle_calendar import spans, utc, window_of, windows
from tidemark.core.calendar.calendars import Calendar, Unit
from tidemark.core.calendar.clocks import CYCLE, clock_of
from tidemark.core.streams import StepRules, reach
from tidemark.core.times import DAY, HOUR, MAX_TIME, MIN_TIME, MINUTE
from tidemark.core.windows import CalendarWindows

ZONES = (
    "UTC",
    "Europe/Amsterdam",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "America/Santiago",
    "Africa/Cairo",
    "America/St_Johns",
    "Asia/Kathmandu",
)
OFFSETS = {Unit.DAY: (0, 4 * HOUR, 2 * HOUR + 30 * MINUTE), Unit.WEEK: (0, DAY + HOUR), Unit.MONTH: (0, 12 * HOUR)}
FROM, TO = utc("1950-01-01"), utc("2035-01-01")
"""Years in which both databases agree about these zones."""


def bounds(calendar: Calendar, time: int) -> tuple[int, int]:
    number = calendar.number(time)
    return calendar.start(number), calendar.start(number + 1)


def around_changes(zone: str, dice: Random) -> list[int]:
    changes = [int(begin) for begin, _, _ in spans(zone) if FROM < begin < TO]
    picked = dice.sample(changes, min(len(changes), 25))
    return [change + moved for change in picked for moved in (-1, 0, 1, dice.randrange(-30 * HOUR, 30 * HOUR))]


@pytest.mark.parametrize("zone", ZONES)
def test_every_instant_is_in_the_window_of_the_rules(zone):
    dice = Random(zone)  # noqa: S311 # times of a test
    times = [dice.randrange(FROM, TO) for _ in range(20)] + around_changes(zone, dice)
    for unit in (Unit.DAY, Unit.WEEK, Unit.MONTH, Unit.QUARTER, Unit.YEAR):
        for offset in OFFSETS.get(unit, (0,)):
            calendar = Calendar(unit, zone, offset)
            found = {time: bounds(calendar, time) for time in times}
            assert found == {time: window_of(unit, zone, offset, time) for time in times}, (unit, offset)


@pytest.mark.parametrize(
    ("zone", "unit", "offset", "time", "start", "end"),
    [
        ("Europe/Amsterdam", "day", 0, "2026-03-29T12:00", "2026-03-28T23:00", "2026-03-29T22:00"),
        ("Europe/Amsterdam", "day", 0, "2026-10-25T12:00", "2026-10-24T22:00", "2026-10-25T23:00"),
        ("Europe/Amsterdam", "day", 150, "2026-03-29T12:00", "2026-03-29T01:00", "2026-03-30T00:30"),
        ("Europe/Amsterdam", "day", 150, "2026-10-25T12:00", "2026-10-25T00:30", "2026-10-26T01:30"),
        ("Australia/Lord_Howe", "day", 0, "2026-10-03T20:00", "2026-10-03T13:30", "2026-10-04T13:00"),
        ("Pacific/Apia", "day", 0, "2011-12-30T10:00", "2011-12-30T10:00", "2011-12-31T10:00"),
        ("Pacific/Apia", "day", 0, "2011-12-30T09:59", "2011-12-29T10:00", "2011-12-30T10:00"),
        ("America/Santiago", "day", 0, "2026-09-06T12:00", "2026-09-06T04:00", "2026-09-07T03:00"),
        ("America/Santiago", "day", 0, "2026-04-05T03:30", "2026-04-04T03:00", "2026-04-05T04:00"),
        ("Africa/Cairo", "day", 0, "2026-04-24T12:00", "2026-04-23T22:00", "2026-04-24T21:00"),
        ("Africa/Cairo", "day", 0, "2026-10-29T20:30", "2026-10-28T21:00", "2026-10-29T22:00"),
        ("America/St_Johns", "day", 0, "2006-10-29T03:00", "2006-10-29T02:30", "2006-10-30T03:30"),
        ("Europe/Amsterdam", "week", 0, "2026-12-31T12:00", "2026-12-27T23:00", "2027-01-03T23:00"),
        ("Europe/Amsterdam", "quarter", 0, "2026-10-25T12:00", "2026-09-30T22:00", "2026-12-31T23:00"),
        ("Europe/Amsterdam", "year", 0, "2101-07-01T12:00", "2100-12-31T23:00", "2101-12-31T23:00"),
        ("Europe/Amsterdam", "day", 0, "9026-03-29T12:00", "9026-03-28T22:00", "9026-03-29T22:00"),
        ("Europe/Amsterdam", "day", 0, "9026-03-26T12:00", "9026-03-25T23:00", "9026-03-26T22:00"),
    ],
)
def test_windows_worked_by_hand(zone, unit, offset, time, start, end):
    """Offsets are minutes. In the year 9026 the last Sunday of March is the 26th, as in 2226."""
    calendar = Calendar(Unit(unit), zone, offset * MINUTE)
    assert bounds(calendar, utc(time)) == (utc(start), utc(end))


def test_a_window_that_clocks_skip_holds_no_instant():
    calendar = Calendar(Unit.DAY, "Pacific/Apia")
    (skipped,) = calendar.skipped()
    assert calendar.local_start(skipped) == utc("2011-12-30")
    assert calendar.start(skipped) == calendar.start(skipped + 1) == utc("2011-12-30T10:00")
    assert Calendar(Unit.DAY, "Pacific/Apia", 4 * HOUR).skipped() == ()
    assert Calendar(Unit.DAY, "Europe/Amsterdam").skipped() == ()


@pytest.mark.parametrize("zone", ["Europe/Amsterdam", "Africa/Casablanca", "America/New_York"])
def test_windows_cover_all_time_the_first_and_the_last_years_too(zone):
    dice = Random(7)  # noqa: S311 # times of a test
    for unit in (Unit.DAY, Unit.WEEK, Unit.MONTH, Unit.QUARTER, Unit.YEAR):
        calendar = Calendar(unit, zone, 5 * HOUR)
        for time in [MIN_TIME, MAX_TIME, *(dice.randrange(MIN_TIME, MAX_TIME) for _ in range(100))]:
            start, end = bounds(calendar, time)
            assert start <= time < end
            assert end - start <= calendar.longest
            if time > utc("2100-01-01"):
                assert bounds(calendar, time + 3 * CYCLE) == (start + 3 * CYCLE, end + 3 * CYCLE)


def test_changes_of_clocks_are_all_found():
    for zone in ZONES:
        known = [(begin, offset) for begin, _, offset in spans(zone) if FROM < begin < TO]
        changed = [one for one, before in zip(known[1:], known, strict=False) if one[1] != before[1]]
        found = {each.begin: each.offset for each in clock_of(zone).stretches}
        assert [found.get(begin) for begin, _ in changed] == [offset for _, offset in changed], zone


def test_windows_close_by_their_own_length():
    windows_ = CalendarWindows(Calendar(Unit.DAY, "Europe/Amsterdam"), lateness=HOUR, idle_timeout=2 * HOUR)
    closes = utc("2026-03-29T22:00") + HOUR
    assert not windows_.closes_between(closes - 2, closes - 1, complete=False)
    assert windows_.closes_between(closes - 1, closes, complete=False)
    assert windows_.pulled_back(closes - 1) == utc("2026-03-28T23:00")
    assert windows_.pulled_back(closes) == utc("2026-03-29T22:00")
    assert windows_.idle_bound(utc("2026-03-30T00:00"), 0) == utc("2026-03-29T22:00")
    assert windows_.idle_bound(utc("2026-03-30T00:00") - 1, 0) == utc("2026-03-28T23:00")


@pytest.mark.parametrize(
    ("unit", "hours"), [("day", 25), ("week", 169), ("month", 745), ("quarter", 2209), ("year", 8784)]
)
def test_reach_is_the_longest_window_and_an_hour(unit, hours):
    windows_ = CalendarWindows(Calendar(Unit(unit), "Europe/Amsterdam"))
    assert reach([StepRules("w", ("s",), ("s",), windows=windows_)]) == (hours + 1) * HOUR
    ends = [
        end - start for (start, end), _ in zip(windows(unit, "Europe/Amsterdam", 0, FROM), range(400), strict=False)
    ]
    assert max(ends) <= hours * HOUR
