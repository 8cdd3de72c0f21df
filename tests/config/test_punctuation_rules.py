"""Keys of punctuated sources: what they mean, what is refused, what is warned of."""

from __future__ import annotations

import json
from typing import Any

import pytest

from config.pipeline_files import COLUMNS, Files
from tidemark.config import changes, from_resolved
from tidemark.core.advance import in_import_order
from tidemark.core.policy import Action
from tidemark.core.punctuation import POINT, Every, Punctuation, Shape
from tidemark.core.times import SECOND
from tidemark.errors import ConfigError
from tidemark.runner.source_rules import rules_of

TEN: dict[str, Any] = {"every": 10, "violations": "drop"}
EVENTS: dict[str, Any] = {"arrival_time": "EnqueuedAt", "landing_delay": "15m", "timestamp_by": "EventTime"}
EDGE: dict[str, Any] = {"kind": "text", "start": "start", "end": "end", "end_time": "local", "match": ["DeviceId"]}


def test_every_key_reaches_the_specification(files: Files) -> None:
    keys = TEN | {"delay": "-1us", "row": "text = 'cti'", "final": True}
    source = files.source(**EVENTS, punctuation=keys, shape={"edge": EDGE})
    assert source.punctuated == Punctuation(Action.DROP, Every(count=10), -1, (), "text = 'cti'", final=True)
    assert source.lifetimes == Shape("local", "text", "start", "end", ("DeviceId",))
    assert source.policy.late is None
    assert source.policy.early is None


