"""Rows that end with the next one, and as-of joins with them, are those of the oracle, run by run, however logs are
cut."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from samples import WhileClosing, at, drawn, feed
from test_joins import ENDS, TUMBLING, A, counted, dense, ended
from test_streams import Logs, hold_replayed, hold_runs, hold_start, of_all_runs, payload

from oracle import SECOND, Obj, Row, Run, Source
from oracle_joins import Join
from oracle_measured import Measured
from oracle_next import Next
from oracle_preceding import Preceding
from oracle_streams import Item, Step, Window, flow
from product import Product, micros
from strategies import cut_twice

MOST = 5 * SECOND
N = {"select": {"n": "count(*)"}}
NEXT = {"until": "next", "by": ["k"], "at_most": "5s"}
AS_OF = {"k": "a.k", "x": "unix_micros(a._event_time)", "y": "unix_micros(rates_now._system_timestamp)"}

CONFIGURED: dict[str, dict[str, Any]] = {
    "rates_now": {"from": "b", "lifetime": NEXT, "select": {"k": "k"}, "publish": True},
    "any_next": {
        "from": "a",
        "where": "k IS NOT NULL",
        "lifetime": {"until": "next", "at_most": "2s"},
        "select": {"k": "k"},
    },
    "ended": {
        "from": "rates_now",
        "where": "_end_time < _system_timestamp + INTERVAL 5 SECONDS",
        "select": {"k": "k", "x": "unix_micros(_end_time)"},
        "publish": True,
    },
    "shifted": {"from": "rates_now", "shift": "-1s"},
    "twice": {"from": "shifted", "lifetime": {"until": "next", "at_most": "3s"}, "publish": True},
    "counts": {"from": "a", "preceding": {"within": "3s", "select": {"c": "count(*)"}}},
    "of_counts": {"from": "counts", "where": "c < 3", "lifetime": NEXT | {"by": ["c"]}},
    "held": {"from": "of_counts", "select": {"k": "k", "c": "c"}, "publish": True},
    "as_of": {"join": ["a", "rates_now"], "on": ["k"], "select": AS_OF},
    "as_of_left": {"join": ["a", "rates_now"], "how": "left", "on": ["k"], "select": AS_OF},
    "unrated": {"join": ["any_next", "rates_now"], "how": "anti", "on": ["k"], "select": {"k": "any_next.k"}},
    "per_two": {"from": "as_of", "tumbling": "2s", "group_by": ["k"], **N},
    "sized": {"from": "rates_now", "hopping": {"size": "6s", "hop": "2s"}, "group_by": ["k"], "select": ENDS},
    "seldom": {"from": "any_next", "hopping": {"size": "1s", "hop": "3s"}, **N},
    "visits": {"from": "rates_now", "session": {"gap": "1s", "max_duration": "6s"}, "group_by": ["k"], **N},
    "both": {"union": ["rates_now", "any_next"]},
    "over_both": {"from": "both", "tumbling": "3s", **N},
}


def key(item: Item) -> Any:
    return item.payload["k"]


def paired(left: Item, right: Item | None) -> dict[str, Any]:
    return {"k": left.payload["k"], "x": left.event, "y": None if right is None else right.start}


BY_KEY = Next(key, MOST)
STEPS = {
    "rates_now": Step(("b",), following=BY_KEY, publish=True),
    "any_next": Step(("a",), lambda item: item.payload["k"] is not None, following=Next(lambda _: 0, 2 * SECOND)),
    "ended": Step(
        ("rates_now",),
        lambda item: item.end < item.start + 5 * SECOND,
        lambda item: {"k": key(item), "x": item.end},
        publish=True,
    ),
    "shifted": Step(("rates_now",), shift=-SECOND),
    "twice": Step(("shifted",), following=Next(lambda _: 0, 3 * SECOND), publish=True),
    "counts": Step(("a",), preceding=Preceding(3 * SECOND, lambda _, before: {"c": len(before)})),
    "of_counts": Step(
        ("counts",), lambda item: item.payload["c"] < 3, following=Next(lambda item: item.payload["c"], MOST)
    ),
    "held": Step(("of_counts",), publish=True),
    "as_of": Step(("a", "rates_now"), join=Join(("k",), paired)),
    "as_of_left": Step(("a", "rates_now"), join=Join(("k",), paired, how="left")),
    "unrated": Step(("any_next", "rates_now"), join=Join(("k",), lambda left, _: {"k": key(left)}, how="anti")),
    "per_two": Step(("as_of",), window=TUMBLING),
    "sized": Step(("rates_now",), window=Window(6 * SECOND, 2 * SECOND, group_by=("k",), aggregate=ended)),
    "seldom": Step(("any_next",), window=Window(SECOND, 3 * SECOND, aggregate=counted)),
    "visits": Step(
        ("rates_now",), measured=Measured(session=(SECOND, 6 * SECOND), group_by=("k",), aggregate=counted)
    ),
    "both": Step(("rates_now", "any_next")),
    "over_both": Step(("both",), window=Window(3 * SECOND, 3 * SECOND, aggregate=counted)),
}
TABLES = {"publish", "join", "tumbling", "hopping", "session"}
SEEN = [name for name, keys in CONFIGURED.items() if keys.keys() & TABLES]


def columns(name: str) -> list[str]:
    keys = CONFIGURED[name]
    if "select" in keys:
        return [*keys.get("group_by", []), *keys["select"]]
    return ["k"]


def made(folder: Path, logs_: Logs, names: Sequence[str] = tuple(CONFIGURED)) -> Product:
    sources = {name: source for name, (source, _) in logs_.items()}
    return Product(folder, sources, {"streams": {name: CONFIGURED[name] for name in names}})


def hold_equal(product: Product, logs_: Logs, said: Sequence[dict[str, Any]], **more: Any) -> Counter[str]:
    """Every stream of every run is the oracle's; returns how many rows each wrote and left outside."""
    runs = flow(logs_, STEPS, payload, **more)
    shown = {name: STEPS[name] for name in SEEN if name in product.settings["streams"]}
    found = hold_runs(product, said, runs, shown, columns)
    for number, run in enumerate(runs):
        assert said[number]["streams"]["any_next"]["outside"] == run["any_next"].outside, number
    return found


