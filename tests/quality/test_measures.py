"""What shipped expectations judge is counted rightly: offsets, shares, jumps, limits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tidemark.config import PipelineSpec
from tidemark.config.models.sources import QualitySpec
from tidemark.config.models.values import fraction, percent
from tidemark.core.advice.costs import FateCounts, Targets
from tidemark.core.advice.delays import DelayCost, smallest
from tidemark.core.batch_result import Account, PartitionReport
from tidemark.core.policy import Fate, Reason
from tidemark.core.quality import Broken, Check, Offsets, RowChecks, RowRule, Severity
from tidemark.core.watermarks import Combined, PartitionState, Seen
from tidemark.quality.metrics import advised_targets, batches, events, limits_of, watermarks
from tidemark.quality.run_facts import Gathered, PartitionRows

SECOND = 1_000_000
SOURCE = {"landing": "/l", "format": "json", "schema": "p STRING", "partition": {"column": "p"}}
SPEC = PipelineSpec.model_validate({"pipeline": "toll", "warehouse": "/w", "sources": {"readings": SOURCE}})


def offsets_of(offsets: list[int]) -> Offsets:
    word = 1 << 64
    return Offsets(min(offsets), max(offsets), sum(offsets) % word, sum(one * one for one in offsets) % word)


@example(2**32, [0])  # its square is 2^64
@given(st.integers(0, 2**40), st.lists(st.integers(0, 8), min_size=1, max_size=8))
def test_offsets_are_whole_if_each_stands_once(first, steps):
    offsets = [first + step for step in steps]
    assert offsets_of(offsets).whole(first, len(offsets)) == (
        sorted(offsets) == list(range(first, first + len(offsets)))
    )


def test_offsets_are_not_whole_if_only_some_sums_are_right():
    assert offsets_of([5, 6, 7, 8, 9, 10, 11]).whole(5, 7)
    assert not offsets_of([0, 0, 3, 3]).whole(0, 4), "equal sums, other squares"
    assert not offsets_of([0, 2, 3, 3, 3, 4, 6]).whole(0, 7), "equal sums, smaller squares"
    assert not offsets_of([0, 0, 1, 2, 5, 5]).whole(0, 6), "equal squares, another sum"
    assert not offsets_of([4, 7, 7, 9, 9, 10, 10]).whole(5, 7), "equal sums of both, other bounds"
    right, half = offsets_of([0, 1, 2]), 1 << 63
    assert not replace(right, total=right.total + half).whole(0, 3)
    assert not replace(right, squares=right.squares + half).whole(0, 3)


@pytest.mark.parametrize("severity", Severity)
def test_only_a_failed_check_of_severity_block_stops_a_run(severity):
    assert Check("t", "e", 1.0, 0.0, False, severity).blocks == (severity is Severity.BLOCK)
    assert not Check("t", "e", 0.0, 0.0, True, severity).blocks


def report(offsets: list[int], **fates: int) -> PartitionReport:
    found = {fate: fates.get(fate.value, 0) for fate in Fate}
    account = Account("readings", "0", found, {})
    checks = RowChecks(offsets_of(offsets), {RowRule.WITHIN: Broken(2, (3, 4))}, {Fate.DROPPED: (min(offsets),)})
    return PartitionReport(account, Seen(account.rows, None, None), {}, checks)


def test_rows_of_micro_batches_add_up_and_the_lowest_offsets_are_examples():
    rows = PartitionRows()
    rows.add(report([0, 1, 2], on_time=3), 0, 3, 0)
    rows.add(report([3, 4], dropped=2), 3, 5, 0)
    assert (rows.taken, rows.fates, rows.offsets_wrong) == (5, 5, 0)
    assert (rows.broken[RowRule.WITHIN], rows.breaking[RowRule.WITHIN]) == (4, (3, 4))
    assert rows.firsts[Fate.DROPPED] == (0, 3)


@pytest.mark.parametrize(
    ("offsets", "next_", "skipped", "wrong"),
    [
        ([0, 1, 2], 3, 0, 0),
        ([0, 1, 1], 3, 0, 1),
        ([0, 1, 3], 4, 0, 1),
        ([0, 1, 2], 5, 0, 2),
        ([1, 3], 4, 2, 0),
        ([1, 4], 4, 2, 1),
    ],
    ids=["whole", "a double", "a gap", "two missing", "others skipped", "beyond what was given out"],
)
def test_gaps_and_doubles_are_told(offsets, next_, skipped, wrong):
    rows = PartitionRows()
    rows.add(report(offsets, on_time=len(offsets)), 0, next_, skipped)
    assert rows.offsets_wrong == wrong


def test_a_line_of_events_has_the_rules_that_rows_break_with_examples():
    gathered = Gathered()
    gathered.partitions["readings", "0"] = PartitionRows(5, 4, 0, {RowRule.MOVED: 1}, {RowRule.MOVED: (7,)})
    (line,) = events(gathered)
    assert (line.table, line.where) == ("events/readings", "partition 0")
    assert (line.values["taken"], line.values["fates"], line.values["moved"], line.values["within"]) == (5, 4, 1, 0)
    assert line.examples["moved"] == ("readings 0 7",)


def run(dropped: int, rows: int, source: str = "readings") -> Account:
    return Account(source, "0", {Fate.ON_TIME: rows - dropped, Fate.DROPPED: dropped}, {})


def shares(now: Account, *past: Account) -> dict[str, float | None]:
    whole, own = batches(SPEC, [now], [[each] for each in past], Gathered(), {})
    assert (whole.table, own.table, whole.values) == ("batches", "events/readings", own.values)
    return dict(own.values)


def test_a_jump_is_measured_against_the_median_of_the_runs_before():
    found = shares(run(30, 100), run(10, 100), run(9, 100), run(90, 100))
    assert found["dropped"] == pytest.approx(0.3)
    assert found["dropped_jump"] == pytest.approx(3.0)
    assert shares(run(30, 100), run(10, 100), run(9, 100))["dropped_jump"] is None


def test_one_row_is_no_jump_after_runs_without_any():
    past = [run(0, 1000)] * 3
    assert shares(run(1, 10), *past)["dropped_jump"] == pytest.approx(1.0)
    assert shares(run(40, 1000), *past)["dropped_jump"] == pytest.approx(40.0)
    assert shares(run(0, 1000), *past)["dropped_jump"] == 0.0


def test_runs_without_rows_of_a_source_are_no_history_of_it():
    past = [[run(1, 10)], [run(1, 10, "other")], [run(1, 10)]]
    (_, own) = batches(SPEC, [run(1, 10)], past, Gathered(), {})
    assert own.values["dropped_jump"] is None


def test_a_source_has_its_own_limits_and_the_pipelines_where_it_has_none():
    own = SPEC.sources["readings"].model_copy(update={"quality": QualitySpec(max_dropped="50%")})
    spec = SPEC.model_copy(
        update={"quality": QualitySpec(max_dropped="10%", on_failure="block"), "sources": {"readings": own}}
    )
    assert limits_of(spec, "readings") == QualitySpec(max_dropped="50%", on_failure="block")
    assert limits_of(spec, None) == QualitySpec(max_dropped="10%", on_failure="block")
    assert limits_of(SPEC, "readings") == QualitySpec()


def test_steps_and_delays_of_watermarks_are_seconds():
    before, key = PartitionState(watermark=5 * SECOND, last_seen=0), ("readings", "0")
    after = replace(before, watermark=3 * SECOND, idle=True)
    combined = {"readings": Combined(5 * SECOND)}, {"readings": Combined(6 * SECOND)}
    part, whole = watermarks(SPEC, ({key: before}, {key: after}), combined, 63 * SECOND)
    assert (part.owner, whole.owner) == ("events/readings", "events/readings")
    assert (part.values["step"], part.values["standing"]) == (-2.0, 1.0)
    assert (whole.values["step"], whole.values["watermark_delay"]) == (1.0, 60.0)


def test_watermark_delay_is_of_the_largest_watermark_and_output_delay_of_the_combined_one():
    states = {("readings", name): PartitionState(watermark=mark * SECOND) for name, mark in (("0", 50), ("1", 20))}
    limits = QualitySpec(max_watermark_delay="1h", max_output_delay="2h")
    spec = SPEC.model_copy(update={"quality": limits})
    *_, whole = watermarks(spec, (states, states), ({}, {"readings": Combined(20 * SECOND)}), 60 * SECOND)
    assert (whole.values["watermark_delay"], whole.values["max_watermark_delay"]) == (10.0, 3600.0)
    assert (whole.values["output_delay"], whole.values["max_output_delay"]) == (40.0, 7200.0)
    *_, ended = watermarks(spec, (states, states), ({}, {"readings": Combined(20 * SECOND, complete=True)}), 60)
    assert ended.values["output_delay"] is ended.values["watermark_delay"] is None


def cell(late: int | None, dropped: int, target: float | None, source: str = "readings") -> dict[str, Any]:
    own = {"own_dropped": dropped, "own_adjusted": 0, "target_dropped": target, "target_adjusted": None}
    pair = {"late": late, "out_of_order": SPEC.sources["readings"].policy.out_of_order.micros}
    return {"source": source, "rows": 100} | pair | own


def test_targets_are_those_that_the_present_tolerances_met():
    late = SPEC.sources["readings"].policy.tolerances[0]
    others = [cell(1, 0, 0.5), cell(late, 0, 0.5, "gone")]
    assert advised_targets(SPEC, [*others, cell(late, 2, 0.02)]) == {"readings": {Fate.DROPPED: 0.02}}
    assert advised_targets(SPEC, [*others, cell(late, 3, 0.02)]) == {"readings": {}}
    assert advised_targets(SPEC, [cell(late, 3, None)]) == {"readings": {}}


def test_a_share_that_is_exactly_its_limit_is_not_beyond_it():
    for tenths in range(1, 1001):
        limit = fraction(f"{tenths / 10}%")
        assert tenths / 1000 <= limit, "checks of a run compare the share itself"
        assert all(Targets(dropped=limit).met(FateCounts(of * 1000, 0, of * tenths, 0, 0)) for of in (1, 3, 7))
        assert not Targets(dropped=limit).met(FateCounts(10**9, 0, tenths * 10**6 + 1, 0, 0))
    assert smallest([DelayCost(0, {"": 7}, None)], 1000, fraction("0.7%"))
    late = SPEC.sources["readings"].policy.tolerances[0]
    assert advised_targets(SPEC, [cell(late, 29, fraction("29%"))]) == {"readings": {Fate.DROPPED: 0.29}}


@pytest.mark.parametrize(
    "text", ["0%", "100%", "0.7%", "12.3456789%", "0.0000001%", "99.99999%", "33.3333333333333%"]
)
def test_a_share_is_recorded_as_the_text_that_reads_back(text):
    assert percent(fraction(text)) == text


def test_the_last_runs_together_are_held_to_the_target():
    past = [[run(1, 100)], [run(50, 1000, "other")]]
    whole, own = batches(SPEC, [run(5, 100)], past, Gathered(), {"readings": {Fate.DROPPED: 0.02}})
    assert (own.values["recent_dropped"], own.values["advised_dropped"]) == (0.03, 0.02)
    assert (whole.values["advised_dropped"], own.values["advised_adjusted"]) == (None, None)


def test_duplicates_are_dropped_but_no_target_counts_them():
    now = replace(run(5, 100), reasons={Reason.DUPLICATE: 3, Reason.LATE: 2})
    _, own = batches(SPEC, [now], [], Gathered(), {"readings": {Fate.DROPPED: 0.02}})
    assert (own.values["dropped"], own.values["recent_dropped"]) == (0.05, 0.02)
