"""Rules between keys, and warnings about what is legal but rarely meant."""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from config.pipeline_files import Files
from tidemark.config import load_pipeline
from tidemark.storage import dataset_of, delta_table

ARRIVAL = {"arrival_time": "EnqueuedAt", "landing_delay": "15m"}
EVENTS = ARRIVAL | {"timestamp_by": "EventTime"}


def _late(tolerance: str, action: str = "adjust") -> dict[str, str]:
    return {"tolerance": tolerance, "action": action}


@pytest.mark.parametrize(
    ("source", "key", "message"),
    [
        (
            {"arrival_time": "EnqueuedAt"},
            "landing_delay",
            "is missing: beside arrival_time it must say how long",
        ),
        (
            {"timestamp_by": "EventTime"},
            "late_arrival",
            "is missing: without arrival_time a row arrives when",
        ),
        (EVENTS | {"over": "DeviceId", "late_arrival": "off"}, "late_arrival", "off cannot be with `over`"),
        (
            {"partitions": ["1"]},
            "partitions[0]",
            "'1' cannot be: without `partition` there is one partition, \"0\"",
        ),
        ({"partitions": ["0", "1"]}, "partitions[1]", "'1' cannot be"),
        (
            {"format": "orc", "schema": "`a``b` INT"},
            "schema",
            "of an orc column with a ` in its name only null is read",
        ),
        ({"format": "orc", "schema": "s STRUCT<`a``b`: INT>"}, "schema", "only null is read: have it renamed"),
        (
            {"partition": {"column": "Lane"}, "partitions": ["a", "a"]},
            "partitions[1]",
            "'a' is declared twice",
        ),
        (
            {"partition": {"column": "Lane"}, "partitions": ["_unknown"]},
            "partitions[0]",
            "cannot be declared",
        ),
        (
            {"partition": {"column": "Lan"}},
            "partition.column",
            "'Lan' is not a column of the schema: did you mean Lane",
        ),
        ({"partition": {"column": "payload"}}, "partition.column", "not one value"),
        (
            EVENTS | {"timestamp_by": "ts"},
            "timestamp_by",
            "'ts' is a number (BIGINT), not a time: write timestamp_millis",
        ),
        (EVENTS | {"arrival_time": "ts"}, "arrival_time", "'ts' is a number (BIGINT), not a time"),
        (
            EVENTS | {"timestamp_by": "current_timestamp()"},
            "timestamp_by",
            "the function current_timestamp()",
        ),
        (
            EVENTS | {"over": "nope", "late_arrival": _late("5m")},
            "over",
            "'nope' is not a column of the schema",
        ),
        (
            EVENTS | {"over": ["Lane", "raw"], "late_arrival": _late("5m")},
            "over[1]",
            "'raw' is BINARY: keys are compared as text, and bytes need not be text; write hex(...) or base64(...)",
        ),
        ({"partition": {"column": "raw"}}, "partition.column", "'raw' is BINARY: keys are compared as text"),
        (
            EVENTS | {"over": ["Lane", "max(ts)"], "late_arrival": _late("5m")},
            "over[1]",
            "max() looks at other rows",
        ),
        ({"settle": "1h", "max_object_age": "1h"}, "max_object_age", "1h is not more than settle (1h)"),
        (
            {"format": "csv", "schema": "a ARRAY<INT>"},
            "schema",
            "column 'a' is ARRAY<INT>, which csv cannot hold",
        ),
        (
            {"schema": "a STRUCT<m: ARRAY<MAP<INT, STRING>>>"},
            "schema",
            "column 'a' is STRUCT<m: ARRAY<MAP<INT, STRING>>>, but the keys of a json object are text",
        ),
        ({"landing": "."}, "landing", "lie in one another"),
        ({"landing": "./warehouse/toll/v1/events"}, "landing", "lie in one another"),
        ({"landing": "./file"}, "landing", "is a file: name the folder it is in"),
    ],
)
def test_keys_that_contradict_each_other_are_refused(
    files: Files, source: dict[str, Any], key: str, message: str
) -> None:
    files.text("x", "file")
    found_key, found = files.problem(**source)
    assert found_key == f"sources.readings.{key}"
    assert message in found


@pytest.mark.parametrize("landing", ["s3://b-1/in", "s3://b-1", "s3a://b-1/in/toll/v1/{yyyy}"])
def test_places_on_s3_that_lie_in_one_another_are_refused(files: Files, landing: str) -> None:
    assert "lie in one another" in files.problem({"warehouse": "s3a://b-1/in"}, landing=landing)[1]


@pytest.mark.parametrize("landing", ["s3://b-1/inner", "s3://b-2/in", "./landing"])
def test_places_on_s3_have_one_form(files: Files, landing: str) -> None:
    loaded = files.load({"warehouse": "S3A://b-1/in/"}, landing=landing)
    assert loaded.spec.warehouse == "s3://b-1/in"
    assert loaded.warnings == [], "nothing is asked of S3"