@pytest.mark.parametrize(
    ("written", "every"),
    [(10, Every(count=10)), ("5s", Every(period=5 * SECOND)), ("250ms", Every(period=SECOND // 4))],
)
def test_every_is_a_number_of_rows_or_a_duration(files: Files, written: Any, every: Every) -> None:
    source = files.source(**EVENTS, punctuation={"every": written, "violations": "adjust"})
    assert source.punctuated is not None
    assert (source.punctuated.every, source.punctuated.delay) == (every, 0)


@pytest.mark.parametrize(
    ("shape", "longest"),
    [(None, 1), ("point", 1), ({"interval": {"end_time": "local"}}, None), ({"edge": EDGE}, None)],
    ids=["absent", "point", "interval", "edge"],
)
def test_the_longest_lifetime_is_a_tick_or_what_the_data_say(files: Files, shape: Any, longest: int | None) -> None:
    source = files.source(**EVENTS, punctuation=TEN, shape=shape)
    assert source.longest == longest
    assert (source.lifetimes == POINT) == (longest == 1)


def test_tolerances_judge_intervals(files: Files) -> None:
    source = files.source(**EVENTS, shape={"interval": {"end_time": "local"}})
    assert (source.interval_end, source.longest, source.punctuated) == ("local", None, None)
    assert source.policy == files.source(**EVENTS).policy
    assert files.source(**EVENTS, punctuation=TEN, shape={"interval": {"end_time": "local"}}).interval_end is None


def test_a_configuration_is_read_back_as_it_was_recorded(files: Files) -> None:
    spec = files.spec(**EVENTS, punctuation=TEN | {"every": "5s"}, shape={"interval": {"end_time": "local"}})
    recorded = json.loads(json.dumps(spec.resolved()))
    assert recorded["sources"]["readings"]["shape"] == {"interval": {"end_time": "local"}}
    assert from_resolved(recorded).sources["readings"].punctuated == spec.sources["readings"].punctuated
    assert changes(recorded, spec) == []


def test_another_punctuation_needs_a_backfill(files: Files) -> None:
    recorded = files.spec(**EVENTS, punctuation=TEN).resolved()
    with pytest.raises(ConfigError) as caught:
        changes(recorded, files.spec(**EVENTS, punctuation=TEN | {"every": 11}))
    assert [problem.key for problem in caught.value.problems] == ["sources.readings.punctuation.every"]


@pytest.mark.parametrize(
    ("keys", "key", "message"),
    [
        ({"punctuation": {"violations": "drop"}}, "punctuation", "write every, import_from or row"),
        ({"punctuation": {"every": 10}}, "punctuation.violations", "is missing: write violations: drop, or adjust"),
        ({"punctuation": TEN | {"violations": "keep"}}, "punctuation.violations", "write drop or adjust"),
        ({"punctuation": TEN | {"every": 0}}, "punctuation.every", "is not a whole number of 1 or more"),
        ({"punctuation": TEN | {"every": "0s"}}, "punctuation.every", "must be longer than 0s"),
        ({"punctuation": TEN | {"every": True}}, "punctuation.every", "is not how often"),
        ({"punctuation": TEN | {"rows": "x"}}, "punctuation.rows", "did you mean row"),
        ({"punctuation": TEN | {"row": "Speed"}}, "punctuation.row", "is DOUBLE, not true or false"),
        ({"punctuation": TEN | {"row": "nothing = 1"}}, "punctuation.row", "'nothing' is not a column"),
        ({"shape": "point"}, "shape", "needs `punctuation`"),
        ({"shape": {"edge": EDGE}}, "shape", "write {interval: {end_time: column}}, or remove it"),
        ({"shape": {"interval": {"end_time": "Speed"}}}, "shape.interval.end_time", "is a number"),
        ({"shape": {"interval": {"end_time": "Left"}}}, "shape.interval.end_time", "'Left' is not a column"),
        ({"shape": {"interval": {}}}, "shape.interval.end_time", "is missing"),
        (
            {"shape": {"interval": {"end_time": "local"}}, "timestamp_by": None},
            "timestamp_by",
            "is missing: with shape interval",
        ),
        ({"punctuation": TEN, "shape": "line"}, "shape", "is not a shape"),
        ({"punctuation": TEN, "over": "DeviceId"}, "over", "cannot be beside `punctuation`"),
        (
            {"punctuation": TEN, "late_arrival": {"tolerance": "5s", "action": "drop"}},
            "late_arrival",
            "a source has either tolerances or punctuation",
        ),
        (
            {"punctuation": TEN, "shape": {"interval": {"end_time": "Speed"}}},
            "shape.interval.end_time",
            "is a number",
        ),
        ({"punctuation": TEN, "shape": {"edge": EDGE | {"end": "start"}}}, "shape.edge", "has 'start' for both"),
        ({"punctuation": TEN, "shape": {"edge": EDGE | {"match": ["x"]}}}, "shape.edge.match[0]", "is not a column"),
        (
            {"punctuation": TEN, "shape": {"edge": EDGE | {"match": ["raw"]}}},
            "shape.edge.match[0]",
            "is BINARY: keys",
        ),
        (
            {"punctuation": TEN, "shape": {"edge": EDGE}, "timestamp_by": None},
            "timestamp_by",
            "is missing: with shape edge",
        ),
        ({"punctuation": TEN | {"import_from": "rates"}}, "punctuation.import_from", "'rates' is not a source"),
        (
            {"punctuation": TEN | {"import_from": ["rates", "reading"]}},
            "punctuation.import_from[1]",
            "'reading' is not a source: there are no others",
        ),
        ({"punctuation": TEN | {"import_from": []}}, "punctuation.import_from", "names no source"),
        ({"punctuation": TEN | {"import_from": ["a", "a"]}}, "punctuation.import_from", "names 'a' twice"),
        (
            {"punctuation": TEN | {"import_from": 7}},
            "punctuation.import_from",
            "does not name sources: write readings",
        ),
        (
            {"punctuation": {"import_from": "readings", "violations": "drop"}},
            "punctuation.import_from",
            "readings -> readings is a circle",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_what_is_allowed(files: Files, keys: Any, key: str, message: str) -> None:
    found = {problem.key: problem.message for problem in files.problems(**(EVENTS | keys))}
    assert message in found.get(f"sources.readings.{key}", ""), found


def _source(below: str | list[str] | None, **keys: Any) -> dict[str, Any]:
    punctuation = {"import_from": below, "violations": "drop"} if below else TEN
    return {"landing": "./landing", "format": "json", "schema": COLUMNS, "punctuation": punctuation} | keys


def test_a_circle_of_imports_is_shown_once(files: Files) -> None:
    sources = {
        "a": _source(["e", "b"]),
        "b": _source("c"),
        "c": _source(["a"]),
        "d": _source("a"),
        "e": _source(None),
    }
    (problem,) = files.problems({"sources": sources})
    assert problem.key == "sources.a.punctuation.import_from[1]"
    assert problem.message.startswith("a -> b -> c -> a is a circle")


def test_sources_are_judged_after_those_they_import_from(files: Files) -> None:
    spec = files.spec({"sources": {"a": _source(["b", "c"]), "b": _source("c"), "c": _source(None)}})
    assert [rules.name for rules in in_import_order(rules_of(spec))] == ["c", "b", "a"]
    recorded = {name: source["punctuation"]["import_from"] for name, source in spec.resolved()["sources"].items()}
    assert recorded == {"a": ["b", "c"], "b": "c", "c": None}
    assert from_resolved(spec.resolved()).resolved() == spec.resolved()


def test_settings_of_the_pipeline_replace_whole_keys_of_the_sources_own_file(files: Files) -> None:
    own = _source(None, timestamp_by="EventTime", landing="../landing")
    files.text(json.dumps(own | {"punctuation": TEN | {"final": True}}), "sources/readings.yml")
    given = {"extends": "sources/readings.yml", "punctuation": {"every": "5s", "violations": "adjust"}}
    source = files.spec({"sources": {"readings": given}}).sources["readings"]
    assert source.punctuated == Punctuation(Action.ADJUST, Every(period=5 * SECOND))


def test_tolerances_of_the_sources_own_file_can_be_taken_away(files: Files) -> None:
    late = {"late_arrival": {"tolerance": "5s", "action": "drop"}}
    files.text(json.dumps(_source(None, landing="../landing", **late)), "sources/readings.yml")
    given = {"extends": "sources/readings.yml", "late_arrival": None}
    assert files.spec({"sources": {"readings": given}}).sources["readings"].punctuated is not None


@pytest.mark.parametrize(
    ("keys", "key", "message"),
    [
        ({"punctuation": TEN, "partition": {"column": "Lane"}}, "punctuation", "with several partitions"),
        (
            {"punctuation": TEN | {"violations": "adjust"}},
            "punctuation.violations",
            "adjust drops points all the same",
        ),
        (
            {"punctuation": {"row": "flag", "delay": "5s", "violations": "drop"}},
            "punctuation.delay",
            "has no effect",
        ),
    ],
)
def test_what_is_rarely_meant_is_warned_of(files: Files, keys: Any, key: str, message: str) -> None:
    (warning,) = files.load(**(EVENTS | keys)).warnings
    assert warning.key == f"sources.readings.{key}"
    assert message in warning.message


def test_a_sound_punctuated_source_is_not_warned_of(files: Files) -> None:
    assert files.load(**EVENTS, punctuation=TEN, shape={"edge": EDGE}).warnings == []
