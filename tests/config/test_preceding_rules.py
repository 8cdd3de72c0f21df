"""Keys of `preceding`: which rows it looks at, what it may select, and the columns that a stream has then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from config.pipeline_files import Files
from tidemark.config import changes, from_resolved
from tidemark.config.column_lineage import Derivation, SourceColumn, streams_lineage
from tidemark.config.models.pipeline import relevant
from tidemark.config.models.stream_graph import columns_of, has_pairs
from tidemark.config.table_schema import schema_of
from tidemark.core.streams import StepRules, longest_lives, reach
from tidemark.core.times import MINUTE
from tidemark.errors import ConfigError
from tidemark.report.pipeline_graph import graph
from tidemark.runner.stream_progress import rules_of_streams

R: dict[str, Any] = {"from": "readings"}
BEFORE: dict[str, Any] = {
    "by": ["DeviceId"],
    "within": "10m",
    "select": {"before": "last(Speed)", "first": "count(*) = 0"},
}
EVENTS: dict[str, Any] = {"arrival_time": "EnqueuedAt", "landing_delay": "15m", "timestamp_by": "EventTime"}
KEEP: dict[str, Any] = EVENTS | {"out_of_order": {"tolerance": "5s", "action": "keep"}}


def look_back(**more: Any) -> dict[str, Any]:
    return R | {"preceding": {key: value for key, value in (BEFORE | more).items() if value is not None}}


def test_a_stream_has_the_columns_of_its_rows_and_of_the_rows_before_and_is_recorded(files: Files) -> None:
    jumps = look_back(where="Speed > 0", by=["DeviceId", "upper(Lane)"]) | {"where": "first", "publish": True}
    streams = {"all": look_back(by=None), "jumps": jumps, "narrow": jumps | {"select": {"d": "Speed - before"}}}
    spec = files.spec({"streams": streams})
    names = {name: [column.name for column in columns_of(spec, name) or ()] for name in ("readings", *streams)}
    assert names["jumps"] == names["all"] == [*names["readings"], "before", "first"]
    assert names["narrow"] == ["d"]
    assert from_resolved(spec.resolved()) == spec.model_copy(update={"path": Path()})
    assert (spec.streams["all"].published, spec.streams["jumps"].published) == (False, True)
    assert spec.streams["jumps"].preceding.within == 10 * MINUTE  # type: ignore[union-attr]


def test_older_fingerprints_hold_and_a_change_needs_a_backfill(files: Files) -> None:
    plain = files.spec({"streams": {"a": R}}).resolved()
    without = {**plain, "streams": {"a": {k: v for k, v in plain["streams"]["a"].items() if k != "preceding"}}}
    assert relevant(without) == relevant(plain)
    recorded = files.spec({"streams": {"a": look_back()}}).resolved()
    with pytest.raises(ConfigError, match=r"streams\.a\.preceding"):
        changes(recorded, files.spec({"streams": {"a": look_back(within="11m")}}))


def test_the_reach_and_the_lineage_hold_what_comes_before(files: Files) -> None:
    windows = {"from": "jumps", "tumbling": "1m", "select": {"n": "count(*)"}}
    spec = files.spec({"streams": {"jumps": look_back(), "per_minute": windows, "long": R | {"lifetime": "2m"}}})
    assert reach(rules_of_streams(spec)) == 11 * MINUTE
    steps = [StepRules("a", ("s",), ("s",), within=7), StepRules("b", ("a",), ("s",), lifetime=5, within=0)]
    assert (reach(steps), longest_lives(steps)) == (12, {"a": 1, "b": 5})
    assert (has_pairs(spec.streams, "per_minute"), has_pairs(spec.streams, "jumps")) == (True, False)
    lineage = streams_lineage(spec)["jumps"]
    assert lineage["before"].inputs == {SourceColumn("readings", "Speed")}
    assert (lineage["before"].derivation, lineage["first"].inputs) == (Derivation.AGGREGATION, frozenset())
    assert any("preceding 10m by DeviceId" in line for line in graph(spec))


def test_an_empty_table_knows_counts(files: Files) -> None:
    spec = files.spec({"streams": {"a": look_back(select={"n": "count(*)"}) | {"publish": True}}})
    assert str(schema_of(spec, "streams/a").field("n").type) == "int64"


@pytest.mark.parametrize(
    ("keys", "key", "message"),
    [
        ({"within": None}, "preceding.within", "is missing"),
        ({"within": "0s"}, "preceding.within", "must be longer than 0s"),
        ({"witin": "5m"}, "preceding.witin", "there is no such key 'witin': did you mean within?"),
        ({"select": None}, "preceding.select", "is missing"),
        ({"select": "*"}, "preceding.select", "names no column: write aggregates over the rows before, such as"),
        (
            {"select": {"x": "Speed"}},
            "preceding.select.x",
            "'Speed' reads no row before: write an aggregate, such as",
        ),
        ({"select": {"x": "last(Sped)"}}, "preceding.select.x", "'Sped' is not a column of 'readings': did you mean"),
        ({"select": {"x": "lag(Speed)"}}, "preceding.select.x", "the function lag() looks at other rows"),
        ({"select": {"x": "max(last(Speed))"}}, "preceding.select.x", "aggregates cannot be nested"),
        (
            {"select": {"x": "count(DISTINCT Lane)"}},
            "preceding.select.x",
            "count(DISTINCT ...) cannot look back: write size(collect_set(Lane))",
        ),
        (
            {"select": {"x": "mode() WITHIN GROUP (ORDER BY Speed)"}},
            "preceding.select.x",
            "mode() WITHIN GROUP cannot look back",
        ),
        ({"select": {"speed": "last(Speed)"}}, "preceding.select.speed", "'speed' is a column of 'readings' already"),
        (
            {"select": {"a": "count(*)", "A": "last(Speed)"}},
            "preceding.select.A",
            "'A' is there twice (as 'a', whatever the case)",
        ),
        (
            {"select": {"_offset": "count(*)"}},
            "preceding.select._offset",
            "is the name of a column that tables have themselves",
        ),
        ({"where": "Speed"}, "preceding.where", "'Speed' is DOUBLE, not true or false"),
        ({"where": "count(*) > 1"}, "preceding.where", "counts rows: an expression sees one row only"),
        ({"by": ["DeviceID", "Lan"]}, "preceding.by[1]", "'Lan' is not a column of 'readings': did you mean Lane"),
        ({"by": "tags"}, "preceding.by", "rows cannot be compared by a MAP; write to_json(tags)"),
    ],
    ids=lambda value: None if isinstance(value, dict) else str(value)[:60],
)
def test_what_cannot_look_back_is_refused(files: Files, keys: dict[str, Any], key: str, message: str) -> None:
    found, said = files.problem({"streams": {"a": look_back(**keys)}})
    assert found == f"streams.a.{key}"
    assert message in said


@pytest.mark.parametrize(
    ("streams", "source", "key", "message"),
    [
        ({"a": R | {"preceding": "10m"}}, {}, "a.preceding", "'10m' must be a mapping: write keys with values below"),
        (
            {"a": look_back() | {"shift": "5m"}},
            {},
            "a.shift",
            "cannot be beside preceding: a step has at most one of",
        ),
        ({"a": look_back() | {"select": {"x": "befor"}}}, {}, "a.select.x", "'befor' is not a column of 'readings'"),
        (
            {"a": look_back(), "b": {"from": "a", "where": "frst"}},
            {},
            "b.where",
            "'frst' is not a column of 'a': did you mean first",
        ),
        (
            {
                "a": look_back(),
                "b": {"from": "a", "tumbling": "1m", "select": {"n": "count(*)"}, "partition_by": "partition"},
            },
            {},
            "b.partition_by",
            "partition cannot be over 'a', whose `preceding` looks at rows of all parts",
        ),
        (
            {"s": R | {"where": "Speed > 1"}, "a": look_back() | {"from": "s"}},
            KEEP,
            "a.from",
            "'s' carries rows of the source 'readings', which keeps what is out of order",
        ),
    ],
    ids=lambda value: None if isinstance(value, dict) else str(value)[:60],
)
def test_steps_that_cannot_look_back_are_refused(
    files: Files, streams: dict[str, Any], source: dict[str, Any], key: str, message: str
) -> None:
    found, said = files.problem({"streams": streams}, **source)
    assert found == f"streams.{key}"
    assert message in said


def test_windows_over_rows_that_come_behind_can_look_back(files: Files) -> None:
    windows = R | {"tumbling": "1m", "group_by": ["DeviceId"], "select": {"n": "count(*)"}}
    back = {"from": "w", "preceding": {"by": ["DeviceId"], "within": "1h", "select": {"change": "n - last(n)"}}}
    spec = files.spec({"streams": {"w": windows, "a": back}}, **KEEP)
    assert [column.name for column in columns_of(spec, "a") or ()] == ["DeviceId", "n", "change"]
