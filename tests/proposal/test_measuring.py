"""What tolerances are measured to cost, against the rules row by row."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from tidemark.core.policy import Action, Fate, Policy, Tolerance
from tidemark.core.times import HOUR, MINUTE, SECOND
from tidemark.proposal.tolerances import MAX_LATE, Quantiles, SampledRow, judge, measure, timed

BASE = 1_767_225_600 * SECOND
OFFSETS = st.integers(-20, 20).map(lambda number: number * SECOND)
ACTIONS = st.sampled_from(["drop", "adjust"])


@st.composite
def objects(draw: st.DrawFn) -> list[oracle.Obj]:
    """Objects in log order, of rows around their landing time; some lack a time."""
    found = []
    for number in range(draw(st.integers(1, 4))):
        landed = BASE + number * 15 * SECOND
        rows = []
        for _ in range(draw(st.integers(0, 6))):
            event, arrival = (draw(st.none() | OFFSETS.map(lambda each, at=landed: at + each)) for _ in "ea")
            rows.append(oracle.Row(draw(st.sampled_from("ab")), event, arrival))
        found.append(oracle.Obj(str(number), landed, tuple(rows)))
    return found


def rows_of(found: list[oracle.Obj]) -> list[SampledRow]:
    return [
        SampledRow(row.partition or "", row.event, row.arrival, each.modified) for each in found for row in each.rows
    ]


@given(
    objects(),
    st.none() | st.tuples(OFFSETS.map(abs), ACTIONS),
    st.none() | st.tuples(OFFSETS.map(abs), ACTIONS),
    st.tuples(OFFSETS.map(abs), st.sampled_from(["drop", "adjust", "keep"])),
    OFFSETS.map(abs),
)
def test_fates_are_those_of_the_rules(found, early, late, order, skew):
    source = oracle.Source(early=early, late=late, out_of_order=order, clock_skew=skew, partitions=("a", "b"))
    verdicts = oracle.judge(source, [oracle.Run(BASE + 3600 * SECOND, tuple(found))]).verdicts
    bounds = [None if each is None else Tolerance(each[0], Action(each[1])) for each in (early, late)]
    fates = judge(rows_of(found), Policy(*bounds, Tolerance(order[0], Action(order[1]))), skew)
    assert Counter(fates.counts) == Counter({Fate(row.disposition): 0 for row in verdicts}) + Counter(
        Fate(row.disposition) for row in verdicts
    )
    reasons = Counter(reason for row in verdicts for reason in row.reasons)
    assert (fates.early, fates.late) == (reasons["early"], reasons["late"])
    assert fates.out_of_order == reasons["out_of_order"]


@given(objects())
def test_the_proposed_tolerances_cost_what_is_said_and_lose_no_row(found):
    measured = measure(rows_of(found), 0)
    judged = sum(event is not None and arrival is not None for _, event, arrival in timed(rows_of(found), 0))
    fates = measured.fates.counts
    assert measured.fates.rows == sum(len(each.rows) for each in found)
    assert fates[Fate.QUARANTINED] == measured.fates.rows - judged
    assert fates[Fate.DROPPED] == 0
    costs = {cost.tolerance: cost.rows for cost in measured.order_costs}
    assert costs[measured.out_of_order] == measured.fates.out_of_order
    assert {cost.tolerance: cost.rows for cost in measured.late_costs}[measured.late] == measured.fates.late
    assert measured.out_of_order <= measured.late
    assert sorted(costs.values(), reverse=True) == [costs[tolerance] for tolerance in sorted(costs)]


@given(st.lists(st.integers(0, 10 * HOUR), min_size=1), st.sampled_from([0, 0.001, 0.01, 0.5]))
def test_enough_is_the_shortest_that_leaves_at_most_a_share(values, share):
    spread = Quantiles.of(values)
    enough = spread.enough(share)
    assert spread.beyond(enough) <= share * len(values)
    assert spread.beyond(enough) == sum(value > enough for value in values)
    assert spread.p50 <= spread.p95 <= spread.p99 <= spread.p999 <= spread.largest == max(values)


def late_by(*micros: int) -> list[SampledRow]:
    return [SampledRow("0", BASE - each, BASE, BASE) for each in micros]


def test_rows_in_order_need_no_tolerance_beyond_the_defaults():
    measured = measure([SampledRow("0", BASE + n * SECOND, BASE + n * SECOND, BASE + HOUR) for n in range(100)], 0)
    assert (measured.late, measured.out_of_order, measured.early) == (5 * SECOND, 0, 5 * MINUTE)
    assert measured.early_action is Action.DROP


def test_a_single_row_in_thousands_does_not_set_the_tolerance():
    measured = measure(late_by(*[SECOND] * 5000, 10 * HOUR), 0)
    assert measured.late == 5 * SECOND
    assert [(cost.tolerance, cost.rows) for cost in measured.late_costs] == [
        (SECOND, 1),
        (5 * SECOND, 1),
        (12 * HOUR, 0),
    ]


def test_lateness_beyond_what_there_may_be_is_off():
    assert measure(late_by(*[MAX_LATE + HOUR] * 10), 0).late is None


@pytest.mark.parametrize(
    ("ahead", "tolerance", "action"), [(8 * MINUTE, 10 * MINUTE, "drop"), (9 * HOUR, HOUR, "adjust")]
)
def test_rows_that_happen_after_they_arrive_are_not_dropped(ahead, tolerance, action):
    measured = measure(late_by(*[-ahead] * 10), 0)
    assert (measured.early, measured.early_action.value) == (tolerance, action)
    assert measured.fates.counts[Fate.DROPPED] == 0
