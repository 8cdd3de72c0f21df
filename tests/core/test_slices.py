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
    readings,
    rebased,
    recombined,
)
from tidemark.core.policy import Action, Policy, Tolerance
from tidemark.core.streams import StepRules
from tidemark.core.watermarks import Combined, PartitionState
from tidemark.core.windows import FixedWindows

S = 1_000_000


def rules(early: int | None = 3, late: int | None = 4) -> SourceRules:
    def tolerance(seconds: int | None) -> Tolerance | None:
        return None if seconds is None else Tolerance(seconds * S, Action.ADJUST)

    return SourceRules("a", Policy(tolerance(early), tolerance(late), Tolerance(0, Action.ADJUST)), ("0",), 0, False)


WINDOW = StepRules("w", ("a",), ("a",), windows=FixedWindows(10 * S, 10 * S))
BACK = StepRules("b", ("a",), ("a",), shift=-5 * S)
ENDLESS = replace(WINDOW, endless=True)


@pytest.mark.parametrize(
    ("asked", "before", "now", "steps", "wanted"),
    [
        (Range(100 * S, 200 * S), rules(), rules(), [], ReadRange(97 * S, 204 * S)),
        (Range(100 * S, 200 * S), rules(3, 4), rules(7, 2), [], ReadRange(93 * S, 204 * S)),
        (Range(100 * S, 200 * S), rules(), rules(), [WINDOW], ReadRange(87 * S, 204 * S)),
        (Range(100 * S, 200 * S), rules(), rules(), [BACK], ReadRange(97 * S, 209 * S)),
        (Range(100 * S), rules(), rules(), [WINDOW], ReadRange(87 * S)),
        (Range(500 * S), rules(), rules(), [WINDOW], ReadRange(277 * S)),
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
        "early off before",
        "late off now",
        "lifetimes without a bound",
    ],
)
def test_a_backfill_reads_the_arrivals_that_the_range_needs(asked, before, now, steps, wanted):
    both = [({"a": before}, steps), ({"a": now}, steps)]
    assert readings(asked, both, 300 * S) == {"a": wanted}


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


def test_the_slice_begins_with_the_first_batch_that_brought_an_arrival_of_it():
    arrivals = [(1, "a", 10), (2, "a", 20), (3, "a", 30), (3, "gone", 99)]
    assert first_batch(arrivals, {"a": ReadRange(20)}) == 2
    assert first_batch(arrivals, {"a": ReadRange(31)}) is None
    assert first_batch(arrivals, {"a": ReadRange()}) == 1


def test_a_streams_state_stands_where_nothing_below_it_is_judged_otherwise():
    steps = [StepRules("x", ("a",), ("a",)), StepRules("y", ("x",), ("a",)), StepRules("z", ("b",), ("b",))]
    assert kept_streams(steps, {"x", "y", "z"}, {"a"}) == {"x", "y"}
    assert kept_streams(steps, {"y", "z"}, {"a", "b"}) == {"z"}
