"""Streams that look at the rows before each row are those of the oracle, run by run, and what is over them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import pytest
from samples import WhileClosing, drawn, feed
from test_joins import A, dense
from test_streams import Logs, hold_replayed, hold_runs, hold_start, of_all_runs, payload

from oracle import SECOND, Run
from oracle_joins import Join
from oracle_preceding import Preceding
from oracle_streams import Item, Step, Window, flow
from product import Product
from strategies import cut_twice

REACH = 14 * SECOND
"""Of the pipeline below: its longest path looks back 4 s, then 2 s, and leads through windows of 6 s."""


def summed(items: Sequence[Item], name: str) -> float | None:
    values = [item.payload[name] for item in items if item.payload[name] is not None]
    return reduce(add, values) if values else None


def selected(item: Item) -> dict[str, Any]:
    return {"k": item.payload["k"], "x": None if item.event is None else item.event / 3.0}


def looked(item: Item, before: Sequence[Item]) -> dict[str, Any]:
    x, last = item.payload["x"], before[-1].payload["x"] if before else None
    step = None if x is None or last is None else x - last
    return {"n": len(before), "last": last, "total": summed(before, "x"), "step": step}


def told(items: Sequence[Item]) -> dict[str, Any]:
    return {"m": len(items), "ns": [item.payload["n"] for item in items], "total": summed(items, "total")}


X = "unix_micros(_event_time) / 3.0D"
LOOKED = {"n": "count(*)", "last": "last(x)", "total": "sum(x)", "step": "x - last(x)"}
TOLD = {"m": "count(*)", "ns": "collect_list(n)", "total": "sum(total)"}
BEFORE = {"by": ["K"], "within": "4s", "select": LOOKED}
OVERLAPPING = {"hopping": {"size": "6s", "hop": "2s", "offset": "1s"}, "select": TOLD}
GAPS = {"hopping": {"size": "1s", "hop": "3s"}, "select": TOLD}

CONFIGURED: dict[str, dict[str, Any]] = {
    "of_a": {"from": "a", "select": {"k": "k", "x": X}},
    "of_b": {"from": "b", "select": {"k": "k", "x": X}},
    "long": {"from": "of_b", "lifetime": "3s"},
    "both": {"union": ["long", "of_a", "of_b"]},
    "before": {"from": "of_a", "preceding": BEFORE, "publish": True},
    "mixed": {"from": "both", "preceding": {"within": "2s", "where": "k = 'a'", "select": LOOKED}, "publish": True},
    "firsts": {"from": "before", "where": "n = 0", "publish": True},
    "shifted": {"from": "before", "shift": "-1s"},
    "living": {"from": "shifted", "lifetime": "2s", "publish": True},
    "twice": {
        "from": "before",
        "preceding": {"within": "2s", "by": "k", "select": {"ns": "collect_list(n)"}},
        "select": {"k": "k", "ns": "ns"},
        "publish": True,
    },
    "over": {"from": "mixed", **OVERLAPPING},
    "gaps": {"from": "early_ones", **GAPS},
    "early_ones": {"from": "mixed", "where": "n < 3", "lifetime": "500ms"},
    "per_two": {"from": "a", "tumbling": "2s", "group_by": ["k"], "select": {"x": "count(*) * 1.0D"}},
    "changes": {"from": "per_two", "preceding": BEFORE | {"within": "9s"}, "publish": True},
    "pairs": {
        "join": ["before", "long"],
        "on": ["k"],
        "select": {"k": "before.k", "n": "before.n", "y": "unix_micros(long._system_timestamp)"},
    },
}


def key(item: Item) -> Any:
    return item.payload["k"]


LOOKING = Preceding(4 * SECOND, looked, key)
STEPS = {
    "of_a": Step(("a",), select=selected),
    "of_b": Step(("b",), select=selected),
    "long": Step(("of_b",), lifetime=3 * SECOND),
    "both": Step(("long", "of_a", "of_b")),
    "before": Step(("of_a",), preceding=LOOKING, publish=True),
    "mixed": Step(
        ("both",),
        preceding=Preceding(2 * SECOND, looked, where=lambda item: item.payload["k"] == "a"),
        publish=True,
    ),
    "firsts": Step(("before",), lambda item: item.payload["n"] == 0, publish=True),
    "shifted": Step(("before",), shift=-SECOND),
    "living": Step(("shifted",), lifetime=2 * SECOND, publish=True),
    "twice": Step(
        ("before",),
        select=lambda item: {"k": item.payload["k"], "ns": item.payload["ns"]},
        preceding=Preceding(2 * SECOND, lambda _, before: {"ns": [each.payload["n"] for each in before]}, key),
        publish=True,
    ),
    "over": Step(("mixed",), window=Window(6 * SECOND, 2 * SECOND, offset=SECOND, aggregate=told)),
    "gaps": Step(("early_ones",), window=Window(SECOND, 3 * SECOND, aggregate=told)),
    "early_ones": Step(("mixed",), lambda item: item.payload["n"] < 3, lifetime=SECOND // 2),
    "per_two": Step(
        ("a",),
        window=Window(2 * SECOND, 2 * SECOND, group_by=("k",), aggregate=lambda items: {"x": float(len(items))}),
    ),
    "changes": Step(("per_two",), preceding=replace(LOOKING, within=9 * SECOND), publish=True),
    "pairs": Step(
        ("before", "long"),
        join=Join(("k",), lambda left, right: {"k": left.payload["k"], "n": left.payload["n"], "y": right.start}),
    ),
}
PUBLISHED = ("before", "mixed", "firsts", "living", "twice", "over", "gaps", "changes", "pairs")
COLUMNS = {
    **{name: ["k", "x", *LOOKED] for name in PUBLISHED},
    "twice": ["k", "ns"], "over": list(TOLD), "gaps": list(TOLD), "pairs": ["k", "n", "y"],
}  # fmt: skip


def made(folder: Path, logs_: Logs, streams: dict[str, Any] = CONFIGURED) -> Product:
    return Product(folder, {name: source for name, (source, _) in logs_.items()}, {"streams": streams})


def hold_equal(product: Product, logs_: Logs, said: Sequence[dict[str, Any]], **more: Any) -> Counter[str]:
    """Every stream of every run is the oracle's; returns how many rows each wrote."""
    shown = {name: STEPS[name] for name in PUBLISHED}
    return hold_runs(product, said, flow(logs_, STEPS, payload, **more), shown, COLUMNS.__getitem__)


