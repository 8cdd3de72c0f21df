"""Sessions without a longest duration, and what is over them, equal the oracle: run by run, from a start on, in a
backfill of a range, and where events are deleted behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from samples import WhileClosing, at, feed
from test_joins import counted, dense
from test_lifetimes import EDGES, end, followed, mark, run, start
from test_streams import Logs, hold_replayed, hold_runs, hold_start, of_all_runs, payload, wanted

import oracle_versions
from oracle import SECOND, Obj, Row, Run, Source
from oracle_joins import Join
from oracle_measured import Measured
from oracle_streams import Item, Step, StepRun, Window, flow
from product import DAY, Product, micros
from strategies import BASE
from tidemark.core.times import MAX_TIME
from tidemark.errors import ConfigError, UsageError

pytestmark = pytest.mark.usefixtures("quick")
N = {"select": {"n": "count(*)"}}
CONFIGURED: dict[str, dict[str, Any]] = {
    "visits": {"from": "a", "session": {"gap": "4s"}, "group_by": ["k"], **N},
    "all": {"from": "b", "session": {"gap": "1s"}, "allowed_lateness": "2s", "idle_timeout": "12s", **N},
    "moved": {"from": "visits", "shift": "-1s", "publish": True},
    "starts": {"from": "visits", "lifetime": "1s", "publish": True},
    "pairs": {"join": ["visits", "b"], "on": ["k"], "select": {"k": "visits.k", "n": "visits.n"}},
    "away": {"join": ["b", "visits"], "on": ["k"], "how": "anti", "select": {"k": "b.k"}},
    "calls": {"join": ["visits", "b"], "on": ["k"], "how": "left", "select": {"k": "visits.k", "n": "visits.n"}},
    "per_two": {"from": "pairs", "tumbling": "2s", "group_by": ["k"], **N},
    "sized": {"from": "visits", "hopping": {"size": "6s", "hop": "2s"}, "group_by": ["k"], **N},
    "alive": {"from": "visits", "snapshot": {}, **N},
    "of_visits": {"from": "visits", "session": {"gap": "1s"}, **N},
}


def of_visit(left: Item, _: Any) -> dict[str, Any]:
    return {"k": left.payload["k"], "n": left.payload["n"]}


VISITS = Measured(session=(4 * SECOND, None), group_by=("k",), aggregate=counted)
STEPS = {
    "visits": Step(("a",), measured=VISITS),
    "all": Step(
        ("b",),
        measured=Measured(
            session=(SECOND, None), aggregate=counted, allowed_lateness=2 * SECOND, idle_timeout=12 * SECOND
        ),
    ),
    "moved": Step(("visits",), shift=-SECOND, publish=True),
    "starts": Step(("visits",), lifetime=SECOND, publish=True),
    "pairs": Step(("visits", "b"), join=Join(("k",), of_visit)),
    "away": Step(("b", "visits"), join=Join(("k",), lambda left, _: {"k": left.payload["k"]}, how="anti")),
    "calls": Step(("visits", "b"), join=Join(("k",), of_visit, how="left")),
    "per_two": Step(("pairs",), window=Window(2 * SECOND, 2 * SECOND, group_by=("k",), aggregate=counted)),
    "sized": Step(("visits",), window=Window(6 * SECOND, 2 * SECOND, group_by=("k",), aggregate=counted)),
    "alive": Step(("visits",), measured=Measured(aggregate=counted)),
    "of_visits": Step(("visits",), measured=Measured(session=(SECOND, None), aggregate=counted)),
}
FEW = ("visits", "all", "pairs", "sized")


def columns(name: str) -> list[str]:
    keys = CONFIGURED[name]
    return [*keys.get("group_by", []), *keys["select"]] if "select" in keys else ["k", "n"]


def made(folder: Path, logs_: Logs, names: Sequence[str] = tuple(CONFIGURED)) -> Product:
    given = {name: source for name, (source, _) in logs_.items()}
    return Product(folder, given, {"streams": {name: CONFIGURED[name] for name in names}})


@pytest.mark.parametrize(
    ("names", "seed"), [(FEW, 10), pytest.param(tuple(CONFIGURED), 15, marks=pytest.mark.long)], ids=["few", "all"]
)
def test_sessions_that_last_over_runs_and_what_is_over_them_equal_the_oracle_and_replay(tmp_path, names, seed):
    logs_ = dense(seed, runs=4)
    product = made(tmp_path, logs_, names)
    said = feed(product, logs_, crashes=[WhileClosing(2)])
    found = hold_runs(product, said, flow(logs_, STEPS, payload), {name: STEPS[name] for name in names}, columns)
    assert all(found[name] >= 1 for name in names), found
    assert max(end - start for (start, end, *_), _ in of_all_runs(product, STEPS["visits"], "visits")) > 18 * SECOND
    hold_replayed(product)


@pytest.mark.long
def test_law_4_sessions_from_a_start_on_are_those_of_a_run_from_the_beginning(tmp_path):
    names = [name for name in STEPS if name != "all"]  # idleness has no part in the law
    hold_start(
        tmp_path,
        lambda folder, logs_: made(folder, logs_, names),
        dense(9, runs=4),
        13,
        {name: STEPS[name] for name in names},
    )


def hold_sessions(product: Product, items: Sequence[Item]) -> None:
    """The table of sessions has these rows."""
    step = STEPS["visits"]
    assert of_all_runs(product, step, "visits") == wanted(step, StepRun(tuple(items), None), columns("visits"))


def rebuilt(
    product: Product, runs: tuple[list[dict[str, StepRun]], list[dict[str, StepRun]]], begin: int, end: int | None
) -> int:
    """Build a version with the outputs of a range; its sessions are those of whole runs before and now. Returns how
    many began before the range."""
    product.version = product.pipeline().backfill(begin, end)["version"]
    old, new = ([item for run in each for item in run["visits"].written] for each in runs)
    merged = oracle_versions.outputs(old, new, begin, end)
    hold_sessions(product, merged)
    product.version = 1
    return sum(item.start < begin < item.end for item in new)


def test_a_backfill_of_a_range_without_a_longest_duration_equals_a_whole_rebuild(tmp_path):
    logs_ = dense(10, runs=4)
    cut = {"visits": CONFIGURED["visits"] | {"session": {"gap": "4s", "max_duration": "6s"}}}
    product = Product(tmp_path, {name: source for name, (source, _) in logs_.items()}, {"streams": cut})
    feed(product, logs_)
    product.settings = {"streams": {"visits": CONFIGURED["visits"]}}
    product.write()
    with pytest.raises(ConfigError, match=r"streams\.visits\.session\.max_duration"):
        product.run(at(60))
    shorter = replace(STEPS["visits"], measured=replace(VISITS, session=(4 * SECOND, 6 * SECOND)))
    runs = flow(logs_, {"visits": shorter}, payload), flow(logs_, {"visits": STEPS["visits"]}, payload)
    assert rebuilt(product, runs, at(14), at(26)) > 0
    assert rebuilt(product, runs, at(14), None) > 0


@pytest.mark.long
def test_law_5_a_backfill_of_sessions_under_other_policies_equals_a_whole_rebuild(tmp_path):
    logs_ = dense(15, runs=4)
    product = made(tmp_path, logs_, ["visits"])
    feed(product, logs_)
    changed = replace(logs_["a"][0], late=(SECOND, "adjust"), out_of_order=(0, "adjust"))
    product.sources = product.sources | {"a": changed}
    product.write()
    both = logs_, logs_ | {"a": (changed, logs_["a"][1])}
    before, now = (flow(each, {"visits": STEPS["visits"]}, payload) for each in both)
    assert before != now
    assert rebuilt(product, (before, now), at(16), at(26)) > 0


def test_retention_keeps_the_rows_of_an_open_session_and_no_earlier_ones(tmp_path):
    source = Source(late=(SECOND, "adjust"), single=True)
    day = lambda number: BASE + number * DAY  # noqa: E731 - one line
    keys = {1: "a", 2: "a", 5: "b", 6: "b", 7: "b", 8: "b", 9: "b", 13: "c"}
    runs = [
        Run(day(n), (Obj(f"{n}", day(n), tuple(Row(None, day(n), day(n), key) for key in of)),))
        for n, of in keys.items()
    ]
    visits = CONFIGURED["visits"] | {"session": {"gap": "30h"}}
    product = Product(tmp_path, {"a": source}, {"streams": {"visits": visits}, "retention": {"events": "1d"}})
    kept = []
    for each in runs:
        feed(product, {"a": (source, [each])})
        kept.append((product.events("a")[0]["_event_time"] - BASE) // DAY)
    assert kept == [1, 1, 5, 5, 5, 5, 5, 13]
    step = replace(STEPS["visits"], measured=replace(VISITS, session=(30 * 3600 * SECOND, None)))
    items = [
        item for each in flow({"a": (source, runs)}, {"visits": step}, payload) for item in each["visits"].written
    ]
    hold_sessions(product, items)
    assert sorted(item.payload["n"] for item in items) == [2, 5]
    with pytest.raises(UsageError, match="older than retention keeps") as refused:
        product.pipeline().backfill(day(13))
    assert "--from-landing" in refused.value.hint


@pytest.mark.parametrize(
    "keys",
    [{"session": {"gap": "5s"}}, pytest.param({"snapshot": {}}, marks=pytest.mark.long)],
    ids=["session", "snapshot"],
)
def test_a_window_that_never_ends_is_in_windows_up_to_the_last_time_of_a_complete_stream(tmp_path, keys):
    source, short = replace(EDGES, final=True), BASE + 20 * SECOND
    rows = start("short", short), end("short", short, short + 2 * SECOND, BASE + 30 * SECOND)
    runs = [
        run(BASE, start("long", BASE - SECOND), mark(BASE)),
        run(BASE + 60 * SECOND, *rows, mark(BASE + 50 * SECOND)),
    ]
    streams = {
        "made": {"from": "edges", **keys, "group_by": ["k"], **N},
        "sized": {"from": "made", "tumbling": "10s", **N},
    }
    product = Product(tmp_path, {"edges": source}, {"streams": streams})
    followed(product, runs)
    product.pipeline().close(as_of=BASE + 70 * SECOND)
    (made_,) = [row for row in product.table("streams/made") if row["k"] == "long"]
    assert (micros(made_["_window_start"]), micros(made_["_window_end"])) == (BASE - SECOND, MAX_TIME)
    sized = sorted(
        ((micros(row["_window_start"]) - BASE) // SECOND, row["n"]) for row in product.table("streams/sized")
    )
    assert sized == [(-10, 1), (0, 1), (10, 1), (20, 2)]
