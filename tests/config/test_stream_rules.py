"""Streams of a pipeline file: what each key means, what is refused, what is warned of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from config.pipeline_files import Files
from tidemark.config import PipelineSpec, changes, from_resolved
from tidemark.config.models.stream_graph import StreamColumn, columns_of, in_order, sources_below
from tidemark.config.models.streams import HoppingSpec, StreamSpec
from tidemark.core.calendar.calendars import Calendar, Unit
from tidemark.core.streams import StreamEnd, StreamState
from tidemark.core.times import DAY, HOUR, MINUTE, SECOND
from tidemark.core.windows import CalendarWindows, DataDrivenWindows, FixedWindows, SessionWindows, SnapshotWindows
from tidemark.errors import ConfigError
from tidemark.runner.maintenance import Maintenance
from tidemark.runner.stream_progress import StreamProgress, rules_of_streams

R: dict[str, Any] = {"from": "readings"}
N: dict[str, Any] = {"select": {"n": "count(*)"}}
W: dict[str, Any] = R | N | {"tumbling": "1m"}
VISITS = {"gap": "5m", "max_duration": "2h"}
EVENTS: dict[str, Any] = {"arrival_time": "EnqueuedAt", "landing_delay": "15m", "timestamp_by": "EventTime"}
SUBSTREAMS = EVENTS | {"over": "DeviceId", "late_arrival": {"tolerance": "5m", "action": "adjust"}}
KEEP = EVENTS | {"out_of_order": {"tolerance": "0s", "action": "keep"}}


def _streams(files: Files, streams: Mapping[str, Any], **source: Any) -> PipelineSpec:
    return files.spec({"streams": streams}, **source)


def _specs(**streams: Any) -> dict[str, StreamSpec]:
    return {
        name: StreamSpec.model_validate({"union": below} if isinstance(below, list) else {"from": below})
        for name, below in streams.items()
    }


def test_every_key_reaches_the_specification(files: Files) -> None:
    keys = {"where": "flag", "shift": "-5m", "publish": True, "select": {"a": 1, "b": 1.5, "c": True, "d": "text"}}
    window = {"group_by": ["DeviceId"], "allowed_lateness": "2s", "idle_timeout": "1m", "partition_by": "substream"}
    streams = {"a": R | keys, "b": R | {"lifetime": "10m"}, "c": {"union": ["b", "readings"]}, "d": W | window}
    a, b, c, d = _streams(files, streams, **SUBSTREAMS).streams.values()
    assert (a.name, a.from_, a.inputs, a.where, a.shift) == ("a", "readings", ("readings",), "flag", -5 * MINUTE)
    assert (a.select, a.published) == ({"a": "1", "b": "1.5", "c": "true", "d": "text"}, True)
    assert (b.lifetime, b.windows, b.published) == (10 * MINUTE, None, False)
    assert (c.from_, c.union, c.inputs) == (None, ("b", "readings"), ("b", "readings"))
    assert (d.group_by, d.allowed_lateness, d.idle_timeout) == (("DeviceId",), 2 * SECOND, MINUTE)
    assert (d.partition_by, d.publish, d.published) == ("substream", False, True)


@pytest.mark.parametrize(
    ("keys", "window"),
    [
        ({"tumbling": "1m"}, (MINUTE, MINUTE, 0)),
        ({"tumbling": {"size": "1h", "offset": "15m"}}, (HOUR, HOUR, 15 * MINUTE)),
        ({"hopping": {"size": "20s", "hop": "5s", "offset": "1s"}}, (20 * SECOND, 5 * SECOND, SECOND)),
        ({"hopping": {"size": "5s", "hop": "20s"}}, (5 * SECOND, 20 * SECOND, 0)),
    ],
    ids=["tumbling", "tumbling at an offset", "overlapping", "with gaps"],
)
def test_a_window_is_size_hop_and_offset(files: Files, keys: dict[str, Any], window: tuple[int, int, int]) -> None:
    found = _streams(files, {"a": R | N | keys}).streams["a"].fixed
    assert isinstance(found, FixedWindows)
    assert (found.size, found.hop, found.offset) == window


def test_a_calendar_window_is_a_unit_a_zone_and_an_offset(files: Files) -> None:
    keys = {"tumbling": {"calendar": "week", "zone": "Europe/Amsterdam", "offset": "6h"}, "idle_timeout": "1h"}
    spec = _streams(files, {"a": R | N | keys})
    found = spec.streams["a"]
    calendar = Calendar(Unit.WEEK, "Europe/Amsterdam", 6 * HOUR)
    assert found.fixed == found.windows == CalendarWindows(calendar, 0, HOUR)
    resolved = json.loads(json.dumps(spec.resolved()))
    assert resolved["streams"]["a"]["tumbling"] == keys["tumbling"]
    assert from_resolved(resolved) == spec.model_copy(update={"path": Path()})


def test_windows_of_a_size_are_recorded_without_a_calendar(files: Files) -> None:
    assert _streams(files, {"a": W}).resolved()["streams"]["a"]["tumbling"] == {"size": "1m", "offset": "0s"}


@pytest.mark.parametrize(
    ("keys", "key", "message"),
    [
        ({"calendar": "day", "zone": "UTC", "size": "1h"}, "size", "cannot be beside calendar"),
        ({"offset": "1h"}, "size", "is missing: write size: 1h, or a calendar"),
        ({"calendar": "day"}, "zone", "is missing: write the time zone of the calendar"),
        ({"size": "1h", "zone": "UTC"}, "zone", "is for a calendar alone"),
        ({"calendar": "days", "zone": "UTC"}, "calendar", "'days' is not allowed: write day, week, month"),
        ({"calendar": "day", "zone": "Europe/Amsterdm"}, "zone", "did you mean Europe/Amsterdam"),
        ({"calendar": "day", "zone": "amsterdam"}, "zone", "did you mean Europe/Amsterdam"),
        ({"calendar": "day", "zone": "Nowhere/At-all"}, "zone", "write one such as Europe/Amsterdam, or UTC"),
        ({"calendar": "day", "zone": "localtime"}, "zone", "'localtime' is not in the time zone database"),
        ({"calendar": "day", "zone": "CEST"}, "zone", "write one such as Europe/Amsterdam"),
        ({"calendar": "day", "zone": "right/UTC"}, "zone", "'right/UTC' is not in the time zone database"),
        ({"calendar": "day", "zone": "../UTC"}, "zone", "'../UTC' is not in the time zone database"),
        ({"calendar": "day", "zone": "UTC", "offset": "24h"}, "offset", "must be less than the shortest day (1d)"),
        ({"calendar": "month", "zone": "UTC", "offset": "28d"}, "offset", "less than the shortest month (28d)"),
        ({"calendar": "year", "zone": "UTC", "offset": "365d"}, "offset", "less than the shortest year (365d)"),
    ],
)
def test_a_calendar_window_that_cannot_be_is_refused(
    files: Files, keys: dict[str, str], key: str, message: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        _streams(files, {"a": R | N | {"tumbling": keys}})
    (problem,) = raised.value.problems
    assert problem.key == f"streams.a.tumbling.{key}"
    assert message in problem.message


@pytest.mark.parametrize(
    ("keys", "windows", "lasts"),
    [
        ({"session": VISITS}, SessionWindows(5 * MINUTE, 2 * HOUR), None),
        ({"session": {"gap": "5m"}}, SessionWindows(5 * MINUTE, None), None),
        ({"sliding": "10m", "allowed_lateness": "1s"}, SnapshotWindows(10 * MINUTE, SECOND), 10 * MINUTE),
        ({"snapshot": {}}, SnapshotWindows(), None),
    ],
    ids=["session", "session without a longest duration", "sliding", "snapshot"],
)
def test_windows_whose_bounds_come_from_rows(
    files: Files, keys: dict[str, Any], windows: DataDrivenWindows, lasts: int | None
) -> None:
    spec = _streams(files, {"a": R | N | keys})
    found = spec.streams["a"]
    assert (found.windows, found.fixed, found.lasts, found.published) == (windows, None, lasts, True)
    assert from_resolved(json.loads(json.dumps(spec.resolved()))) == spec.model_copy(update={"path": Path()})


def test_sessions_without_a_longest_duration_and_what_is_over_them_reach_back_without_a_bound(files: Files) -> None:
    long = {"from": "before", **N, "session": {"gap": "5m"}}
    streams = {"before": R, "visits": long | {"session": VISITS}, "long": long}
    streams |= {"over": W | {"from": "long"}, "starts": {"from": "over", "lifetime": "1m"}}
    spec = files.spec({"streams": streams, "start": "2026-01-01T00:00:00Z"}, **EVENTS)
    assert {step.name for step in rules_of_streams(spec) if step.endless} == {"long", "over", "starts"}
    assert StreamProgress(spec).read_from is None
    del streams["long"], streams["over"], streams["starts"]
    assert StreamProgress(files.spec({"streams": streams, "start": "2026-01-01T00:00:00Z"}, **EVENTS)).read_from


def test_retention_keeps_rows_since_the_start_of_an_open_session_however_long_it_lasts(files: Files) -> None:
    streams = {"a": R | {"lifetime": "1h"}, "long": {"from": "a", **N, "session": {"gap": "5m"}}}
    streams["over"] = {"from": "long", "snapshot": {}, **N}
    ends = {name: StreamEnd(StreamState(watermark=days * DAY)) for name, days in (("a", 9), ("long", 4), ("over", 3))}
    needed = Maintenance(_streams(files, streams, **EVENTS), None, None).needed  # type: ignore[arg-type]
    last: Any = SimpleNamespace(streams=ends, combined={})
    assert needed(last) == {"readings": 3 * DAY - HOUR - 5 * MINUTE}
    last.streams = ends | {"long": StreamEnd(StreamState())}
    assert needed(last) == {"readings": None}


@pytest.mark.parametrize("values", [("0s", "1s", "0s"), ("1s", "0s", "0s"), ("1s", "1s", "-1s"), ("5s", "2s", "2s")])
def test_a_window_that_cannot_be_is_refused(values: tuple[str, str, str]) -> None:
    with pytest.raises(ValidationError):
        HoppingSpec.model_validate(dict(zip(("size", "hop", "offset"), values, strict=True)))


def test_what_is_recorded_is_read_back_as_the_same(files: Files) -> None:
    streams = {
        "a": R | {"shift": "-1us", "select": {"token": "text", "k": 1}},
        "b": {"union": ["a", "a"], "publish": True},
        "c": R | {"hopping": {"size": "5s", "hop": "2s"}, "group_by": "Lane", "idle_timeout": "1d"},
    }
    spec = _streams(files, streams)
    resolved = json.loads(json.dumps(spec.resolved()))
    assert resolved["streams"]["a"]["select"] == {"token": "text", "k": "1"}
    assert resolved["streams"]["c"]["hopping"] == {"size": "5s", "hop": "2s", "offset": "0s"}
    assert from_resolved(resolved) == spec.model_copy(update={"path": Path()})
    del resolved["streams"]
    assert from_resolved(resolved).streams == {}


def test_the_fingerprint_covers_streams_and_is_as_before_without(files: Files) -> None:
    without, one, other = (_streams(files, streams).fingerprint() for streams in ({}, {"a": R}, {"b": R}))
    assert len({without, one, other}) == 3
    assert without == files.spec().fingerprint()
    long = W | {"tumbling": {"size": "60s"}}
    assert _streams(files, {"a": W}).fingerprint() == _streams(files, {"a": long}).fingerprint()


@pytest.mark.parametrize(
    ("streams", "key", "message"),
    [
        ({"Fast": R}, "Fast", "'Fast' is not a name"),
        ({"a": 5}, "a", "5 must be a mapping"),
        ({"readings": R}, "readings", "'readings' is the name of a source"),
        ({"a": {}}, "a.from", "is missing: write what the stream reads"),
        ({"a": R | {"union": ["readings", "readings"]}}, "a.union", "cannot be beside from"),
        ({"a": {"union": ["readings"]}}, "a.union", "puts two or more together"),
        ({"a": {"union": "readings"}}, "a.union", "must be text in a list"),
        ({"a": {"from": 5}}, "a.from", "5 is not text"),
        ({"a": {"from": "redings"}}, "a.from", "'redings' is not a source or stream: did you mean readings?"),
        ({"a": {"union": ["readings", "zz"]}}, "a.union[1]", "'zz' is not a source or stream: there are readings"),
        ({"a": {"from": "a"}}, "a.from", "a -> a is a circle"),
        ({"a": {"from": "b"}, "b": {"union": ["readings", "a"]}}, "a.from", "a -> b -> a is a circle"),
        ({"a": R | {"frm": "b"}}, "a.frm", "there is no such key 'frm': did you mean from?"),
        ({"a": R | {"from_": "b"}}, "a.from_", "there is no such key 'from_'"),
        ({"a": R | {"name": "b"}}, "a.name", "there is no such key 'name'"),
        ({"a": R | {"on": ["b"]}}, "a.on", "is for joins alone"),
        ({"a": R | N | {"session": {"max_duration": "1h"}}}, "a.session.gap", "is missing"),
        ({"a": R | N | {"session": VISITS | {"max_duration": "0s"}}}, "a.session.max_duration", "longer than 0s"),
        ({"a": R | N | {"session": "5m"}}, "a.session", "must be a mapping"),
        ({"a": R | N | {"session": {"gap": "0s", "max_duration": "1h"}}}, "a.session.gap", "longer than 0s"),
        ({"a": R | N | {"sliding": "0s"}}, "a.sliding", "must be longer than 0s"),
        ({"a": R | N | {"snapshot": {"size": "1m"}}}, "a.snapshot.size", "there is no such key 'size'"),
        ({"a": R | {"snapshot": {}}}, "a.select", "a window needs something to compute"),
        ({"a": W | {"snapshot": {}}}, "a.snapshot", "cannot be beside tumbling"),
        ({"a": R | N | {"lifetime": "1m", "sliding": "1m"}}, "a.sliding", "cannot be beside lifetime"),
        (
            {"a": R | N | {"snapshot": {}, "partition_by": "substream"}},
            "a.partition_by",
            "substream needs `over` in the source 'readings'",
        ),
        (
            {"a": R | N | {"sliding": "1m"}, "b": {"from": "a", **N, "snapshot": {}, "partition_by": "partition"}},
            "b.partition_by",
            "cannot be over the windows of 'a', which have no partition_by",
        ),
        ({"a": R | {"shift": 5}}, "a.shift", "5 is not a duration"),
        ({"a": R | {"lifetime": "0s"}}, "a.lifetime", "must be longer than 0s"),
        ({"a": R | {"lifetime": "-5s"}}, "a.lifetime", "must be longer than 0s"),
        ({"a": R | {"publish": "yes"}}, "a.publish", "'yes' is neither true nor false"),
        ({"a": R | {"select": ["n"]}}, "a.select", "must be a mapping of new columns to expressions"),
        (
            {"a": R | {"select": {"z": "round(Speed", "1)": None}}},
            "a.select",
            'round(Speed, 1) is cut at its comma: put it in quotes, as in z: "round(Speed, 1)"',
        ),
        ({"a": R | {"select": {"n": ["x"]}}}, "a.select", '{"n": ["x"]} is not an expression'),
        ({"a": W | {"tumbling": "0s"}}, "a.tumbling.size", "must be longer than 0s"),
        ({"a": W | {"tumbling": 60}}, "a.tumbling.size", "60 is not a duration"),
        ({"a": W | {"tumbling": {"size": "5s", "offset": "5s"}}}, "a.tumbling.offset", "less than size (5s)"),
        ({"a": W | {"tumbling": {"size": "5s", "offset": "-1s"}}}, "a.tumbling.offset", "is negative"),
        ({"a": R | N | {"hopping": {"size": "5s"}}}, "a.hopping.hop", "is missing"),
        ({"a": R | N | {"hopping": {"size": "36500d", "hop": "1us"}}}, "a.hopping.hop", "each row would be in"),
        (
            {"a": R | N | {"hopping": {"size": "5s", "hop": "2s", "offset": "3s"}}},
            "a.hopping.offset",
            "less than hop",
        ),
        ({"a": W | {"idle_timeout": "0s"}}, "a.idle_timeout", "must be longer than 0s"),
        ({"a": W | {"allowed_lateness": "-1s"}}, "a.allowed_lateness", "is negative"),
        ({"a": W | {"partition_by": "key"}}, "a.partition_by", "'key' is not allowed: write partition or substream"),
        ({"a": R | {"shift": "1s", "lifetime": "1s"}}, "a.lifetime", "cannot be beside shift"),
        ({"a": W | {"hopping": {"size": "5s", "hop": "2s"}}}, "a.hopping", "cannot be beside tumbling"),
        ({"a": {"union": ["readings", "readings"], "shift": "1s"}}, "a.shift", "cannot be beside union"),
        ({"a": R | {"group_by": ["Lane"]}}, "a.group_by", "is for windows alone"),
        ({"a": R | {"allowed_lateness": "1s"}}, "a.allowed_lateness", "is for windows alone"),
        ({"a": R | {"idle_timeout": "1s"}}, "a.idle_timeout", "is for windows alone"),
        ({"a": R | {"partition_by": "partition"}}, "a.partition_by", "is for windows alone"),
        ({"a": R | {"tumbling": "1m"}}, "a.select", "a window needs something to compute"),
        ({"a": W | {"group_by": ["Lan"]}}, "a.group_by", "'Lan' is not a column of 'readings': did you mean Lane"),
        (
            {"a": W | {"group_by": ["Lane", "upper(Lane)"]}},
            "a.group_by[1]",
            "an expression needs a name: group_by: [{name: ",
        ),
        ({"a": W | {"group_by": ["Lane", "LANE"]}}, "a.group_by[1]", "'LANE' is there twice"),
        ({"a": W | {"group_by": ["_partition"]}}, "a.group_by", "is not of the payload"),
        ({"a": W | {"group_by": ["tags"]}}, "a.group_by", "cannot be grouped by a MAP"),
        ({"a": R | {"select": {"x": "1", "X": "2"}}}, "a.select.X", "'X' is there twice (as 'x'"),
        ({"a": W | {"group_by": ["Lane"], "select": {"lane": "max(Lane)"}}}, "a.select.lane", "is in group_by"),
        ({"a": R | {"select": {"_Offset": "1"}}}, "a.select._Offset", "tables have themselves: call it 'Offset'"),
        ({"a": R | {"select": {"a b": "1"}}}, "a.select.a b", "cannot be stored by Delta"),
        ({"a": R | {"select": {"": "1"}}}, "a.select.", "a column must have a name"),
        ({"a": R | {"where": "Sped > 1"}}, "a.where", "'Sped' is not a column of 'readings': did you mean Speed"),
        ({"a": R | {"where": "Speed"}}, "a.where", "'Speed' is DOUBLE, not true or false"),
        ({"a": R | {"where": "_partition"}}, "a.where", "'_partition' is STRING, not true or false"),
        (
            {"a": R | {"where": "max(Speed) > 1"}},
            "a.where",
            "max() needs a window: add tumbling, hopping, session, sliding or snapshot",
        ),
        ({"a": W | {"where": "max(Speed) > 1"}}, "a.where", "max() cannot be in where, which sees a row before"),
        ({"a": R | N}, "a.select.n", "count() needs a window"),
        ({"a": R | {"select": {"x": "rand()"}}}, "a.select.x", "the function rand() cannot be used"),
        ({"a": R | {"select": {"x": "_watermark"}}}, "a.select.x", "'_watermark' is not a column of 'readings'"),
        ({"a": W | {"select": {"x": "Speed"}}}, "a.select.x", "differs from row to row of a window"),
        ({"a": W | {"select": {"x": "_partition"}}}, "a.select.x", "differs from row to row"),
        (
            {"a": W | {"select": {"x": "_substream"}, "partition_by": "partition"}},
            "a.select.x",
            "differs from row to row",
        ),
        (
            {"a": R | {"select": {"x": "Speed"}}, "b": {"from": "a", "where": "Speed > 1"}},
            "b.where",
            "'Speed' is not a column of 'a': there are x, _system_timestamp",
        ),
        (
            {"a": R | {"select": {"x": "Speed"}}, "b": {"union": ["readings", "a"], "select": {"x": 1}}},
            None,
            "'a' lacks 'DeviceId', 'EventTime'",
        ),
        (
            {"a": R | {"select": {"x": "Speed"}}, "b": R | {"select": {"X": "ts"}}, "c": {"union": ["a", "b"]}},
            "c.union[1]",
            "column 'x' is DOUBLE in 'a' and BIGINT in 'b'",
        ),
        (
            {"a": W | {"partition_by": "substream"}},
            "a.partition_by",
            "substream needs `over` in the source 'readings'",
        ),
        (
            {"a": {"union": ["readings", "readings"]}, "b": W | {"from": "a", "partition_by": "partition"}},
            "b.partition_by",
            "partition cannot be over 'a', which is a union",
        ),
        (
            {"a": W, "b": {"from": "a"}, "c": W | {"from": "b", "partition_by": "partition"}},
            "c.partition_by",
            "cannot be over the windows of 'a', which have no partition_by",
        ),
    ],
    ids=lambda value: None if isinstance(value, dict) else str(value)[:60],
)
def test_a_stream_that_cannot_be_is_refused(
    files: Files, streams: dict[str, Any], key: str | None, message: str
) -> None:
    problems = files.problems({"streams": streams})
    assert key is None or [problem.key for problem in problems] == [f"streams.{key}"]
    assert message in problems[0].message


@pytest.mark.parametrize(
    ("streams", "source"),
    [
        ({}, {}),
        ({"a": R}, {}),
        ({"a": R | {"publish": True}}, {}),
        ({"b": {"from": "a"}, "a": R}, {}),
        ({"a": {"union": ["readings", "readings"]}}, {}),
        ({"a": R | {"select": {"x": "Speed + 1"}}, "b": R | {"select": {"X": "ts"}}, "c": {"union": ["a", "b"]}}, {}),
        ({"a": R | {"where": "flag", "select": {"x": 1}, "shift": "-1h"}}, {}),
        ({"a": R | {"where": "_event_time < _arrival_time and _partition = '0'"}}, {}),
        ({"a": R | {"where": "true", "select": {"x": "null", "y": "'text'", "z": "_window_start"}}}, {}),
        ({"a": R | {"select": {"x": "Speed > 1"}}, "b": {"from": "a", "where": "x"}}, {}),
        ({"a": R | {"select": {"x": "struct(1 as n)"}}, "b": {"from": "a", "select": {"y": "x.anything"}}}, {}),
        ({"a": R | {"tumbling": "1m", "group_by": ["deviceid", "odd-name"]}}, {}),
        ({"a": W | {"select": {"x": "_window_end", "y": "1", "password": "max(text)"}}}, {}),
        ({"a": W | {"group_by": ["Lane"], "select": {"x": "concat(lane, max(Speed))"}, "where": "Speed > 1"}}, {}),
        ({"a": W | {"partition_by": "partition", "select": {"p": "_partition", "n": "count(*)"}}}, {}),
        ({"a": W | {"partition_by": "substream", "select": {"s": "_substream", "p": "_partition"}}}, SUBSTREAMS),
        (
            {
                "a": W | {"partition_by": "partition"},
                "b": {"from": "a", "shift": "1m", "where": "n > 1"},
                "c": {"from": "b", "tumbling": "1h", "partition_by": "partition", "select": {"x": "max(n)"}},
                "d": {"union": ["b", "b"]},
            },
            {},
        ),
        ({"a": W, "b": W | {"from": "a"}}, {}),
        ({"a": W | {"allowed_lateness": "5s"}}, KEEP),
        ({"a": R | {"where": "flag"}, "b": W | {"from": "a", "allowed_lateness": "5s"}}, KEEP),
        ({"a": W | {"allowed_lateness": "5s", "idle_timeout": "1m"}}, {}),
        ({"a": R | N | {"snapshot": {}, "group_by": ["Lane"]}, "b": {"from": "a", "where": "n > 1"}}, {}),
        ({"a": R | N | {"sliding": "10m", "allowed_lateness": "5s"}}, KEEP),
        ({"a": W, "b": {"from": "a", **N, "snapshot": {}}}, KEEP),
        ({"a": R | N | {"sliding": "10m", "partition_by": "substream", "idle_timeout": "1m"}}, SUBSTREAMS),
        (
            {
                "a": R | N | {"snapshot": {}, "partition_by": "partition"},
                "b": {"from": "a", **N, "session": VISITS, "partition_by": "partition"},
            },
            {},
        ),
        ({"a": W | {"select": {"s": "max(ts)", "n": "count(distinct Lane)", "e": "max(_event_time)"}}}, {}),
    ],
)
def test_what_is_usual_gives_no_warning(files: Files, streams: dict[str, Any], source: dict[str, Any]) -> None:
    assert files.load({"streams": streams}, **source).warnings == []


@pytest.mark.parametrize(
    ("streams", "source", "key", "message"),
    [
        ({"a": W | {"allowed_lateness": "5s"}}, {}, "allowed_lateness", "has no effect but that windows close later"),
        ({"b": W, "a": W | {"from": "b", "allowed_lateness": "5s"}}, KEEP, "allowed_lateness", "has no effect"),
        ({"a": W | {"select": {"s": "avg(Speed)"}}}, {}, "select.s", "avg(...) may depend on the order of rows"),
        (
            {"a": W | {"select": {f"s{n}": "avg(Speed)" for n in range(17)}}},
            {},
            "select.s0",
            "(17 columns: s0, s1,",
        ),
        (
            {"a": R | N | {"snapshot": {}}},
            KEEP,
            "allowed_lateness",
            "is not given: a source below keeps rows that are",
        ),
        (
            {"b": R | {"lifetime": "1m"}, "a": N | {"from": "b", "session": VISITS, "idle_timeout": "1m"}},
            KEEP,
            "allowed_lateness",
            "late for session windows even where one is still open; give it as long as rows may be behind",
        ),
        (
            {"a": W | {"select": {"s": "sum(Speed) / first(Speed)"}}},
            {},
            "select.s",
            "sum(...) and first(...) may depend",
        ),
        ({"b": W, "a": W | {"from": "b", "idle_timeout": "1m"}}, {}, "idle_timeout", "time alone may close"),
        ({"a": R | N | {"session": VISITS | {"max_duration": "1s"}}}, {}, "session.gap", "longer than max_duration"),
    ],
    ids=[
        "nothing late",
        "rows of windows are never late",
        "average",
        "17 averages",
        "a snapshot",
        "a session",
        "two aggregates",
        "closed by time above windows",
        "a gap that no session has",
    ],
)
def test_what_is_rarely_meant_gives_a_warning(
    files: Files, streams: dict[str, Any], source: dict[str, Any], key: str, message: str
) -> None:
    (warning,) = files.load({"streams": streams}, **source).warnings
    assert warning.key == f"streams.a.{key}"
    assert message in warning.message


def test_sums_that_may_wrap_give_one_warning_a_step(files: Files) -> None:
    sums = {"s": "sum(ts)", "t": "1 + sum(distinct ts)", "n": "sum(cast(ts as decimal(20, 0)))", "m": "max(ts)"}
    told = files.load({"streams": {"a": W | {"select": sums}}}).warnings
    (warning,) = (each for each in told if "wraps" in each.message)
    assert warning.key == "streams.a.select.s"
    assert "a sum of BIGINT wraps beyond 9223372036854775807 (2 columns: s, t)" in warning.message


def test_all_problems_are_told_at_once(files: Files) -> None:
    streams = {"a": R | {"where": "nope", "shift": "x"}, "b": {"from": "nope"}, "c": R | {"snapshot": {}}, "D": R}
    keys = [problem.key for problem in files.problems({"streams": streams, "start": "x"}, settle="x")]
    wrong = ["streams.a.shift", "streams.a.where", "streams.b.from", "streams.c.select", "streams.D"]
    assert sorted(keys) == sorted(["sources.readings.settle", "start", *wrong])


def test_any_column_may_be_right_while_what_a_stream_reads_is_wrong(files: Files) -> None:
    streams = {"a": R | {"where": "nope"}, "b": {"from": "a", "tumbling": "1m", "group_by": ["nope"]}}
    assert [problem.key for problem in files.problems({"streams": streams}, schema="a STRNG")] == [
        "sources.readings.schema"
    ]


@pytest.mark.parametrize(
    ("streams", "order"),
    [
        (_specs(a="s", b="a", c="s"), "abc"),
        (_specs(c="b", b="a", a="s"), "abc"),
        (_specs(d=["b", "c"], c="a", b="a", a="s"), "abcd"),
        (_specs(a=["s", "s"], b=["a", "a"]), "ab"),
    ],
    ids=["as written", "backwards", "diamond", "twice"],
)
def test_streams_stand_after_what_they_read(streams: dict[str, StreamSpec], order: str) -> None:
    assert in_order(streams) == tuple(order)


def test_a_circle_has_no_order() -> None:
    with pytest.raises(ValueError, match=r"^b -> c -> b$"):
        in_order(_specs(a="b", b="c", c=["s", "b"]))


def test_the_sources_below_stand_in_order_and_once() -> None:
    streams = _specs(a=["t", "s"], b=["a", "r", "s"])
    assert sources_below(streams, "b") == ("t", "s", "r")
    assert sources_below(streams, "s") == ("s",)


def test_columns_are_followed_from_the_source_through_the_streams(files: Files) -> None:
    streams = {
        "a": R | {"select": {"Id": "DeviceId", "at": "payload.at", "t": "_event_time", "x": "Speed + 1"}},
        "b": {"union": ["a", "a"], "where": "x > 1"},
        "c": {"from": "b", "tumbling": "1m", "group_by": ["id"], "select": {"n": "count(*)", "s": "_window_start"}},
    }
    spec = _streams(files, streams)

    def found(name: str) -> list[tuple[str, str | None]]:
        return [(column.name, column.type) for column in columns_of(spec, name) or ()]

    assert found("readings")[0] == ("DeviceId", "STRING")
    assert found("b") == found("a") == [("Id", "STRING"), ("at", "TIMESTAMP"), ("t", "TIMESTAMP"), ("x", None)]
    assert found("c") == [("id", "STRING"), ("n", None), ("s", "TIMESTAMP")]
    assert columns_of(spec, "nope") is None
    assert columns_of(spec, "c") == tuple(StreamColumn(*each) for each in found("c"))


def test_a_new_stream_and_a_removed_one_are_accepted_and_told(files: Files) -> None:
    recorded = _streams(files, {"old": R, "same": R}).resolved()
    assert changes(recorded, _streams(files, {"same": R, "new": R})) == [
        "streams.new: a new stream: it begins at its sources' present watermark",
        "streams.old: the stream is removed: its table stays",
    ]
    del recorded["streams"]
    assert len(changes(recorded, _streams(files, {"same": R}))) == 1


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"where": "flag"}, "where"),
        ({"publish": True}, "publish"),
        ({"tumbling": "2m"}, "tumbling.size"),
        ({"select": {"n": "count(*)", "m": "max(ts)"}}, "select.m"),
        ({"allowed_lateness": "5s"}, "allowed_lateness"),
        ({"group_by": ["Lane"]}, "group_by"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_change_within_a_stream_is_refused(files: Files, change: dict[str, Any], key: str) -> None:
    recorded = _streams(files, {"a": W}).resolved()
    assert changes(recorded, _streams(files, {"a": W | {"tumbling": {"size": "60s"}}})) == []
    with pytest.raises(ConfigError) as caught:
        changes(recorded, _streams(files, {"a": W | change}))
    assert [problem.key for problem in caught.value.problems] == [f"streams.a.{key}"]


@pytest.mark.parametrize("long", [VISITS, {"gap": "5m"}], ids=["with", "without"])
def test_to_have_sessions_with_or_without_a_longest_duration_needs_a_backfill(
    files: Files, long: dict[str, str]
) -> None:
    other = {"gap": "5m"} if long == VISITS else VISITS
    recorded = _streams(files, {"a": R | N | {"session": long}}).resolved()
    assert changes(recorded, _streams(files, {"a": R | N | {"session": long}})) == []
    with pytest.raises(ConfigError, match=r"streams\.a\.session\.max_duration"):
        changes(recorded, _streams(files, {"a": R | N | {"session": other}}))
