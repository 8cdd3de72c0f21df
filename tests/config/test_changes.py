"""What may change in a pipeline from one run to the next."""

from __future__ import annotations

from typing import Any

import pytest

from config.pipeline_files import COLUMNS, Files
from tidemark.config import changes
from tidemark.errors import ConfigError

SOURCE: dict[str, Any] = {
    "arrival_time": "EnqueuedAt",
    "landing_delay": "15m",
    "timestamp_by": "EventTime",
    "partition": {"column": "Lane"},
    "partitions": ["0", "1"],
    "late_arrival": {"tolerance": "5s", "action": "adjust"},
    "landed_at": {"path": "dt=(.*)/", "format": "yyyy"},
}
START = {"start": "2026-01-01T00:00:00Z"}
OTHER = {"landing": "./other", "format": "orc", "schema": "a INT"}


def _changes(files: Files, settings: dict[str, Any], source: dict[str, Any]) -> list[str]:
    recorded = files.spec(START, **SOURCE).resolved()
    return changes(recorded, files.spec(START | settings, **SOURCE | source))


def test_the_same_configuration_changes_nothing(files: Files) -> None:
    assert _changes(files, {}, {}) == []


@pytest.mark.parametrize(
    ("settings", "source", "sentence"),
    [
        (
            {},
            {"schema": COLUMNS + ", extra INT"},
            "sources.readings.schema: a new column 'extra' INT, null in older rows",
        ),
        (
            {},
            {"schema": "extra INT, " + COLUMNS},
            "sources.readings.schema: a new column 'extra' INT, null in older rows",
        ),
        ({}, {"partitions": ["0", "1", "2"]}, "sources.readings.partitions: partition '2' is now declared"),
        ({}, {"landing": "./moved"}, "sources.readings.landing: was"),
        ({}, {"quality": {"max_dropped": "1%"}}, "sources.readings.quality: was not given, is now"),
        ({"schedule": "0 * * * *"}, {}, "schedule: was not given, is now '0 * * * *'"),
        ({"micro_batch": {"max_files": 5}}, {}, "micro_batch: was 'auto', is now"),
        ({"quality": {"max_dropped": "1%"}}, {}, "quality: was not given"),
        ({"retention": {"events": "1d"}}, {}, "retention.events: was not given, is now '1d'"),
        ({"airflow": {"owner": "me"}}, {}, "airflow.owner: was not given, is now 'me'"),
        ({"warehouse": "./moved"}, {}, "warehouse: was"),
    ],
    ids=[
        "column",
        "column first",
        "partition",
        "landing",
        "source quality",
        "schedule",
        "micro_batch",
        "quality",
        "retention",
        "airflow",
        "warehouse",
    ],
)
def test_what_no_result_depends_on_and_what_only_adds_is_accepted_and_told(
    files: Files, settings: dict[str, Any], source: dict[str, Any], sentence: str
) -> None:
    (change,) = _changes(files, settings, source)
    assert change.startswith(sentence)


def test_a_new_source_is_accepted(files: Files) -> None:
    recorded = files.spec().resolved()
    readings = {"landing": "./landing", "format": "json", "schema": COLUMNS}
    spec = files.spec({"sources": {"other": OTHER, "readings": readings}})
    assert changes(recorded, spec) == ["sources.other: a new source"]


def test_the_order_of_columns_counts_in_csv_alone(files: Files) -> None:
    for kind in ("json", "parquet", "orc"):
        recorded = files.spec(format=kind, schema="a INT, b INT").resolved()
        (change,) = changes(recorded, files.spec(format=kind, schema="b INT, a INT"))
        assert change == "sources.readings.schema: the order of the columns is changed"
    recorded = files.spec(format="csv", schema="a INT, b INT").resolved()
    assert changes(recorded, files.spec(format="csv", schema="a INT, c INT, b INT")) != []
    with pytest.raises(ConfigError, match="in csv it says which value is which"):
        changes(recorded, files.spec(format="csv", schema="b INT, a INT"))


