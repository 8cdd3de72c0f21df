"""Advice on delays: the rows behind a punctuation under each delay are those of the oracle's run with it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product as combined
from random import Random

import pytest
from samples import drawn

import oracle_punctuation
import strategies_punctuation
from oracle import SECOND
from oracle_punctuation import Source
from product import Product
from tidemark.core.advice.delays import RowsBehind, delay_costs, lags_of, smallest
from tidemark.core.advice.history import RecordedStates
from tidemark.core.times import parse_duration
from tidemark.core.watermarks import PartitionState

pytestmark = pytest.mark.usefixtures("quick")

KINDS = {
    f"{shape}_{'rows' if rows else 'alone'}_{'count' if count else 'period'}": Source(
        violations=violations,
        shape=shape,
        count=3 if count else None,
        period=None if count else 5 * SECOND,
        delay=2 * SECOND,
        rows=rows,
        clock_skew=SECOND,
    )
    for (shape, violations), rows, count in combined(
        (("point", "drop"), ("interval", "adjust"), ("edge", "adjust")), (False, True), (False, True)
    )
}
ONCE = {
    f"{name}_once": replace(KINDS[name], by=("e",), within=40 * SECOND)
    for name in ("point_alone_count", "point_alone_period", "edge_rows_count")
}
"""Duplicates issue no punctuation and are behind none."""
FOLLOWING = {"follows": Source(import_from="point_alone_count"), "rows_only": Source(rows=True)}


@pytest.mark.parametrize(("kinds", "others"), [(KINDS, FOLLOWING), (ONCE, {})], ids=["all", "without duplicates"])
def test_rows_behind_under_each_delay_are_those_of_the_oracle(tmp_path, kinds, others):
    (logs,) = drawn(strategies_punctuation.logs(kinds | others, rows=12), 1)
    product = Product(tmp_path, {name: log[0] for name, log in logs.items()})
    for number, run in enumerate(next(iter(logs.values()))[1]):
        for name, (_, runs) in logs.items():
            product.land(name, runs[number].objects)
        product.run(run.as_of)
    record = product.pipeline().advise()
    brought = [name for name, (_, runs) in logs.items() if any(obj.rows for run in runs for obj in run.objects)]
    assert {each["source"] for each in record["not_applicable"]} == logs.keys() - (kinds.keys() & brought)
    found = {each["source"]: each for each in record["delays"]}
    assert found.keys() == kinds.keys() & brought
    compared: Counter[bool] = Counter()
    for name in found:
        source = kinds[name]
        for cost in found[name]["delays"]:
            tried = {name: (replace(source, delay=parse_duration(cost["delay"])), logs[name][1])}
            verdicts = oracle_punctuation.judge(tried)[name].verdicts
            behind = Counter(each.partition for each in verdicts if "violation" in each.reasons)
            assert Counter(cost["partitions"]) == behind, (name, cost["delay"])
            compared[bool(behind)] += 1
        met = [each for each in found[name]["delays"] if each["violations"] <= 0.01 * found[name]["rows"]]
        assert found[name]["recommended"] == (met[0]["delay"] if met else None)
        assert all((each["output_delay"] is None) == source.rows for each in found[name]["delays"])
    assert min(compared.values()) > len(kinds) / 2


def test_costs_of_delays_are_counted_as_one_would_by_hand():
    """Against a list of how far each row was behind."""
    dice = Random(1)  # noqa: S311 # the same numbers each time
    rungs = (-SECOND, 0, SECOND, 2 * SECOND, 5 * SECOND)
    far = [dice.choice((0, 1, SECOND, SECOND + 1, 3 * SECOND, 9 * SECOND)) for _ in range(200)]
    beyond = Counter(sum(each > rung for rung in rungs) for each in far)
    costs = delay_costs(rungs, {"p": RowsBehind(205, beyond, 5)}, -SECOND, [4 * SECOND, -SECOND, 0])
    assert [cost.delay for cost in costs] == list(rungs)
    assert [cost.total for cost in costs] == [5 + sum(each > cost.delay for each in far) for cost in costs]
    assert [cost.output_delay for cost in costs] == [0, SECOND, 2 * SECOND, 3 * SECOND, 6 * SECOND]
    assert smallest(costs, 205, costs[2].total / 205) == costs[2]
    assert smallest(costs, 205, 0.0) is None


def test_runs_without_rows_or_without_a_watermark_have_no_output_delay():
    def state(offset: int, arrival: int | None, watermark: int | None) -> PartitionState:
        return replace(oracle_state, next_offset=offset, last_arrival=arrival, watermark=watermark)

    oracle_state = PartitionState()
    batches = [
        RecordedStates(1, True, frozenset(), {"0": state(3, 10, 4), "1": state(2, 9, None)}),
        RecordedStates(2, False, frozenset(), {"1": state(5, 20, 12)}),
        RecordedStates(3, True, frozenset(), {"0": state(6, 30, 25)}),
        RecordedStates(4, True, frozenset(), {}),
    ]
    assert lags_of(batches) == [18]
