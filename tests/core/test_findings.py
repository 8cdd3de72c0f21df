"""Findings name the tolerance in effect; those of earlier releases are recognised by their own words."""

from __future__ import annotations

from dataclasses import replace

from tidemark.core.advance import BatchPosition, SourceRules
from tidemark.core.batch_result import Account, Diagnostic, FindingSample, Occurrence, Outcome, PartitionReport
from tidemark.core.findings import as_before, row_findings, standing_still
from tidemark.core.policy import Action, Policy, Tolerance
from tidemark.core.punctuation import Punctuation
from tidemark.core.times import parse_time
from tidemark.core.watermarks import UNKNOWN, PartitionState, Seen

SECOND = 1_000_000
LATE, ORDER = Tolerance(5 * SECOND, Action.ADJUST), Tolerance(60 * SECOND, Action.ADJUST)


SAMPLE = FindingSample(4, file="x")
NOON = parse_time("2026-01-01T12:00:00Z")


def finding(policy: Policy):
    found = Occurrence(2, 0, 0, FindingSample(0))
    report = PartitionReport(Account("readings", "0", {}, {}), Seen(2, 0, 0), {Diagnostic.OUT_OF_ORDER: found})
    rules = SourceRules("readings", policy, ("0",), 0, substreams=False)
    return rules, next(iter(row_findings(rules, Outcome(partitions={"0": report}))))


def test_rows_out_of_order_are_reported_with_the_smaller_of_both_tolerances_by_its_name():
    _, found = finding(Policy(None, LATE, ORDER))
    assert found.tolerance == 5 * SECOND
    assert "late_arrival, which is smaller than out_of_order, 5s" in found.message
    _, found = finding(Policy(None, ORDER, LATE))
    assert (found.tolerance, "(out_of_order 5s)" in found.message) == (5 * SECOND, True)


def test_what_an_earlier_release_recorded_is_known_by_its_words():
    rules, found = finding(Policy(None, LATE, ORDER))
    before = as_before(rules, found)
    told = "rows behind the watermark that earlier rows had set (out_of_order 1m)"
    assert before == replace(found, tolerance=60 * SECOND, message=told)


def test_a_lifetime_whose_end_edge_was_dropped_may_have_ended_since():
    rules = SourceRules("readings", Policy(None, LATE, ORDER), ("0",), 0, substreams=False)
    left = Outcome(partitions={}, left_open={"0": Occurrence(1, 0, 0, FindingSample(0))})
    (found,) = row_findings(rules, left)
    assert found.type is Diagnostic.EDGE_LEFT_OPEN
    assert "stay open" not in found.message
    before = "end edges behind the punctuation were dropped: the lifetimes that they would have ended stay open"
    assert as_before(rules, found).message == before


def test_each_finding_on_rows_names_the_tolerance_that_it_is_about():
    policy = Policy(Tolerance(90 * SECOND, Action.DROP), LATE, ORDER)
    rules = SourceRules("readings", policy, ("0",), 7 * SECOND, substreams=False)
    found = dict.fromkeys((Diagnostic.LATE, Diagnostic.EARLY, Diagnostic.INVALID_ROW), Occurrence(2, 1, 9, SAMPLE))
    reports = {name: PartitionReport(Account("readings", name, {}, {}), Seen(2, 0, 0), found) for name in "10"}
    made = list(row_findings(rules, Outcome(partitions=reports, landed_too_late={"1": Occurrence(3, 4, 5, SAMPLE)})))
    assert [(each.partition, each.type.value, each.tolerance) for each in made] == [
        ("0", "LateInputEvent", 5 * SECOND),
        ("0", "EarlyInputEvent", 90 * SECOND),
        ("0", "InputDeserializationError", None),
        ("1", "LateInputEvent", 5 * SECOND),
        ("1", "EarlyInputEvent", 90 * SECOND),
        ("1", "InputDeserializationError", None),
        ("1", "LandedTooLate", 7 * SECOND),
    ]
    assert "more than 90s after their arrival" in made[1].message
    assert "landing_delay (7s) is too small" in made[-1].message
    last = made[-1]
    assert (last.source, last.count, last.first_time, last.last_time, last.sample) == ("readings", 3, 4, 5, SAMPLE)


def still(
    state: PartitionState,
    late: Tolerance | None = LATE,
    partition: str = "p",
    was_idle: bool = True,
    punctuation: Punctuation | None = None,
):
    """The findings at the end of a run one minute after noon."""
    rules = SourceRules("readings", Policy(None, late, ORDER), ("p",), 0, False, punctuation=punctuation)
    key = ("readings", partition)
    before = {key: PartitionState(idle=was_idle)}
    return list(standing_still(rules, before, {key: state}, BatchPosition(NOON + 60 * SECOND, True)))


def test_a_partition_that_stands_still_is_reported_from_its_last_row_on():
    seen = PartitionState(last_seen=NOON, last_arrival=NOON - SECOND, since=NOON - 99 * SECOND, idle=True)
    (found,) = still(seen)
    assert (found.count, found.first_time, found.last_time) == (1, NOON, NOON + 60 * SECOND)
    assert (found.tolerance, found.sample) == (5 * SECOND, FindingSample(arrival_time=NOON - SECOND))
    assert found.message == (
        "no row since the run of 2026-01-01T12:00:00Z; its last row arrived at 2026-01-01T11:59:59Z"
    )
    assert "arrived at an unknown time" in still(replace(seen, last_arrival=None))[0].message
    assert still(seen, partition=UNKNOWN) == still(replace(seen, idle=False)) == []
    assert still(seen, punctuation=Punctuation(Action.DROP)) == [], "it has no late tolerance"


def test_a_partition_without_rows_is_reported_from_the_run_that_first_waited_for_it():
    never = PartitionState(since=NOON, idle=True)
    (found,) = still(never)
    assert (found.first_time, found.message) == (
        NOON,
        "no row of it has been seen since the run of 2026-01-01T12:00:00Z, which waited for it first",
    )
    rules = SourceRules("readings", Policy(None, LATE, ORDER), ("p",), 0, substreams=False)
    assert as_before(rules, found).message == (
        "declared, but no row of it has been seen since the run of 2026-01-01T12:00:00Z"
    )
    assert "since the run of 1970-01-01T00:00:00Z" in still(replace(never, since=0))[0].message
    (seen,) = still(replace(never, last_seen=NOON))
    assert as_before(rules, seen) == seen
    other = replace(found, type=Diagnostic.LATE, first_time=None)
    assert as_before(rules, other) == other


def test_a_partition_is_idle_once_late_is_over_and_with_late_off_after_a_second_run():
    seen = PartitionState(last_seen=NOON, idle=True)
    minute = Tolerance(60 * SECOND, Action.DROP)
    assert still(seen, minute) == []
    assert len(still(seen, replace(minute, micros=60 * SECOND - 1), was_idle=False)) == 1
    assert [len(still(seen, None, was_idle=idle)) for idle in (False, True)] == [0, 1]
    assert still(seen, None)[0].tolerance is None
    assert still(replace(seen, last_seen=None), None) == []
