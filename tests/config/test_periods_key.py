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
    asked = found(
        tmp_path, minutes="day", shifts="none", rows={"unit": "month", "zone": "Europe/Berlin", "from": "2026-03-01"}
    )
    assert asked["minutes"] == StreamPeriods(Periods(Unit.DAY))
    assert "shifts" not in asked
    assert asked["rows"] == StreamPeriods(Periods(Unit.MONTH, "Europe/Berlin"), parse_time("2026-03-01T00:00:00Z"))


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
