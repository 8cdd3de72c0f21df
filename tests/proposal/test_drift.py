"""`init --check`: a file that was just proposed fits what lands; each kind of change is found, with its cost."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from landing_files import HOUR, SECOND, START, cells, iso, lines, millis, put, readings
from pyarrow import parquet
from service_shapes import service_shapes
from shapes import Shape, shapes
from test_init import FILES

import tidemark
from tidemark.cli import invoke
from tidemark.commands.init import check
from tidemark.config import secrets
from tidemark.errors import ConfigError, TidemarkError, UsageError

LATER = START + timedelta(days=1)
KNOWN = {"format", "row", "time", "landed_at"}
"""Differences that a proposal has remarked on: files of other kinds, lines that are no rows, rows without a time."""
TRIED = count()
Row = dict[str, Any]


def texts(hour: int) -> list[Row]:
    return [{key: v if isinstance(v, str) else iso(v) for key, v in row.items()} for row in readings(hour)]


def checked(folder: Path) -> dict[str, Any]:
    """The one source of the checked file."""
    (source,) = check(folder / "toll.yml")["sources"].values()
    return source


def written(folder: Path, more: str = "", schema: str = "", form: str = "json", landing: str = "./landing") -> None:
    """A pipeline of folder/landing: rows as `readings` has them."""
    columns = schema or "event_time TIMESTAMP, received_at TIMESTAMP, device STRING"
    (folder / "toll.yml").write_text(
        f"pipeline: toll\nsources:\n  readings:\n    landing: {landing}\n"
        f"    format: {form}\n    schema: '{columns}'\n    timestamp_by: event_time\n"
        "    arrival_time: received_at\n    landing_delay: 2h\n"
        "    late_arrival: {tolerance: 5m, action: drop}\n    out_of_order: {tolerance: 5m, action: adjust}\n" + more
    )


def land(folder: Path, change: Callable[[int, Row], Row] = lambda _, row: row) -> None:
    """Two files of 40 rows, the later of which has every row changed."""
    put(folder / "landing" / "0.json", lines(texts(0)), START + HOUR)
    put(folder / "landing" / "1.json", lines(change(n, row) for n, row in enumerate(texts(1))), START + 2 * HOUR)


@pytest.mark.parametrize(
    "shape",
    [each for each in (*shapes(), *service_shapes()) if "error" not in each.choice],
    ids=lambda each: each.name,
)
def test_a_file_just_proposed_fits_what_lands(shape: Shape, tmp_path):
    shape.write(tmp_path / "landing")
    tidemark.init(tmp_path / "landing", tmp_path / "toll.yml")
    record = check(tmp_path / "toll.yml")
    assert [each for source in record["sources"].values() for each in source["drifts"]] == []
    assert not record["drifted"]
    assert all(sum(source["fates"].values()) == source["sampled"]["rows"] for source in record["sources"].values())


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(FILES)
def test_whatever_was_proposed_differs_in_nothing_that_the_proposal_did_not_say(tmp_path, files):
    folder = tmp_path / f"d{next(TRIED)}"
    for name, content in files:
        put(folder / "landing" / name, content.encode("utf-8", "replace"))
    try:
        tidemark.init(folder / "landing", folder / "toll.yml")
    except UsageError:
        return
    found = [each for source in check(folder / "toll.yml")["sources"].values() for each in source["drifts"]]
    assert [each for each in found if each["kind"] not in KNOWN] == []


def _moved(by: int) -> Callable[[int, Row], Row]:
    return lambda n, row: row | {"event_time": iso(readings(1)[n]["event_time"] - by * SECOND)}


CHANGES: list[tuple[str, Callable[[int, Row], Row], Row]] = [
    ("new", lambda n, row: row | {"lane": n}, {"column": "lane", "proposed": "lane BIGINT", "effect": "unread"}),
    ("type", lambda n, row: row | {"device": row["device"], "event_time": {"at": 1} if n % 2 else row["event_time"]},
     {"column": "event_time", "rows": 20, "effect": "quarantined"}),
    ("late", _moved(3600), {"rows": 40, "share": 0.5, "effect": "dropped", "proposed": "2h"}),
    ("time", lambda _, row: row | {"event_time": None}, {"rows": 40, "key": "timestamp_by"}),
    ("early", _moved(-3600), {"rows": 40, "effect": "dropped"}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "change", "wanted"), CHANGES, ids=[kind for kind, *_ in CHANGES])
def test_a_change_in_the_newest_rows_is_found_with_what_it_costs(kind, change, wanted, tmp_path):
    land(tmp_path)
    written(tmp_path)
    assert checked(tmp_path)["drifts"] == []
    land(tmp_path, change)
    source = checked(tmp_path)
    (found,) = source["drifts"]
    assert found | wanted == found
    assert found["kind"] == kind
    if wanted.get("effect") in source["fates"]:
        assert source["fates"][wanted["effect"]] == wanted["rows"]


def test_a_new_member_within_a_column_is_found(tmp_path):
    land(tmp_path, lambda n, row: row | {"at": {"lane": n, "b": 2.5}, "of": [{"a": 1, "c": {"d": "x"}}]})
    columns = "event_time TIMESTAMP, received_at TIMESTAMP, device STRING, at STRUCT<lane: BIGINT>"
    written(tmp_path, schema=f"{columns}, of ARRAY<STRUCT<a: BIGINT, c: STRUCT<b: STRING>>>")
    found = [(each["kind"], each["proposed"], each["effect"]) for each in checked(tmp_path)["drifts"]]
    assert found == [("new", "at.b: DOUBLE", "unread"), ("new", "of[].c.d: STRING", "unread")]


def test_tolerances_are_held_to_the_limits_of_quality(tmp_path):
    land(tmp_path, _moved(3600))
    written(tmp_path, "quality: {max_dropped: 50%}\n")
    assert checked(tmp_path)["drifts"] == []
    written(tmp_path, "quality: {max_dropped: 49%}\n")
    assert [each["kind"] for each in checked(tmp_path)["drifts"]] == ["late"]
    written(tmp_path, "    quality: {max_output_delay: 2h}\nquality: {max_dropped: 50%}\n")
    assert checked(tmp_path)["drifts"] == [], "a limit that the source lacks is the pipeline's"


def test_dated_folders_are_looked_into_back_to_the_age_that_a_source_takes(tmp_path):
    now = datetime.now(UTC)
    for age in (timedelta(days=1), timedelta(days=90)):
        day = now - age
        put(tmp_path / "landing" / f"{day:%Y/%m/%d}" / "0.json", lines(texts(0)), day)
    written(tmp_path, "    max_object_age: 30d\n", landing="./landing/{yyyy}/{MM}/{dd}")
    assert checked(tmp_path)["objects"] == 1


def test_few_rows_are_an_accident(tmp_path):
    written(tmp_path)
    land(tmp_path, lambda n, row: _moved(3600)(n, row) if n < 4 else row)
    assert checked(tmp_path)["drifts"] == []
    land(tmp_path, lambda n, row: _moved(3600)(n, row) if n < 5 else row)
    assert [each["rows"] for each in checked(tmp_path)["drifts"]] == [5]


def test_a_member_that_a_column_rescues_is_new_all_the_same(tmp_path):
    land(tmp_path, lambda n, row: row | {"lane": n})
    written(tmp_path, "    rescue: _rescued\n")
    (found,) = checked(tmp_path)["drifts"]
    assert found["message"] == "lane is new, of type BIGINT: kept in _rescued until the schema has it"


def test_a_column_that_no_row_has_and_partitions_that_are_not_declared(tmp_path):
    land(tmp_path)
    columns = "event_time TIMESTAMP, received_at TIMESTAMP, device STRING, gone DOUBLE"
    written(tmp_path, "    partition: {column: device}\n    partitions: [d0, d1, d2]\n", columns)
    missing, other = sorted(checked(tmp_path)["drifts"], key=lambda each: each["kind"])
    assert (missing["kind"], missing["column"]) == ("missing", "gone")
    assert other["message"] == "12 partitions are not declared: d10, d11, d12, d13, d14, ..."


def test_rows_that_land_later_than_landing_delay_and_clocks_that_run_ahead(tmp_path):
    land(tmp_path)
    put(tmp_path / "landing" / "2.json", lines(texts(2)), START + 6 * HOUR)
    written(tmp_path)
    (found,) = checked(tmp_path)["drifts"]
    assert (found["kind"], found["rows"], found["proposed"]) == ("landing_delay", 40, "4h")
    put(tmp_path / "landing" / "2.json", lines(texts(2)), START + 2 * HOUR + 30 * timedelta(minutes=1))
    (found,) = checked(tmp_path)["drifts"]
    assert (found["kind"], found["proposed"], found["effect"]) == ("clock_skew", "30m", "quarantined")


def test_a_header_that_changed_and_a_column_that_comes_with_it(tmp_path):
    rows = [list(row.values()) for row in texts(0)]
    put(tmp_path / "landing" / "0.csv", cells([["event_time", "received_at", "device"], *rows]), START + HOUR)
    written(tmp_path, "    options: {header: true}\n", form="csv")
    assert checked(tmp_path)["drifts"] == []
    more = [["event_time", "received_at", "device", "lane"], *([*row, 7] for row in rows)]
    put(tmp_path / "landing" / "1.csv", cells(more), START + 2 * HOUR)
    header, lane = checked(tmp_path)["drifts"]
    assert (header["kind"], header["effect"]) == ("header", "quarantined")
    assert (lane["kind"], lane["proposed"]) == ("new", "lane BIGINT")


def test_files_of_another_format_and_columns_of_another_type(tmp_path):
    land(tmp_path)
    written(tmp_path)
    put(tmp_path / "landing" / "2.json", cells([["event_time", "device"], *[["a", n] for n in range(9)]]), LATER)
    (found,) = checked(tmp_path)["drifts"]
    assert (found["kind"], found["effect"]) == ("format", "quarantined")
    for hour, kind in enumerate((pa.int32(), pa.int64(), pa.string())):
        columns: dict[str, Any] = {key: [row[key] for row in readings(hour)] for key in ("event_time", "received_at")}
        columns["device"] = pa.array(range(40), pa.int64()).cast(kind)
        put(tmp_path / "columns" / f"{hour}.parquet", _parquet(pa.table(columns)), START + (hour + 1) * HOUR)
        written(tmp_path, schema="event_time TIMESTAMP, received_at TIMESTAMP, device BIGINT", form="parquet")
        text = (tmp_path / "toll.yml").read_text().replace("./landing\n", "./columns\n")
        (tmp_path / "toll.yml").write_text(text)
        assert [each["kind"] for each in checked(tmp_path)["drifts"]] == ["type"] * (hour == 2)


def _parquet(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("timestamp_millis(event_time)", millis),
        ("to_utc_timestamp(event_time, 'Europe/Berlin')", lambda t: f"{t + HOUR:%Y-%m-%dT%H:%M:%S}"),
        ("to_timestamp(event_time, 'd.M.yyyy H:mm[:ss][.SSSSSS]')", lambda t: f"{t:%d.%m.%Y %H:%M:%S}"),
        ("`event_time`", iso),
    ],
)
def test_times_are_known_without_spark(tmp_path, expression, value):
    land(tmp_path, lambda n, row: row | {"event_time": value(readings(1)[n]["event_time"])})
    (tmp_path / "landing" / "0.json").unlink()
    kind = "BIGINT" if "millis" in expression else "STRING"
    written(tmp_path, schema=f"event_time {kind}, received_at TIMESTAMP, device STRING")
    text = (tmp_path / "toll.yml").read_text()
    (tmp_path / "toll.yml").write_text(text.replace("timestamp_by: event_time", f'timestamp_by: "{expression}"'))
    source = checked(tmp_path)
    assert source["drifts"] == source["unseen"] == []
    assert source["fates"] == {"on_time": 40, "adjusted": 0, "dropped": 0, "quarantined": 0}


def test_what_only_spark_knows_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(secrets, "_hidden", {})
    monkeypatch.setenv("OTHERWISE", "received_at")
    land(tmp_path)
    written(tmp_path)
    text = (tmp_path / "toll.yml").read_text()
    (tmp_path / "toll.yml").write_text(text.replace("by: event_time", "by: 'coalesce(event_time, ${OTHERWISE})'"))
    source = checked(tmp_path)
    assert source["fates"] is None
    assert source["unseen"] == ["timestamp_by: only Spark knows coalesce(event_time, ${OTHERWISE})"]


def test_the_newest_objects_are_sampled(tmp_path):
    for number in range(25):
        put(tmp_path / "landing" / f"{number:02}.json", lines(texts(0)[:2]), LATER + number * HOUR)
    written(tmp_path)
    source = checked(tmp_path)
    assert source["objects"] == 25
    assert source["sampled"]["objects"] == [f"{number:02}.json" for number in range(24, 4, -1)]


def test_the_command_exits_with_1_if_anything_differs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    land(tmp_path)
    written(tmp_path)
    assert invoke(["init", "--check", "toll.yml"]) == 0
    assert "toll.yml fits what lands now." in capsys.readouterr().out
    land(tmp_path, _moved(3600))
    assert invoke(["init", "--check", "toll.yml"]) == 1
    said = capsys.readouterr().out
    assert "readings, late_arrival: rows are beyond 5m, dropped (50.0 % of the rows); would fit: 2h." in said
    assert invoke(["init", "landing", "--check", "toll.yml"]) == 2
    assert invoke(["init"]) == 2


def test_a_file_that_is_refused_and_a_folder_that_is_not_there(tmp_path):
    written(tmp_path, "    wrong: 1\n")
    with pytest.raises(ConfigError, match="wrong"):
        check(tmp_path / "toll.yml")
    written(tmp_path)
    with pytest.raises(TidemarkError, match="landing folder does not exist"):
        check(tmp_path / "toll.yml")
