"""A pipeline file becomes one specification, or one list of everything that is wrong with it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from config.pipeline_files import Files
from tidemark.config import Column, MicroBatchSpec, RetentionSpec, from_resolved, load_pipeline
from tidemark.core.policy import Action, Policy, Tolerance
from tidemark.core.times import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    format_duration,
    parse_duration,
    parse_time,
    recorded_duration,
)
from tidemark.errors import ConfigError

EXAMPLE = Path(__file__).parents[2] / "docs" / "example-pipeline.yml"
EVERYTHING = """
pipeline: toll
warehouse: ../warehouse
schedule: "*/15 * * * *"
start: 2026-01-01T00:00:00Z
micro_batch: {max_files: 100, max_bytes: 1GiB}
retention: {events: 400d, dead_letters: 300d, ledger: 200d, versions: 2}
sources:
  readings:
    landing: ./landing/readings
    landed_at: {path: 'dt=([0-9-]{10})/', format: yyyy-MM-dd, plus: 1d}
    settle: 1s
    max_object_age: 30d
    format: csv
    options: {header: true, delimiter: ";"}
    schema: "DeviceId STRING, EventTime TIMESTAMP, EnqueuedAt TIMESTAMP, Lane STRING"
    partition: {column: Lane}
    partitions: ["0", "1"]
    arrival_time: EnqueuedAt
    landing_delay: 15m
    clock_skew: 4m
    timestamp_by: EventTime
    over: DeviceId
    early_arrival: {tolerance: 6m, action: adjust}
    late_arrival: {tolerance: 7s, action: drop}
    out_of_order: {tolerance: 3s, action: keep}
    quality: {max_dropped: 0.5%}
airflow: {owner: data, retries: 2, nested: {list: [1, a, true]}}
quality: {max_dropped: 1%, max_adjusted: 20%, max_quarantined: 100%, max_watermark_delay: 1h,
          max_jump: 3, on_failure: block}
