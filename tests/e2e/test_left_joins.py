"""Left and anti joins of the product are those of the oracle, run by run: pairs, gaps, what is over them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from samples import drawn, feed
from test_joins import ENDS, GAPS, OVERLAPPING, TOLD, TUMBLING, A, X, dense, ended, not_after
from test_streams import Logs, hold_replayed, hold_runs, hold_start, of_all_runs, payload

from oracle import SECOND, Run
from oracle_joins import Join
from oracle_streams import Item, Step, Window, flow
from product import Product
from strategies import cut_twice

REACH = 14 * SECOND
"""Of the pipeline below: a left row may live for 4 s, and the right rows that decide about it for 4 s before; windows
of 6 s are over it."""


def of_both(left: Item, right: Item | None) -> dict[str, Any]:
    return {"k": left.payload["k"], "x": left.event, "y": None if right is None else right.start}


def of_left(left: Item, _: Item | None) -> dict[str, Any]:
    return {"k": left.payload["k"], "x": left.event}


SELECT = {"k": "{0}.k", "x": X, "y": "unix_micros({1}._system_timestamp)"}


def join(left: str, right: str, how: str, **more: Any) -> dict[str, Any]:
    texts = {name: text.format(left, right) for name, text in SELECT.items() if how != "anti" or name != "y"}
    return {"join": [left, right], "on": ["k"], "how": how, "select": texts, **more}


CONFIGURED: dict[str, dict[str, Any]] = {
    "lasting": {"from": "b", "lifetime": "4s"},
    "living": {"from": "a", "lifetime": "3s"},
    "points": join("a", "lasting", "left"),
    "lives": join("lasting", "living", "left", where="lasting._event_time <= living._event_time"),
    "alone": join("lasting", "living", "anti"),
    "per_two": {"from": "a", "tumbling": "2s", "group_by": ["k"], "select": {"n": "count(*)"}},
    "of_windows": join("lasting", "per_two", "anti"),
    "nested": join("alone", "points", "left", select={"k": "alone.k", "x": "alone.x", "y": "points.x"}),
    "long": {"from": "lives", "lifetime": "2s", "publish": True},
    "over_lives": {"from": "lives", "hopping": {"size": "6s", "hop": "2s", "offset": "1s"}, "group_by": "k"},
    "over_alone": {"from": "alone", "hopping": {"size": "1s", "hop": "3s"}},
    "ends_alone": {"from": "alone", "tumbling": "2s", "select": ENDS},
    "early_ends": {"from": "lives", "where": "_end_time < _system_timestamp + INTERVAL 2 SECONDS", "publish": True},
}
for _name in ("over_lives", "over_alone"):
    CONFIGURED[_name]["select"] = TOLD

STEPS = {
    "lasting": Step(("b",), lifetime=4 * SECOND),
    "living": Step(("a",), lifetime=3 * SECOND),
    "points": Step(("a", "lasting"), join=Join(("k",), of_both, how="left")),
    "lives": Step(("lasting", "living"), join=Join(("k",), of_both, not_after, how="left")),
    "alone": Step(("lasting", "living"), join=Join(("k",), of_left, how="anti")),
    "per_two": Step(("a",), window=TUMBLING),
    "of_windows": Step(("lasting", "per_two"), join=Join(("k",), of_left, how="anti")),
    "nested": Step(
        ("alone", "points"),
        join=Join(("k",), lambda l, r: {**l.payload, "y": None if r is None else r.payload["x"]}, how="left"),  # noqa: E741
    ),
    "long": Step(("lives",), lifetime=2 * SECOND, publish=True),
    "over_lives": Step(("lives",), window=OVERLAPPING),
    "over_alone": Step(("alone",), window=GAPS),
    "ends_alone": Step(("alone",), window=Window(2 * SECOND, 2 * SECOND, aggregate=ended)),
    "early_ends": Step(("lives",), lambda item: item.end < item.start + 2 * SECOND, publish=True),
}
OVER = ("over_lives", "over_alone", "ends_alone")
JOINS = ("points", "lives", "alone", "of_windows", "nested")


def columns(name: str) -> list[str]:
    keys = CONFIGURED[name]
    own = list(keys["select"]) if "select" in keys else ["k", "x", "y"]
    return ["k", *own] if keys.get("group_by") else own


def made(folder: Path, logs_: Logs, streams: dict[str, Any] | None = None) -> Product:
    sources = {name: source for name, (source, _) in logs_.items()}
    return Product(folder, sources, {"streams": CONFIGURED if streams is None else streams})


def hold_equal(product: Product, logs_: Logs, said: Sequence[dict[str, Any]], **more: Any) -> Counter[str]:
    """Every stream of every run is the oracle's; returns how many rows each wrote."""
    made_ = product.settings["streams"]
    shown = {
        name: step for name, step in STEPS.items() if name in made_ and (step.publish or step.window or step.join)
    }
    return hold_runs(product, said, flow(logs_, STEPS, payload, **more), shown, columns)


