"""Joins of the product are those of the oracle, run by run: pairs, what is over them, watermarks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from samples import WhileClosing, at, drawn, feed
from test_streams import Logs, hold_replayed, hold_runs, hold_start, of_all_runs, payload, wanted, written

from oracle import SECOND, Obj, Row, Run, Source
from oracle_joins import Join
from oracle_streams import Item, Step, Window, flow
from product import Product
from strategies import cut_twice

A = Source(
    early=(3 * SECOND, "adjust"),
    late=(3 * SECOND, "adjust"),
    out_of_order=(2 * SECOND, "adjust"),
    landing_delay=3 * SECOND,
    partitions=("0", "1"),
)
B = replace(A, late=(2 * SECOND, "drop"), out_of_order=(SECOND, "drop"), over=True)
KEYS = ("a", "b", None)
REACH = 12 * SECOND
"""Of the pipeline below: its longest path leads through lifetimes of 4 s and 2 s and windows of 6 s."""


def of_b(left: Item, right: Item) -> dict[str, Any]:
    return {"k": left.payload["k"], "x": left.event, "y": right.start}


def told(items: Sequence[Item]) -> dict[str, Any]:
    return {"n": len(items), "xs": [item.payload["x"] for item in items], "first": items[0].payload["k"]}


def counted(items: Sequence[Item]) -> dict[str, Any]:
    return {"n": len(items)}


ENDS = {"n": "count(*)", "ends": "collect_list(unix_micros(coalesce(_end_time, _window_end)))"}


def ended(items: Sequence[Item]) -> dict[str, Any]:
    """What `ENDS` gives for rows whose end a later row gives: windows see none that they do not reach."""
    return {"n": len(items), "ends": [item.end for item in items]}


def selected(item: Item) -> dict[str, Any]:
    return {"k": item.payload["k"], "x": item.event}


def not_after(left: Item, right: Item) -> bool | None:
    return None if left.event is None or right.event is None else left.event <= right.event


X = "unix_micros({}._event_time)"
TOLD = {"n": "count(*)", "xs": "collect_list(x)", "first": "first(k)"}
OVERLAPPING = Window(6 * SECOND, 2 * SECOND, offset=SECOND, aggregate=told, group_by=("k",))
TUMBLING = Window(2 * SECOND, 2 * SECOND, aggregate=counted, group_by=("k",))
GAPS = Window(SECOND, 3 * SECOND, aggregate=told)

CONFIGURED: dict[str, dict[str, Any]] = {
    "lasting": {"from": "b", "lifetime": "4s"},
    "living": {"from": "a", "lifetime": "3s"},
    "earlier": {"from": "living", "shift": "-1s"},
    "points": {
        "join": ["a", "lasting"],
        "on": ["k"],
        "select": {"k": "A.k", "x": X.format("a"), "y": "unix_micros(lasting._system_timestamp)"},
    },
    "lives": {
        "join": ["lasting", "earlier"],
        "on": "K",
        "where": "lasting._event_time <= earlier._event_time",
        "select": {"k": "lasting.k", "x": X.format("lasting"), "y": "unix_micros(earlier._system_timestamp)"},
    },
    "per_two": {"from": "a", "tumbling": "2s", "group_by": ["k"], "select": {"n": "count(*)"}},
    "of_windows": {
        "join": ["per_two", "lasting"],
        "on": ["k"],
        "select": {"k": "per_two.k", "x": "per_two.n", "y": "unix_micros(lasting._system_timestamp)"},
    },
    "nested": {
        "join": ["points", "lives"],
        "on": ["k", "y"],
        "select": {"k": "points.k", "x": "lives.x", "y": "points.y"},
    },
    "few": {"from": "a", "select": {"k": "k", "x": "unix_micros(_event_time)"}},
    "bare": {"from": "lives", "where": "k = 'a'", "select": {"k": "k", "x": "x"}, "publish": True},
    "mixed": {"union": ["few", "bare"]},
    "of_union": {
        "join": ["mixed", "lasting"],
        "on": ["k"],
        "select": {"k": "mixed.k", "x": "mixed.x", "y": "unix_micros(lasting._system_timestamp)"},
    },
    "long": {"from": "lives", "lifetime": "2s", "publish": True},
    "over_lives": {"from": "long", "hopping": {"size": "6s", "hop": "2s", "offset": "1s"}, "group_by": "k"},
    "over_mixed": {"from": "mixed", "hopping": {"size": "6s", "hop": "2s", "offset": "1s"}, "group_by": "k"},
    "over_points": {"from": "points", "hopping": {"size": "1s", "hop": "3s"}},
}
for _name in ("over_lives", "over_mixed", "over_points"):
    CONFIGURED[_name]["select"] = TOLD

STEPS = {
    "lasting": Step(("b",), lifetime=4 * SECOND),
    "living": Step(("a",), lifetime=3 * SECOND),
    "earlier": Step(("living",), shift=-SECOND),
    "points": Step(("a", "lasting"), join=Join(("k",), of_b)),
    "lives": Step(("lasting", "earlier"), join=Join(("k",), of_b, not_after)),
    "per_two": Step(("a",), window=TUMBLING),
    "of_windows": Step(
        ("per_two", "lasting"),
        join=Join(("k",), lambda left, right: {**left.payload, "x": left.payload["n"], "y": right.start}),
    ),
    "nested": Step(
        ("points", "lives"),
        join=Join(("k", "y"), lambda left, right: {**left.payload, "x": right.payload["x"]}),
    ),
    "few": Step(("a",), select=selected),
    "bare": Step(("lives",), lambda item: item.payload["k"] == "a", publish=True),
    "mixed": Step(("few", "bare")),
    "of_union": Step(("mixed", "lasting"), join=Join(("k",), lambda left, right: {**left.payload, "y": right.start})),
    "long": Step(("lives",), lifetime=2 * SECOND, publish=True),
    "over_lives": Step(("long",), window=OVERLAPPING),
    "over_mixed": Step(("mixed",), window=OVERLAPPING),
    "over_points": Step(("points",), window=GAPS),
}
JOINS = ("points", "lives", "of_windows", "nested", "of_union")
FEWER = {
    name: CONFIGURED[name] for name in CONFIGURED if name not in ("few", "mixed", "of_union", "over_mixed", "bare")
}
"""Streams of every kind but unions: each table costs time in every run."""


def columns(name: str) -> list[str]:
    keys = CONFIGURED[name]
    own = list(keys["select"]) if "select" in keys else ["k", "x", "y"]
    return ["k", *own] if keys.get("group_by") else own


def dense(seed: int, runs: int = 3, rows: int = 14) -> Logs:
    """Both sources, with rows of few keys a second or so apart, in every run but one; the last comes much later, so
    that all that was open before ends."""
    dice = Random(seed)  # noqa: S311 - the same rows each time

    def objects(name: str, number: int) -> tuple[Obj, ...]:
        landed = at(6 * number + (20 if number == runs else 0))
        made = []
        for _ in range(rows if number < runs else 2):
            arrival = landed - dice.randint(0, 3) * SECOND
            event = arrival + dice.randint(-3, 2) * SECOND + dice.choice((0, 0, 1, -1))
            made.append(Row(dice.choice(("0", "1")), event, arrival, dice.choice(KEYS)))
        return (Obj(f"{name}{number}", landed, tuple(made)),) if (name, number) != ("b", 2) else ()

    def log(name: str) -> tuple[Run, ...]:
        return tuple(
            Run(at(6 * n + (20 if n == runs else 0) + 1), objects(name, n), close=name == "b" and n == runs)
            for n in range(1, runs + 1)
        )

    return {"a": (A, log("a")), "b": (B, log("b"))}


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
def test_joins_and_what_is_over_them_equal_the_oracle_and_replay(tmp_path):
    logs_ = dense(32)
    product = made(tmp_path / "whole", logs_, FEWER)
    said = feed(product, logs_)
    found = hold_equal(product, logs_, said)
    assert all(found[name] >= 3 for name in (*JOINS[:-1], "over_lives", "over_points")), found
    assert found["outside over_points"] > 0
    hold_replayed(product)


@pytest.mark.long
@pytest.mark.usefixtures("quick")
def test_a_crash_while_pairs_are_written_is_repaired_and_a_join_added_later_begins_at_the_watermark(tmp_path):
    logs_ = dense(32)
    kept = {name: CONFIGURED[name] for name in ("lasting", "points", "over_points", "living", "earlier")}
    product = made(tmp_path, logs_, kept)
    earlier = {name: (source, runs[:2]) for name, (source, runs) in logs_.items()}
    tip = {name: (source, runs[2:]) for name, (source, runs) in logs_.items()}
    said = feed(product, earlier)
    product.settings["streams"] = {**kept, "lives": CONFIGURED["lives"]}
    product.write()
    begins = said[-1]["streams"]["points"]["watermark"]
    said += feed(product, tip, crashes=[WhileClosing(2), WhileClosing(1)])
    hold_replayed(product)
    hold_added_later(product, logs_, "lives", begins)
    product.settings["streams"] = kept
    hold_equal(product, logs_, said)


def hold_added_later(product: Product, logs_: Logs, name: str, begins: str) -> None:
    """A stream that was added holds the rows that end after the watermark at which it began."""
    runs = flow(logs_, STEPS, payload)
    before = [item for run in runs[:2] for item in run[name].written]
    after = wanted(STEPS[name], runs[2][name], columns(name))
    (found,) = written(product, STEPS[name], name).values()
    assert begins is not None
    assert after.total() >= 3
    assert before, "none would have been written earlier"
    assert found == after


@pytest.mark.usefixtures("quick")
@pytest.mark.long
@pytest.mark.parametrize("seed", [3])
def test_joins_of_random_logs_cut_into_micro_batches_equal_the_oracle(tmp_path, seed):
    logs_ = dense(seed, runs=5 if seed < 32 else 3)
    product = made(tmp_path / "whole", logs_)
    found = hold_equal(product, logs_, feed(product, logs_, max_files=1))
    assert all(found[name] > 0 for name in (*JOINS, "over_lives", "over_mixed", "over_points")), found
    hold_replayed(product)


@pytest.mark.usefixtures("quick")
@pytest.mark.long
@pytest.mark.parametrize("seconds", [13])
def test_law_4_pairs_from_a_start_on_are_those_of_a_run_from_the_beginning(tmp_path, seconds):
    logs_ = dense(9, runs=4)
    product, said = hold_start(tmp_path, made, logs_, seconds, {name: STEPS[name] for name in JOINS})
    reading = {name: (replace(source, start=at(seconds) - REACH), runs) for name, (source, runs) in logs_.items()}
    hold_equal(product, reading, said, start=at(seconds))


@pytest.mark.usefixtures("quick")
@pytest.mark.long
def test_law_1_pairs_do_not_depend_on_how_the_log_is_cut_into_runs(tmp_path):
    source = replace(A, landing_delay=20 * SECOND)
    for number, both in enumerate(drawn(cut_twice(source), 1)):
        tables = []
        for which, runs in enumerate(both):
            last = max(run.as_of for run in (*both[0], *both[1]))
            ended = (*runs, Run(last + 60 * SECOND, close=True))
            streams = {name: CONFIGURED[name] for name in ("living", "points", "lasting", "over_points")}
            logs_: Logs = {"a": (source, ended)}
            product = made(tmp_path / f"{number}-{which}", logs_, of_one(streams))
            feed(product, logs_)
            tables.append({name: of_all_runs(product, STEPS[name], name) for name in ("points", "over_points")})
        assert tables[0] == tables[1]
        assert tables[0]["points"].total() > 0


def of_one(streams: dict[str, Any]) -> dict[str, Any]:
    """The streams with the only source in both places."""
    return streams | {"lasting": {"from": "a", "lifetime": "4s"}}