"""


def test_every_key_reaches_the_specification(files: Files) -> None:
    path = files.text(EVERYTHING, "conf/toll.yml")
    spec = load_pipeline(path, {}).spec
    assert (spec.name, spec.path) == ("toll", path)
    assert spec.warehouse == str(files.folder / "warehouse")
    assert spec.schedule == "*/15 * * * *"
    assert spec.start == parse_time("2026-01-01T00:00:00Z")
    assert spec.micro_batch == MicroBatchSpec.model_construct(max_files=100, max_bytes=2**30)
    assert (spec.retention.events, spec.retention.dead_letters) == (400 * DAY, 300 * DAY)
    assert (spec.retention.ledger, spec.retention.versions) == (200 * DAY, 2)
    assert spec.airflow == {"owner": "data", "retries": 2, "nested": {"list": [1, "a", True]}}
    assert spec.quality is not None
    assert (spec.quality.max_dropped, spec.quality.max_quarantined) == (0.01, 1.0)
    assert (spec.quality.max_watermark_delay, spec.quality.max_jump) == (HOUR, 3.0)
    assert spec.quality.on_failure == "block"

    source = spec.sources["readings"]
    assert source.name == "readings"
    assert source.landing == str(files.folder / "conf/landing/readings")
    assert source.landed_at is not None
    assert source.landed_at.landing_time("x/dt=2026-01-01/a") == parse_time("2026-01-02T00:00:00Z")
    assert (source.settle, source.max_object_age, source.clock_skew) == (SECOND, 30 * DAY, 4 * MINUTE)
    assert (source.format, source.options) == ("csv", {"header": "true", "sep": ";"})
    assert source.columns[1] == Column("EventTime", "TIMESTAMP")
    assert source.partition is not None
    assert (source.partition.column, source.partition.path) == ("Lane", None)
    assert source.partitions == ("0", "1")
    assert (source.arrival_time, source.landing_delay) == ("EnqueuedAt", 15 * MINUTE)
    assert (source.timestamp_by, source.over) == ("EventTime", ("DeviceId",))
    assert source.policy == Policy(
        Tolerance(6 * MINUTE, Action.ADJUST),
        Tolerance(7 * SECOND, Action.DROP),
        Tolerance(3 * SECOND, Action.KEEP),
    )
    assert source.quality is not None
    assert source.quality.max_dropped == 0.005


def test_what_is_not_given_has_the_defaults_of_the_time_rules(files: Files) -> None:
    spec = files.spec(arrival_time="EnqueuedAt", landing_delay="1m", timestamp_by="EventTime")
    assert (spec.schedule, spec.start, spec.quality, spec.airflow) == (None, None, None, {})
    assert (spec.micro_batch, spec.retention) == (MicroBatchSpec(), RetentionSpec())
    source = spec.sources["readings"]
    assert source.partitions == ("0",)
    assert (source.landed_at, source.max_object_age, source.partition, source.quality) == (None,) * 4
    assert (source.settle, source.clock_skew, source.over, source.options) == (0, 5 * MINUTE, (), {})
    assert source.policy == Policy(
        Tolerance(5 * MINUTE, Action.DROP), Tolerance(5 * SECOND, Action.ADJUST), Tolerance(0, Action.ADJUST)
    )


def test_without_an_event_time_arrival_is_judged(files: Files) -> None:
    source = files.source(over="DeviceId", late_arrival={"tolerance": "1h", "action": "drop"})
    assert source.policy == Policy.of_arrival()
    assert source.over == ()
    assert source.landing_delay == 0


def test_a_policy_can_be_off(files: Files) -> None:
    policy = files.source(timestamp_by="EventTime", early_arrival="off", late_arrival="off").policy
    assert (policy.early, policy.late) == (None, None)


def test_declared_partitions_may_be_none_where_rows_name_theirs(files: Files) -> None:
    assert files.source(partition={"column": "Lane"}).partitions == ()


@pytest.mark.parametrize(
    ("over", "parsed"),
    [("DeviceId", ("DeviceId",)), (["DeviceId", "upper(Lane)"], ("DeviceId", "upper(Lane)"))],
    ids=["one", "list"],
)
def test_substreams_are_one_expression_or_a_list(files: Files, over: object, parsed: tuple[str, ...]) -> None:
    late = {"tolerance": "1h", "action": "adjust"}
    assert files.source(timestamp_by="EventTime", late_arrival=late, over=over).over == parsed


def test_a_specification_cannot_be_changed(files: Files) -> None:
    spec = files.spec()
    with pytest.raises(ValidationError, match="frozen"):
        spec.start = 5


@pytest.mark.parametrize(
    ("environ", "warehouse", "expected"),
    [
        ({}, None, "warehouse"),
        ({"TIDEMARK_WAREHOUSE": "/big/disk"}, None, "/big/disk"),
        ({"TIDEMARK_WAREHOUSE": ""}, None, "warehouse"),
        ({"TIDEMARK_WAREHOUSE": "/big/disk"}, "./here", "here"),
        ({"PLACE": "a"}, "${PLACE}/../b", "b"),
    ],
    ids=["default", "variable", "empty", "given", "reference"],
)
def test_the_warehouse_is_the_given_one_or_the_variables_or_beside_the_file(
    files: Files, environ: dict[str, str], warehouse: str | None, expected: str
) -> None:
    files.environ = environ
    assert files.spec({"warehouse": warehouse}).warehouse == str(files.folder / expected)


def test_the_own_environment_is_used_where_none_is_given(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEMARK_WAREHOUSE", "/big/disk")
    assert load_pipeline(str(files.pipeline())).spec.warehouse == "/big/disk"


class TestExtends:
    """A source's own file, below the keys given in the pipeline."""

    def test_keys_given_in_the_pipeline_win_as_a_whole(self, files: Files) -> None:
        own = {
            "format": "csv",
            "options": {"header": "true"},
            "settle": "5s",
            "landing": "in",
            "schema": "a INT",
        }
        files.text(json.dumps(own), "shared/readings.yml")
        source = files.source(
            extends="shared/readings.yml", landing=None, schema=None, format="csv", options={"sep": ";"}
        )
        assert (source.options, source.settle) == ({"sep": ";"}, 5 * SECOND)
        assert source.landing == str(files.folder / "shared/in")

    def test_a_path_is_relative_to_the_file_that_names_it(self, files: Files) -> None:
        files.text("a STRING,\nb INT", "shared/a.ddl")
        files.text("landing: ../elsewhere\nformat: orc\nschema: {file: a.ddl}", "shared/readings.yml")
        source = files.source(extends="shared/readings.yml", schema=None, format=None)
        assert source.landing == str(files.folder / "landing")
        assert source.columns == (Column("a", "STRING"), Column("b", "INT"))

    def test_a_key_can_be_taken_back(self, files: Files) -> None:
        files.text("arrival_time: EnqueuedAt\nlanding_delay: 1m", "own.yml")
        path = files.pipeline(extends="own.yml")
        path.write_text(path.read_text().replace('"own.yml"', '"own.yml", "arrival_time": null'))
        assert load_pipeline(path, {}).spec.sources["readings"].arrival_time is None

    def test_a_problem_is_placed_in_the_file_that_has_the_key(self, files: Files) -> None:
        own = files.text("settle: 1s\nlate_arrival:\n  tolerance: 5x\n  action: drop\nbad: 1", "own.yml")
        problems = files.problems(extends="own.yml", settle="7x")
        assert [(problem.file, problem.key) for problem in problems] == [
            (f"{own}:3", "late_arrival.tolerance"),
            (f"{own}:5", "bad"),
            (f"{files.folder / 'pipeline.yml'}:1", "sources.readings.settle"),
        ]

    @pytest.mark.parametrize(
        ("extends", "message"),
        [
            ("nope.yml", "'nope.yml': there is no such file"),
            ("n" * 5000, "cannot be read"),
            ("a\0b", "cannot be read"),
            ("a\ud800", "cannot be read"),
            (5, "5 is not a file: write a path"),
            ("broken.yml", "is not YAML"),
            ("list.yml", "must be a mapping"),
        ],
    )
    def test_an_own_file_that_cannot_be_read_is_one_problem(
        self, files: Files, extends: object, message: str
    ) -> None:
        files.text("a: [", "broken.yml")
        files.text("- a", "list.yml")
        path = files.pipeline(extends=extends, format=None, schema=None, landing=None, timestamp_by="EventTime")
        with pytest.raises(ConfigError) as refused:
            load_pipeline(path, {})
        (problem,) = refused.value.problems
        assert message in problem.message
        assert str(refused.value).encode("utf-8")

    def test_an_own_file_does_not_extend_another(self, files: Files) -> None:
        files.text("extends: other.yml\nsettle: 5s", "nested.yml")
        key, message = files.problem(extends="nested.yml")
        assert (key, message) == (
            "extends",
            "a source's own file cannot extend another: write all keys in it",
        )


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("pipeline", "Toll", "'Toll' is not a name: write small letters, digits and _"),
        ("pipeline", "1a", "'1a' is not a name"),
        ("pipeline", "p" * 256, "is too long for a folder's name: write at most 255 characters"),
        ("pipeline", 5, "5 is not text: write text, or a number in quotes"),
        ("warehouse", "s3://Bucket/x", "'s3://Bucket/x' names no bucket: write s3://bucket/prefix"),
        ("warehouse", "s3a://bucket/x//y", "has a part that is empty or made of dots"),
        ("warehouse", "s3a://bucket/../y", "has a part that is empty or made of dots"),
        ("warehouse", "hdfs://host/x", "is not a folder: write a path"),
        ("warehouse", "dbfs:/in", "at /dbfs/in"),
        ("warehouse", "file:/in", "this one is /in"),
        ("warehouse", "hdfs:/in", "is not a folder: write a path"),
        ("warehouse", "", "is not a folder"),
        ("warehouse", "~nobody-of-this-name/x", "there is no user of this name"),
        ("warehouse", "a" * 256, "is too long for a file system"),
        ("warehouse", "a\ud800", "is not a folder: '\\ud800' is no character"),
        ("warehouse", 5, "5 is not text"),
        ("schedule", "* * * *", "is not a cron text (minute hour day month weekday)"),
        ("schedule", "@noon", "is no preset: there are @hourly, @daily"),
        ("schedule", "99 99 * * *", "minute '99' is not from 0 to 59"),
        ("schedule", "0 0 31 2 *", "never comes"),
        ("schedule", "0 0 30-31 feb *", "never comes: no month of 'feb' has a day '30-31'"),
        ("schedule", "0 0 27 1 4#5", "never comes: no month of '1' has a day '27' that is '4#5'"),
        ("schedule", "0 0 * * mon,fri#1", "has weekdays with and without # or l"),
        ("schedule", "*/0 * * * *", "has a step of 0"),
        ("schedule", "a;b * * * *", "is not a cron text"),
        ("start", "2026-01-01", "is not a time: write it like 2026-01-01T00:00:00Z"),
        ("start", "2026-01-01T00:00:00", "has no offset"),
        ("start", 2026, "2026 is not a time: write text, such as"),
        ("micro_batch", "big", "'big' is not a size of micro-batches: write auto, or {max_files: 100"),
        ("micro_batch", {}, "{} is not a size of micro-batches"),
        ("micro_batch.max_files", 0, "0 is not a whole number of 1 or more"),
        ("micro_batch.max_files", "many", "'many' is not a whole number of 1 or more"),
        ("micro_batch.max_bytes", "1", "'1' is not a size"),
        ("micro_batch.max_bytes", "0B", "'0B' must be more than 0"),
        ("micro_batch.max_file", 5, "there is no such key 'max_file': did you mean max_files"),
        ("retention", "400d", "'400d' must be a mapping"),
        ("retention.events", "0s", "'0s' must be longer than 0s"),
        ("retention.events", 400, "400 is not a duration: add one of us, ms, s, m, h, d, such as 400s"),
        ("retention.versions", -1, "-1 is not a whole number"),
        ("sources", {}, "{} must name a source or more"),
        ("sources", ["readings"], "must name a source or more"),
        (
            "sources.Readings",
            {"landing": "/x", "format": "json", "schema": "a INT"},
            "'Readings' is not a name",
        ),
        ("sources.other", "x", "'x' must be a mapping"),
        ("airflow", "x", "'x' must be a mapping"),
        ("quality.max_dropped", 0.01, "0.01 is not a share: write a percentage from 0% to 100%, such as 1%"),
        ("quality.max_dropped", "101%", "'101%' is not a share"),
        ("quality.max_jump", 0, "0 is not a number above 0"),
        ("quality.max_watermark_delay", "x", "'x' is not a duration"),
        ("quality.on_failure", "stop", "'stop' is not allowed: write block or warn"),
        ("quality.max_late", "1%", "there is no such key 'max_late': did you mean"),
        ("pipelin", "x", "there is no such key 'pipelin': did you mean pipeline?"),
        ("zzz", "x", "there is no such key 'zzz': there are pipeline, warehouse, schedule"),
        ("streams", ["a"], '["a"] must be a mapping of names to streams'),
    ],
)
def test_a_setting_that_cannot_be_is_refused(files: Files, key: str, value: object, message: str) -> None:
    top, _, inner = key.partition(".")
    source = {"landing": "./landing", "format": "json", "schema": "a INT"}
    nested = {inner: value} | ({"readings": source} if top == "sources" else {})
    found_key, found = files.problem({top: nested if inner else value})
    assert found_key == key
    assert message in found


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("landing", "s3://", "'s3://' names no bucket"),
        ("landing", "S3A://bucket/{yyy}/x", "'{yyy}' is not known"),
        ("landing", "s3://bucket/x/*.json", "is a pattern: name the folder"),
        ("landing", "./in/{yyy}", "'{yyy}' is not known: there are {yyyy} {MM} {dd} {HH}"),
        ("landing", "./in/{yyyy", "is not known"),
        ("landing", "./in/*.json", "is a pattern: name the folder"),
        ("landing", 5, "5 is not text"),
        ("landing", "", "is not a folder"),
        ("landing", "é" * 128, "too long for a file system: a name in it may have 255 bytes, the whole path 3,072"),
        ("landing", "abc/" * 1024, "is too long for a file system"),
        ("landing", "{" * 5000, "is too long for a file system"),
        ("landed_at", "dt=", "must be a mapping"),
        ("landed_at.plus", "-1d", "'-1d' is negative"),
        ("landed_at.path", "dt=", "has 0 groups"),
        ("landed_at.format", "YYYY", "'YYYY' is not known"),
        ("settle", "5", "'5' is not a duration"),
        ("settle", True, "true is not a duration: write text, such as 5s"),
        ("max_object_age", "0s", "must be longer than 0s"),
        ("format", "xml", "'xml' is not allowed: write json, csv, parquet or orc"),
        ("options", ["header"], "must be a mapping of reader options"),
        ("options", {"locale": ["en"]}, '{"locale": ["en"]} must be text'),
        ("schema", 5, "5 is not a schema"),
        ("schema", "a STRNG", "'STRNG' is not a type"),
        (
            "schema",
            "_Offset INT",
            "'_Offset' has the name of a column of the events tables: call it 'Offset'",
        ),
        ("schema", {"file": "nope.ddl"}, "the schema file 'nope.ddl' cannot be read: No such file"),
        ("schema", {"file": "a\0.ddl"}, "the schema file 'a\\x00.ddl' cannot be read"),
        ("schema", {"fil": "a.ddl"}, "is not a schema: write"),
        ("partition", "Lane", "'Lane' must be a mapping"),
        ("partition", {}, "must have one of column and path"),
        ("partition", {"column": "Lane", "path": "(a)"}, "must have one of column and path"),
        ("partition.path", "a", "has 0 groups"),
        ("partition.columns", "Lane", "there is no such key 'columns': did you mean column"),
        ("partitions", "0", "'0' must be text in a list"),
        ("partitions", [0], "0 must be text in a list"),
        ("arrival_time", 5, "5 is not an expression"),
        ("landing_delay", "x", "'x' is not a duration"),
        ("clock_skew", "-1s", "'-1s' is negative"),
        ("timestamp_by", ["a"], "is not an expression"),
        ("over", [5], "5 must be text in a list"),
        ("early_arrival", "5m", "'5m' is not a policy: write {tolerance: 5m, action: drop}, or off"),
        ("early_arrival.action", "keep", "'keep' is not allowed: write drop or adjust"),
        (
            "late_arrival.tolerance",
            "5x",
            "'5x' is not a duration: write a whole number and one of us, ms, s, m, h, d",
        ),
        ("late_arrival.tolerance", "1814400s", "'21d' is more than the most there is, 20d23h59m59s"),
        ("late_arrival.toleranc", "5s", "did you mean tolerance?"),
        ("out_of_order", "off", "'off' is not a policy: write {tolerance: 0s, action: adjust}"),
        ("out_of_order.action", "hold", "'hold' is not allowed: write drop, adjust or keep"),
        ("quality.max_dropped", "x", "'x' is not a share"),
        ("late_arival", "x", "there is no such key 'late_arival': did you mean late_arrival"),
        ("name", "x", "there is no such key 'name'"),
        ("columns", "x", "there is no such key 'columns'"),
        ("shape", "point", "needs `punctuation`"),
    ],
)
def test_a_key_of_a_source_that_cannot_be_is_refused(files: Files, key: str, value: object, message: str) -> None:
    top, _, inner = key.partition(".")
    whole: dict[str, dict[str, object]] = {
        "landed_at": {"path": "(a)", "format": "yyyy"},
        "early_arrival": {"tolerance": "5m", "action": "drop"},
        "late_arrival": {"tolerance": "5s", "action": "drop"},
        "out_of_order": {"tolerance": "5s", "action": "drop"},
        "partition": {} if inner == "path" else {"column": "Lane"},
    }
    given: Any = whole.get(top, {}) | {inner: value} if inner else value
    beside = {"arrival_time": "EnqueuedAt", "landing_delay": "1m"}
    found_key, found = files.problem(**beside | {top: given})
    assert found_key == f"sources.readings.{key}"
    assert message in found


