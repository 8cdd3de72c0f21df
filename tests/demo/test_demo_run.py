"""The demo as people run it: its tables are what pandas makes of the same data."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from tidemark.demo.flights import PIPELINE, read_flights, with_times
from tidemark.demo.show import REPORT, run_demo
from tidemark.demo.weather import read_weather
from tidemark.pipeline import Pipeline

pytestmark = [pytest.mark.spark, pytest.mark.long]
HOUR = pd.Timedelta(hours=1)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    folder, said = tmp_path_factory.mktemp("demo"), []
    record = run_demo(folder, said.append)
    assert record["replay"]["identical"]
    assert record["report"] == str(folder / REPORT)
    return folder, said


@pytest.fixture(scope="module")
def log() -> pd.DataFrame:
    """The records that have both times, in the order in which they landed."""
    flights = with_times(read_flights())
    return flights[flights["landed"].notna()].sort_values(["landed", "origin", "carrier", "flight"])


@pytest.fixture(scope="module")
def judged(log: pd.DataFrame) -> pd.DataFrame:
    """Those that are not dropped, with their system timestamp: at most 2 hours behind their airline's latest."""
    kept = log[log["air_time"] <= 360].copy()
    before = (
        kept.groupby(["origin", "carrier"])["departed"].cummax().groupby([kept["origin"], kept["carrier"]]).shift()
    )
    kept["judged"] = kept["departed"].where(~(kept["departed"] < before - 2 * HOUR), before - 2 * HOUR)
    return kept


def table(folder: Path, name: str) -> pd.DataFrame:
    return Pipeline.load(folder / PIPELINE).table(name).to_table().to_pandas()


def hours(rows: pd.DataFrame, time: str) -> pd.DataFrame:
    grouped = rows.assign(hour=rows[time].dt.floor("h")).groupby(["hour", "carrier"])["dep_delay"]
    return (
        grouped.agg(["size", "mean"]).reset_index().set_axis(["hour", "carrier", "departures", "mean_delay"], axis=1)
    )


def counted(folder: Path, name: str) -> pd.DataFrame:
    found = table(folder, name)[["_window_start", "carrier", "departures", "mean_delay"]]
    return (
        found.sort_values(["_window_start", "carrier"])
        .reset_index(drop=True)
        .set_axis(["hour", "carrier", "departures", "mean_delay"], axis=1)
    )


def test_every_hour_of_every_airline_is_counted_once(told, judged):
    pd.testing.assert_frame_equal(counted(told[0], "streams/hourly"), hours(judged, "judged"), check_dtype=False)


def test_who_lands_after_an_hour_of_july_was_counted_is_late_for_it(told, log):
    log = log[log["landed"].dt.strftime("%Y-%m") == "2013-07"]
    before = log.groupby("origin")["departed"].cummax().groupby(log["origin"]).shift()
    late = before >= log["departed"].dt.floor("h") + 3 * HOUR
    letters = table(told[0], "dead_letters/board_hours")
    assert len(letters) == late.sum() > 0
    assert sorted(letters["_event_time"]) == sorted(log[late]["departed"])
    pd.testing.assert_frame_equal(
        counted(told[0], "streams/board_hours"), hours(log[~late], "departed"), check_dtype=False
    )


def test_a_flight_of_july_meets_the_weather_of_its_hour(told, judged):
    weather = read_weather().assign(hour=lambda rows: pd.to_datetime(rows["observed"]))
    july = judged[judged["departed"].dt.strftime("%Y-%m") == "2013-07"]
    met = july.assign(hour=july["judged"].dt.floor("h")).merge(weather, on=["origin", "hour"])
    found = table(told[0], "streams/in_weather")
    columns = ["origin", "carrier", "dep_delay", "visib", "precip"]
    assert len(found) == len(met) > 28_000
    ours, theirs = (rows[columns].sort_values(columns).reset_index(drop=True) for rows in (found, met))
    pd.testing.assert_frame_equal(ours, theirs, check_dtype=False)


def test_the_report_has_the_numbers_of_the_tables(told):
    page = (told[0] / REPORT).read_text(encoding="utf-8")
    late = len(table(told[0], "dead_letters/board_hours"))
    for count in ("336,776", "283,229", "39,763", "4,354", "9,430", f"{late:,}"):
        assert re.search(rf"[> ]{count}[< ]", page), count


def test_the_story_has_the_numbers_of_the_tables(told):
    said = "\n".join(told[1])
    assert f"{len(table(told[0], 'streams/hourly')):,} rows" in said
    assert f"(dead_letters/board_hours)? {len(table(told[0], 'dead_letters/board_hours')):,}," in said
    for count in ("283,229", "39,763", "4,354", "9,430"):
        assert count in said
