"""What `init` proposes, run on what it looked at: good rows are not quarantined, and times are read as told."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc, parquet

import tidemark
from tidemark.core.times import from_datetime
from tidemark.demo.flights import write_landing
from tidemark.pipeline import Pipeline
from tidemark.proposal.columns.timestamps import FORMATS, TimeFormat, iso_micros, of_format

pytestmark = pytest.mark.usefixtures("quick")
START = datetime(2026, 1, 1, tzinfo=UTC)
ROWS = 60
DAYS = 3

ISO = [
    "2026-01-01 08:00",
    "2026-01-01T08:00:01",
    "2026-01-01T08:00:02.5",
    "2026-01-01 08:00:03.123456789",
    "2026-01-01T08:00:04Z",
    "2026-01-01T08:00:05.25 UTC",
    "2026-01-01T10:00:06+02:00",
    "2026-01-01T10:00:07.000001+0200",
    "2026-01-01 03:00:08 -05:00",
    "2026-01-01T08:00:09 GMT",
    "2026-01-01 10:00:10.5+02",
]
WRITTEN = {
    "yyyy/MM/dd HH:mm[:ss][.SSSSSS]": ["2026/01/31 08:09", "2026/01/31 08:09:10", "2026/01/31 08:09:10.25"],
    "d.M.yyyy H:mm[:ss][.SSSSSS]": ["31.01.2026 08:09", "3.1.2026 8:09:10"],
    "M/d/yyyy H:mm[:ss][.SSSSSS]": ["01/31/2026 08:09", "1/3/2026 8:09:10.5"],
    "d/M/yyyy H:mm[:ss][.SSSSSS]": ["31/01/2026 08:09:10"],
    "M/d/yyyy h:mm[:ss] a": ["1/31/2026 8:09:10 PM", "01/31/2026 12:09 AM"],
    "d/M/yyyy h:mm[:ss] a": ["31/1/2026 12:09:10 PM"],
    "d-M-yyyy H:mm[:ss][.SSSSSS]": ["31-01-2026 8:09"],
    "yyyyMMdd HH:mm[:ss]": ["20260131 08:09:10"],
    "yyyyMMddHHmmss": ["20260131080910"],
    "dd/MMM/yyyy:HH:mm:ss Z": ["31/Jan/2026:10:09:10 +0200"],
    "yyyy/MM/dd": ["2026/01/31"],
    "d.M.yyyy": ["31.01.2026", "3.1.2026"],
    "M/d/yyyy": ["01/31/2026", "1/3/2026"],
    "d/M/yyyy": ["31/01/2026"],
}


def put(path: Path, content: str | pa.Table, landed: datetime) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, str):
        path.write_text(content)
    else:
        (parquet if path.suffix == ".parquet" else orc).write_table(content, path)
    os.utime(path, (landed.timestamp(),) * 2)


def arrivals(hour: int) -> list[tuple[datetime, datetime, str]]:
    """(event, arrival, site) of rows that arrived within an hour, each some seconds after it happened."""
    dice = Random(hour)  # noqa: S311 - the same rows each time
    made = []
    for number in range(ROWS):
        arrival = START + timedelta(hours=hour, seconds=50 * number)
        made.append((arrival - timedelta(milliseconds=dice.randint(0, 60_000)), arrival, dice.choice("ab")))
    return made


def land(folder: Path) -> None:
    """Three hours of the same rows in several forms, and three days of the demo's flights."""
    for hour in range(3):
        rows, landed = arrivals(hour), START + timedelta(hours=hour + 1, minutes=2)
        cells = "".join(
            f"{e:%Y-%m-%d %H:%M:%S.%f};{a:%Y-%m-%d %H:%M:%S};{s};0{n}\n" for n, (e, a, s) in enumerate(rows)
        )
        put(folder / f"plain/{hour}.csv", cells, landed)
        lines = [
            {"site": s, "at": {"happened": millis(e)}, "recv": millis(a), "tags": ["x"], "n": n if n % 2 else None}
            for n, (e, a, s) in enumerate(rows)
        ]
        put(folder / f"epoch/site={hour % 2}/{hour}.json", "".join(json.dumps(line) + "\n" for line in lines), landed)
        columns: dict[str, Any] = {
            "event_time": pa.array([e for e, *_ in rows], pa.timestamp("ns", "UTC")),
            "ingested": pa.array([a.replace(tzinfo=None) for _, a, _ in rows], pa.timestamp("us")),
            "shard": pa.array([ord(s) for *_, s in rows], pa.uint16()),
            "_offset": pa.array(range(ROWS)),
        }
        put(folder / f"columns/{hour}.parquet", pa.table(columns), landed)
        del columns["shard"], columns["_offset"]
        put(folder / f"stripes/{hour}.orc", pa.table(columns), landed)
        header = '"When, local",name\n' + "".join(f'{e:%m/%d/%Y %H:%M:%S},"a ""b"""\n' for e, *_ in rows)
        put(folder / f"slashed/{hour}.csv", header, landed)


