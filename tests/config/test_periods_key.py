"""`airflow.periods`: by which periods a stream's completeness is signalled."""

from __future__ import annotations

from typing import Any

import pytest
from dag_pipelines import PIPELINE, write_pipeline

from tidemark.config.pipeline_files import PipelineFile
from tidemark.config.scheduling.periods import StreamPeriods, periods_of
from tidemark.core.calendar.calendars import Unit
from tidemark.core.completeness.periods import Periods
from tidemark.core.times import parse_time
from tidemark.errors import ConfigError

STREAMS: dict[str, Any] = {
    "minutes": {"from": "readings", "tumbling": "1m", "select": {"n": "count(*)"}},
    "shifts": {"from": "readings", "tumbling": "8h", "select": {"n": "count(*)"}},
    "visits": {"from": "readings", "session": {"gap": "5m", "max_duration": "1h"}, "select": {"n": "count(*)"}},
    "stays": {"from": "readings", "session": {"gap": "5m"}, "select": {"n": "count(*)"}},
    "after": {"from": "shifts", "where": "n > 1", "publish": True},
    "rows": {"from": "readings", "publish": True},
    "hidden": {"from": "readings", "where": "lane = 'a'"},
}


def found(tmp_path, **periods: Any) -> dict[str, StreamPeriods]:
    airflow = {"airflow": {"periods": periods}} if periods else {}
    return periods_of(PipelineFile.load(write_pipeline(tmp_path, streams=STREAMS, **airflow)).spec)


def test_the_default_is_an_hour_or_a_day_by_the_windows_of_the_stream(tmp_path):
    units = {name: each.periods.unit for name, each in found(tmp_path).items()}
    assert units == {
        "minutes": Unit.HOUR,
        "shifts": Unit.DAY,
        "visits": Unit.HOUR,
        "stays": Unit.DAY,
        "after": Unit.DAY,
        "rows": Unit.HOUR,
    }


def test_a_stream_may_have_another_unit_a_zone_and_a_first_time_or_none(tmp_path):
    asked = found(tmp_path, minutes="day", shifts="none", rows={"unit": "month", "zone": "Europe/Berlin"})
    assert asked["minutes"] == StreamPeriods(Periods(Unit.DAY))
    assert "shifts" not in asked
    assert asked["rows"] == StreamPeriods(Periods(Unit.MONTH, "Europe/Berlin"))


@pytest.mark.parametrize(
    ("zone", "since", "time", "first"),
    [
        ("Asia/Tokyo", "2026-03-01", "2026-02-28T15:00:00Z", "2026-03-01"),
        ("Asia/Tokyo", "2026-03-01T00:00:00Z", "2026-03-01T00:00:00Z", "2026-03-02"),
        ("America/New_York", "2026-03-01", "2026-03-01T05:00:00Z", "2026-03-01"),
        ("Asia/Beirut", "2022-03-27", "2022-03-26T22:00:00Z", "2022-03-27"),  # 0 to 1 o'clock is skipped
    ],
)
def test_a_date_from_which_periods_count_is_its_midnight_in_their_zone(tmp_path, zone, since, time, first):
    asked = found(tmp_path, rows={"unit": "day", "zone": zone, "from": since})["rows"]
    assert asked.since == parse_time(time)
    assert asked.periods.first_from(asked.since).key == f"{first}T00:00:00"


@pytest.mark.parametrize(
    ("periods", "message"),
    [
        ({"hidden": "day"}, "airflow.periods.hidden: is no stream with a table: there are minutes, shifts"),
        ({"rows": "decade"}, "airflow.periods.rows: 'decade' is no unit: choose one of hour, day"),
        ({"rows": {"zone": "UTC"}}, "airflow.periods.rows: needs `unit`"),
        ({"rows": {"unit": "hour", "zone": "Europe/Berlin"}}, "hours are those of UTC"),
        ({"rows": {"unit": "day", "zone": "Mars/Olympus"}}, "'Mars/Olympus' is no time zone"),
        ({"rows": {"unit": "day", "form": 1}}, "'form' is not known: there are unit, zone, from"),
        ({"rows": {"unit": "day", "from": "noon"}}, "'noon' is not a time"),
        ({"rows": {"unit": "day", "from": "2d"}}, "'2d' is not a time"),
        ({"rows": {"unit": "day", "from": "2026-02-30"}}, "is not a time: day is out of range"),
        ({"rows": 3}, "must be one of hour, day"),
    ],
)
def test_mistakes_are_named_with_their_key(tmp_path, periods, message):
    with pytest.raises(ConfigError) as error:
        found(tmp_path, **periods)
    assert message in str(error.value)


def test_periods_are_a_mapping(tmp_path):
    with pytest.raises(ConfigError, match=r"airflow\.periods: 'day': must be a mapping"):
        PipelineFile.load(write_pipeline(tmp_path, airflow={"periods": "day"}))
    assert PIPELINE["streams"].keys() == {"hours"}


def test_all_mistakes_that_matter_to_airflow_alone_are_named_at_once(tmp_path):
    wrong = {"periods": {"no": "day"}, "retries": -1}
    with pytest.raises(ConfigError) as error:
        PipelineFile.load(write_pipeline(tmp_path, "operate", airflow=wrong))
    assert [each.key for each in error.value.problems] == ["pipeline", "airflow.retries", "airflow.periods.no"]
