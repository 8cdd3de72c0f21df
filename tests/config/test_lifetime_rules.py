"""Lifetimes of rows in a pipeline file: durations, and ends that an expression gives."""

from __future__ import annotations

from typing import Any

import pytest

from config.pipeline_files import Files
from tidemark.config import from_resolved
from tidemark.core.times import DAY, MINUTE
from tidemark.errors import ConfigError
from tidemark.report.pipeline_graph import _operator
from tidemark.runner.stream_progress import rules_of_streams
from tidemark.spark.streams.paths import longest, paths_to

R: dict[str, Any] = {"from": "readings"}
EVENTS: dict[str, Any] = {"arrival_time": "EnqueuedAt", "landing_delay": "15m", "timestamp_by": "EventTime"}


def _until(until: Any = "EnqueuedAt", **keys: Any) -> dict[str, Any]:
    return R | {"lifetime": {"until": until, **keys}}


def test_an_end_by_an_expression_is_recorded_and_read_back_as_written(files: Files) -> None:
    spec = files.spec({"streams": {"a": _until(at_most="90m"), "b": R | {"lifetime": "90m"}}})
    a, b = spec.streams.values()
    assert a.until is not None
    assert (a.until.until, a.until.at_most, a.lasts) == ("EnqueuedAt", 90 * MINUTE, None)
    assert (b.until, b.lasts) == (None, 90 * MINUTE)
    again = from_resolved(spec.resolved())
    assert again.streams == spec.streams
    assert list(_operator(a)) == ["lifetime until EnqueuedAt"]


def test_a_row_lives_as_long_as_at_most_or_without_a_bound(files: Files) -> None:
    streams = {
        "bounded": _until(at_most="1d"),
        "later": {"from": "bounded", "shift": "1m"},
        "open": _until(),
        "over": {"from": "open", "where": "true"},
        "cut": {"from": "over", "lifetime": "1m"},
    }
    spec = files.spec({"streams": streams}, **EVENTS)
    rules = {step.name: step for step in rules_of_streams(spec)}
    assert (rules["bounded"].lifetime, rules["bounded"].until, rules["later"].until) == (DAY, True, False)
    assert {name for name, step in rules.items() if step.endless} == {"open", "over", "cut"}
    lengths = {name: longest(spec, paths_to(spec, name)) for name in streams}
    assert lengths == {"bounded": DAY, "later": DAY, "open": None, "over": None, "cut": MINUTE}


@pytest.mark.parametrize(
    ("stream", "source", "key", "message"),
    [
        (R | {"lifetime": {"at_most": "1d"}}, {}, "lifetime.until", "is missing"),
        (_until(at_most="0s"), {}, "lifetime.at_most", "must be longer than 0s"),
        (_until(atmost="1d"), {}, "lifetime.atmost", "did you mean at_most?"),
        (R | {"lifetime": [1]}, {}, "lifetime", "a duration"),
        (_until("Nope"), {}, "lifetime.until", "Nope"),
        (_until("Speed"), {}, "lifetime.until", "is a number (DOUBLE), not a time"),
        (_until("Speed > 1"), {}, "lifetime.until", "is true or false, not a time"),
        (_until("max(EventTime)"), {}, "lifetime.until", "max() needs a window"),
        (_until() | {"shift": "1m"}, {}, "lifetime", "cannot be beside shift"),
    ],
)
def test_a_lifetime_that_cannot_be_is_refused(
    files: Files, stream: dict[str, Any], source: dict[str, Any], key: str, message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        files.spec({"streams": {"a": stream}}, **source)
    [problem] = caught.value.problems
    assert problem.key == f"streams.a.{key}"
    assert message in problem.message


def test_a_lifetime_without_a_bound_gives_a_warning(files: Files) -> None:
    assert not files.load({"streams": {"a": _until(at_most="1d")}}, **EVENTS).warnings
    [warning] = files.load({"streams": {"a": _until()}}, **EVENTS).warnings
    assert warning.key == "streams.a.lifetime"
    assert "add the longest that a row can live" in warning.message
