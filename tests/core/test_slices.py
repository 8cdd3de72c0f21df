"""What a bounded backfill reads, and what it starts from."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tidemark.core.advance import SourceRules
from tidemark.core.backfill.ranges import (
    Range,
    ReadRange,
    first_batch,
    floors_after,
    kept_streams,
    passed_by,
    readings,
    rebased,
    recombined,
)
from tidemark.core.policy import Action, Policy, Tolerance
from tidemark.core.punctuation import Punctuation
from tidemark.core.streams import StepRules, StreamEnd, StreamState
from tidemark.core.watermarks import UNKNOWN, Combined, PartitionState
from tidemark.core.windows import FixedWindows

S = 1_000_000


def rules(early: int | None = 3, late: int | None = 4) -> SourceRules:
    def tolerance(seconds: int | None) -> Tolerance | None:
        return None if seconds is None else Tolerance(seconds * S, Action.ADJUST)

    return SourceRules("a", Policy(tolerance(early), tolerance(late), Tolerance(0, Action.ADJUST)), ("0",), 0, False)


WINDOW = StepRules("w", ("a",), ("a",), windows=FixedWindows(10 * S, 10 * S))
BACK = StepRules("b", ("a",), ("a",), shift=-5 * S)
ENDLESS = replace(WINDOW, endless=True)
LATENESS = StepRules("l", ("w",), ("a",), windows=FixedWindows(10 * S, 10 * S, lateness=7 * S))
ARRIVALS = replace(rules(None), own_time=False)
PUNCTUATED = replace(rules(), punctuation=Punctuation(Action.DROP))


@pytest.mark.parametrize(
    ("asked", "before", "now", "steps", "wanted"),
    [
        (Range(100 * S, 200 * S), rules(), rules(), [], ReadRange(97 * S, 204 * S)),
        (Range(100 * S, 200 * S), rules(3, 4), rules(7, 2), [], ReadRange(93 * S, 204 * S)),
        (Range(100 * S, 200 * S), rules(), rules(), [WINDOW], ReadRange(87 * S, 204 * S)),
        (Range(100 * S, 200 * S), rules(), rules(), [BACK], ReadRange(97 * S, 209 * S)),
        (Range(100 * S), rules(), rules(), [WINDOW], ReadRange(87 * S)),
        (Range(500 * S), rules(), rules(), [WINDOW], ReadRange(277 * S)),
        (Range(500 * S), rules(), rules(), [WINDOW, LATENESS, BACK], ReadRange(245 * S)),
        (Range(100 * S, 200 * S), ARRIVALS, ARRIVALS, [], ReadRange(100 * S, 200 * S)),
        (Range(100 * S, 200 * S), rules(), PUNCTUATED, [], ReadRange()),
        (Range(100 * S, 200 * S), rules(None), rules(), [], ReadRange()),
        (Range(100 * S, 200 * S), rules(), rules(3, None), [], ReadRange()),
        (Range(100 * S, 200 * S), rules(), rules(), [ENDLESS], ReadRange()),
    ],
    ids=[
        "early before T0, late after T1",
        "the larger of both configurations",
        "a window's length before",
        "a shift back needs rows after",
        "no end",
        "what is not final yet is made anew as well",
        "windows are not final before their lateness is over",
        "rows without a time of their own arrive at their time",
        "punctuated now",
        "early off before",
        "late off now",
        "lifetimes without a bound",
    ],
)
def test_a_backfill_reads_the_arrivals_that_the_range_needs(asked, before, now, steps, wanted):
    both = [({"a": before}, steps), ({"a": now}, steps)]
    assert readings(asked, both, 300 * S) == {"a": wanted}


def test_a_range_covers_the_longer_reach_of_both_configurations_and_the_sources_of_the_last():
    twice = replace(BACK, name="c", inputs=("a", "b"))
    both = [({"a": rules(), "gone": rules(9, 9)}, [WINDOW]), ({"a": rules(), "new": rules(1, 2)}, [BACK, twice])]
    wanted = {"a": ReadRange(87 * S, 214 * S), "new": ReadRange(89 * S, 212 * S)}
    assert readings(Range(100 * S, 200 * S), both, 300 * S) == wanted
    assert readings(Range(100 * S, 200 * S), both[::-1], None)["gone"] == ReadRange(81 * S, 219 * S)
    assert readings(Range(10 * S), both, 0)["new"] == ReadRange(-31 * S)
    late = replace(LATENESS, inputs=("a",))
    one, two = (({"a": rules()}, [late]), ({"a": rules()}, [WINDOW]))
    assert readings(Range(500 * S), [two, one], 300 * S) == {"a": ReadRange(270 * S)}
    assert readings(Range(500 * S), [one, two], 300 * S) == {"a": ReadRange(277 * S)}


def test_without_an_end_everything_is_read_if_nothing_is_sure_to_have_been_passed():
    assert readings(Range(100 * S), [({"a": rules()}, [])] * 2, None) == {"a": ReadRange()}


def test_a_source_that_is_judged_otherwise_starts_from_what_arrivals_tell():
    state = PartitionState(
        90 * S, last_arrival=95 * S, estimated_high=99 * S, high=92 * S, floor=89 * S, next_offset=7
    )
    states = {("a", "0"): state}
    (again,) = rebased(states, {"a": rules(late=20)}, ()).values()
    assert again == replace(state, watermark=79 * S, floor=79 * S, high=None)
    assert rebased(states, {"a": rules(late=20)}, {"a"}) == states
    combined = {"a": Combined(90 * S)}
    assert recombined(combined, {("a", "0"): again}, ()) == {"a": Combined(79 * S)}
    assert recombined(combined, {("a", "0"): again}, {"a"}) == combined
    assert floors_after(states, {"a": rules(late=4)}) == 95 * S
    assert floors_after(states, {"a": rules(late=None)}) is None


def test_floors_and_combined_watermarks_leave_out_other_sources_and_unknown_rows():
    def state(arrival: int | None, watermark: int | None = None) -> PartitionState:
        return PartitionState(watermark, last_arrival=arrival, high=5, floor=3)

    states = {("a", "0"): state(90 * S, 7), ("a", "1"): state(80 * S, 9), ("a", UNKNOWN): state(1, 1)}
    assert floors_after(states, {"a": rules()}) == 76 * S
    assert floors_after(states | {("a", "2"): state(None)}, {"a": rules()}) is None
    assert floors_after({}, {"a": rules()}) is None
    assert recombined({"a": Combined(1)}, states | {("b", "0"): state(0, 2)}, ()) == {"a": Combined(7)}
    again = rebased(states, {"a": rules()}, ())
    assert again["a", UNKNOWN] == replace(states["a", UNKNOWN], watermark=None, floor=None, high=None)


@pytest.mark.parametrize(
    ("combined", "passed", "lateness", "wanted"),
    [
        ([Combined(50)], [50], 0, True),
        ([Combined(49)], [50], 0, False),
        ([Combined(50)], [49], 0, False),
        ([Combined(50), Combined(None)], [50], 0, False),
        ([Combined(50), Combined(None, complete=True)], [50], 0, True),
        ([Combined(50)], [50, None], 0, False),
        ([Combined(60)], [52], 3, False),
        ([Combined(60)], [53], 3, True),
    ],
)
def test_outputs_are_final_once_every_source_and_stream_has_passed_their_end(combined, passed, lateness, wanted):
    sources = {str(number): each for number, each in enumerate(combined)}
    streams = {str(number): StreamEnd(StreamState(30, reached=each)) for number, each in enumerate(passed)}
    assert passed_by(50, sources, streams, dict.fromkeys(streams, lateness) if lateness else {}) == wanted
    complete = {name: StreamEnd(replace(end.state, complete=True)) for name, end in streams.items()}
    sources = dict.fromkeys(sources, Combined(None, complete=True))
    assert passed_by(50, sources, complete, {})


def test_the_slice_begins_with_the_first_batch_that_brought_an_arrival_of_it():
    arrivals = [(1, "a", 10), (2, "a", 20), (3, "a", 30), (3, "gone", 99)]
    assert first_batch(arrivals, {"a": ReadRange(20)}) == 2
    assert first_batch(arrivals, {"a": ReadRange(31)}) is None
    assert first_batch(arrivals, {"a": ReadRange()}) == 1


def test_a_streams_state_stands_where_nothing_below_it_is_judged_otherwise():
    steps = [StepRules("x", ("a",), ("a",)), StepRules("y", ("x",), ("a",)), StepRules("z", ("b",), ("b",))]
    assert kept_streams(steps, {"x", "y", "z"}, {"a"}) == {"x", "y"}
    assert kept_streams(steps, {"y", "z"}, {"a", "b"}) == {"z"}
    both = [*steps, StepRules("both", ("x", "b"), ("a", "b"))]
    assert kept_streams(both, {"x", "both"}, {"a"}) == {"x"}
