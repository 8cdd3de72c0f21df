"""Users' suites are found beside the pipeline file, and what is wrong with them is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tidemark.config import PipelineSpec, load_pipeline
from tidemark.errors import ConfigError
from tidemark.quality.suites import of_users

PIPELINE = """
pipeline: toll
warehouse: ./warehouse
sources:
  readings: {landing: ./landing, format: json, schema: "Speed DOUBLE"}
streams:
  fast: {from: readings, where: "Speed > 30"}
  minutes: {from: fast, tumbling: 1m, select: {n: count(*)}}
"""
SUITE = {"name": "own", "expectations": [{"type": "expect_column_values_to_not_be_null", "kwargs": {"column": "n"}}]}


@pytest.fixture
def spec(tmp_path) -> PipelineSpec:
    (tmp_path / "landing").mkdir()
    (tmp_path / "toll.yml").write_text(PIPELINE)
    return load_pipeline(tmp_path / "toll.yml", {}).spec


def write(tmp_path: Path, name: str, content: object = SUITE) -> None:
    file = tmp_path / "expectations" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content))


def test_suites_are_found_for_all_pipelines_of_a_folder_and_for_one(tmp_path, spec):
    for name in ("events/readings", "toll/events/readings", "toll/streams/minutes", "events/of_another", "notes"):
        write(tmp_path, f"{name}.json")
    assert [suite.table for suite in of_users(spec)] == ["events/readings", "events/readings", "streams/minutes"]
    assert not of_users(spec.model_copy(update={"path": Path()}))


def test_a_suite_of_this_pipeline_about_no_table_of_it_is_an_error(tmp_path, spec):
    write(tmp_path, "toll/streams/fast.json")
    with pytest.raises(ConfigError, match=r"streams/fast\.json.*events/readings\.json, streams/minutes\.json"):
        of_users(spec)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ([], "is no suite"),
        ({"expectations": [{"type": "x"}]}, "name: is missing"),
        ({"name": "own", "expectations": []}, "expectations: is missing"),
        ({"name": "own", "expectations": [{"kwargs": {}}]}, "expectations.0.type: is missing"),
        ({"name": "own", "expectations": [{"type": "x", "severity": "bad"}]}, "severity: 'bad' is not allowed"),
    ],
)
def test_a_file_that_is_no_suite_is_an_error_with_file_and_key(tmp_path, spec, content, message):
    write(tmp_path, "events/readings.json", content)
    with pytest.raises(ConfigError) as raised:
        of_users(spec)
    assert message in str(raised.value)
    assert str(tmp_path / "expectations" / "events" / "readings.json") in str(raised.value)
