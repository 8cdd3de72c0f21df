"""`lifetime: {until: next}` in a pipeline file: what it is over, which ends cannot be read, what it reads."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from config.pipeline_files import Files
from tidemark.config import changes, from_resolved
from tidemark.config.column_lineage import SourceColumn, streams_lineage
from tidemark.config.models.stream_graph import columns_of, has_open_ends, has_pairs
from tidemark.core.streams import StreamEnd, StreamState, reach
from tidemark.core.times import DAY, MINUTE
from tidemark.errors import ConfigError
from tidemark.report.pipeline_graph import graph
from tidemark.runner.maintenance import Maintenance
from tidemark.runner.stream_progress import rules_of_streams
from tidemark.spark.streams.paths import longest, paths_to

R: dict[str, Any] = {"from": "readings"}
EVENTS: dict[str, Any] = {"arrival_time": "EnqueuedAt", "landing_delay": "15m", "timestamp_by": "EventTime"}
KEEP: dict[str, Any] = EVENTS | {"out_of_order": {"tolerance": "5s", "action": "keep"}}
EDGES: dict[str, Any] = {
    "timestamp_by": "EventTime",
    "shape": {"edge": {"kind": "DeviceId", "start": "s", "end": "e", "end_time": "EnqueuedAt"}},
    "punctuation": {"every": 10, "violations": "adjust"},
}
PER_MINUTE: dict[str, Any] = R | {"tumbling": "1m", "group_by": ["Lane"], "select": {"n": "count(*)"}}


def until_next(below: str = "readings", **keys: Any) -> dict[str, Any]:
    given = {"until": "next", "by": ["DeviceId"], "at_most": "30d"} | keys
    return {"from": below, "lifetime": {key: value for key, value in given.items() if value is not None}}


def test_a_lifetime_until_the_next_row_is_recorded_and_bounds_what_is_read(files: Files) -> None:
    streams = {"rates": until_next(), "over": {"from": "rates", "shift": "1m"}, "open": until_next(at_most=None)}
    spec = files.spec({"streams": streams}, **EVENTS)
    rates = spec.streams["rates"]
    assert (rates.until, rates.lasts, rates.until_next is rates.own_ends) == (None, None, True)
    assert from_resolved(spec.resolved()).streams == spec.streams
    rules = {step.name: step for step in rules_of_streams(spec)}
    assert (rules["rates"].lifetime, rules["rates"].until, rules["over"].until) == (30 * DAY, True, False)
    assert [name for name, step in rules.items() if step.endless] == ["open"]
    assert reach(tuple(rules.values())) == 30 * DAY + MINUTE
    assert {name: longest(spec, paths_to(spec, name)) for name in streams} == {
        "rates": 30 * DAY, "over": 30 * DAY, "open": None,
    }  # fmt: skip
    assert all(has_pairs(spec.streams, name) and has_open_ends(spec.streams, name) for name in streams)
    assert any("lifetime until next by DeviceId" in line for line in graph(spec))
    assert [column.name for column in columns_of(spec, "rates") or ()] == [
        column.name for column in columns_of(spec, "readings") or ()
    ]


def test_windows_have_ends_that_are_known_and_rows_over_them_end_with_the_next(files: Files) -> None:
    streams = {"windows": PER_MINUTE, "levels": until_next("windows", by=["Lane"])}
    streams["hours"] = {"from": "levels", "tumbling": "1h", "select": {"n": "count(*)"}}
    streams["chosen"] = {"from": "hours", "where": "_end_time IS NOT NULL", "select": {"n": "n"}}
    spec = files.spec({"streams": streams}, **KEEP)
    assert (has_pairs(spec.streams, "hours"), has_open_ends(spec.streams, "chosen")) == (True, False)


def test_the_lineage_of_an_end_has_what_rows_are_compared_by(files: Files) -> None:
    cut = {"from": "a", "lifetime": "1m", "select": {"d": "Speed"}}
    spec = files.spec({"streams": {"a": until_next(), "b": cut, "c": {"from": "b", "select": {"end": "_end_time"}}}})
    names = {"DeviceId", "_system_timestamp"}
    assert streams_lineage(spec)["c"]["end"].inputs == {SourceColumn("readings", name) for name in names}


@pytest.mark.parametrize("until", ["next", "EnqueuedAt"])
def test_retention_keeps_rows_that_may_still_be_alive(files: Files, until: str) -> None:
    last: Any = SimpleNamespace(streams={"a": StreamEnd(StreamState(watermark=40 * DAY))}, combined={})
    for at_most, needed in (("30d", 10 * DAY), (None, None)):
        streams = {"a": until_next(until=until, by=None, at_most=at_most)}
        spec = files.spec({"streams": streams}, **EVENTS)
        assert Maintenance(spec, None, None).needed(last) == {"readings": needed}  # type: ignore[arg-type]


def test_a_column_with_the_name_next_is_written_in_backquotes(files: Files) -> None:
    streams = {"a": until_next(until="`next`", by=None, at_most="1d")}
    spec = files.spec({"streams": streams}, schema="next TIMESTAMP, DeviceId STRING")
    assert spec.streams["a"].until is not None
    assert spec.streams["a"].until_next is None


def test_another_bound_needs_a_backfill(files: Files) -> None:
    recorded = files.spec({"streams": {"a": until_next()}}).resolved()
    with pytest.raises(ConfigError, match=r"streams\.a\.lifetime"):
        changes(recorded, files.spec({"streams": {"a": until_next(by=["Lane"])}}))


@pytest.mark.parametrize(
    ("streams", "source", "key", "message"),
    [
        ({"a": until_next(by=["Nope"])}, {}, "a.lifetime.by", "Nope"),
        ({"a": until_next(by=["Lane", "tags"])}, {}, "a.lifetime.by[1]", "rows cannot be compared by a MAP"),
        ({"a": until_next(by=["max(Speed)"])}, {}, "a.lifetime.by", "max"),
        ({"a": until_next(at_most="0s")}, {}, "a.lifetime.at_most", "must be longer than 0s"),
        ({"a": until_next(until="EnqueuedAt")}, {}, "a.lifetime.by", "is for until: next"),
        ({"a": until_next()}, KEEP, "a.from", "which keeps what is out of order"),
        ({"a": until_next()}, EDGES, "a.from", "adjusts violations"),
        (
            {"a": until_next(), "b": {"from": "a", **PER_MINUTE, "partition_by": "partition"} | {"from": "a"}},
            {"partition": {"column": "Lane"}} | EVENTS,
            "b.partition_by",
            "whose rows end with the next one",
        ),
    ],
)
def test_what_cannot_be_is_refused(
    files: Files, streams: dict[str, Any], source: dict[str, Any], key: str, message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        files.spec({"streams": streams}, **source)
    [problem] = caught.value.problems
    assert problem.key == f"streams.{key}"
    assert message in problem.message


def test_a_lifetime_without_a_bound_gives_a_warning(files: Files) -> None:
    [warning] = files.load({"streams": {"a": until_next(at_most=None)}}, **EVENTS).warnings
    assert (warning.key, "add the longest" in warning.message) == ("streams.a.lifetime", True)
