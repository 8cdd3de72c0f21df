"""Durations, instants and sizes: exact integers and the texts for them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tidemark.core.times import (
    DAY,
    HOUR,
    MAX_TIME,
    MIN_TIME,
    MINUTE,
    SECOND,
    TICK,
    format_duration,
    format_size,
    format_time,
    from_datetime,
    parse_duration,
    parse_moment,
    parse_size,
    parse_time,
    recorded_duration,
    within_years,
)


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("0s", 0),
        ("1us", TICK),
        ("250ms", 250_000),
        ("5s", 5 * SECOND),
        ("2m", 120 * SECOND),
        ("1h", HOUR),
        ("3d", 3 * DAY),
        ("007s", 7 * SECOND),
        ("2h10m", 130 * MINUTE),
        ("1d1h1m1s1ms1us", DAY + HOUR + MINUTE + SECOND + 1_001),
        ("2m500ms", 120_500_000),
        ("0h0m", 0),
    ],
)
def test_a_duration_is_a_whole_number_of_a_unit_or_several_the_largest_first(text: str, micros: int) -> None:
    assert parse_duration(text) == micros


@pytest.mark.parametrize(
    "text",
    [
        "",
        "5",
        "5x",
        "5 s",
        "1.5s",
        "5S",
        "+5s",
        "10m2h",
        "1h1h",
        "1h30",
        "1h-30m",
        "1h 30m",
        "s",
        "\uff15s",
        "5s\n",
        "--5s",
        "1e3s",
    ],
)
def test_anything_else_is_no_duration_and_the_error_says_what_is(text: str) -> None:
    with pytest.raises(ValueError, match="write a whole number and one of us, ms, s, m, h, d, such as 250ms"):
        parse_duration(text)


def test_a_duration_may_be_negative_only_where_it_is_said() -> None:
    assert parse_duration("-1us", signed=True) == -TICK
    assert parse_duration("-1h30m", signed=True) == -90 * MINUTE
    with pytest.raises(ValueError, match="'-1us' is negative"):
        parse_duration("-1us")


@pytest.mark.parametrize("text", ["3660000d", "9" * 5000 + "us", "3652058d24h1us", "1h" + "9" * 5000 + "us"])
def test_a_duration_beyond_all_of_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="longer than 9999 years"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("micros", "text", "recorded"),
    [
        (0, "0s", "0s"),
        (1, "1us", "1us"),
        (300 * SECOND, "5m", "5m"),
        (90 * SECOND, "1m30s", "90s"),
        (130 * MINUTE, "2h10m", "130m"),
        (1500, "1ms500us", "1500us"),
        (-DAY, "-1d", "-1d"),
        (-90 * MINUTE, "-1h30m", "-90m"),
    ],
)
def test_a_duration_is_written_in_all_its_units_for_people_and_in_one_in_records(
    micros: int, text: str, recorded: str
) -> None:
    assert (format_duration(micros), recorded_duration(micros)) == (text, recorded)


@given(st.integers(MIN_TIME - MAX_TIME, MAX_TIME - MIN_TIME))
def test_a_duration_survives_being_written(micros: int) -> None:
    for text in (format_duration(micros), recorded_duration(micros)):
        assert parse_duration(text, signed=True) == micros


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00Z", 0),
        ("1970-01-01 00:00:00.000001Z", 1),
        ("1970-01-01T00:00:00.5Z", 500_000),
        ("1970-01-01T02:00:00+02:00", 0),
        ("1969-12-31T19:00:00-0500", 0),
        ("1970-01-01T23:59:00+23:59", 0),
        ("0001-01-01T00:00:00Z", MIN_TIME),
        ("9999-12-31T23:59:59.999999Z", MAX_TIME),
        ("2024-02-29t12:00:00z", 1_709_208_000 * SECOND),
    ],
)
def test_a_time_is_iso_8601_with_an_offset(text: str, micros: int) -> None:
    assert parse_time(text) == micros


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2026-01-01T00:00:00", "has no offset"),
        ("2026-01-01", "is not a time: write it like"),
        ("yesterday", "is not a time: write it like"),
        ("2026-02-30T00:00:00Z", "is not a time"),
        ("2026-01-01T24:00:00Z", "is not a time"),
        ("2026-01-01T00:00:60Z", "is not a time"),
        ("0000-01-01T00:00:00Z", "is not a time"),
        ("2026-01-01T00:00:00.1234567Z", "at most six digits"),
        ("2026-01-01T00:00.5Z", "not a number of microseconds"),
        ("0001-01-01T00:00:00+00:01", "outside the years 0001 to 9999"),
        ("9999-12-31T23:59:59-00:01", "outside the years 0001 to 9999"),
        ("2026-01-01T00:00:00+24:00", "no such offset"),
        ("2026-01-01T00:00:00+00:60", "no such offset"),
    ],
)
def test_a_time_that_names_no_instant_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_time(text)


NOW = parse_time("2026-03-01T12:30:00Z")


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-01-01", "2026-01-01T00:00:00Z"),
        ("2d", "2026-02-27T12:30:00Z"),
        ("36h", "2026-02-28T00:30:00Z"),
        ("1h30m", "2026-03-01T11:00:00Z"),
        ("0s", "2026-03-01T12:30:00Z"),
        ("2026-01-01T02:00:00+02:00", "2026-01-01T00:00:00Z"),
    ],
)
def test_a_moment_is_a_date_an_age_or_a_time(text: str, time: str) -> None:
    assert format_time(parse_moment(text, NOW)) == time


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2026-01-01T00:00:00", "has no offset: end it with Z"),
        ("yesterday", "a date like 2026-01-01 \\(midnight UTC\\), or an age like 2d"),
        ("2026-02-30", "is not a time"),
        ("-2d", "'-2d' is negative: an age counts back from now, such as 2d$"),
        ("3000d2", "is not a time"),
        ("3000000d", "outside the years 0001 to 9999"),
        ("2026-01-01T00:00:00.1234567Z", "at most six digits$"),
    ],
)
def test_a_moment_that_names_no_instant_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_moment(text, NOW)


@given(st.integers(0, NOW - MIN_TIME))
def test_an_age_counts_back_from_the_clock(age: int) -> None:
    assert parse_moment(format_duration(age), NOW) == NOW - age


@pytest.mark.parametrize(
    ("micros", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1, "1970-01-01T00:00:00.000001Z"),
        (-1, "1969-12-31T23:59:59.999999Z"),
        (MIN_TIME, "0001-01-01T00:00:00Z"),
        (MAX_TIME, "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_a_time_is_written_in_utc_with_a_fraction_only_where_it_has_one(micros: int, text: str) -> None:
    assert format_time(micros) == text


@given(st.integers(MIN_TIME, MAX_TIME))
@example(MIN_TIME)
@example(MAX_TIME)
def test_a_time_survives_being_written(micros: int) -> None:
    assert parse_time(format_time(micros)) == micros


@pytest.mark.parametrize("micros", [MIN_TIME - TICK, MAX_TIME + TICK, 10**30])
def test_a_time_outside_the_years_is_not_written(micros: int) -> None:
    with pytest.raises(ValueError, match="outside the years 0001 to 9999"):
        format_time(micros)


@given(st.datetimes())
def test_a_datetime_without_zone_is_taken_as_utc(value: datetime) -> None:
    assert format_time(from_datetime(value)) == value.isoformat() + "Z"


@given(st.datetimes(timezones=st.timezones()))
def test_a_datetime_with_a_zone_is_its_instant(value: datetime) -> None:
    assert from_datetime(value) == from_datetime(value.astimezone(UTC))


@pytest.mark.parametrize(
    ("micros", "held"), [(MIN_TIME - 1, MIN_TIME), (0, 0), (MAX_TIME, MAX_TIME), (10**30, MAX_TIME)]
)
def test_a_time_beyond_the_years_is_held_at_their_bound(micros: int, held: int) -> None:
    assert within_years(micros) == held


@pytest.mark.parametrize(("size", "text"), [(0, "0B"), (1023, "1023B"), (1024, "1KiB"), (3 * 2**40, "3TiB")])
def test_a_size_is_written_in_the_largest_unit_that_divides_it(size: int, text: str) -> None:
    assert format_size(size) == text


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1B", 1),
        ("10MB", 10**7),
        ("256MiB", 256 * 2**20),
        ("1GiB", 2**30),
        ("2 KiB", 2048),
        ("3tb", 3 * 10**12),
        ("9" * 20 + "B", 10**20 - 1),
    ],
)
def test_a_size_is_a_whole_number_of_a_unit(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "5", "1.5GiB", "-1B", "1PB", "GiB", "1 G", "9" * 21 + "B"])
def test_anything_else_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size: write a whole number and one of B, KB"):
        parse_size(text)


@given(st.integers(0, 2**60))
def test_a_size_survives_being_written(size: int) -> None:
    assert parse_size(format_size(size)) == size