@pytest.mark.parametrize(
    ("settings", "source", "key"),
    [
        ({"start": "2026-01-02T00:00:00Z"}, {}, "start"),
        ({"start": None}, {}, "start"),
        ({"pipeline": "other"}, {}, "pipeline"),
        ({}, {"schema": COLUMNS.replace("Speed DOUBLE, ", "")}, "sources.readings.schema"),
        ({}, {"schema": COLUMNS.replace("Speed DOUBLE", "Speed FLOAT")}, "sources.readings.schema"),
        ({}, {"schema": COLUMNS.replace("Speed DOUBLE", "speed DOUBLE")}, "sources.readings.schema"),
        ({}, {"partitions": ["0"]}, "sources.readings.partitions"),
        ({}, {"partition": {"column": "DeviceId"}}, "sources.readings.partition.column"),
        ({}, {"landed_at": None}, "sources.readings.landed_at"),
        ({}, {"landed_at": SOURCE["landed_at"] | {"plus": "1d"}}, "sources.readings.landed_at.plus"),
        ({}, {"settle": "1s"}, "sources.readings.settle"),
        ({}, {"max_object_age": "30d"}, "sources.readings.max_object_age"),
        ({}, {"format": "orc"}, "sources.readings.format"),
        ({}, {"options": {"locale": "en"}}, "sources.readings.options.locale"),
        ({}, {"arrival_time": "local"}, "sources.readings.arrival_time"),
        ({}, {"landing_delay": "16m"}, "sources.readings.landing_delay"),
        ({}, {"clock_skew": "1m"}, "sources.readings.clock_skew"),
        ({}, {"timestamp_by": "local"}, "sources.readings.timestamp_by"),
        ({}, {"over": "DeviceId"}, "sources.readings.over"),
        ({}, {"early_arrival": "off"}, "sources.readings.early_arrival"),
        (
            {},
            {"late_arrival": {"tolerance": "6s", "action": "adjust"}},
            "sources.readings.late_arrival.tolerance",
        ),
        ({}, {"late_arrival": {"tolerance": "5s", "action": "drop"}}, "sources.readings.late_arrival.action"),
        ({}, {"out_of_order": {"tolerance": "0s", "action": "keep"}}, "sources.readings.out_of_order.action"),
    ],
    ids=[
        "start",
        "no start",
        "name",
        "column gone",
        "column type",
        "column case",
        "partition gone",
        "partition",
        "landed_at",
        "landed_at.plus",
        "settle",
        "max_object_age",
        "format",
        "options",
        "arrival_time",
        "landing_delay",
        "clock_skew",
        "timestamp_by",
        "over",
        "early",
        "late",
        "late action",
        "out of order",
    ],
)
def test_what_changes_results_is_refused_with_its_key_and_the_command(
    files: Files, settings: dict[str, Any], source: dict[str, Any], key: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        _changes(files, settings, source)
    assert [problem.key for problem in caught.value.problems] == [key]
    assert f"tidemark backfill {files.folder / 'pipeline.yml'} --from T0" in caught.value.hint
    assert caught.value.exit_code == 2


def test_a_renamed_source_is_refused(files: Files) -> None:
    recorded = files.spec({"sources": {"gates": OTHER}}).resolved()
    with pytest.raises(
        ConfigError, match=r"sources\.gates: the source is gone: a source cannot be removed or renamed"
    ):
        changes(recorded, files.spec({"sources": {"doors": OTHER}}))


def test_every_refused_key_is_named_beside_accepted_ones(files: Files) -> None:
    with pytest.raises(ConfigError) as caught:
        _changes(files, {"schedule": "0 * * * *"}, {"settle": "1s", "over": "DeviceId", "clock_skew": "1s"})
    assert [problem.key.rpartition(".")[2] for problem in caught.value.problems] == [
        "clock_skew",
        "over",
        "settle",
    ]


def test_values_are_told_as_they_are_written(files: Files) -> None:
    with pytest.raises(ConfigError, match="landing_delay: was '15m', is now '1h'"):
        _changes(files, {}, {"landing_delay": "60m"})


def test_another_spelling_is_no_change(files: Files) -> None:
    source = {"schema": COLUMNS.replace("BIGINT", "LONG"), "landing_delay": "900s", "partitions": ["1", "0"]}
    assert _changes(files, {}, source) == []
    spec = files.spec(options={"allowComments": "True"})
    recorded = spec.resolved()
    recorded["sources"]["readings"]["options"]["allowComments"] = "TRUE"
    assert changes(recorded, spec) == []


def test_a_key_that_an_older_version_did_not_know_counts_as_its_default(files: Files) -> None:
    recorded = files.spec().resolved()
    del recorded["retention"], recorded["sources"]["readings"]["clock_skew"]
    assert changes(recorded, files.spec()) == []
    with pytest.raises(ConfigError, match="clock_skew: was '5m', is now '1m'"):
        changes(recorded, files.spec(clock_skew="1m"))
