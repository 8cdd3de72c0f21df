"""Hot partitions of punctuated sources, and what is imported, are shared out to tasks, and nothing else changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from bench.tasks import last_stage, stages_since
from hypothesis import strategies as st
from samples import drawn, feed
from test_punctuation import FOLLOWED, hold_equal, hold_replay, one_closing

from oracle import SECOND, Obj
from oracle_punctuation import Log, Row, Source
from product import Product
from strategies import BASE, TICK
from strategies_punctuation import logs, sources
from tidemark.spark.partitioning.layout import Layout

pytestmark = pytest.mark.usefixtures("quick")
SPLITS = {"spark.sql.files.maxPartitionBytes": "700b", "spark.sql.files.openCostInBytes": "1b"}
"""Session settings that cut every file into many splits."""
HOT = ("p0",) * 9 + ("p1",)
_TASKS = 3

COUNTED = Source(count=3, delay=2 * SECOND, rows=True, single=True, clock_skew=SECOND)
EACH = Source("adjust", "interval", count=1, delay=-TICK, partitions=("p0", "p1"))
PERIODS = Source("adjust", "interval", period=4 * SECOND, delay=3 * SECOND, rows=True, partitions=("p0", "p1"))
EDGES = Source("adjust", "edge", count=2, delay=6 * SECOND, import_from="followed", partitions=("p0",))
CHAINED = Source("adjust", "edge", period=5 * SECOND, import_from="edges", rows=True, single=True)
LANDED = Source(import_from="counted", arrival_column=False, partitions=("p1",))
ALL = {
    "counted": COUNTED,
    "each": EACH,
    "periods": PERIODS,
    "edges": EDGES,
    "chained": CHAINED,
    "landed": LANDED,
    "both": Source("adjust", "interval", import_from=("chained", "followed"), partitions=("p0",)),
    "followed": replace(FOLLOWED, partitions=("p0", "p1")),
}


class ByArrival(Source):
    """A source whose rows have no event time but their arrival."""

    def declared(self) -> dict[str, Any]:
        return {key: value for key, value in super().declared().items() if key != "timestamp_by"}


@dataclass
class Shared(Product):
    """A product whose engine cuts hot partitions as small as can be, and spreads rows over so many tasks."""

    tasks: int = _TASKS
    bits: int = 1

    def pipeline(self) -> Any:
        pipeline = super().pipeline()
        pipeline.context.__dict__["engine"] = replace(pipeline.context.engine, tasks=self.tasks, cell_bits=self.bits)
        return pipeline


@pytest.fixture
def cut(monkeypatch) -> list[Layout]:
    """The layouts with skewed partitions that are made in a test."""
    from tidemark.spark.judge import planner

    made: list[Layout] = []
    whole = planner.cut_skewed
    monkeypatch.setattr(planner, "cut_skewed", lambda *given: made.append(whole(*given)) or made[-1])
    return made


@pytest.fixture
def splits(spark) -> Iterator[None]:
    for key, value in SPLITS.items():
        spark.conf.set(key, value)
    yield
    for key in SPLITS:
        spark.conf.unset(key)


def hold_shared(folder: Path, given: dict[str, Log], where: str, **options: Any) -> None:
    """Rows, states, counts and findings are the oracle's, and a replay with another number of tasks is identical."""
    given = one_closing(given)
    product = Shared(folder, {name: source for name, (source, _) in given.items()})  # type: ignore[misc]
    feed(product, given, **options)
    hold_equal(product, given)
    product.tasks = 2
    hold_replay(product, input=where)


@pytest.mark.usefixtures("splits", "scattered")
@pytest.mark.parametrize(
    ("names", "where"),
    [
        pytest.param(("counted", "periods"), "landing", id="count and period"),
        pytest.param(("counted", "landed"), "events", id="imported, few arrivals", marks=pytest.mark.long),
        pytest.param(
            ("each", "edges", "chained", "both", "followed"),
            "events",
            marks=pytest.mark.long,
            id="imported, by way of another and of two",
        ),
    ],
)
def test_hot_partitions_equal_the_oracle_however_they_are_cut(tmp_path, cut, names, where):
    (given,) = drawn(logs({name: ALL[name] for name in names}, HOT, rows=14, least=1), 1)
    hold_shared(tmp_path, given, where, max_files=2)
    assert max(len(layout.chunks) for layout in cut) > 2 * _TASKS