def test_a_name_is_no_longer_than_a_folders_may_be(files: Files) -> None:
    stream = {"from": "readings", "publish": True}
    settings = {"pipeline": "p" * 256, "streams": {"s" * 255: stream, "t" * 256: stream}}
    assert [problem.key for problem in files.problems(settings)] == ["pipeline", f"streams.{'t' * 256}"]
    assert files.spec(settings | {"warehouse": "s3://bucket/x"}).name == "p" * 256


def test_a_warehouse_is_a_folder(files: Files) -> None:
    files.text("x", "file")
    assert "is a file: name a folder" in files.problem({"warehouse": "file"})[1]


REFUSED = ["[", "]", "|", "^", "\\", "\n", "%4a"]


@pytest.mark.parametrize("character", [*sorted(set(string.punctuation) - {"/", *REFUSED}), " ", "%zz", "é"])
def test_tables_can_be_opened_in_each_warehouse_that_is_accepted(files: Files, character: str) -> None:
    place = Path(files.load({"warehouse": f"./w{character}x"}).spec.warehouse) / "table"
    write_deltalake(str(place), pa.table({"n": [1]}))
    assert place.is_dir()
    assert delta_table(place).to_pyarrow_table().num_rows == dataset_of(place).count_rows() == 1


@pytest.mark.parametrize("character", [*REFUSED, "?", "#"])
def test_a_warehouse_that_no_table_can_be_opened_in_is_refused(files: Files, character: str) -> None:
    if character in REFUSED:
        assert f"for {character!r} in it: choose another" in files.problem({"warehouse": f"./w{character}x"})[1]
    assert f"for {character!r} in it" in files.problem({"warehouse": f"s3://b-1/w{character}x"})[1]


@pytest.mark.parametrize(
    "source",
    [
        {},
        EVENTS,
        ARRIVAL,
        EVENTS | {"late_arrival": "off"},
        EVENTS | {"over": "DeviceId", "late_arrival": _late("5m")},
        EVENTS | {"out_of_order": _late("5s")},
        EVENTS | {"out_of_order": _late("1h", "keep")},
        EVENTS | {"out_of_order": _late("1h"), "late_arrival": "off"},
        EVENTS | {"partition": {"column": "Lane"}, "partitions": ["0", "north", ""]},
        {"partitions": ["0"]},
        {"partitions": []},
        {"landing": "./landing/{yyyy}/{MM}/{dd}/{HH}"},
        {"timestamp_by": "EventTime", "late_arrival": "off"},
    ],
)
def test_what_is_usual_gives_no_warning(files: Files, source: dict[str, Any]) -> None:
    assert files.load(**source).warnings == []


@pytest.mark.parametrize(
    ("source", "key", "message"),
    [
        (
            EVENTS | {"out_of_order": _late("6s")},
            "out_of_order.tolerance",
            "6s is more than late_arrival (5s), so 5s is in effect",
        ),
        (EVENTS | {"out_of_order": _late("6s", "drop")}, "out_of_order.tolerance", "so 5s is in effect"),
        (
            EVENTS | {"late_arrival": "off", "partition": {"column": "Lane"}},
            "late_arrival",
            "off with several partitions",
        ),
        (EVENTS | {"over": "DeviceId"}, "late_arrival", "start with {tolerance: 5m, action: adjust}"),
        ({"over": "DeviceId"}, "over", "is ignored: without timestamp_by"),
        ({"early_arrival": "off"}, "early_arrival", "is ignored: without timestamp_by"),
        ({"late_arrival": _late("5m")}, "late_arrival", "is ignored: without timestamp_by"),
        ({"out_of_order": _late("5m")}, "out_of_order", "is ignored: without timestamp_by"),
        ({"landing": "./later"}, "landing", "there is no folder"),
    ],
)
def test_what_is_rarely_meant_gives_a_warning(files: Files, source: dict[str, Any], key: str, message: str) -> None:
    (warning,) = files.load(**source).warnings
    assert warning.key == f"sources.readings.{key}"
    assert message in warning.message


@pytest.mark.parametrize(("action", "fate"), [("adjust", "moved"), ("drop", "dropped")])
def test_event_time_without_an_arrival_column_is_a_trap_that_is_told(files: Files, action: str, fate: str) -> None:
    (warning,) = files.load(timestamp_by="EventTime", late_arrival=_late("1h", action)).warnings
    assert warning.key == "sources.readings.late_arrival.tolerance"
    assert f"each event more than 1h before that is {fate}" in warning.message
    assert "Name the column of the arrival in arrival_time; or make this at least the time" in warning.message


def test_a_ledger_that_forgets_needs_a_limit_on_the_age_of_objects(files: Files) -> None:
    (warning,) = files.load({"retention": {"ledger": "400d"}}).warnings
    assert warning.key == "retention.ledger"
    assert "the ledger keeps its object rows for ever; set max_object_age" in warning.message
    assert files.load({"retention": {"ledger": "400d"}}, max_object_age="30d").warnings == []


def test_a_warning_is_placed_in_the_file_that_has_the_key(files: Files) -> None:
    own = files.text("timestamp_by: EventTime\nlate_arrival: {tolerance: 1h, action: drop}", "own.yml")
    (warning,) = load_pipeline(files.pipeline(extends="own.yml"), {}).warnings
    assert (warning.file, warning.key) == (f"{own}:2", "late_arrival.tolerance")