def millis(time: datetime) -> int:
    return from_datetime(time) // 1000


@pytest.fixture(scope="module")
def ran(tmp_path_factory, spark) -> tuple[dict[str, Any], Pipeline]:  # noqa: ARG001 # the session must be there
    folder = tmp_path_factory.mktemp("init")
    land(folder / "landing")
    write_landing(folder / "all")
    days = sorted((folder / "all" / "flights").rglob("*.json"))[100 : 100 + DAYS]
    for path in days:
        target = folder / "landing" / path.relative_to(folder / "all")
        target.parent.mkdir(parents=True, exist_ok=True)
        path.rename(target)
    record = tidemark.init(folder / "landing", folder / "proposed.yml")
    pipeline = Pipeline.load(record["path"])
    pipeline.run()
    return record["proposal"]["sources"], pipeline


def rows_of(pipeline: Pipeline, source: str) -> list[dict[str, Any]]:
    return pipeline.table(f"events/{source}").to_table().to_pylist()


def micros(time: datetime) -> int:
    return from_datetime(time)


@pytest.mark.parametrize("source", ["plain", "epoch", "columns", "stripes"])
def test_rows_in_any_form_are_judged_by_the_times_that_they_were_written_with(ran, source):
    rows = rows_of(ran[1], source)
    assert {row["_disposition"] for row in rows} <= {"on_time", "adjusted"}
    found = sorted((micros(row["_event_time"]) // 1000, micros(row["_arrival_time"]) // 1000) for row in rows)
    assert found == sorted((millis(e), millis(a)) for hour in range(3) for e, a, _ in arrivals(hour))


def test_what_is_measured_on_the_whole_of_a_log_is_what_becomes_of_it(ran):
    for name in ("plain", "epoch", "columns", "stripes", "flights"):
        source, rows = ran[0][name], rows_of(ran[1], name)
        assert source["sampled"]["whole"], name
        fates = {fate: sum(row["_disposition"] == fate for row in rows) for fate in source["measured"]["fates"]}
        assert fates == source["measured"]["fates"], name


def test_flights_are_quarantined_only_where_they_lack_a_time(ran):
    rows = rows_of(ran[1], "flights")
    assert len(rows) > 2000
    for row in rows:
        assert (row["_disposition"] == "quarantined") == (row["departed"] is None or row["landed"] is None)


def test_a_header_that_no_schema_can_have_costs_nothing(ran):
    rows = rows_of(ran[1], "slashed")
    assert [row["_raw"] for row in rows if row["_disposition"] == "quarantined"] == []
    happened = sorted(e.replace(microsecond=0) for hour in range(3) for e, *_ in arrivals(hour))
    assert sorted(row["_event_time"] for row in rows if row["_event_time"]) == happened
    assert {row["name"] for row in rows if row["_event_time"]} == {'a "b"'}


def test_each_form_of_a_time_is_the_instant_that_spark_reads(spark):
    """In one query, since a source for each would take minutes."""
    assert set(WRITTEN) == set(FORMATS)
    texts = [(form, text) for form, each in WRITTEN.items() for text in each]
    columns = [f"unix_micros({TimeFormat(form).expression(repr(text))})" for form, text in texts]
    columns += [f"unix_micros(CAST({text!r} AS TIMESTAMP))" for text in ISO]
    (found,) = spark.sql(f"SELECT {', '.join(columns)}").collect()
    assert list(found) == [*(of_format(text, form) for form, text in texts), *map(iso_micros, ISO)]
