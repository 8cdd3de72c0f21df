"""Intervals under tolerances (time rules: judging a row): the start is judged, and a row whose start is moved to its
end or past it is dropped. Through runs, micro-batches, recovery after a crash, replays, backfills and a start."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from samples import WhileClosing, at, drawn, feed, hold_conservation
from test_backfill_any import Case, hold_case
from test_streams import SELECTED, Logs, declared, hold_runs, payload, told, written

import oracle
from oracle import SECOND, Obj, Row, Run, Source
from oracle_joins import Join
from oracle_measured import Measured
from oracle_streams import Item, Step, Window, flow
from product import Product, expected, verdicts
from strategies import TICK, Log, cut_twice
from tidemark.spark.judge.engine import Engine

pytestmark = pytest.mark.usefixtures("quick")
EXACT = ("_watermark", "_substream", "_end_time")
MOVED = Source(
    early=(4 * SECOND, "adjust"),
    late=(6 * SECOND, "adjust"),
    out_of_order=(2 * SECOND, "adjust"),
    landing_delay=10 * SECOND,
    partitions=("p", "q"),
    interval=True,
)
SOURCES = {
    "moved": MOVED,
    "keyed": replace(MOVED, late=(3 * SECOND, "adjust"), over=True, require=True, by=("k", "e"), within=20 * SECOND),
    "lost": replace(MOVED, early=(4 * SECOND, "drop"), late=(6 * SECOND, "drop"), out_of_order=(SECOND, "drop")),
    "kept": replace(MOVED, out_of_order=(SECOND, "keep")),
}
OVER = Window(6 * SECOND, 2 * SECOND, offset=SECOND, group_by=("k",), aggregate=told)
LATER = Window(4 * SECOND, 4 * SECOND, allowed_lateness=2 * SECOND, aggregate=told)
K = {"k": "k"}
COUNTED = {"select": {"n": "count(*)"}}
STREAMS: dict[str, dict[str, Any]] = {
    "both": {"union": ["moved", "keyed"], "select": K, "publish": True},
    "behind": {"from": "kept", "select": K, "publish": True},
    "over": declared(OVER, "moved", SELECTED),
    "later": declared(LATER, "kept", SELECTED),
    "alive": {"from": "lost", "snapshot": {}, **COUNTED},
    "visits": {"from": "moved", "session": {"gap": "1s", "max_duration": "20s"}, "group_by": ["k"], **COUNTED},
    "pairs": {
        "join": ["moved", "lost"],
        "on": ["k"],
        "select": {"k": "moved.k", "x": "unix_micros(lost._event_time)"},
    },
}


def counted(items: Sequence[Item]) -> dict[str, Any]:
    return {"n": len(items)}


def paired(left: Item, right: Item) -> dict[str, Any]:
    return {"k": left.payload["k"], "x": right.event}


STEPS = {
    "both": Step(("moved", "keyed"), publish=True),
    "behind": Step(("kept",), publish=True),
    "over": Step(("moved",), window=OVER),
    "later": Step(("kept",), window=LATER),
    "alive": Step(("lost",), measured=Measured(aggregate=counted)),
    "visits": Step(("moved",), measured=Measured(group_by=("k",), aggregate=counted, session=(SECOND, 20 * SECOND))),
    "pairs": Step(("moved", "lost"), join=Join(("k",), paired)),
}


def columns(name: str) -> list[str]:
    shown = {
        "over": ["k", *SELECTED],
        "later": [*SELECTED],
        "alive": ["n"],
        "visits": ["k", "n"],
        "pairs": ["k", "x"],
    }
    return shown.get(name, ["k"])


def rows(seed: int, second: int) -> tuple[Row, ...]:
    """Rows of two partitions, whose start is often moved, and where it is moved to is often their end."""
    dice = Random(seed)  # noqa: S311 - the same rows each time
    made = []
    for _ in range(24):
        arrival = at(second + dice.choice((0, 1, 4, 6, 8, 10)))
        event = arrival + dice.choice((0, -1, -3, -7, -9, 6)) * SECOND - dice.choice((0, 0, TICK))
        reached = max(event, dice.choice((arrival - 6 * SECOND, arrival - 3 * SECOND, arrival, at(second))))
        end = dice.choice((reached, reached + TICK, reached - TICK, *(event + n * SECOND for n in (1, 4, 9))))
        end = dice.choice((None, event)) if dice.random() < 0.05 else end
        key = dice.choice(("a", "c", "c", "d", "b", None))
        made.append(Row(dice.choice("ppq"), event, arrival, key, dice.random() < 0.05, end))
    return tuple(made)


def run(number: int, shift: int) -> Run:
    """A run of two objects."""
    seconds = [30 * number + 15 * place for place in range(2)]
    objects = [Obj(f"{number}{second}", at(second + 10), rows(second + shift, second)) for second in seconds]
    return Run(at(30 * number + 31), tuple(objects))


LOGS: Logs = {
    name: (source, tuple(run(number, 1000 * place) for number in range(2)))
    for place, (name, source) in enumerate(SOURCES.items())
}


def made(folder: Path, logs: Logs = LOGS, streams: Mapping[str, Any] = STREAMS) -> Product:
    return Product(folder, {name: source for name, (source, _) in logs.items()}, {"streams": dict(streams)})


@pytest.fixture(scope="module")
def fed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Product, list[dict[str, Any]]]:
    """Two runs in micro-batches of three objects; the first crashes while it writes streams."""
    product = made(tmp_path_factory.mktemp("intervals"))
    return product, feed(product, LOGS, max_files=3, crashes=[WhileClosing(4)])


@pytest.fixture
def product(fed: tuple[Product, list[dict[str, Any]]]) -> Product:
    return fed[0]


def test_rows_are_the_oracles(product):
    met: Counter[tuple[str, ...]] = Counter()
    for name, (source, runs) in LOGS.items():
        outcome = oracle.judge(source, runs)
        assert verdicts(product.events(name), *EXACT) == expected(outcome, *EXACT), name
        met.update(verdict.reasons for verdict in outcome.verdicts)
    ways = (("late",), ("out_of_order",), ("late", "out_of_order"))
    assert min(met[*way, "empty"] for way in ways) > 0, met
    assert min(met[way] for way in (*ways, ("early",), ("invalid_time",), ())) > 4, met
    hold_conservation(product)


def test_streams_are_the_oracles(fed):
    product, said = fed
    found = hold_runs(product, said, flow(LOGS, STEPS, payload), STEPS, columns)
    assert min(found[name] for name in STEPS) > 4, found
    assert product.table("dead_letters/later")


@pytest.mark.long
@pytest.mark.parametrize("source", ["landing", "events"])
def test_a_replay_gives_each_row_its_fate_again(request, spark, product, source):
    """In compiled code and several tasks, which cut a partition; and from events, in public ways."""
    request.getfixturevalue("compiled" if source == "landing" else "public_ways")
    options: dict[str, Any] = {"tasks": 3, "cell_bits": 1} if source == "landing" else {}
    pipeline = product.pipeline()
    pipeline.context.__dict__["engine"] = Engine(spark, pipeline.ledger.folder, **options)
    found = pipeline.replay(all_batches=True, input=source)
    assert found["identical"], [batch["differences"] for batch in found["batches"]]


def test_counts_rows_and_stories_name_what_was_moved_to_its_end(product):
    pipeline = product.pipeline()
    emptied = [row for name in SOURCES for row in product.events(name) if "empty" in row["_reasons"]]
    assert sum(each["by_reason"].get("empty", 0) for each in pipeline.status()["runs"]) == len(emptied)
    for name in ("moved", "keyed"):
        mine = [row for row in product.events(name) if "empty" in row["_reasons"]]
        found = pipeline.rows(source=name, reason="empty")
        assert (found["total"], {row["disposition"] for row in found["rows"]}) == (len(mine), {"dropped"})
        story = pipeline.explain(name, found["rows"][0]["partition"], found["rows"][0]["offset"])
        step = story["steps"][-1]
        assert (step["step"], step["outcome"], step["reference"]) == ("empty", "dropped", story["row"]["end_time"])
        assert step["time"] >= step["reference"]
        assert story["on_time_with"]


def test_the_audit_judges_intervals_too(product):
    found = product.pipeline().verify(everything=True)
    assert (found["sound"], found["findings"]) == (True, [])
    assert found["judged"] == sum(len(product.events(name)) for name in SOURCES)


@pytest.mark.long
def test_a_bounded_backfill_under_other_tolerances_is_that_of_two_whole_runs(tmp_path):
    _, runs = LOGS["moved"]
    other = replace(MOVED, late=(2 * SECOND, "adjust"), out_of_order=(0, "adjust"))
    hold_case(tmp_path, Case(Log(MOVED, runs), other, at(32), at(50)))


@pytest.mark.long
def test_law_4_intervals_from_a_start_on_are_those_of_a_run_from_the_beginning(tmp_path):
    names = ("both", "over", "visits")
    logs_ = {name: LOGS[name] for name in ("moved", "keyed")}
    streams = {name: STREAMS[name] for name in names}
    started = {name: (replace(source, start=at(40)), runs) for name, (source, runs) in logs_.items()}
    product, full = made(tmp_path / "started", started, streams), made(tmp_path / "full", logs_, streams)
    feed(product, started)
    feed(full, logs_)
    for name in names:
        later, found = (sum(written(each, STEPS[name], name).values(), Counter()) for each in (full, product))
        assert found == {row: times for row, times in later.items() if row[0][1] > at(40)} != {}, name


@pytest.mark.long
def test_law_1_intervals_do_not_depend_on_how_the_log_is_cut_into_runs(tmp_path):
    source = replace(MOVED, landing_delay=20 * SECOND, partitions=("0", "1"))
    streams, tables = {"over": declared(OVER, "a", SELECTED)}, []
    ((first, second),) = drawn(cut_twice(source), 1)
    last = max(run.as_of for runs in (first, second) for run in runs)
    for which, runs in enumerate((first, second)):
        logs_: Logs = {"a": (source, (*runs, Run(last + 60 * SECOND, close=True)))}
        product = made(tmp_path / str(which), logs_, streams)
        feed(product, logs_)
        fates = verdicts(product.events("a"), *EXACT)
        tables.append((fates, sum(written(product, STEPS["over"], "over").values(), Counter())))
    assert tables[0] == tables[1]
    assert "empty" in {reason for row in tables[0][0] for reason in row[6]}
