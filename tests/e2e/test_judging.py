"""The product judges as the oracle does, row by row, for every combination of policies."""

from __future__ import annotations

from pathlib import Path

import pytest
from samples import drawn

import oracle
from product import Product, expected, micros, verdicts
from strategies import every_policy, wide_logs, wide_names

PARTITIONS = 20
POLICIES = every_policy(partitions=wide_names(2), landing_delay=2_000_000, clock_skew=1_000_000)
QUICK = POLICIES[:: len(POLICIES) // 5]
OTHERS = [policy for policy in POLICIES if policy not in QUICK]
_examples = iter(range(1_000_000))


def hold_equal(folder: Path, source: oracle.Source, runs: tuple[oracle.Run, ...]) -> None:
    """Rows, states and findings of the product equal the oracle's."""
    product = Product(folder / f"case-{next(_examples)}", {"s": source})
    product.feed("s", runs)
    outcome = oracle.judge(source, runs)
    more = ("_watermark", "_substream")
    assert verdicts(product.events("s"), *more) == expected(outcome, *more)
    hold_states(product, outcome)


def hold_states(product: Product, outcome: oracle.Outcome) -> None:
    states: dict[str, dict] = {}
    for row in sorted(product.table("watermarks"), key=lambda row: row["batch_id"]):
        states[row["partition"]] = row
    names = ("watermark", "complete", "high", "last_arrival", "last_seen", "floor", "idle", "next_offset")
    for partition, state in outcome.ends[-1].states.items():
        found = {name: states[partition][name] for name in names}
        times = {key: micros(value) if hasattr(value, "year") else value for key, value in found.items()}
        assert times == {name: getattr(state, name) for name in names}, partition


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("source", [pytest.param(source, id=name) for name, source in QUICK])
def test_rows_and_states_equal_the_oracle(tmp_path, source):
    (log,) = drawn(wide_logs(source=source, partitions=PARTITIONS), 1)
    hold_equal(tmp_path, log.source, log.runs)


@pytest.mark.long
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("source", [pytest.param(source, id=name) for name, source in OTHERS])
def test_rows_and_states_equal_the_oracle_for_every_other_combination_of_policies(tmp_path, source):
    (log,) = drawn(wide_logs(source=source, partitions=PARTITIONS), 1)
    hold_equal(tmp_path, log.source, log.runs)
