"""The oracle of streams and windows reproduces the published examples and cases worked by hand, and obeys the
laws for outputs."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oracle import SECOND, Obj, Row, Run, Source
from oracle_streams import COMPLETE, Step, StepRun, Window, flow, held
from published import EXAMPLES, at, length
from strategies import BASE, TICK, LawfulLog, Log, lawful_logs, logs, recuts

ATLAS = Source(early=None, late=None, out_of_order=(0, "keep"), single=True)
LAW = settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
KINDS = {
    "tumbling": Window(4 * SECOND, 4 * SECOND),
    "overlapping": Window(6 * SECOND, 2 * SECOND, offset=SECOND),
    "gaps": Window(2 * SECOND, 5 * SECOND, offset=TICK),
    "partitions": Window(3 * SECOND, 3 * SECOND, partition_by="partition"),
    "substreams": Window(3 * SECOND, 3 * SECOND, partition_by="substream"),
    "lateness": Window(4 * SECOND, 4 * SECOND, allowed_lateness=2 * SECOND),
}
MANY = [pytest.param(window, id=name) for name, window in KINDS.items()]


def s(seconds: float) -> int:
    return BASE + round(seconds * SECOND)


def window_of(example: dict[str, Any]) -> Window:
    given_ = example["window"]
    idle = length(given_["idle_timeout"]) if "idle_timeout" in given_ else None
    size = length(given_["tumbling"])
    return Window(size, size, allowed_lateness=length(given_.get("allowed_lateness", "0s")), idle_timeout=idle)


def rows_of(given_: list[dict[str, Any]]) -> tuple[Row, ...]:
    return tuple(Row(event=at(row["event_time"]), arrival=at(row["arrival_time"])) for row in given_)


def names(items: Any) -> dict[str, Any]:
    """The rows of a window by their position from 1."""
    return {"rows": sorted(item.offset + 1 for item in items)}


def windowed(source: Source, runs: list[Run], window: Window) -> list[StepRun]:
    named = replace(window, aggregate=names)
    return [run["w"] for run in flow({"in": (source, runs)}, {"w": Step(("in",), window=named)})]


# -- the published examples


@pytest.mark.parametrize("name", ["atlas-watermark", "atlas-allowed-lateness"])
def test_published_windows_hold_the_rows_that_are_printed(name: str) -> None:
    example = EXAMPLES[name]
    rows, landed = rows_of(example["rows"]), at(example["rows"][-1]["arrival_time"])
    runs = [Run(landed, (Obj("o", landed, rows),)), Run(landed, (), close=True)]
    first, rest = windowed(ATLAS, runs, window_of(example))
    for wanted in example["expected_windows_by_event_time"]:
        written = first.written if wanted["closed"] else rest.written
        found = [item for item in written if (item.start, item.end) == (at(wanted["start"]), at(wanted["end"]))]
        assert [item.payload["rows"] for item in found] == [wanted["rows"]]
    assert not first.dead_letters
    assert len(first.written) + len(rest.written) == len(example["expected_windows_by_event_time"])


def test_a_published_window_with_allowed_lateness_closes_exactly_at_its_watermark() -> None:
    example = EXAMPLES["atlas-allowed-lateness"]
    rows = rows_of(example["rows"])
    landed = [at(row["arrival_time"]) for row in example["rows"]]
    runs = [
        Run(time, (Obj(f"{n:02}", time, (row,)),)) for n, (time, row) in enumerate(zip(landed, rows, strict=True))
    ]
    found = windowed(ATLAS, runs, window_of(example))
    assert [step.reached for step in found] == [at(text) for text in example["watermark_after"]]
    assert [len(step.written) for step in found] == [0] * 9 + [1]
    assert found[-1].reached == at("2026-01-01T12:07:00Z")
    assert not any(step.dead_letters for step in found)


def test_published_windows_by_arrival_are_those_of_a_source_without_event_time() -> None:
    example = EXAMPLES["atlas-watermark"]
    rows, landed = rows_of(example["rows"]), at(example["rows"][-1]["arrival_time"])
    runs = [Run(landed, (Obj("o", landed, rows),)), Run(landed, (), close=True)]
    found = windowed(replace(ATLAS, timestamp_by=False), runs, window_of(example))
    written = [(item.start, item.payload["rows"]) for step in found for item in step.written]
    assert written == [(at(w["start"]), w["rows"]) for w in example["expected_windows_by_arrival_time"]]


def test_the_published_idle_timeout_run_by_run() -> None:
    example = EXAMPLES["atlas-idle-timeout"]
    runs = []
    for number, given_ in enumerate(example["runs"]):
        as_of = at(given_["as_of"])
        objects = (Obj(f"{number:02}", as_of, rows_of(given_["rows"])),) if given_["rows"] else ()
        runs.append(Run(as_of, objects))
    found = windowed(ATLAS, runs, window_of(example))
    assert [step.reached for step in found] == [at(given_["window_watermark"]) for given_ in example["runs"]]
    closed = [[item.start for item in step.written] for step in found]
    assert closed == [[at(text) for text in given_["closed"]] for given_ in example["runs"]]


# -- worked by hand


def one_run(*events: float, as_of: float = 100, close: bool = False) -> list[Run]:
    rows = tuple(Row(event=s(event), arrival=s(as_of)) for event in events)
    return [Run(s(as_of), (Obj("o", s(as_of), rows),), close=close)]


def test_a_row_exactly_at_a_windows_end_belongs_to_the_next_one() -> None:
    (step,) = windowed(ATLAS, one_run(0, 4 - TICK / SECOND, 4, close=True), KINDS["tumbling"])
    assert [(item.start, item.payload["rows"]) for item in step.written] == [(s(0), [1, 2]), (s(4), [3])]


def test_a_point_is_committed_only_when_the_watermark_is_past_it() -> None:
    steps = {"p": Step(("in",), publish=True)}
    (run,) = flow({"in": (ATLAS, one_run(1, 2))}, steps)
    assert [item.start for item in run["p"].written] == [s(1)]
    assert run["p"].watermark == s(2)


def test_a_windowed_stream_is_pulled_back_to_the_earliest_window_that_is_not_closed() -> None:
    (step,) = windowed(ATLAS, one_run(0, 5), KINDS["tumbling"])
    assert (step.reached, step.watermark) == (s(5), s(4))
    (step,) = windowed(ATLAS, one_run(0, 4), KINDS["tumbling"])
    assert (step.reached, step.watermark) == (s(4), s(4))


def test_a_row_between_windows_with_gaps_is_counted_as_outside() -> None:
    (step,) = windowed(ATLAS, one_run(1, 3, 6, close=True), replace(KINDS["gaps"], offset=0))
    assert step.outside == 1
    assert [item.payload["rows"] for item in step.written] == [[1], [3]]


def test_windows_over_windows_hold_what_the_inner_ones_gave() -> None:
    inner, outer = Window(2 * SECOND, 2 * SECOND), Window(4 * SECOND, 4 * SECOND)
    steps = {
        "inner": Step(("in",), window=inner),
        "outer": Step(
            ("inner",), window=replace(outer, aggregate=lambda items: {"n": [i.payload["n"] for i in items]})
        ),
    }
    run, last = flow({"in": (ATLAS, [*one_run(0, 1, 3, 5), Run(s(100), (), close=True)])}, steps)
    assert [item.payload["n"] for item in run["outer"].written] == [[2, 1]]
    assert [item.payload["n"] for item in last["outer"].written] == [[1]]


def test_a_union_takes_the_lesser_watermark_and_a_shift_moves_it() -> None:
    sources = {"a": (ATLAS, one_run(9)), "b": (ATLAS, one_run(5))}
    steps = {"later": Step(("a",), shift=SECOND), "both": Step(("later", "b"), publish=True)}
    (run,) = flow(sources, steps)
    assert run["later"].watermark == s(10)
    assert run["both"].watermark == s(5)
    assert run["both"].written == ()


def test_rows_of_one_time_are_ordered_by_their_place_in_the_union() -> None:
    sources = {"a": (ATLAS, one_run(1, close=True)), "b": (ATLAS, one_run(1, close=True))}
    (run,) = flow(sources, {"both": Step(("b", "a", "b"), publish=True)})
    assert [item.source for item in run["both"].written] == ["b", "a", "b"]


def test_a_late_row_of_a_kept_source_is_a_dead_letter_of_the_windows_it_is_late_for() -> None:
    window = Window(4 * SECOND, 2 * SECOND)
    runs = [*one_run(0, 5.5, 2.5), Run(s(100), (), close=True)]
    first, last = windowed(ATLAS, runs, window)
    assert [(letter.item.offset, letter.window) for letter in first.dead_letters] == [(2, (s(0), s(4)))]
    held = {item.start: item.payload["rows"] for item in first.written + last.written}
    assert held == {s(-2): [1], s(0): [1], s(2): [2, 3], s(4): [2]}


# -- laws


def in_tables(span: tuple[int, int]) -> tuple[int, int]:
    """The bounds of a window as tables hold them."""
    return held(span[0]), held(span[1])


@pytest.mark.parametrize("window", MANY)
@LAW
@given(st.data())
def test_per_window_the_rows_that_belong_are_counted_or_dead_letters(window: Window, data: st.DataObject) -> None:
    log: Log = data.draw(logs(close=False))
    runs = [*log.runs, Run(max(run.as_of for run in log.runs), (), close=True)]
    sources = {"in": (log.source, runs)}
    found = flow(sources, {"w": Step(("in",), window=window), "all": Step(("in",), publish=True)})
    belonging: Counter[tuple[int, int]] = Counter()
    outside = 0
    for run in found:
        for item in run["all"].written:
            spans = list(window.over(item.start, item.end))
            belonging.update(map(in_tables, spans))
            outside += not spans
    held: Counter[tuple[int, int]] = Counter()
    for run in found:
        for item in run["w"].written:
            held[item.start, item.end] += item.payload["n"]
        held.update(in_tables(letter.window) for letter in run["w"].dead_letters)
    assert held == belonging
    assert sum(run["w"].outside for run in found) == outside


@pytest.mark.parametrize("window", MANY)
@LAW
@given(st.data())
def test_watermarks_of_streams_never_go_back_and_output_is_behind_them(window: Window, data: st.DataObject) -> None:
    log: Log = data.draw(logs())
    steps = {
        "w": Step(("in",), window=window),
        "moved": Step(("in",), shift=-3 * SECOND, lifetime=2 * SECOND, publish=True),
        "both": Step(("w", "moved"), publish=True),
    }
    found = flow({"in": (log.source, log.runs)}, steps)
    for name in steps:
        for before, after in pairwise(found):
            was, now = before[name].watermark, after[name].watermark
            assert was is None or (now is not None and now >= was)
    for run in found:
        for item in run["both"].written:
            assert run["both"].watermark is not None
            assert item.end <= run["both"].watermark
        reached = run["w"].reached
        if reached is not None and reached != COMPLETE and window.partition_by is None:
            assert run["w"].watermark == min(reached, window.earliest_open(reached))


def contents(found: list[dict[str, StepRun]], name: str) -> Counter[Any]:
    return Counter(
        (item.start, item.end, item.partition, item.substream, json.dumps(dict(item.payload), sort_keys=True))
        for run in found
        for item in run[name].written
    )


@pytest.mark.parametrize("window", MANY)
@LAW
@given(st.data())
def test_law_1_windows_are_the_same_however_the_log_is_cut_into_runs(window: Window, data: st.DataObject) -> None:
    log: LawfulLog = data.draw(lawful_logs())
    named = replace(window, aggregate=lambda items: {"rows": [(i.partition, i.offset) for i in items]})
    steps = {"w": Step(("in",), window=named), "p": Step(("in",), publish=True)}
    both = []
    for _ in range(2):
        runs = data.draw(recuts(log.objects))
        closing = Run(max(run.as_of for run in runs), (), close=True)
        both.append(flow({"in": (log.source, [*runs, closing])}, steps))
    assert contents(both[0], "w") == contents(both[1], "w")
    assert contents(both[0], "p") == contents(both[1], "p")
