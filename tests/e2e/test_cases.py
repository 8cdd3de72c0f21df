"""`tidemark test` through the product: rows of any format, differences, what stays, and cases from recorded rows."""

from __future__ import annotations

import json
import os
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ruamel.yaml import YAML

from checked_records import printed_record
from tidemark.cli import invoke
from tidemark.core.times import parse_time
from tidemark.errors import UsageError
from tidemark.pipeline import Pipeline

pytestmark = pytest.mark.usefixtures("quick")

PIPELINE = """
pipeline: toll
sources:
  readings:
    landing: ./landing/readings
    format: csv
    options: {header: "true"}
    schema: "Car STRING, Passed TIMESTAMP, Speed DOUBLE"
    header_columns: {"The Car": Car}
    timestamp_by: Passed
    partition: {path: 'p=([0-9]+)'}
    late_arrival: {tolerance: 15s, action: adjust}
  rates:
    landing: ./landing/rates
    format: parquet
    schema: "Car STRING, Rate DECIMAL(9, 2), Until DATE, Of STRUCT<a: INT>, Sent TIMESTAMP"
    arrival_time: Sent
    landing_delay: 1m
    settle: 10s
streams:
  per_minute: {from: readings, tumbling: 1m, group_by: [Car], select: {n: count(*), top: max(Speed)}}
  priced: {join: [readings, rates], on: [Car], select: {Car: readings.Car, rate: rates.Rate}}
"""
CASES = """
- case: a late reading is moved, a broken one quarantined, and the window closes
  given:
    readings:
      - {at: 2026-01-01T00:00:40Z, Car: A, Passed: 2026-01-01T00:00:00Z, file: p=1/x.csv}
      - {at: 2026-01-01T00:00:40Z, raw: "A,oops", file: p=1/x.csv}
      - {at: 2026-01-01T00:01:40Z, Car: A, Passed: 2026-01-01T00:00:59Z, Speed: 1.5, file: p=2/x.csv}
    rates:
      - {at: 2026-01-01T00:00:05Z, Car: A, Rate: 1.25, Until: 2026-02-01, Of: {a: 1}}
      - {at: 2026-01-01T00:00:25Z, landed: 2026-01-01T00:00:30Z, Car: B, Sent: 2026-01-01T00:00:06Z}
  runs: [2026-01-01T00:01:00Z, {as_of: 2026-01-01T00:02:00Z, close: true}]
  expect:
    events/readings:
      - {_partition: "2", _offset: 0, _disposition: adjusted, _system_timestamp: 2026-01-01T00:01:25Z, _batch_id: 2}
      - {_partition: "1", _offset: 1, _disposition: quarantined, _reasons: [invalid_row], _raw: "A,oops"}
      - {_partition: "1", _offset: 0, _reasons: [late], _system_timestamp: 2026-01-01T00:00:25Z}
    events/rates:
      - {_arrival_time: 2026-01-01T00:00:05Z, Rate: "1.25", Until: 2026-02-01, Of: {a: 1}, Sent: 2026-01-01T00:00:05Z}
      - {_arrival_time: 2026-01-01T00:00:06Z, Rate: null}
    streams/per_minute:
      - {_window_start: 2026-01-01T00:00:00Z, Car: A, n: 1, top: null}
      - {_window_start: 2026-01-01T00:01:00Z, Car: A, n: 1, top: 1.5}
    streams/priced: []
    dead_letters/per_minute: []
    diagnostics:
      - {type: LateInputEvent, partition: "1", count: 1, sample: {offset: 0}}
      - {type: LateInputEvent, partition: "2"}
      - {type: InputDeserializationError}
      - {type: InputPartitionNotProgressing, source: rates}
      - {type: InputPartitionNotProgressing, source: readings}
- case: another tolerance keeps the reading, and quality is checked if it is expected
  set: [sources.readings.late_arrival.tolerance=1m]
  given: {readings: [{at: 2026-01-01T00:00:40Z, Car: A, Passed: 2026-01-01T00:00:00Z, file: p=1/x.csv}]}
  expect:
    events/readings: [{_disposition: on_time}]
    batches: [{on_time: 1, rows: 1}]
"""
WRONG = """
case: nothing is as expected
given:
  readings:
    - {at: 2026-01-01T00:00:40Z, Car: A, Passed: 2026-01-01T00:00:30Z, file: p=1/x.csv}
    - {at: 2026-01-01T00:00:40Z, Car: B, Passed: 2026-01-01T00:00:31Z, file: p=1/x.csv}
runs: [{as_of: 2026-01-01T00:02:00Z, close: true}]
expect:
  events/readings: [{_offset: 0, _disposition: dropped}]
  streams/per_minute: [{Car: A, n: 2}, {Car: B, n: 1}]
  events/rates: [{Car: C}]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toll.yml").write_text(PIPELINE)
    return tmp_path


def test_rows_of_any_format_are_given_and_every_row_of_a_table_is_compared(folder, capsys):
    (folder / "toll.test.yml").write_text(CASES)
    (folder / "wrong.yml").write_text(WRONG)
    files = ["toll.test.yml", "wrong.yml"]
    status = invoke(["test", "toll.yml", *files, "--keep", "kept", "--junit", "out.xml", "--json"])
    record = printed_record("test", capsys.readouterr().out)
    assert status == 1
    good, other, wrong = record["cases"]
    assert (good["differences"], good["failure"], other["differences"]) == ([], None, [])
    assert (record["passed"], record["failed"], wrong["passed"]) == (2, 1, False)
    found = [(each["table"], each["expected"], each["got"], each["columns"]) for each in wrong["differences"]]
    assert found == [
        (
            "events/readings",
            {"_offset": 0, "_disposition": "dropped"},
            {"_offset": 0, "_disposition": "on_time"},
            ["_disposition"],
        ),
        ("events/readings", None, {"_offset": 1, "_disposition": "on_time"}, []),
        ("streams/per_minute", {"Car": "A", "n": 2}, {"Car": "A", "n": 1}, ["n"]),
        ("events/rates", {"Car": "C"}, None, []),
    ]
    given = [[row.get("Car") for row in each["given"]] for each in wrong["differences"]]
    assert given == [["A"], ["B"], ["A"], []]
    assert '<failure message="4 rows differ">' in (folder / "out.xml").read_text()
    hold_kept(folder, capsys)


def hold_kept(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What stays is a pipeline that commands look at; the user's own has no warehouse."""
    (kept,) = (folder / "kept").glob("001-*/pipeline.yml")
    assert invoke(["explain", str(kept), "readings", "2", "0", "--json"]) == 0
    assert "moved" in json.dumps(json.loads(capsys.readouterr().out)["sentences"])
    assert not (folder / "warehouse").exists()