FEW = ("rates_now", "any_next", "ended", "sized", "unrated", "seldom")


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("names", [FEW, pytest.param(tuple(CONFIGURED), marks=pytest.mark.long)], ids=["few", "all"])
def test_rows_that_end_with_the_next_one_and_what_is_over_them_equal_the_oracle_and_replay(tmp_path, names):
    logs_ = dense(28)
    product = made(tmp_path, logs_, names)
    found = hold_equal(product, logs_, feed(product, logs_, crashes=[WhileClosing(2)]))
    assert all(found[name] >= 3 for name in SEEN if name in names), found
    assert all(found[f"outside {name}"] > 0 for name in ("rates_now", "seldom")), found
    hold_replayed(product)


@pytest.mark.long
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("seed", [3, 8])
def test_rows_of_random_logs_that_end_with_the_next_one_equal_the_oracle(tmp_path, seed):
    logs_ = dense(seed, runs=4)
    product = made(tmp_path, logs_)
    hold_equal(product, logs_, feed(product, logs_, max_files=1))


@pytest.mark.long
@pytest.mark.usefixtures("quick")
def test_law_4_rows_from_a_start_on_are_those_of_a_run_from_the_beginning(tmp_path):
    logs_ = dense(9, runs=4)
    hold_start(tmp_path, made, logs_, 13, {name: STEPS[name] for name in SEEN})


AS_OF_ALONE = {name: CONFIGURED[name] for name in ("rates_now", "as_of_left")}
AS_OF_ALONE["rated_per_two"] = CONFIGURED["per_two"] | {"from": "as_of_left", "where": "y IS NOT NULL"}
EVENTS = Source(
    early=None,
    late=(15 * SECOND, "adjust"),
    out_of_order=(15 * SECOND, "adjust"),
    landing_delay=40 * SECOND,
    single=True,
)
"""No row of `landing` is moved under these tolerances."""