@pytest.mark.usefixtures("quick")
def test_rows_with_values_of_those_before_and_what_is_over_them_equal_the_oracle_and_replay(tmp_path):
    logs_ = dense(32)
    product = made(tmp_path, logs_)
    found = hold_equal(product, logs_, feed(product, logs_, max_files=1, crashes=[WhileClosing(2)]))
    assert all(found[name] >= 3 for name in PUBLISHED), found
    assert found["outside gaps"] > 0
    hold_replayed(product)


FEW = {name: CONFIGURED[name] for name in ("of_a", "before", "firsts")} | {"gaps": {"from": "firsts", **GAPS}}


@pytest.mark.long
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("seconds", [13])
def test_law_4_rows_from_a_start_on_are_those_of_a_run_from_the_beginning(tmp_path, seconds):
    logs_ = dense(9, runs=4)
    hold_start(tmp_path, made, logs_, seconds, {name: STEPS[name] for name in PUBLISHED})


@pytest.mark.long
@pytest.mark.usefixtures("quick")
def test_law_1_rows_do_not_depend_on_how_the_log_is_cut_into_runs(tmp_path):
    source = replace(A, landing_delay=20 * SECOND)
    for number, both in enumerate(drawn(cut_twice(source), 1)):
        last = max(run.as_of for runs in both for run in runs)
        tables = []
        for which, runs in enumerate(both):
            logs_: Logs = {"a": (source, (*runs, Run(last + 60 * SECOND, close=True)))}
            product = made(tmp_path / f"{number}-{which}", logs_, FEW)
            feed(product, logs_)
            tables.append({name: of_all_runs(product, STEPS[name], name) for name in ("before", "firsts", "gaps")})
        assert tables[0] == tables[1]
        assert tables[0]["before"].total() > 0
