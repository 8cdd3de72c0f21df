"""Joins of a pipeline file: what is refused, what is read, which columns they have."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.pipeline_files import COLUMNS, Files
from tidemark.config import changes
from tidemark.config.models.stream_graph import columns_of, has_pairs
from tidemark.core.streams import StepRules, StreamState, advance_streams
from tidemark.core.watermarks import Combined
from tidemark.errors import ConfigError

EVENTS: dict[str, Any] = {"arrival_time": "EnqueuedAt", "landing_delay": "15m", "timestamp_by": "EventTime"}
KEEP = EVENTS | {"out_of_order": {"tolerance": "0s", "action": "keep"}}
R: dict[str, Any] = {"from": "readings"}
LONG: dict[str, Any] = R | {"lifetime": "5m"}
W: dict[str, Any] = R | {"tumbling": "1m", "group_by": ["Lane"], "select": {"n": "count(*)"}}
J: dict[str, Any] = {"join": ["readings", "long"], "on": ["Lane"], "select": {"x": "readings.Speed"}}


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in J.items() if name != key}


@pytest.mark.parametrize(
    ("join", "key", "message"),
    [
        (J | {"join": ["readings"]}, "join", "pairs two streams, not 1"),
        (J | {"join": []}, "join", "pairs two streams, not 0"),
        (J | {"join": ["readings", "long", "w"]}, "join", "not 3: join a third in a step over this one"),
        (J | {"join": ["readings", "readings"]}, "join", "such as readings_again: {from: readings}"),
        (J | {"join": ["readings", "lon"]}, "join[1]", "'lon' is not a source or stream: did you mean long?"),
        (J | {"join": "readings"}, "join", "must be text in a list"),
        (J | R, "join", "cannot be beside from"),
        (J | {"shift": "1s"}, "shift", "cannot be beside join"),
        (J | {"lifetime": "1s"}, "lifetime", "cannot be beside join"),
        (J | {"tumbling": "1s"}, "tumbling", "cannot be beside join"),
        (J | {"group_by": ["x"]}, "group_by", "is for windows alone"),
        (J | {"partition_by": "partition"}, "partition_by", "is for windows alone"),
        (without("select"), "select", "is missing: say what a pair has"),
        (without("on"), "on", "is missing: name the columns that are equal on both sides"),
        (J | {"on": []}, "on", "is missing"),
        (J | {"on": ["Lan"]}, "on", "'Lan' is not a column of 'readings': did you mean Lane"),
        (J | {"on": ["readings.Lane"]}, "on", "is not a column of 'readings'"),
        (J | {"on": ["Lane", "LANE"]}, "on[1]", "'LANE' is there twice"),
        (J | {"on": ["_partition"]}, "on", "compare it in where, as in readings._partition = long._partition"),
        (J | {"on": ["payload"]}, "on", "not one value: select a member of it"),
        (J | {"join": ["readings", "w"], "on": ["Speed"]}, "on", "'Speed' is not a column of 'w'"),
        (
            J | {"join": ["readings", "other"], "on": ["Lane"]},
            "on",
            "STRING in 'readings' and DOUBLE in 'other': cast",
        ),
        (J | {"where": "Speed > 1"}, "where", "may be of either side of a join: write readings.Speed or long.Speed"),
        (J | {"where": "rates.Speed > 1"}, "where", "'rates' is no side of the join"),
        (J | {"where": "readings is not null"}, "where", "'readings' is a whole row: name a column of it"),
        (J | {"where": "readings.Sped > 1"}, "where", "'Sped' is not a column of 'readings': did you mean Speed"),
        (J | {"where": "readings._offset > 1"}, "where", "'_offset' is not a column of 'readings'"),
        (J | {"where": "readings.Speed"}, "where", "'readings.Speed' is DOUBLE, not true or false"),
        (
            J | {"select": {"x": "max(readings.Speed)"}},
            "select.x",
            "needs a window: add tumbling, hopping, session, sliding or snapshot in a step",
        ),
        (J | {"select": {"x": "readings.Speed + rand()"}}, "select.x", "the function rand() cannot be used"),
        (J | {"select": {"_end_time": "readings.Speed"}}, "select._end_time", "tables have themselves"),
        (R | {"on": ["Lane"]}, "on", "is for joins alone"),
        (R | {"how": "left"}, "how", "is for joins alone: name two streams in join"),
        (J | {"how": "lef"}, "how", "'lef' is not allowed: write inner, left or anti"),
        (J | {"how": "LEFT"}, "how", "write inner, left or anti"),
        (J | {"hwo": "left"}, "hwo", "there is no such key 'hwo': did you mean how?"),
        (
            J | {"how": "anti", "select": {"x": "long.Speed"}},
            "select.x",
            "'long' has no row where 'readings' is without one (how: anti): select columns of 'readings' alone",
        ),
        (J | {"how": "anti", "select": {"x": "readings.Sped"}}, "select.x", "did you mean Speed"),
    ],
    ids=lambda value: None if isinstance(value, dict) else str(value)[:50],
)
def test_a_join_that_cannot_be_is_refused(files: Files, join: dict[str, Any], key: str, message: str) -> None:
    other = R | {"select": {"Lane": "Speed"}}
    problems = files.problems({"streams": {"long": LONG, "w": W, "other": other, "j": join}})
    assert f"streams.j.{key}" in [problem.key for problem in problems]
    assert any(message in problem.message for problem in problems), problems


@pytest.mark.parametrize(
    "join",
    [
        J,
        J | {"on": "lane"},
        J | {"where": "readings._event_time < LONG._end_time and `readings`.Speed + long.Speed > 1"},
        J | {"how": "inner"},
        J | {"how": "left", "select": {"x": "long.Speed", "missing": "long._system_timestamp is null"}},
        J | {"how": "anti", "where": "readings.Speed < long.Speed"},
        J | {"join": ["w", "long"], "select": {"n": "w.n", "s": "w._window_start", "p": "long._partition"}},
        J | {"select": {"x": "readings.payload.inner.x", "y": "transform(long.list, e -> e + 1)", "z": "1"}},
    ],
)
def test_a_join_is_written_with_its_inputs(files: Files, join: dict[str, Any]) -> None:
    loaded = files.load({"streams": {"long": LONG, "w": W, "j": join}}, **EVENTS)
    assert loaded.warnings == []
    assert loaded.spec.streams["j"].published
    assert loaded.spec.streams["j"].inputs == tuple(join["join"])


def test_rows_that_may_come_behind_the_watermark_cannot_be_joined_but_windows_over_them_can(files: Files) -> None:
    some = R | {"where": "Speed > 1"}
    streams = {"long": LONG, "some": some, "j": J | {"join": ["some", "long"], "select": {"x": "some.Speed"}}}
    problems = files.problems({"streams": streams}, **KEEP)
    assert [problem.key for problem in problems] == ["streams.j.join[0]", "streams.j.join[1]"]
    assert "'some' carries rows of the source 'readings', which keeps what is out of order" in problems[0].message
    windows = {"w": W, "v": W | {"tumbling": "2m"}, "j": J | {"join": ["w", "v"], "select": {"x": "w.n + v.n"}}}
    over = {"k": {"join": ["j", "w"], "on": ["x"], "select": {"x": "j.x"}}}
    assert files.load({"streams": windows}, **KEEP).warnings == []
    assert "'x' is not a column of 'w'" in files.problem({"streams": windows | over}, **KEEP)[1]


def test_columns_of_a_join_are_those_it_selects_with_their_types(files: Files) -> None:
    select = {"x": "readings.Speed", "at": "long._end_time", "deep": "long.payload.n", "sum": "readings.ts + 1"}
    windows = {"from": "j", "tumbling": "1m", "group_by": ["deep"], "select": {"n": "sum(x)"}}
    spec = files.spec({"streams": {"long": LONG, "j": J | {"select": select}, "t": windows}})
    found = [(column.name, column.type) for column in columns_of(spec, "j") or ()]
    assert found == [("x", "DOUBLE"), ("at", "TIMESTAMP"), ("deep", "INT"), ("sum", None)]
    assert has_pairs(spec.streams, "t")
    assert not has_pairs(spec.streams, "long")


def test_parts_cannot_be_told_apart_over_a_join(files: Files) -> None:
    windows = {"from": "j", "tumbling": "1m", "select": {"n": "count(*)"}, "partition_by": "partition"}
    assert "which is a join" in files.problem({"streams": {"long": LONG, "j": J, "t": windows}})[1]


def test_a_circle_through_a_join_is_refused(files: Files) -> None:
    streams = {"j": J | {"join": ["readings", "k"]}, "k": {"from": "j"}}
    assert any("is a circle" in problem.message for problem in files.problems({"streams": streams}))


def test_a_source_may_have_a_column_called_as_the_other_side(files: Files) -> None:
    schema = COLUMNS + ", `long` STRUCT<Speed: STRING>"
    spec = files.spec({"streams": {"long": LONG, "j": J | {"select": {"x": "long.Speed"}}}}, schema=schema)
    assert [column.type for column in columns_of(spec, "j") or ()] == ["DOUBLE"]


def test_a_change_of_what_is_joined_is_refused(files: Files) -> None:
    recorded = files.spec({"streams": {"long": LONG, "j": J}}).resolved()
    changed = files.spec({"streams": {"long": LONG, "j": J | {"on": ["DeviceId"]}}})
    with pytest.raises(ConfigError, match=r"streams\.j\.on"):
        changes(recorded, changed)


EDGE: dict[str, Any] = {"kind": "Lane", "start": "s", "end": "e", "end_time": "EnqueuedAt", "match": ["DeviceId"]}


@pytest.mark.parametrize("below", ["edges", "some", "pairs"])
def test_a_row_that_may_turn_out_to_be_none_ends_no_gap(files: Files, below: str) -> None:
    punctuation = {"every": "1m", "violations": "adjust"}
    edges = {"timestamp_by": "EventTime", "shape": {"edge": EDGE}, "punctuation": punctuation}
    source = {"landing": "./landing", "format": "json", "schema": COLUMNS}
    streams = {
        "some": {"from": "edges"},
        "pairs": J | {"join": ["some", "readings"], "select": {"Lane": "some.Lane"}},
    }

    def pipeline(how: str, violations: str, sides: list[str]) -> dict[str, Any]:
        join = {"join": sides, "on": ["Lane"], "how": how, "select": {"x": f"{sides[0]}.Lane"}}
        punctuated = source | edges | {"punctuation": punctuation | {"violations": violations}}
        readings = source | EVENTS
        return {"sources": {"readings": readings, "edges": punctuated}, "streams": streams | {"j": join}}

    key, message = files.problem(pipeline("left", "adjust", ["readings", below]))
    assert key == "streams.j.how"
    assert "cannot be left with rows of the source 'edges' on the right" in message
    files.load(pipeline("inner", "adjust", ["readings", below]))
    files.load(pipeline("left", "drop", ["readings", below]))
    files.load(pipeline("anti", "adjust", [below, "readings"]))


def test_how_counts_for_fingerprints_only_if_it_is_given(files: Files) -> None:
    streams = {"long": LONG, "j": J}
    plain = files.spec({"streams": streams})
    assert files.spec({"streams": streams | {"j": J | {"how": "inner"}}}).fingerprint() == plain.fingerprint()
    left = files.spec({"streams": streams | {"j": J | {"how": "left"}}})
    assert left.fingerprint() != plain.fingerprint()
    with pytest.raises(ConfigError, match=r"streams\.j\.how"):
        changes(plain.resolved(), left)


WATERMARKS = st.none() | st.integers(-5, 5)


@given(st.lists(st.tuples(WATERMARKS, WATERMARKS, st.booleans()), max_size=6))
def test_the_watermark_of_a_join_is_the_minimum_of_its_sides_and_never_goes_back(
    runs: list[tuple[int | None, int | None, bool]],
) -> None:
    steps = [StepRules("j", ("a", "b"), ("a", "b"))]
    states: dict[str, StreamState] = {}
    for left, right, complete in runs:
        before = states.get("j", StreamState()).watermark
        sides = {"a": Combined(left, complete), "b": Combined(right)}
        states = {step.name: state for step, state in advance_streams(steps, sides, {}, states, 0)}
        after = states["j"].watermark
        held = [right] if complete else [left, right]
        known = [each for each in held if each is not None]
        least = min(known) if len(known) == len(held) else None
        if before is None or least is None:
            assert after == (least if before is None else before)
        else:
            assert after == max(before, least)
