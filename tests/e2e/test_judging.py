"""The product judges as the oracle does, row by row, for every combination of policies."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from samples import KEYED, at, drawn, feed, obj

import oracle
from product import Product, expected, micros, verdicts
from strategies import every_policy, wide_logs, wide_names
from tidemark.spark.judge import judge

PARTITIONS = 20
POLICIES = every_policy(partitions=wide_names(2), landing_delay=2_000_000, clock_skew=1_000_000)
QUICK = POLICIES[:: len(POLICIES) // 5]
OTHERS = [policy for policy in POLICIES if policy not in QUICK]
SIDE_BY_SIDE = 8
"""Sources of one pipeline, whose rows one job judges."""
_examples = iter(range(1_000_000))


def hold_equal(folder: Path, source: oracle.Source, runs: tuple[oracle.Run, ...]) -> None:
    """Rows, states and findings of the product equal the oracle's."""
    product = Product(folder / f"case-{next(_examples)}", {"s": source})
    product.feed("s", runs)
    hold_judged(product, "s", oracle.judge(source, runs))


def hold_judged(product: Product, name: str, outcome: oracle.Outcome) -> None:
    more = ("_watermark", "_substream")
    assert verdicts(product.events(name), *more) == expected(outcome, *more), name
    hold_states(product, outcome, name)
    if product.sources[name].over:
        hold_substreams(product, outcome, name)


def of_source(rows: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["source"] == name]


def hold_states(product: Product, outcome: oracle.Outcome, name: str = "s") -> None:
    states: dict[str, dict] = {}
    for row in sorted(of_source(product.table("watermarks"), name), key=lambda row: row["batch_id"]):
        states[row["partition"]] = row
    names = ("watermark", "complete", "high", "last_arrival", "last_seen", "floor", "idle", "next_offset")
    for partition, state in outcome.ends[-1].states.items():
        found = {name: states[partition][name] for name in names}
        times = {key: micros(value) if hasattr(value, "year") else value for key, value in found.items()}
        assert times == {name: getattr(state, name) for name in names}, partition


def hold_substreams(product: Product, outcome: oracle.Outcome, name: str) -> None:
    """A run records each substream whose watermark it raised, with that and the highest time."""
    judged: dict[tuple, list[oracle.Verdict]] = {}
    for verdict in outcome.verdicts:
        if verdict.disposition != "quarantined":
            judged.setdefault((verdict.run, verdict.partition, verdict.substream), []).append(verdict)
    raised: Counter = Counter()
    for (_, *key), verdicts_ in judged.items():
        before, after = verdicts_[0].watermark, verdicts_[-1].watermark_after
        if after is not None and (before is None or after > before):
            times = [v.system_timestamp for v in verdicts_ if v.system_timestamp is not None]
            raised[*key, after, max(times)] += 1
    found = of_source(product.table("substreams"), name) if raised else []
    names = ("partition", "substream", "watermark", "high")
    assert Counter(tuple(micros(row[n]) if n in names[2:] else row[n] for n in names) for row in found) == raised


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("source", [pytest.param(source, id=name) for name, source in QUICK])
def test_rows_and_states_equal_the_oracle(tmp_path, source):
    (log,) = drawn(wide_logs(source=source, partitions=PARTITIONS), 1)
    hold_equal(tmp_path, log.source, log.runs)


@pytest.mark.long
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("first", range(0, len(OTHERS), SIDE_BY_SIDE))
def test_rows_and_states_equal_the_oracle_for_every_other_combination_of_policies(tmp_path, first):
    """Several sources of one pipeline, each with its own log, are judged at the same times."""
    chosen = OTHERS[first : first + SIDE_BY_SIDE]
    found = [drawn(wide_logs(source=source, partitions=PARTITIONS, runs=(3, 3)), 1)[0] for _, source in chosen]
    as_ofs = [max(run.as_of for run in runs) for runs in zip(*(log.runs for log in found), strict=True)]
    logs = {
        f"s{number}": (log.source, [replace(run, as_of=as_of) for run, as_of in zip(log.runs, as_ofs, strict=True)])
        for number, log in enumerate(found)
    }
    product = Product(tmp_path / "p", {name: source for name, (source, _) in logs.items()})
    feed(product, logs)
    for name, (source, runs) in logs.items():
        hold_judged(product, name, oracle.judge(source, runs))


@pytest.mark.usefixtures("spark")
def test_keys_whose_hashes_begin_alike_are_told_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(judge, "_OFFSET_BITS", 62)
    runs = tuple(oracle.Run(at(10 * n + 1), (obj(f"{n}", 10 * n, 60),)) for n in (1, 2))
    hold_equal(tmp_path, replace(KEYED, landing_delay=10_000_000), runs)


@pytest.mark.usefixtures("spark")
def test_offsets_that_have_no_room_beside_a_hash_order_rows_themselves(tmp_path, monkeypatch):
    runs = tuple(oracle.Run(at(10 * n + 1), (obj(f"{n}", 10 * n, 60),)) for n in (1, 2))
    most = max(Counter(row.partition for row in runs[0].objects[0].rows).values())
    monkeypatch.setattr(judge, "_OFFSET_BITS", most.bit_length())
    hold_equal(tmp_path, replace(KEYED, landing_delay=10_000_000), runs)