@st.composite
def any_sources(draw: st.DrawFn) -> dict[str, Log]:
    """Sources of each shape with all that may be combined, two of them after others."""
    points = draw(sources("point", draw(st.sampled_from((None, "followed"))), single=True))
    edges = draw(sources("edge", draw(st.sampled_from((None, "points"))), partitions=("p0", "p1")))
    below = draw(st.sampled_from((None, "edges", ("edges", "followed"), ("followed", "points"))))
    intervals = draw(sources("interval", below, partitions=("p0",)))
    given = {"points": points, "edges": edges, "intervals": intervals, "followed": ALL["followed"]}
    return draw(logs(given, HOT, rows=15))


@pytest.mark.long
@pytest.mark.usefixtures("splits", "scattered")
def test_any_hot_punctuated_sources_equal_the_oracle(tmp_path):
    for number, given in enumerate(drawn(any_sources(), 1)):
        hold_shared(tmp_path / str(number), given, ("landing", "events")[number % 2], max_files=2)


@pytest.mark.long
def test_periods_of_arrivals_are_entered_alike_in_one_task_and_in_several(tmp_path, cut):
    product = Shared(tmp_path, {"s": ByArrival(period=4 * SECOND, delay=3 * SECOND, partitions=("p0", "p1"))})
    for number in (1, 2, 3):
        product.land("s", [Obj(f"{number}", BASE + 20 * number * SECOND, points(number, 60, 20 * number))])
        product.run(BASE + 20 * number * SECOND)
    assert max(len(layout.chunks) for layout in cut) > 2 * _TASKS
    for tasks, where in ((1, "landing"), (1, "events"), (4, "events")):
        product.tasks = tasks
        hold_replay(product, input=where)
    watermarks = {row["_watermark"] for row in product.events("s")}
    assert len(watermarks) > 4


def points(seed: int, count: int, until: int) -> tuple[Row, ...]:
    """Rows that arrive within 20 s, in any order; their event times are a little before."""
    dice = Random(seed)  # noqa: S311 - the same rows each time
    made = []
    for _ in range(count):
        arrival = BASE + round((until - 20 * dice.random()) * SECOND)
        row = Row(dice.choice(HOT), arrival - dice.randint(0, 9) * SECOND, arrival, kind=None)
        made.append(replace(row, broken=True) if dice.random() < 0.1 else row)
    return tuple(made)


@pytest.fixture
def apart(spark) -> Iterator[None]:
    """Tasks that have little to do are not put together, so that rows are shared as many would be."""
    key = "spark.sql.adaptive.coalescePartitions.enabled"
    spark.conf.set(key, "false")
    yield
    spark.conf.unset(key)


@pytest.mark.usefixtures("apart")
def test_no_task_has_more_than_twice_the_mean_rows_of_a_hot_partition(spark, tmp_path):
    declared: Any = {
        "edges": replace(EDGES, import_from="counted", partitions=()),
        "counted": replace(COUNTED, count=7),
        "one": replace(COUNTED, count=7, import_from="counted", rows=False, arrival_column=False),
    }
    rows, until = 4000, BASE + 600 * SECOND
    product = Shared(tmp_path, declared, tasks=4, bits=4)
    for name in declared:
        product.land(name, [Obj("a", until, hot_rows(name, rows))])
    before = last_stage(spark)
    product.run(until)
    stages = stages_since(spark, before, rows)
    assert len(stages) > 10, stages
    assert [stage for stage in stages if stage.skew > 2] == []


def hot_rows(name: str, count: int) -> tuple[Row, ...]:
    """Rows of one partition, of edges each second one an end edge."""
    made = []
    for number in range(count):
        time = BASE + number * (500 * SECOND // count)
        row = Row("p0", time, time, f"{number // 2 % 50}", kind="start" if name == "edges" else None)
        if name == "edges" and number % 2:
            start = made[-1].event or 0
            row = replace(row, event=start, kind="end", end=time + SECOND)
        made.append(row)
    return tuple(made)
