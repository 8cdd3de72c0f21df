"""`validate` tells which expectations of users' suites cannot be evaluated on their tables, before any run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from tidemark.config import load_pipeline
from tidemark.errors import ConfigError
from tidemark.pipeline import Pipeline
from tidemark.quality.suite_checks import EVENTS, columns

PIPELINE = """
pipeline: toll
sources:
  readings:
    landing: ./landing
    format: json
    schema: "id STRING, speed DOUBLE, t TIMESTAMP, tags ARRAY<STRING>, `odd-name` INT"
    timestamp_by: t
    over: id
    late_arrival: {tolerance: 1h, action: adjust}
streams:
  fast: {from: readings, where: "speed > 30", select: {id: id, kmh: speed}, publish: true}
  minutes: {from: readings, tumbling: 1m, group_by: [id], select: {n: count(*)}, partition_by: partition}
  both: {join: [fast, readings], on: [id], select: {kmh: fast.kmh, speed: readings.speed}}
"""
BETWEEN, TO_EXIST = "expect_column_values_to_be_between", "expect_column_to_exist"
TABLES = ("events/readings", "streams/fast", "streams/minutes", "streams/both")
LANDED = 1_767_261_600


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "landing").mkdir()
    (tmp_path / "toll.yml").write_text(PIPELINE)
    return tmp_path / "toll.yml"


def expect(config: Path, table: str, *asked: tuple[str, dict[str, Any]]) -> str:
    """A suite of a table; returns its file."""
    file = config.parent / "expectations" / f"{table}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    found = [{"type": name, "kwargs": kwargs} for name, kwargs in asked]
    file.write_text(json.dumps({"name": table, "expectations": found}))
    return str(file)


def refused(config: Path, deep: bool) -> list[tuple[str, str, str]]:
    """What `validate` says: files, places and messages."""
    try:
        Pipeline.load(config, {}).validate(deep)
    except ConfigError as error:
        return [(problem.file, problem.key, problem.message) for problem in error.problems]
    return []


@pytest.mark.usefixtures("quick", "expectations")
def test_what_cannot_be_evaluated_is_an_error_of_the_deep_check_with_its_reason(config: Path) -> None:
    events = expect(
        config,
        "events/readings",
        (BETWEEN, {"column": "id", "max_value": 5}),
        (BETWEEN, {"column": "speed", "max_value": 5}),
        ("expect_column_values_to_be_dateutil_parseable", {"column": "id"}),
        ("expect_column_values_to_not_be_null", {"column": "odd-name"}),
        ("expect_column_values_to_not_be_null", {"column": "_end_time"}),
        ("expect_column_mean_to_be_between", {"column": "id", "min_value": 1}),
    )
    minutes = expect(config, "streams/minutes", (BETWEEN, {"column": "_partition", "max_value": 5}))
    assert refused(config, deep=False) == []
    found = refused(config, deep=True)
    assert [(file, key) for file, key, _ in found] == [
        (events, "expectations.0"),
        (events, "expectations.2"),
        (events, "expectations.5"),
        (minutes, "expectations.0"),
    ]
    assert found[0][2].startswith(f"{BETWEEN}(id): ")
    assert "StringType" in found[0][2]
    assert "No provider" in found[1][2]
    assert "numeric" in found[2][2]


@pytest.mark.usefixtures("quick", "expectations")
def test_what_is_not_met_by_no_rows_is_no_error(config: Path) -> None:
    single = (
        ("expect_column_mean_to_be_between", {"min_value": 1}),
        ("expect_column_median_to_be_between", {"min_value": 1}),
        ("expect_column_max_to_be_between", {"min_value": 1}),
        ("expect_column_unique_value_count_to_be_between", {"min_value": 5}),
        ("expect_column_most_common_value_to_be_in_set", {"value_set": [1]}),
        ("expect_column_quantile_values_to_be_between",
         {"quantile_ranges": {"quantiles": [0.5], "value_ranges": [[0, 1]]}}),
    )  # fmt: skip
    expect(config, "streams/fast", *[(name, {"column": "kmh", **more}) for name, more in single])
    expect(config, "streams/both", (TO_EXIST, {"column": "gone"}), (BETWEEN, {"column": "kmh", "max_value": 1}))
    expect(config, "streams/minutes", ("expect_table_row_count_to_equal", {"value": 3}))
    assert refused(config, deep=True) == []


def test_no_such_column_and_no_such_expectation_are_errors_without_a_jvm(config: Path) -> None:
    file = expect(
        config,
        "streams/minutes",
        (BETWEEN, {"column": "speed", "max_value": 5}),
        ("expect_nothing", {}),
        (TO_EXIST, {"column": "speed"}),
        ("expect_column_pair_values_to_be_equal", {"column_A": "n", "column_B": "m"}),
        (BETWEEN, {"column": "n", "max_value": "many"}),
        ("expect_table_columns_to_match_ordered_list", {"column_list": ["x"]}),
    )
    other = expect(config, "events/readings", ("expect_compound_columns_to_be_unique", {"column_list": ["id", "x"]}))
    found = {(each_file, key): message for each_file, key, message in refused(config, deep=False)}
    assert sorted(found) == [
        (other, "expectations.0"),
        *[(file, f"expectations.{index}") for index in (0, 1, 3, 4)],
    ]
    assert (
        f"{BETWEEN}(speed): streams/minutes has no column 'speed': it has _window_start, "
        in (found[file, "expectations.0"])
    )
    assert "has no column 'm'" in found[file, "expectations.3"]
    assert "max_value: " in found[file, "expectations.4"]
    assert "has no column 'x'" in found[other, "expectations.0"]


@pytest.mark.usefixtures("quick")
def test_the_columns_of_tables_are_those_that_runs_write(config: Path) -> None:
    rows = [{"id": "a", "speed": 40.0, "t": "2026-01-01T10:00:00Z", "odd-name": 1}] * 2
    landed = config.parent / "landing" / "a.json"
    landed.write_text("".join(json.dumps(row) + "\n" for row in rows))
    os.utime(landed, (LANDED, LANDED))
    pipeline = Pipeline.load(config, {})
    pipeline.close(as_of="2026-01-02T00:00:00Z")
    spec = load_pipeline(config, {}).spec
    for table in TABLES:
        schema = DeltaTable(str(pipeline.path(table)["path"])).schema()
        assert [field.name for field in schema.fields] == list(columns(spec, table)), table
        if table.startswith("events/"):
            found = {field.name: field.type.type for field in schema.fields}
            kinds = {name: kind.partition("<")[0].replace("bigint", "long") for name, kind in EVENTS.items()}
            assert kinds == {name: found[name] for name in EVENTS}
