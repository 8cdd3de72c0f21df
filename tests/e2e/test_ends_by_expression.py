"""Rows that live until a time of their own: what is over them is the oracle's, run by run, however logs are cut."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from samples import drawn, feed
from test_joins import A, counted, dense
from test_streams import Logs, hold_replayed, hold_start, hold_told, of_all_runs, payload, rows_with, wanted, written

from oracle import SECOND, Run
from oracle_joins import Join
from oracle_measured import Measured
from oracle_streams import Item, Step, Window, flow
from product import Product
from strategies import cut_twice

MOST = 4 * SECOND
REACH = 10 * SECOND
"""Of the pipeline below: its longest path leads through rows that live for 4 s at most and windows of 6 s."""
END = "CASE k WHEN 'a' THEN _event_time + INTERVAL 3 SECONDS WHEN 'b' THEN _event_time END"
OF_PAIR = "timestamp_micros(x) + INTERVAL 1 SECOND"
N = {"select": {"n": "count(*)"}}
HOP = {"size": "6s", "hop": "2s"}

CONFIGURED: dict[str, dict[str, Any]] = {
    "stays": {"from": "b", "lifetime": {"until": END, "at_most": "4s"}, "publish": True},
    "unseen": {"from": "a", "where": "k IS NOT NULL", "lifetime": {"until": END, "at_most": "4s"}},
    "sized": {"from": "unseen", "hopping": HOP, "group_by": ["k"], **N},
    "visits": {"from": "stays", "session": {"gap": "1s", "max_duration": "6s"}, "group_by": ["k"], **N},
    "alive": {"from": "stays", "snapshot": {}, "group_by": ["k"], **N},
    "pairs": {"join": ["a", "stays"], "on": ["k"], "select": {"k": "a.k", "x": "unix_micros(stays._event_time)"}},
    "of_pairs": {"from": "pairs", "lifetime": {"until": OF_PAIR, "at_most": "4s"}, "publish": True},
    "over_pairs": {"from": "of_pairs", "hopping": HOP, "group_by": ["k"], **N},
}


def end_of(item: Item) -> int | None:
    after = {"a": 3 * SECOND, "b": 0}.get(item.payload["k"])
    return None if after is None or item.event is None else item.event + after


def paired(left: Item, right: Item) -> dict[str, Any]:
    return {"k": left.payload["k"], "x": right.event}


SIZED = Window(6 * SECOND, 2 * SECOND, group_by=("k",), aggregate=counted)
KEYED = Measured(group_by=("k",), aggregate=counted)
STEPS = {
    "stays": Step(("b",), until=end_of, at_most=MOST, publish=True),
    "unseen": Step(("a",), lambda item: item.payload["k"] is not None, until=end_of, at_most=MOST),
    "sized": Step(("unseen",), window=SIZED),
    "visits": Step(("stays",), measured=replace(KEYED, session=(SECOND, 6 * SECOND))),
    "alive": Step(("stays",), measured=KEYED),
    "pairs": Step(("a", "stays"), join=Join(("k",), paired)),
    "of_pairs": Step(("pairs",), until=lambda item: item.payload["x"] + SECOND, at_most=MOST, publish=True),
    "over_pairs": Step(("of_pairs",), window=SIZED),
}
SEEN = [name for name in STEPS if name != "unseen"]


def columns(name: str) -> list[str]:
    return {"stays": ["k"], "pairs": ["k", "x"], "of_pairs": ["k", "x"]}.get(name, ["k", "n"])


def made(folder: Path, logs_: Logs, names: Sequence[str] = tuple(CONFIGURED)) -> Product:
    sources = {name: source for name, (source, _) in logs_.items()}
    return Product(folder, sources, {"streams": {name: CONFIGURED[name] for name in names}})


def hold_equal(product: Product, logs_: Logs, said: Sequence[dict[str, Any]], **more: Any) -> Counter[str]:
    """Every stream of every run is the oracle's; returns how many rows each wrote and lost."""
    found: Counter[str] = Counter()
    runs = flow(logs_, STEPS, payload, **more)
    for name, step in STEPS.items():
        rows = written(product, step, name)
        for number, run in enumerate(runs):
            where = f"{name}, run {number + 1}"
            batch = said[number]["batches"][-1]["batch_id"]
            if name in SEEN:
                shown = rows_with(columns(name), rows.get(batch, Counter()))
                assert shown == wanted(step, run[name], columns(name)), where
                hold_told(said[number]["streams"][name], run[name], where)
            assert said[number]["streams"][name]["outside"] == run[name].outside, where
            found[name] += len(run[name].written)
            found[f"outside {name}"] += run[name].outside
    return found


@pytest.mark.usefixtures("quick")
def test_what_is_over_rows_with_ends_of_their_own_equals_the_oracle_and_replays(tmp_path):
    logs_ = dense(32)
    product = made(tmp_path / "whole", logs_)
    found = hold_equal(product, logs_, feed(product, logs_))
    assert all(found[name] >= 2 for name in SEEN), found
    assert all(found[f"outside {name}"] > 0 for name in ("stays", "unseen", "of_pairs")), found
    hold_replayed(product)


@pytest.mark.usefixtures("quick")
@pytest.mark.long
def test_law_4_rows_with_ends_of_their_own_from_a_start_on_are_those_of_a_run_from_the_beginning(tmp_path):
    logs_ = dense(9, runs=4)
    hold_start(tmp_path, made, logs_, 13, {name: STEPS[name] for name in SEEN})


@pytest.mark.usefixtures("quick")
@pytest.mark.long
def test_law_1_ends_of_rows_do_not_depend_on_how_the_log_is_cut_into_runs(tmp_path):
    source = replace(A, landing_delay=20 * SECOND)
    for number, both in enumerate(drawn(cut_twice(source), 1)):
        tables = []
        last = max(run.as_of for runs in both for run in runs)
        for which, runs in enumerate(both):
            logs_: Logs = {"a": (source, (*runs, Run(last + 60 * SECOND, close=True)))}
            product = made(tmp_path / f"{number}-{which}", logs_, ("unseen", "sized"))
            feed(product, logs_)
            tables.append(of_all_runs(product, STEPS["sized"], "sized"))
        assert tables[0] == tables[1]
        assert tables[0].total() > 0
