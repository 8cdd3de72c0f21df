"""The state of one partition, where no log of the oracle leads or no run's end shows it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tidemark.core.policy import Action, Policy, Tolerance
from tidemark.core.punctuation import Marks
from tidemark.core.times import parse_time
from tidemark.core.watermarks import PartitionState, Seen, after_batch, clamp, end_punctuated, end_run, estimate
from tidemark.core.windows import FixedWindows, SessionWindows, SnapshotWindows

POLICY = Policy(None, Tolerance(5, Action.ADJUST), Tolerance(0, Action.ADJUST))


def test_a_watermark_is_not_before_the_year_1():
    first = parse_time("0001-01-01T00:00:00Z")
    assert [clamp(time) for time in (first - 1, first, first + 1, None)] == [first, first, first + 1, None]


def test_the_largest_estimate_counts_of_runs_that_brought_no_row():
    state = PartitionState(last_arrival=100, last_seen=110)
    idle = end_run(state, POLICY, 130, 7, declared=True, brought=False)
    assert (idle.estimated_arrival, idle.estimated_high, idle.floor) == (113, 113, 108)
    fresh = replace(idle, last_arrival=115, last_seen=140)
    brought = end_run(fresh, POLICY, 140, 7, declared=True, brought=True)
    assert (brought.estimated_arrival, brought.estimated_high, brought.floor) == (115, 113, 110)
    assert (idle.idle, brought.idle, idle.since, brought.since) == (True, False, 130, 130)


def test_without_an_arrival_nothing_is_estimated_and_no_floor_moves():
    silent = PartitionState(last_seen=110)
    assert estimate(silent, 130, 7, declared=True) is None
    assert end_run(silent, POLICY, 130, 7, declared=True, brought=False).floor is None
    assert estimate(PartitionState(), 130, 7, declared=False) is None
    assert estimate(PartitionState(), 9_000_000, 7, declared=True) == 9_000_000 - 5_000_000 - 7


def test_a_row_ends_idleness_at_once():
    state = after_batch(PartitionState(idle=True), Seen(2, 50, 40), POLICY, 60, substreams=False)
    assert (state.idle, state.last_seen, state.next_offset, state.watermark) == (False, 60, 2, 40)
    assert after_batch(PartitionState(floor=3), Seen(2, 50, 40), POLICY, 60, substreams=True).watermark == 3


@pytest.mark.parametrize(("complete", "watermark"), [(False, 50), (True, 40)])
def test_rows_after_the_end_move_no_punctuation(complete, watermark):
    seen = Seen(1, 60, 55, Marks(50, counted=2, period=4, opened=-1))
    state = PartitionState(40, complete, counted=3, period=5, open_lifetimes=2)
    after = after_batch(state, seen, Policy.of_punctuations(), 60, substreams=False)
    assert (after.watermark, after.counted, after.period, after.open_lifetimes) == (watermark, 5, 5, 1)


def test_a_punctuated_partition_is_known_since_the_run_that_first_recorded_it():
    first = end_punctuated(PartitionState(), 5, 100, brought=True)
    assert (first.watermark, first.since, first.idle) == (5, 100, False)
    later = end_punctuated(first, 3, 200, brought=False)
    assert (later.watermark, later.since, later.idle) == (5, 100, True)


def test_windows_wait_for_nothing_unless_it_is_said():
    assert FixedWindows(10, 10).first_open(20) == 2
    assert FixedWindows(10, 10).first_open(19) == 1
    assert SessionWindows(5, 20).begun(None, 1) is None
    assert [windows.settled(20) for windows in (SessionWindows(5, 20), SnapshotWindows())] == [20, 20]
