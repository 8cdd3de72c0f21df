"""The schema of what commands print: it has every command, it is current, and it refuses what is no record."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from checked_records import fault, printed_record
from tidemark.cli.commands.runs import tidemark
from tidemark.records.schema import COMMANDS, json_schema

RUN = {"run_id", "as_of", "batches", "watermarks", "streams", "quality"}
PROMISED = {
    "validate": {"valid", "errors", "warnings"},
    "test": {"cases"},
    "run": RUN,
    "close": RUN,
    "replay": {"batches"},
    "rows": {"rows", "total"},
    "explain": {"steps", "set_by"},
    "status": {"partitions", "streams"},
    "path": {"path"},
    "backfill": {"version", "input_rows", "difference"},
    "versions": {"live", "versions"},
    "promote": {"live", "versions"},
    "advise": {"grid", "recommended"},
    "release": {"run_id", "released"},
    "abandon": {"run_id", "abandoned"},
    "repair": {"repaired"},
    "verify": {"sound", "findings"},
    "exclude": {"uri"},
    "report": {"path"},
    "init": {"path", "proposal"},
    "demo": {*RUN, "report"},
}
"""Keys that other programs rely on."""
REPLAY = {
    "schema_version": 1,
    "rebuilt": None,
    "identical": True,
    "batches": [
        {
            "batch_id": 1,
            "identical": True,
            "input": "landing",
            "digest_version": None,
            "differences": [],
            "not_compared": [],
        },
    ],
    "engine_changed": [],
}
ERROR = {"code": "usage", "message": "no command was given", "where": "", "hint": "see `tidemark --help`"}


def test_every_command_has_a_schema():
    assert COMMANDS.keys() == tidemark.commands.keys()
    assert json_schema()["$defs"].keys() > tidemark.commands.keys()


@pytest.mark.parametrize("command", PROMISED)
def test_a_command_always_has_the_keys_that_others_rely_on(command):
    record = json_schema()["$defs"][command]["anyOf"][0]
    assert PROMISED[command] | {"schema_version"} <= set(record["required"])


def test_no_object_of_the_schema_takes_unknown_keys():
    assert [each["title"] for each in objects(json_schema()) if each["additionalProperties"] is not False] == []


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    """Each type in a schema that names its keys."""
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict) and "type" in schema:
            yield schema
        schema = list(schema.values())
    if isinstance(schema, list):
        for each in schema:
            yield from objects(each)


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_each_schema_is_one_of_draft_2020_12(command):
    Draft202012Validator.check_schema(json_schema(command))


@pytest.mark.parametrize("record", [REPLAY, REPLAY | {"truncated": True}, {"schema_version": 1, "error": ERROR}])
def test_a_record_and_a_failure_are_valid(record):
    assert fault("replay", json.dumps(record)) is None


@pytest.mark.parametrize(
    "record",
    [
        {key: value for key, value in REPLAY.items() if key != "identical"},
        {key: value for key, value in REPLAY.items() if key != "schema_version"},
        REPLAY | {"schema_version": 2},
        REPLAY | {"identical": "yes"},
        REPLAY | {"more": 1},
        REPLAY | {"batches": [REPLAY["batches"][0] | {"more": 1}]},
        REPLAY | {"batches": [{"batch_id": 1}]},
        REPLAY | {"error": ERROR},
        {"schema_version": 1, "error": ERROR | {"problems": [{"file": "toll.yml"}]}},
    ],
)
def test_a_wrong_record_is_refused(record):
    assert fault("replay", json.dumps(record)) is not None


def test_a_number_that_json_lacks_is_valid_as_the_text_that_is_printed():
    (record, _, _) = json_schema()["$defs"]["run"]["anyOf"]
    observed = {**json_schema(), "$ref": "#/$defs/CheckSummary"}
    check = {
        "table": "events/s",
        "expectation": "max_dropped",
        "limit": None,
        "success": False,
        "severity": "warn",
        "examples": [],
        "message": "",
    }
    assert record["properties"]["quality"]["items"] == {"$ref": "#/$defs/CheckSummary"}
    valid = [
        value
        for value in (0.5, 1, None, "NaN", "half")
        if Draft202012Validator(observed).is_valid(check | {"observed": value})
    ]
    assert valid == [0.5, 1, None, "NaN"]


def test_a_test_whose_command_prints_a_wrong_record_fails(faults, monkeypatch, capsys):
    from tidemark import cli
    from tidemark.notebook.result import Result
    from tidemark.pipeline import Pipeline

    class Wrong:
        def status(self) -> Result[Any]:
            return Result({"as_of": None}, "partitions", "Partitions")

    monkeypatch.setattr(Pipeline, "load", lambda *_, **__: Wrong())
    cli.invoke(["--json", "status", "c.yml"])
    assert capsys.readouterr().out
    assert faults != []
    faults.clear()


def test_the_schema_of_one_command_is_printed():
    done = subprocess.run(
        [sys.executable, "-m", "tidemark.records.schema", "status"], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == json_schema("status")
    assert printed_record("status", json.dumps({"schema_version": 1, "error": ERROR}))["error"] == ERROR