@pytest.mark.parametrize("key", ["landing", "format", "schema"])
def test_a_source_must_say_where_its_rows_are_and_how_to_read_them(files: Files, key: str) -> None:
    found, message = files.problem(**{key: None})
    assert found == f"sources.readings.{key}"
    assert message.startswith(f"is missing: write {key}: ")


@pytest.mark.parametrize("key", ["pipeline", "sources"])
def test_a_pipeline_must_have_a_name_and_sources(files: Files, key: str) -> None:
    found, message = files.problem({key: None})
    assert found == key
    assert message.startswith(f"is missing: write {key}: ")


def test_all_problems_are_told_at_once_in_the_order_of_the_file(files: Files) -> None:
    path = files.text(
        """pipeline: Toll
start: yesterday
sources:
  readings:
    landing: ${NOPE}
    format: jsn
    schema: "a INT, b TIMESTAMP"
    arrival_time: c
    timestamp_by: a
    over: rand()
    late_arrival: off
  gates:
    landing: x
    format: csv
    options: {mode: DROPMALFORMED}
    shape: point
"""
    )
    problems = files.problems_of(path)
    assert [(problem.file.removeprefix(f"{path}:"), problem.key) for problem in problems] == [
        ("1", "pipeline"),
        ("2", "start"),
        ("4", "sources.readings.landing_delay"),
        ("5", "sources.readings.landing"),
        ("6", "sources.readings.format"),
        ("8", "sources.readings.arrival_time"),
        ("9", "sources.readings.timestamp_by"),
        ("10", "sources.readings.over"),
        ("11", "sources.readings.late_arrival"),
        ("12", "sources.gates.schema"),
        ("15", "sources.gates.options.mode"),
        ("16", "sources.gates.shape"),
    ]


