"""The progress of streams and windows of fixed size is the oracle's, and whatever a run writes is due."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import oracle
from oracle import SECOND, Source
from oracle_streams import COMPLETE, Step, StepRun, Window, flow
from strategies import logs, sources
from tidemark.core.stream_output import Due, PartitionProgress
from tidemark.core.streams import StepRules, StreamState, advance_streams, lineage, opening_states
from tidemark.core.watermarks import UNKNOWN, Combined, latest
from tidemark.core.windows import FixedWindows

LAW = settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
STEPS = {
    "all": Step(("a",), publish=True),
    "shifted": Step(("a",), shift=-3 * SECOND, publish=True),
    "longer": Step(("shifted",), lifetime=2 * SECOND, publish=True),
    "both": Step(("b", "longer", "a", "b"), publish=True),
    "of_both": Step(("both",), window=Window(4 * SECOND, 4 * SECOND)),
    "overlapping": Step(("a",), window=Window(6 * SECOND, 2 * SECOND, offset=SECOND)),
    "outer": Step(("overlapping",), window=Window(8 * SECOND, 4 * SECOND)),
    "gaps": Step(("a",), window=Window(2 * SECOND, 5 * SECOND, offset=1)),
    "lateness": Step(("a",), window=Window(4 * SECOND, 4 * SECOND, allowed_lateness=3 * SECOND)),
    "idle": Step(("b",), window=Window(3 * SECOND, 2 * SECOND, offset=SECOND, idle_timeout=4 * SECOND)),
    "parts": Step(("shifted",), window=Window(3 * SECOND, 3 * SECOND, partition_by="partition")),
    "outer_parts": Step(("parts",), window=Window(6 * SECOND, 6 * SECOND, partition_by="partition")),
    "idle_parts": Step(
        ("a",), window=Window(3 * SECOND, 3 * SECOND, partition_by="partition", idle_timeout=4 * SECOND)
    ),
    "substreams": Step(("a",), window=Window(3 * SECOND, 3 * SECOND, partition_by="substream")),
}
BELOW = dict.fromkeys(STEPS, ("a",)) | {"both": ("b", "a"), "of_both": ("b", "a"), "idle": ("b",)}


def rules() -> list[StepRules]:
    """The steps as the product has them, inputs first."""
    found = []
    for name, step in STEPS.items():
        w = step.window
        windows = w and FixedWindows(w.size, w.hop, w.offset, w.allowed_lateness, w.idle_timeout, w.partition_by)
        found.append(StepRules(name, step.inputs, BELOW[name], step.shift, step.lifetime, windows))
    return found


def partitions(end: oracle.RunEnd | None) -> dict[str, int | None]:
    """By partition, the watermark when a run had ended."""
    states = {} if end is None else end.states
    return {name: state.watermark for name, state in sorted(states.items()) if name != UNKNOWN}


def due_of(
    step: StepRules,
    states: tuple[Mapping[str, StreamState], Mapping[str, StreamState]],
    ends: Mapping[str, tuple[oracle.RunEnd | None, oracle.RunEnd]],
    given_: Mapping[str, Source],
) -> Due:
    """What is due of a step at the end of run 7."""
    before, after = (each[step.name] for each in states)
    rows = [
        each.last_seen == end.as_of for name in step.sources for end in ends[name][1:] for each in end.states.values()
    ]
    kept = any(given_[name].out_of_order[1] == "keep" for name in step.sources)
    due = Due(step, before, after, 7, 7, kept=kept, brought=any(rows))
    if step.partition_by is None:
        return due
    was, now = (partitions(end) for end in ends["a"])
    parts = tuple(PartitionProgress(name, was.get(name), now[name]) for name in now)
    return replace(due, parts=parts, path=tuple(lineage(rules(), step.name)), states=states)


def hold(step: StepRules, state: StreamState, due: Due, run: StepRun) -> None:
    """The state is the oracle's, and what the oracle writes is due."""
    assert state.complete == (run.watermark == COMPLETE)
    if not state.complete:
        assert state.watermark == run.watermark
        if step.windowed and step.partition_by is None:
            assert state.reached == run.reached
        if step.partition_by == "partition" and due.parts and run.reached is not None:
            assert due.least_passed() == run.reached
    assert due.anything or not (run.written or run.dead_letters)
    assert due.late or not run.dead_letters
    assert (due.closes if step.windowed else due.commits) or not run.written
    if not step.name.startswith("outer"):  # windows beyond the years 1 to 9999 have no length, and are in no window
        assert due.gaps or not run.outside


@LAW
@given(st.data())
def test_streams_progress_as_the_oracles_do_and_what_they_write_is_due(data: st.DataObject) -> None:
    log = data.draw(logs())
    given_ = {"a": log.source, "b": data.draw(sources())}
    found = flow({name: (source, log.runs) for name, source in given_.items()}, STEPS)
    ended = {name: oracle.judge(source, log.runs).ends for name, source in given_.items()}
    states: dict[str, StreamState] = {}
    combined: dict[str, Combined] = {}
    for number, run in enumerate(found):
        ends = {name: (each[number - 1] if number else None, each[number]) for name, each in ended.items()}
        before = opening_states(rules(), states, combined, first_run=number == 0)
        combined = {name: Combined(end.combined, end.complete) for name, (_, end) in ends.items()}
        last = {name: latest(*[s.last_seen for s in end.states.values()]) for name, (_, end) in ends.items()}
        states = {}
        for step, state in advance_streams(rules(), combined, last, before, ends["a"][1].as_of):
            states[step.name] = state
            hold(step, state, due_of(step, (before, states), ends, given_), run[step.name])


SMALL = st.integers(-30, 30)
WINDOWS = st.builds(FixedWindows, st.integers(1, 9), st.integers(1, 9), st.integers(0, 8), st.integers(0, 6))
NUMBERS = range(-90, 90)


@LAW
@given(WINDOWS, SMALL, st.integers(0, 12))
def test_a_window_closes_when_the_watermark_has_passed_its_end_and_the_lateness(windows, before, more):
    after = before + more
    starts = {n: n * windows.hop + windows.offset for n in NUMBERS}
    closing = {
        time: [n for n in NUMBERS if starts[n] + windows.size + windows.lateness <= time] for time in (before, after)
    }
    assert windows.first_open(before) == closing[before][-1] + 1
    assert windows.closes_between(before, after, False) == (closing[before] != closing[after])
    assert windows.pulled_back(before) == min(before, starts[closing[before][-1] + 1])
    assert windows.closes_between(None, after, False)
    assert not windows.closes_between(before, None, False)
    assert windows.closes_between(before, before, True)
    assert windows.pulled_back(None) is None


@LAW
@given(WINDOWS, SMALL, st.integers(0, 12), st.integers(0, 9))
def test_idleness_passes_the_last_window_that_ended_before_the_timeout(windows, last_row, more, timeout):
    as_of, idle = last_row + more, replace(windows, idle_timeout=timeout)
    ends = [n * windows.hop + windows.offset + windows.size for n in NUMBERS]
    wanted = max(end for end in ends if end <= as_of - timeout) if more >= timeout else None
    assert idle.idle_bound(as_of, last_row) == wanted
    assert windows.idle_bound(as_of, last_row) is None
    assert idle.idle_bound(as_of, None) is None