def test_a_case_whose_run_fails_has_the_error_and_the_others_run(folder):
    (folder / "toll.test.yml").write_text(
        "- case: never\n  given: {rates: [{at: 2026-01-01T00:00:00Z, Car: A}]}\n"
        "  runs: [{as_of: 2026-01-01T00:00:30Z, close: true}, 2026-01-01T00:00:40Z]\n  expect: {events/rates: []}\n"
        "- case: nothing lands\n  given: {}\n  runs: [2026-01-01T00:00:00Z]\n  expect: {events/rates: []}\n"
    )
    record = Pipeline.load("toll.yml").test(case="nothing")
    assert [(case["name"], case["passed"]) for case in record["cases"]] == [("nothing lands", True)]
    with pytest.raises(UsageError, match="no case has 'unheard'"):
        Pipeline.load("toll.yml").test(case="unheard")


# cases from recorded rows


SENT = pa.array([parse_time("2026-01-01T00:00:30Z")], pa.int64()).cast(pa.timestamp("us", "UTC"))
RATES = pa.table(
    {
        "Car": ["B"],
        "Rate": pa.array([Decimal("1.25")], pa.decimal128(9, 2)),
        "Until": pa.array([None], pa.date32()),
        "Of": pa.array([{"a": 1}], pa.struct({"a": pa.int32()})),
        "Sent": SENT,
    }
)