@pytest.mark.usefixtures("quick")
def test_left_and_anti_joins_and_what_is_over_them_equal_the_oracle_and_replay(tmp_path):
    logs_ = dense(32)
    product = made(tmp_path, logs_)
    found = hold_equal(product, logs_, feed(product, logs_))
    assert all(found[name] >= 3 for name in (*JOINS, "long", *OVER, "early_ends")), found
    assert found["outside over_alone"] > 0
    for name in ("points", "lives"):
        values = {row["y"] is None for row in product.table(f"streams/{name}")}
        assert values == {True, False}, name
    hold_replayed(product)


@pytest.mark.usefixtures("quick")
@pytest.mark.long
@pytest.mark.parametrize("seed", [3])
def test_left_joins_of_random_logs_cut_into_micro_batches_equal_the_oracle(tmp_path, seed):
    logs_ = dense(seed)
    product = made(tmp_path, logs_)
    hold_equal(product, logs_, feed(product, logs_, max_files=1))
    hold_replayed(product)


@pytest.mark.usefixtures("quick")
@pytest.mark.long
def test_law_1_gaps_do_not_depend_on_how_the_log_is_cut_into_runs(tmp_path):
    source = replace(A, out_of_order=(0, "adjust"), landing_delay=20 * SECOND)
    names = ("living", "lasting", "points", "alone", "over_alone")
    streams = {name: CONFIGURED[name] for name in names} | {"lasting": {"from": "a", "lifetime": "4s"}}
    for number, both in enumerate(drawn(cut_twice(source), 1)):
        tables = []
        for which, runs in enumerate(both):
            last = max(run.as_of for run in (*both[0], *both[1]))
            logs_: Logs = {"a": (source, (*runs, Run(last + 60 * SECOND, close=True)))}
            product = made(tmp_path / f"{number}-{which}", logs_, streams)
            feed(product, logs_)
            tables.append(
                {name: of_all_runs(product, STEPS[name], name) for name in ("points", "alone", "over_alone")}
            )
        assert tables[0] == tables[1]
        assert tables[0]["points"].total() > 0


@pytest.mark.usefixtures("quick")
@pytest.mark.long
@pytest.mark.parametrize("seconds", [13])
def test_law_4_gaps_from_a_start_on_are_those_of_a_run_from_the_beginning(tmp_path, seconds):
    logs_ = dense(9, runs=4)
    streams = {name: CONFIGURED[name] for name in ("lasting", "living", "lives", "alone", "over_alone")}
    shown = {name: STEPS[name] for name in ("lives", "alone", "over_alone")}
    product, _ = hold_start(tmp_path, partial(made, streams=streams), logs_, seconds, shown)
    assert all(of_all_runs(product, step, name).total() > 2 for name, step in shown.items())
