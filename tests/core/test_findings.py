"""Findings name the tolerance in effect; those of earlier releases are recognised by their own words."""

from __future__ import annotations

from dataclasses import replace

from tidemark.core.advance import SourceRules
from tidemark.core.batch_result import Account, Diagnostic, FindingSample, Occurrence, Outcome, PartitionReport
from tidemark.core.findings import as_before, row_findings
from tidemark.core.policy import Action, Policy, Tolerance
from tidemark.core.watermarks import Seen

SECOND = 1_000_000
LATE, ORDER = Tolerance(5 * SECOND, Action.ADJUST), Tolerance(60 * SECOND, Action.ADJUST)


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