def land(folder: Path, place: str, at: str, content: str | pa.Table) -> None:
    path = folder / "landing" / place
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, str):
        path.write_text(content)
    else:
        pq.write_table(content, path)
    landed = parse_time(at) * 1000
    os.utime(path, ns=(landed, landed))


def recorded(folder: Path) -> Pipeline:
    """A pipeline with three runs, the last of which closes it."""
    head = "The Car,Passed,Speed\n"
    first = head + '"O\'Neill: ""x""",2026-01-01T00:00:00Z,NaN\nB,2026-01-01T00:00:30Z,1e300\nB,oops,1\n'
    land(folder, "readings/p=1/a.csv", "2026-01-01T00:00:40Z", first)
    land(folder, "readings/p=2/a.csv", "2026-01-01T00:00:41Z", head + "B,2026-01-01T00:00:41Z,0.1\nB,,1\n")
    land(folder, "rates/a.parquet", "2026-01-01T00:00:31Z", RATES)
    pipeline = Pipeline.load(folder / "toll.yml")
    pipeline.run("2026-01-01T00:01:00Z")
    land(folder, "readings/p=1/b.csv", "2026-01-01T00:01:40Z", head + "B,2026-01-01T00:00:20Z,2\n")
    pipeline.run("2026-01-01T00:02:00Z")
    pipeline.close(as_of="2026-01-01T00:03:00Z")
    return pipeline


def test_a_case_recorded_from_a_stretch_of_rows_passes_when_it_is_run(folder, capsys):
    pipeline = recorded(folder)
    whole = pipeline.record_case(since="2025-01-01", mask=["car"])
    assert {key: whole[key] for key in ("rows", "runs", "differing", "masked")} == {
        "rows": 7, "runs": 3, "differing": 0, "masked": ["Car"],
    }  # fmt: skip
    text = (folder / "toll.recorded.test.yml").read_text()
    assert not any(word in text for word in ("Neill", "oops", "Car: B"))
    assert invoke(["test", "--record", "toll.yml", "last.test.yml", "--source", "readings", "--json"]) == 0
    last = printed_record("test", capsys.readouterr().out)
    assert (last["rows"], last["runs"], last["differing"]) == (1, 1, 0)
    assert invoke(["test", "toll.yml", "--json"]) == 0
    tested = printed_record("test", capsys.readouterr().out)
    assert [Path(case["file"]).name for case in tested["cases"]] == ["last.test.yml", "toll.recorded.test.yml"]
    hold_equal_but_names(pipeline, text)


def hold_equal_but_names(pipeline: Pipeline, text: str) -> None:
    """The case expects as many rows of each stream as the pipeline has published: groups and pairs stay."""
    part = YAML(typ="safe").load(text)
    for table in ("streams/per_minute", "streams/priced"):
        rows = pipeline.table(table).to_table().to_pylist()
        assert len(part["expect"][table]) == len(rows) > 0
        cars = Counter(row["Car"] for row in rows)
        assert sorted(Counter(row["Car"] for row in part["expect"][table]).values()) == sorted(cars.values())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--since", "2027-01-01"], "no row"),
        (["--run", "x"], "there is no committed run 'x'"),
        (["--run", "x", "--since", "2d"], "a run and a range of time exclude one another"),
        (["--mask", "Passed"], "timestamp_by reads it"),
        (["--case", "x"], "--case is for running cases"),
        (["--source", "rate"], "there is no source 'rate'"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_case_that_cannot_be_recorded_is_refused_with_the_reason(capsys, options, message):
    assert invoke(["test", "--record", "toll.yml", *options]) == 2
    assert message in capsys.readouterr().err