def test_a_problem_reads_as_one_line(files: Files) -> None:
    (problem,) = files.problems(settle="5x")
    assert re.fullmatch(r"\S+pipeline\.yml:1: sources\.readings\.settle: '5x' is not a duration: .*", str(problem))


class TestResolved:
    """`resolved()` holds all of a configuration, in plain JSON."""

    def test_it_is_read_back_as_the_same(self, files: Files) -> None:
        for spec in (
            load_pipeline(files.text(EVERYTHING), {}).spec,
            files.spec(),
            files.spec(partition={"path": "(a)"}),
        ):
            resolved = spec.resolved()
            again = from_resolved(json.loads(json.dumps(resolved)))
            assert again == spec.model_copy(update={"path": Path()})
            assert again.resolved() == resolved
            assert again.fingerprint() == spec.fingerprint()

    def test_defaults_are_filled_in_under_the_keys_of_the_file(self, files: Files) -> None:
        resolved = files.spec(timestamp_by="EventTime", late_arrival="off").resolved()
        assert (resolved["pipeline"], resolved["micro_batch"]) == ("toll", "auto")
        source = resolved["sources"]["readings"]
        assert source["late_arrival"] == "off"
        assert source["early_arrival"] == {"tolerance": "5m", "action": "drop"}
        assert (source["clock_skew"], source["partitions"]) == ("5m", ["0"])
        assert source["schema"].startswith("DeviceId STRING, EventTime TIMESTAMP")

    def test_credentials_are_masked(self, files: Files) -> None:
        files.environ = {"PW": "hunter2"}
        spec = files.spec({"airflow": {"password": "${PW}", "conn": "pg://me:${PW}@host"}})
        assert spec.airflow["conn"] == "pg://me:hunter2@host"
        assert "hunter2" not in json.dumps(spec.resolved())

    def test_a_replay_reads_in_the_folders_of_today(self, files: Files) -> None:
        recorded = files.spec({"warehouse": "old"}).resolved()
        files.folder = files.folder / "moved"
        files.folder.mkdir()
        now = files.spec({"warehouse": "new"}, settle="5s")
        replayed = from_resolved(recorded, at=now)
        assert (replayed.warehouse, replayed.path) == (now.warehouse, now.path)
        assert replayed.sources["readings"].landing == now.sources["readings"].landing
        assert replayed.sources["readings"].settle == 0

    def test_anything_else_is_refused(self) -> None:
        with pytest.raises(ConfigError, match="recorded configuration: pipeline: is missing"):
            from_resolved({})


