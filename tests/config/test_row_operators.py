"""Keys of row operators in streams: `select: "*"` with `except`, and groups by expressions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from config.pipeline_files import Files
from tidemark.config import PipelineSpec, changes, from_resolved, load_pipeline
from tidemark.config.column_lineage import SourceColumn, streams_lineage
from tidemark.config.models.pipeline import relevant
from tidemark.config.models.stream_graph import StreamColumn, columns_of
from tidemark.core.times import MINUTE as MINUTES
from tidemark.core.windows import FixedWindows
from tidemark.errors import ConfigError

R: dict[str, Any] = {"from": "readings"}
W: dict[str, Any] = R | {"select": {"n": "count(*)"}, "tumbling": "1m"}
ALL: dict[str, Any] = {"select": "*"}
EVENTS: dict[str, Any] = {"arrival_time": "EnqueuedAt", "landing_delay": "15m", "timestamp_by": "EventTime"}


def _streams(files: Files, streams: Mapping[str, Any], **source: Any) -> PipelineSpec:
    return files.spec({"streams": streams}, **source)


def test_an_element_has_the_type_of_its_array_and_a_number(files: Files) -> None:
    streams = {
        "a": R | {"unnest": "ITEMS", "where": "items.x > 1", "select": {"item": "items", "at": "_index"}},
        "b": R | {"unnest": "list"},
        "c": {"from": "b", "select": "*", "except": ["_index"]},
    }
    spec = _streams(files, streams)
    assert columns_of(spec, "a") == (StreamColumn("item", "STRUCT<x: INT>"), StreamColumn("at", "BIGINT"))
    assert (columns_of(spec, "b") or ())[-1] == StreamColumn("_index", "BIGINT")
    found = {column.name: column.type for column in columns_of(spec, "c") or ()}
    assert (found["list"], "_index" in found) == ("INT", False)
    lineage = streams_lineage(spec)
    assert lineage["a"]["at"].inputs == lineage["a"]["item"].inputs == {SourceColumn("readings", "items")}


def test_a_group_has_the_name_that_it_is_given(files: Files) -> None:
    spec = _streams(files, {"a": W | {"group_by": ["DEVICEID", "A.B"]}})
    assert columns_of(spec, "a") == (
        StreamColumn("DEVICEID", "STRING"),
        StreamColumn("A.B", "STRING"),
        StreamColumn("n", None),
    )


SEVERAL = R | {"group_by": ["Lane"], "select": {"n": "count(*)"}}
MINUTE, HOUR = {"tumbling": "1m"}, {"hopping": {"size": "1h", "hop": "5m"}, "allowed_lateness": "1m"}


def test_each_of_several_windows_is_a_stream_of_its_own(files: Files) -> None:
    keys = SEVERAL | {"allowed_lateness": "5s", "windows": {"minute": MINUTE, "hour": HOUR}}
    spec = _streams(files, {"a": keys, "b": {"from": "a_hour"}})
    alone = {
        "a_minute": SEVERAL | MINUTE | {"allowed_lateness": "5s"},
        "a_hour": SEVERAL | HOUR,
        "b": {"from": "a_hour"},
    }
    same = _streams(files, alone)
    assert (spec.resolved(), spec.fingerprint()) == (same.resolved(), same.fingerprint())
    files.pipeline({"streams": {"a": keys}})
    changed = load_pipeline(files.folder / "pipeline.yml", {}, ["streams.a_minute.tumbling=2m"]).spec
    windows = [changed.streams[name].windows for name in ("a_minute", "a_hour")]
    assert [each.size for each in windows if isinstance(each, FixedWindows)] == [2 * MINUTES, 60 * MINUTES]


@pytest.mark.parametrize(
    ("keys", "found"),
    [
        ({"windows": {}}, {"windows": "{} must name windows: windows: {minute: {tumbling: 1m}"}),
        ({"windows": ["1m"]}, {"windows": "must name windows"}),
        ({"windows": {"m": "1m"}}, {"windows.m": "must be a mapping with a window, such as {tumbling: 1m}"}),
        ({"windows": {"m": {}}}, {"windows.m": "has no window: write one of tumbling, hopping, session"}),
        ({"windows": {"M": MINUTE}}, {"windows.M": "'M' is not a name"}),
        ({"windows": {"m": MINUTE}, "tumbling": "1h"}, {"tumbling": "cannot be beside windows: name this window"}),
        ({"windows": {"m": MINUTE | {"sliding": "1h"}}}, {"windows.m.sliding": "cannot be beside tumbling"}),
        ({"windows": {"m": MINUTE | {"where": "true"}}}, {"windows.m.where": "no such key 'where'"}),
        (
            {"windows": {"m": {"sliding": "0s"}, "n": {"sliding": "x"}}},
            {"windows.m.sliding": "", "windows.n.sliding": ""},
        ),
        ({"windows": {"m": MINUTE, "n": HOUR}, "where": "nothing"}, {"where": "'nothing' is not a column"}),
        ({"windows": {"m": MINUTE, "n": HOUR}, "from": "reading"}, {"from": "did you mean readings"}),
        ({"windows": {"other": MINUTE}}, {"windows.other": "its stream would be 'a_other', which is there already"}),
        ({"windows": {"m": MINUTE | {"partition_by": "substream"}}}, {"windows.m.partition_by": "needs `over`"}),
    ],
    ids=lambda value: None if isinstance(value, dict) and len(value) > 1 else str(value)[:60],
)
def test_wrong_windows_are_named_where_the_file_has_them(files: Files, keys: Any, found: dict[str, str]) -> None:
    problems = files.problems({"streams": {"a": SEVERAL | keys, "a_other": R}})
    assert sorted(problem.key for problem in problems) == sorted(f"streams.a.{key}" for key in found)
    for problem in problems:
        assert found[problem.key.removeprefix("streams.a.")] in problem.message


def test_values_of_the_environment_are_recorded_as_references_in_all_new_keys(files: Files) -> None:
    files.environ["SALT"] = "planted-7f3a"
    salted = "concat(Lane, '${SALT}')"
    streams = {
        "a": W | {"group_by": {"lane_": salted, "b": "upper(Lane)"}},
        "c": SEVERAL | {"where": f"{salted} <> ''", "windows": {"minute": MINUTE}},
        "d": W | {"group_by": ["Lane", {"token": salted}]},
    }
    spec = _streams(files, streams)
    assert spec.streams["a"].computed_groups["lane_"] == "concat(Lane, 'planted-7f3a')"
    recorded = json.dumps(spec.recorded(b"key"))
    assert ("planted" in recorded, recorded.count("${SALT}")) == (False, 3)


def _refused(files: Files, spec: PipelineSpec, streams: Mapping[str, Any]) -> list[str]:
    """Keys of a changed pipeline that need a backfill."""
    with pytest.raises(ConfigError) as caught:
        changes(spec.resolved(), _streams(files, streams, **EVENTS))
    return [problem.key for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("streams", "key", "message"),
    [
        ({"a": R | {"unnest": "lis"}}, "a.unnest", "'lis' is not a column of 'readings': did you mean list"),
        (
            {"a": R | {"unnest": "Lane"}},
            "a.unnest",
            "'Lane' is STRING, which has no elements: name a column of ARRAY",
        ),
        ({"a": R | {"unnest": "tags"}}, "a.unnest", "which has no elements: select map_entries(...) of it in a step"),
        ({"a": R | {"unnest": ["list"]}}, "a.unnest", "is not text"),
        ({"a": W | {"unnest": "list"}}, "a.tumbling", "cannot be beside unnest: a step has at most one of"),
        (
            {"a": R | {"unnest": "list", "where": "list[0] > 1"}, "b": {"from": "a", "select": {"x": "_idx"}}},
            "b.select.x",
            "did you mean _index",
        ),
        (
            {"a": R | {"unnest": "list"}, "b": {"from": "a", "unnest": "items"}},
            "b.unnest",
            "there is a column '_index' already: rename it",
        ),
        ({"a": W | {"group_by": 5}}, "a.group_by", "must be columns in a list, such as [DeviceId], or [DeviceId, {"),
        (
            {"a": W | {"group_by": [{"u": "Lane", "v": "Lane"}]}},
            "a.group_by",
            "is more than one column: write an entry",
        ),
        ({"a": W | {"group_by": [["Lane"]]}}, "a.group_by", "is not a column: write its name, or a name with"),
        ({"a": W | {"group_by": {"lane": "upper(Lane)"}}}, "a.group_by", "'lane' is a column of 'readings' already"),
        (
            {"a": W | {"group_by": {"_offset": "upper(Lane)"}}},
            "a.group_by",
            "is the name of a column that tables have",
        ),
        (
            {"a": W | {"group_by": ["Lane", {"u": "uper(Lane)"}]}},
            "a.group_by[1]",
            "the function uper() cannot be used",
        ),
        ({"a": W | {"group_by": {"u": "max(Lane)"}}}, "a.group_by", "max() cannot be in group_by, which sees a row"),
        ({"a": W | {"group_by": [{"u": "Lane"}, {"U": "Lane"}]}}, "a.group_by[1]", "'U' is there twice"),
        (
            {"a": W | {"group_by": {"u": "tags"}}},
            "a.group_by",
            "rows cannot be grouped by a MAP; write to_json(tags)",
        ),
        ({"a": W | {"group_by": {"u": "Lane"}, "select": {"u": "count(*)"}}}, "a.select.u", "'u' is in group_by"),
        ({"a": R | {"group_by": {"u": "Lane"}}}, "a.group_by", "is for windows alone"),
        ({"a": R | {"except": ["Lane"]}}, "a.except", 'is for select: "*", which keeps all other columns'),
        ({"a": R | {"select": {"b": "Lane"}, "except": ["Lane"]}}, "a.except", 'is for select: "*"'),
        ({"a": W | {"select": "*"}}, "a.select", "* is for rows: name what a window computes"),
        ({"a": R | {"select": "all"}}, "a.select", 'such as {n: count(*)}, or "*"'),
        ({"a": R | ALL | {"except": "Lane"}}, "a.except", "must be text in a list"),
        (
            {"a": R | ALL | {"except": ["Lan"]}},
            "a.except[0]",
            "'Lan' is not a column of 'readings': did you mean Lane",
        ),
        ({"a": R | ALL | {"except": ["Lane", "lane"]}}, "a.except[1]", "'lane' is there twice"),
        (
            {"b": R | {"select": {"x": "Lane"}}, "a": {"from": "b", "except": ["x"]} | ALL},
            "a.except",
            "leaves no column",
        ),
        (
            {"b": R | ALL | {"except": ["Lane"]}, "a": {"from": "b", "where": "Lane = '1'"}},
            "a.where",
            "'Lane' is not a",
        ),
    ],
    ids=lambda value: None if isinstance(value, dict) else str(value)[:60],
)
def test_a_stream_that_cannot_be_is_refused(files: Files, streams: dict[str, Any], key: str, message: str) -> None:
    problems = files.problems({"streams": streams})
    assert [problem.key for problem in problems] == [f"streams.{key}"]
    assert message in problems[0].message


def test_all_columns_but_some_stay_and_older_fingerprints_hold(files: Files) -> None:
    spec = _streams(files, {"a": R | ALL | {"except": ["lane"]}, "b": R | ALL})
    names = {name: [column.name for column in columns_of(spec, name) or ()] for name in ("readings", "a", "b")}
    assert names["b"] == names["readings"]
    assert names["a"] == [name for name in names["readings"] if name != "Lane"]
    assert from_resolved(spec.resolved()).resolved() == spec.resolved()
    resolved = spec.resolved()
    del resolved["streams"]["b"]["except"]
    assert relevant(resolved) == relevant(spec.resolved())


def test_windows_are_grouped_by_expressions_under_their_names(files: Files) -> None:
    groups = ["Lane", {"hour": "date_trunc('HOUR', _system_timestamp)"}, {"at": "EventTime"}]
    streams = {"a": W | {"group_by": groups, "select": {"n": "count(*)", "next": "hour + interval 1 hour"}}}
    spec = _streams(files, streams | {"b": {"from": "a", "where": "hour is not null"}}, **EVENTS)
    assert columns_of(spec, "a") == (
        StreamColumn("Lane", "STRING"),
        StreamColumn("hour", None),
        StreamColumn("at", "TIMESTAMP"),
        StreamColumn("n", None),
        StreamColumn("next", None),
    )
    resolved = json.loads(json.dumps(spec.resolved()))
    assert resolved["streams"]["a"]["group_by"] == groups
    assert from_resolved(resolved) == spec.model_copy(update={"path": Path()})
    (problem,) = _refused(
        files, spec, streams | {"a": streams["a"] | {"group_by": ["Lane", {"hour": "1"}, {"at": "EventTime"}]}}
    )
    assert problem == "streams.a.group_by"
