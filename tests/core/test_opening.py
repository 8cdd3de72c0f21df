"""The state from which judging a source starts, with that of the sources it imports from."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tidemark.core.advance import SourceRules, in_import_order, open_source
from tidemark.core.imported import imported_by, with_imported
from tidemark.core.policy import Action, Policy, Tolerance
from tidemark.core.punctuation import Punctuation, Shape
from tidemark.core.watermarks import Combined, PartitionState

PLAIN = SourceRules("a", Policy(Tolerance(7, Action.DROP), None, Tolerance(0, Action.ADJUST)), ("0", "1"), 0, False)
EARLY_OFF = replace(PLAIN, policy=replace(PLAIN.policy, early=None))
MARKED = replace(PLAIN, punctuation=Punctuation(Action.DROP))


def importer(name: str, *below: str) -> SourceRules:
    return replace(PLAIN, name=name, punctuation=Punctuation(Action.DROP, import_from=below))


@pytest.mark.parametrize(
    ("rules", "start", "read_from"),
    [
        (PLAIN, 100, 93),
        (PLAIN, None, None),
        (EARLY_OFF, 100, None),
        (replace(PLAIN, own_time=False), 100, 100),
        (replace(EARLY_OFF, own_time=False), 100, 100),
        (replace(PLAIN, own_time=False), None, None),
        (MARKED, 100, None),
        (replace(MARKED, own_time=False), 100, None),
    ],
)
def test_rows_are_read_from_the_start_less_early_unless_nothing_bounds_them(rules, start, read_from):
    assert open_source(rules, {}, {}, start).read_from == read_from


def test_declared_partitions_are_open_from_the_start_and_others_begin_at_the_combined_watermark():
    states = {
        ("a", "1"): PartitionState(5, next_offset=3),
        ("a", "2"): PartitionState(6),
        ("b", "0"): PartitionState(7),
    }
    opening = open_source(PLAIN, states, {"a": Combined(4), "b": Combined(9)}, None)
    assert opening.states == {"0": PartitionState(), "1": states["a", "1"], "2": states["a", "2"]}
    assert opening.unseen == PartitionState(4, floor=4)
    assert open_source(PLAIN, states, {"b": Combined(9)}, None).unseen == PartitionState()
    assert open_source(MARKED, states, {"a": Combined(4)}, None).unseen == PartitionState()
    assert opening.imported == ()


def test_a_source_imports_the_state_of_the_one_below_and_of_all_below_that():
    sources = {each.name: each for each in (importer("c", "b"), importer("b", "a"), PLAIN)}
    states = {("a", "0"): PartitionState(5), ("b", "0"): PartitionState(6)}
    combined = {"a": Combined(3, complete=True), "b": Combined(4)}
    opening = with_imported(open_source(sources["c"], states, combined, None), sources, "c", states, combined, (3, 5))
    (below,) = opening.imported
    assert (below.rules, below.watermark, below.complete) == (sources["b"], 4, False)
    assert (below.first_batch, below.last_batch) == (3, 5)
    (lowest,) = below.opening.imported
    assert (lowest.rules, lowest.watermark, lowest.complete, lowest.opening.imported) == (PLAIN, 3, True, ())
    assert lowest.opening.states["0"] == PartitionState(5)
    assert imported_by(sources, "a", states, combined, (3, 5)) == ()
    (unknown,) = imported_by(sources, "b", states, {}, (3, 5))
    assert (unknown.watermark, unknown.complete) == (None, False)


def test_each_source_comes_after_the_one_it_imports_from():
    sources = {each.name: each for each in (importer("c", "d", "b"), importer("d", "b"), importer("b", "a"), PLAIN)}
    assert [each.name for each in in_import_order(sources)] == ["a", "b", "d", "c"]


def test_lifetimes_are_as_long_as_their_shape_says():
    point, interval = Shape(), Shape(end_time="e")
    edge = replace(interval, kind="k", start="s", end="e")
    assert [each.longest for each in (point, interval, edge)] == [1, None, None]
    assert [each.edges for each in (point, interval, edge)] == [False, False, True]


@pytest.mark.parametrize(
    ("late", "order", "disorder"),
    [
        (Tolerance(5, Action.DROP), Tolerance(9, Action.ADJUST), 5),
        (Tolerance(9, Action.DROP), Tolerance(5, Action.DROP), 5),
        (Tolerance(5, Action.DROP), Tolerance(9, Action.KEEP), 9),
        (None, Tolerance(9, Action.ADJUST), 9),
    ],
)
def test_a_watermark_trails_by_out_of_order_but_by_late_if_that_is_smaller_and_on(late, order, disorder):
    assert Policy(None, late, order).disorder == disorder


def test_without_times_of_their_own_rows_are_moved_by_nothing_but_a_late_start():
    zero = Tolerance(0, Action.ADJUST)
    assert Policy.of_arrival() == Policy(None, zero, zero)
    assert Policy.of_punctuations() == Policy(None, None, zero)