class TestFingerprint:
    """The fingerprint covers what results depend on, and nothing else."""

    @pytest.mark.parametrize(
        "change",
        [
            {"schedule": "0 * * * *"},
            {"micro_batch": {"max_files": 1}},
            {"quality": {"max_dropped": "1%"}},
            {"retention": {"events": "1d"}},
            {"airflow": {"owner": "me"}},
            {"warehouse": "/elsewhere"},
            {"pipeline": "other"},
        ],
        ids=lambda change: next(iter(change)),
    )
    def test_it_stays_with_settings_that_results_do_not_depend_on(self, files: Files, change: dict[str, Any]) -> None:
        assert files.spec().fingerprint() == files.spec(change).fingerprint()

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ({"landing": "/a"}, {"landing": "/b"}),
            ({"quality": {"max_jump": 3}}, {}),
            ({"schema": "a LONG"}, {"schema": "a: bigint"}),
            (
                {"format": "csv", "schema": "a INT", "options": {"delimiter": ";", "Header": True}},
                {"format": "csv", "schema": "a INT", "options": {"header": "true", "sep": ";"}},
            ),
            ({"settle": "60s"}, {"settle": "1m"}),
            ({"over": "DeviceId"}, {}),
            (
                {"partition": {"column": "Lane"}, "partitions": ["a", "b"]},
                {"partition": {"column": "Lane"}, "partitions": ["b", "a"]},
            ),
        ],
        ids=["landing", "quality", "types", "options", "durations", "ignored", "order"],
    )
    def test_it_stays_with_another_spelling(self, files: Files, one: dict[str, Any], other: dict[str, Any]) -> None:
        assert files.spec(**one).fingerprint() == files.spec(**other).fingerprint()

    @pytest.mark.parametrize(
        "change",
        [
            {"settle": "1s"},
            {"schema": "a INT"},
            {"format": "orc"},
            {"timestamp_by": "EventTime", "late_arrival": "off"},
        ],
        ids=lambda change: next(iter(change)),
    )
    def test_it_changes_with_what_results_depend_on(self, files: Files, change: dict[str, Any]) -> None:
        assert files.spec().fingerprint() != files.spec(**change).fingerprint()
        assert files.spec().fingerprint() != files.spec({"start": "2026-01-01T00:00:00Z"}).fingerprint()

    def test_it_is_the_same_for_ever(self, files: Files) -> None:
        spec = files.spec(schema="a INT", landing="/a")
        assert re.fullmatch("[0-9a-f]{64}", spec.fingerprint())

    def test_durations_in_other_units_of_equal_length_change_neither_it_nor_the_record(self, files: Files) -> None:
        files.text((EXAMPLE.parent / "example-source.yml").read_text(), "example-source.yml")
        one, other = (load_pipeline(files.text(text, name)) for name, text in spelled(EXAMPLE.read_text()).items())
        assert one.spec.resolved() == other.spec.resolved()
        assert one.spec.fingerprint() == other.spec.fingerprint()
        assert one.spec.sources["readings"].landing_delay == 75 * MINUTE
        assert one.spec.resolved()["sources"]["readings"]["landing_delay"] == "75m"


def spelled(text: str) -> dict[str, str]:
    """A pipeline file in which every duration has one unit, as far as that can be, and in which each has many."""
    found = re.compile(r"(?<=: )-?(?:\d+(?:us|ms|[smhd]))+(?=[,}\s])")
    assert len(found.findall(text)) > 25

    def one(match: re.Match[str]) -> str:
        return recorded_duration(parse_duration(match[0], signed=True))

    def many(match: re.Match[str]) -> str:
        micros = parse_duration(match[0].removeprefix("-"))
        return "-" * match[0].startswith("-") + (f"{format_duration(micros - SECOND)}1000ms" if micros else "0m0s")

    return {"one.yml": found.sub(one, text), "many.yml": found.sub(many, text)}
