"""The landing time read from an object's name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tidemark.config import LandedAtSpec
from tidemark.core.times import MAX_TIME, MIN_TIME, SECOND, format_time, parse_time


def _spec(path: str, letters: str, plus: str = "0s") -> LandedAtSpec:
    return LandedAtSpec.model_validate({"path": path, "format": letters, "plus": plus})


@pytest.mark.parametrize(
    ("path", "letters", "plus", "uri", "time"),
    [
        (r"dt=([0-9-]{10})/", "yyyy-MM-dd", "1d", "a/dt=2026-01-31/x.json", "2026-02-01T00:00:00Z"),
        (r"(.*)\.gz", "yyyy-MM-dd-H", "1h", "2026-01-01-7.gz", "2026-01-01T08:00:00Z"),
        (r"(.*)\.gz", "yyyy-MM-dd-H", "1h", "2026-01-01-17.gz", "2026-01-01T18:00:00Z"),
        (r"(\d{4})/", "yyyy", "0s", "2026/x", "2026-01-01T00:00:00Z"),
        (r"(\d{6})", "yyyyMM", "0s", "202602", "2026-02-01T00:00:00Z"),
        (r"_(.*)\.gz", "yyyyMMdd'T'HHmmss", "0s", "a_20260228T235959.gz", "2026-02-28T23:59:59Z"),
        (
            r"_(.*)Z",
            "yyyy-MM-dd HH:mm:ss.SSS",
            "1us",
            "_2026-01-01 00:00:00.250Z",
            "2026-01-01T00:00:00.250001Z",
        ),
        (r"(.*)", "yyyyMMddHHmmssSSSSSS", "0s", "20260101000000000001", "2026-01-01T00:00:00.000001Z"),
        (r"(.*)", "dd.MM.yyyy 'o''clock' HH", "0s", "31.12.2025 o'clock 23", "2025-12-31T23:00:00Z"),
    ],
)
def test_the_landing_time_is_what_the_path_holds(path: str, letters: str, plus: str, uri: str, time: str) -> None:
    assert _spec(path, letters, plus).landing_time(uri) == parse_time(time)


@pytest.mark.parametrize(
    "uri",
    [
        "x.json",
        "dt=2026-13-01/",
        "dt=2026-02-30/",
        "dt=0000-01-01/",
        "dt=\uff12\uff10\uff12\uff16-01-01/",
        "dt=2026-1-1/",
    ],
)
def test_a_name_without_a_time_has_no_landing_time(uri: str) -> None:
    assert _spec(r"dt=([^/]*)/", "yyyy-MM-dd").landing_time(uri) is None


def test_a_landing_time_past_the_year_9999_is_none() -> None:
    spec = _spec(r"dt=(.*)", "yyyy-MM-dd", "1d")
    assert spec.landing_time("dt=9999-12-30") is not None
    assert spec.landing_time("dt=9999-12-31") is None


def test_a_group_that_took_no_part_gives_no_landing_time() -> None:
    assert _spec(r"a|b(\d{4})", "yyyy").landing_time("a") is None


@given(st.integers(MIN_TIME // SECOND, MAX_TIME // SECOND))
def test_every_second_can_be_read_from_a_name(second: int) -> None:
    name = format_time(second * SECOND)
    assert _spec("(.*)", "yyyy-MM-dd'T'HH:mm:ss'Z'").landing_time(name) == second * SECOND


@pytest.mark.parametrize(
    ("path", "letters", "message"),
    [
        ("dt=.*", "yyyy", "has 0 groups: put one pair of ( )"),
        ("(a)(b)", "yyyy", "has 2 groups"),
        ("(a", "yyyy", "is not a regular expression"),
        ("(a)", "yyyy-MM-DD", "'DD' is not known: there are yyyy, MM"),
        ("(a)", "yy-MM-dd", "'yy' is not known"),
        ("(a)", "yyyy-MM-ddTHH", "'T' is not known"),
        ("(a)", "yyyy-MM-dd'T", "has a ' without its partner"),
        ("(a)", "yyyy HH", "is not a whole time"),
        ("(a)", "MM-dd", "is not a whole time"),
        ("(a)", "yyyySSS", "is not a whole time"),
        ("(a)", "", "is not a whole time"),
        ("(a)", "yyyy yyyy", "has the same part of a time twice"),
    ],
)
def test_what_cannot_be_read_is_refused(path: str, letters: str, message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        _spec(path, letters)
    assert message in str(caught.value)