def landing(seed: int, later: int) -> tuple[Obj, ...]:
    """Objects of rows that happened up to 15 s before they landed, in disorder, each landed so much later (s)."""
    dice = Random(seed)  # noqa: S311 - the same rows each time
    made_ = []
    for number in range(12):
        arrivals = [at(4 * number) - dice.randint(0, 5) * SECOND for _ in range(5)]
        rows = [
            Row(None, each - dice.randint(0, 10) * SECOND, each, dice.choice(("a", "b", None))) for each in arrivals
        ]
        made_.append(Obj(f"{number:02}", at(4 * number + later), tuple(rows)))
    return tuple(made_)


def cut(objects: Sequence[Obj], seconds: Sequence[int]) -> tuple[Run, ...]:
    """Runs at these times; the last is so late that all has passed."""
    bounds = [at(-1), *map(at, seconds)]
    runs = [Run(end, tuple(o for o in objects if begin < o.modified <= end)) for begin, end in pairwise(bounds)]
    return (*runs, Run(at(900)))


def rated(trades: Sequence[Obj], rates: Sequence[Obj]) -> Counter[Any]:
    """Each trade's key, its time, and the time of the last rate of its key that is not older than `MOST`, if any."""
    known = [row for obj in rates for row in obj.rows]
    found: Counter[Any] = Counter()
    for row in [row for obj in trades for row in obj.rows]:
        times = [
            each.event for each in known if each.substream == row.substream is not None and each.event <= row.event
        ]
        valid = [time for time in times if time > row.event - MOST]
        found[row.substream, row.event, max(valid, default=None)] += 1
    return found


@pytest.mark.usefixtures("quick")
def test_law_1_each_trade_has_the_rate_of_its_time_in_any_order_of_landing_and_any_cut_into_runs(tmp_path):
    for later, ends in ((0, (20, 33, 60)), (25, (41, 80))):
        trades, rates = landing(1, 0), landing(2, later)
        logs_: Logs = {"a": (EVENTS, cut(trades, ends)), "b": (EVENTS, cut(rates, ends))}
        product = Product(tmp_path / str(later), dict.fromkeys("ab", EVENTS), {"streams": AS_OF_ALONE})
        feed(product, logs_)
        wanted = rated(trades, rates)
        assert min(Counter(y is None for _, _, y in wanted.elements()).values()) > 10
        assert Counter((row["k"], row["x"], row["y"]) for row in product.table("streams/as_of_left")) == wanted
        per_two = Counter((k, x - x % (2 * SECOND)) for k, x, y in wanted.elements() if y is not None)
        windows = product.table("streams/rated_per_two")
        assert {(row["k"], micros(row["_window_start"])): row["n"] for row in windows} == per_two


@pytest.mark.long
@pytest.mark.usefixtures("quick")
def test_law_1_as_of_joins_do_not_depend_on_how_the_log_is_cut_into_runs(tmp_path):
    source = replace(A, landing_delay=20 * SECOND)
    streams = {name: CONFIGURED[name] for name in ("as_of", "as_of_left", "per_two")}
    streams["rates_now"] = CONFIGURED["rates_now"] | {"from": "a"}
    for number, both in enumerate(drawn(cut_twice(source), 1)):
        last = max(run.as_of for runs in both for run in runs)
        tables = []
        for which, runs in enumerate(both):
            logs_: Logs = {"a": (source, (*runs, Run(last + 60 * SECOND, close=True)))}
            product = Product(tmp_path / f"{number}-{which}", {"a": source}, {"streams": streams})
            feed(product, logs_)
            tables.append({name: of_all_runs(product, STEPS[name], name) for name in streams})
        assert tables[0] == tables[1]
        assert all(rows.total() > 0 for rows in tables[0].values())
