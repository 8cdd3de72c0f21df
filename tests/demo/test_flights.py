"""The demo's landing files against the package's own columns, and the figures its pipeline file states."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from ruamel.yaml import YAML

from tidemark.demo.flights import (
    AS_OF,
    LandingSummary,
    read_flights,
    to_utc,
    with_times,
    write_landing,
    write_pipeline,
)

Row = dict[str, Any]
HOURS = {"0s": 0, "1h": 1, "2h": 2, "3h": 3, "6h": 6}


@pytest.fixture(scope="module")
def flights() -> pd.DataFrame:
    return with_times(read_flights())


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LandingSummary]:
    folder = tmp_path_factory.mktemp("landing")
    yield write_landing(folder)
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def days(written: LandingSummary) -> dict[Path, list[Row]]:
    return {path: [json.loads(line) for line in path.open()] for path in files(written.folder)}


@pytest.fixture(scope="module")
def judged(flights: pd.DataFrame) -> pd.DataFrame:
    """The rows with both times in the order of the log."""
    whole = flights[flights["landed"].notna()]
    return whole.sort_values(["landed", "origin", "carrier", "flight"])


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.json"))


def rows(days: dict[Path, list[Row]]) -> Iterator[Row]:
    return (row for day in days.values() for row in day)


def digest(folder: Path) -> str:
    content = hashlib.sha256()
    for path in files(folder):
        content.update(f"{path.relative_to(folder)} {path.stat().st_mtime_ns}\n".encode())
        content.update(path.read_bytes())
    return content.hexdigest()


def day_of(path: Path) -> str:
    return "-".join((*path.parts[-3:-1], path.stem))


def stands(row: Row) -> str:
    return str(row["landed"] or row["scheduled"])


def behind(judged: pd.DataFrame, key: list[str]) -> pd.Series[pd.Timedelta]:
    """How far each row is behind the latest departure before it of its key; the first of a key is not."""
    high = judged.groupby(key)["departed"].cummax().groupby([judged[name] for name in key]).shift()
    return (high - judged["departed"]).fillna(pd.Timedelta(0))


def test_every_flight_lands_once_as_it_is_in_the_data(flights: pd.DataFrame, days: dict[Path, list[Row]]) -> None:
    columns = ["origin", "dest", "carrier", "flight", "tailnum", "dep_delay", "air_time"]
    source = flights[columns].astype(object).where(flights[columns].notna(), None)
    assert Counter(source.itertuples(index=False, name=None)) == Counter(
        tuple(row[name] for name in columns) for row in rows(days)
    )


def test_the_summary_counts_what_was_written(written: LandingSummary, days: dict[Path, list[Row]]) -> None:
    assert written.rows == sum(map(len, days.values())) == 336_776
    assert written.files == len(days) == 366
    assert written.bytes == sum(path.stat().st_size for path in days)
    assert (written.cancelled, written.diverted) == (8_255, 1_175)


def test_9430_rows_lack_a_required_time(days: dict[Path, list[Row]]) -> None:
    cancelled = [row for row in rows(days) if row["departed"] is None]
    diverted = [row for row in rows(days) if row["departed"] is not None and row["landed"] is None]
    assert (len(cancelled), len(diverted)) == (8_255, 1_175)
    assert all(row["landed"] is None for row in cancelled)
    assert all(row["scheduled"] for row in rows(days))


def test_a_row_stands_in_the_file_of_its_day_in_order_of_landing(days: dict[Path, list[Row]]) -> None:
    for path, day in days.items():
        keys = [(stands(row), row["origin"], row["carrier"], row["flight"]) for row in day]
        assert keys[0][0][:10] == keys[-1][0][:10] == day_of(path)
        assert all(before < after for before, after in pairwise(keys)), path


def test_a_file_is_last_modified_at_the_end_of_its_day(days: dict[Path, list[Row]]) -> None:
    for path in days:
        end = datetime.fromisoformat(day_of(path)).replace(tzinfo=UTC) + timedelta(days=1)
        assert path.stat().st_mtime_ns == int(end.timestamp()) * 10**9


def test_flights_in_the_air_at_the_end_of_the_year_land_in_2014(days: dict[Path, list[Row]]) -> None:
    path = max(days)
    assert day_of(path) == "2014-01-01"
    assert len(days[path]) == 232


def test_the_runs_take_every_file_and_each_takes_four_months(days: dict[Path, list[Row]]) -> None:
    modified = [datetime.fromtimestamp(path.stat().st_mtime, UTC) for path in days]
    taken = [sum(time <= as_of for time in modified) for as_of in AS_OF]
    assert taken == [120, 243, 366]


def test_writing_again_gives_the_same_bytes_and_times(written: LandingSummary) -> None:
    before = digest(written.folder)
    calls: list[tuple[int, int]] = []
    again = write_landing(written.folder, lambda done, total: calls.append((done, total)))
    assert again == written
    assert digest(written.folder) == before
    assert calls == [(done, 366) for done in range(1, 367)]


def test_scheduled_times_are_those_the_package_gives_in_utc(flights: pd.DataFrame) -> None:
    hours = flights["time_hour"].dt.tz_convert("UTC")
    assert (flights["scheduled"].dt.floor("h") == hours).all()


def test_departures_are_the_recorded_ones_on_new_yorks_clock(flights: pd.DataFrame) -> None:
    left = flights[flights["departed"].notna()]
    local = left["departed"].dt.tz_convert("America/New_York")
    assert (local.dt.hour * 100 + local.dt.minute == left["dep_time"] % 2400).all()
    assert (left["dep_time"] < left["sched_dep_time"] - 1200).sum() > 100, "some left after midnight"


@pytest.mark.parametrize(
    ("local", "utc"),
    [
        pytest.param("2013-03-10T01:59", "2013-03-10T06:59Z", id="last minute of winter time"),
        pytest.param("2013-03-10T02:30", "2013-03-10T07:30Z", id="does not exist: 3:30 summer time"),
        pytest.param("2013-03-10T03:00", "2013-03-10T07:00Z", id="first minute of summer time"),
        pytest.param("2013-11-03T00:59", "2013-11-03T04:59Z", id="before the hour that comes twice"),
        pytest.param("2013-11-03T01:30", "2013-11-03T05:30Z", id="comes twice: the first"),
        pytest.param("2013-11-03T02:00", "2013-11-03T07:00Z", id="after the hour that comes twice"),
    ],
)
def test_new_yorks_clock_changes(local: str, utc: str) -> None:
    assert list(to_utc(pd.Series([pd.Timestamp(local)]))) == [pd.Timestamp(utc)]


@pytest.mark.parametrize(
    ("flight", "scheduled", "landed"),
    [
        pytest.param(("JFK", "B6", 199), "2013-03-10T02:28:00Z", "2013-03-10T07:18:00Z", id="March"),
        pytest.param(("JFK", "B6", 915), "2013-11-03T00:19:00Z", "2013-11-03T06:23:00Z", id="November"),
    ],
)
def test_a_flight_in_the_air_when_clocks_change_flies_as_long_as_it_did(
    days: dict[Path, list[Row]], flight: tuple[str, str, int], scheduled: str, landed: str
) -> None:
    (row,) = [
        row
        for row in rows(days)
        if (row["origin"], row["carrier"], row["flight"]) == flight and row["scheduled"] == scheduled
    ]
    departed = datetime.fromisoformat(row["departed"])
    assert departed == datetime.fromisoformat(scheduled) + timedelta(minutes=row["dep_delay"])
    assert row["landed"] == landed
    assert datetime.fromisoformat(landed) == departed + timedelta(minutes=row["air_time"])


def test_the_pipeline_file_reads_what_is_written(tmp_path: Path, days: dict[Path, list[Row]]) -> None:
    path = write_pipeline(tmp_path)
    source = YAML(typ="safe", pure=True).load(path)["sources"]["flights"]
    names = [column.split()[0] for column in source["schema"].split(",")]
    assert sorted(names) == sorted(next(rows(days)))
    assert set(source["partitions"]) == {row["origin"] for row in rows(days)}
    one = next(iter(days))
    assert (path.parent / source["landing"]).parts[-1] == one.parts[-4]


def test_the_pipeline_file_states_the_fates_its_tolerances_give(tmp_path: Path, judged: pd.DataFrame) -> None:
    text = write_pipeline(tmp_path).read_text()
    source = YAML(typ="safe", pure=True).load(text)["sources"]["flights"]
    assert source["late_arrival"] == {"tolerance": "6h", "action": "drop"}
    assert source["out_of_order"] == {"tolerance": "2h", "action": "adjust"}
    late = judged["air_time"] > 360
    moved = behind(judged[~late], ["origin", "carrier"]) - pd.Timedelta(hours=2)
    adjusted = moved[moved > pd.Timedelta(0)]
    on_time = len(moved) - len(adjusted)
    assert (
        f"336,776 records = {on_time:,} on time + {len(adjusted):,} adjusted"
        f" + {late.sum():,} dropped + {336_776 - len(judged):,} quarantined" in text
    )
    assert (adjusted.median(), adjusted.max()) == (pd.Timedelta(minutes=75), pd.Timedelta(minutes=205))


def test_the_pipeline_file_states_what_other_settings_would_give(tmp_path: Path, judged: pd.DataFrame) -> None:
    text = write_pipeline(tmp_path).read_text()
    kept = judged[judged["air_time"] <= 360]
    by_airline = behind(kept, ["origin", "carrier"])
    adjusted = {name: (by_airline > pd.Timedelta(hours=hours)).sum() for name, hours in HOURS.items()}
    stated = next(line for line in text.splitlines() if line.lstrip("# ").startswith("adjusted "))
    assert stated.split()[2:] == [f"{count:,}" if count else "none" for count in adjusted.values()]
    by_airport = (behind(kept, ["origin"]) > pd.Timedelta(hours=2)).sum()
    assert f"{by_airport:,} records would be out of order" in text
    longer = {hours: (judged["air_time"] > hours * 60).sum() for hours in (5, 6, 7, 12)}
    assert f"{longer[6]:,} flights (5h: {longer[5]:,}; 7h: {longer[7]:,}; 12h: none)" in text
    assert longer[12] == 0


def test_the_pipeline_file_states_which_flights_are_dropped(tmp_path: Path, judged: pd.DataFrame) -> None:
    text = write_pipeline(tmp_path).read_text()
    assert (judged["air_time"].median(), judged["air_time"].min(), judged["air_time"].max()) == (129, 20, 695)
    late = judged["air_time"] > 360
    honolulu = judged["dest"] == "HNL"
    assert late[honolulu].all()
    assert f"all {honolulu.sum()} flights to Honolulu" in text
    month = judged["departed"].dt.tz_convert("America/New_York").dt.month
    december = late[(judged["dest"] == "SFO") & (month == 12)]
    september = late[(judged["dest"] == "SFO") & (month == 9)]
    assert (december.sum(), len(december), september.sum(), len(september)) == (535, 1_159, 39, 1_189)
