"""Plans that are built once and bound to later micro-batches of their shape."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import functions as F
from samples import KEYED, PLAIN, at, contents, obj, plans_of, shuffled_into

import oracle
from oracle import SECOND, Obj, Row, Run
from product import Product, expected, verdicts
from tidemark.errors import TidemarkError
from tidemark.spark.judge import plan_cache, planner
from tidemark.spark.local_frames import local_frame
from tidemark.spark.micro_batch import MicroBatch
from tidemark.spark.partitioning import layout, shuffle
from tidemark.spark.read import unreadable
from tidemark.spark.tables import delta

pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The batches whose plans were built, none being kept from before."""
    batches: list[int] = []
    whole = planner.Builder._planned

    def planned(self: planner.Builder, batch: MicroBatch, *more: Any) -> Any:
        batches.append(batch.number)
        return whole(self, batch, *more)

    monkeypatch.setattr(planner.Builder, "_planned", planned)
    plan_cache._PLANS.clear()
    yield batches
    plan_cache._PLANS.clear()


def log(count: int) -> list[Run]:
    return [Run(at(10 * number + 9), (obj(f"{number:02}", 10 * number + 5),)) for number in range(count)]


def test_micro_batches_of_one_shape_have_one_plan_and_the_rows_of_the_oracle(tmp_path, built):
    runs = log(4)
    product = Product(tmp_path, {"s": PLAIN})
    product.feed("s", runs)
    assert built == [1]
    assert verdicts(product.events("s")) == expected(oracle.judge(PLAIN, runs))


def test_what_is_bound_is_what_would_be_built(tmp_path, built, monkeypatch):
    runs = log(4)
    bound, fresh = Product(tmp_path / "bound", {"s": PLAIN}), Product(tmp_path / "fresh", {"s": PLAIN})
    bound.feed("s", runs)
    monkeypatch.setattr(plan_cache.Plans, "take", lambda *_: None)
    fresh.feed("s", runs)
    assert built == [1, 1, 2, 3, 4]
    assert contents(bound) == contents(fresh)


EVEN, LONE = ("p0", "p1", "p2"), ("p0",)


def several_tasks(monkeypatch: pytest.MonkeyPatch, cores: int = 2, tasks: int = 3) -> None:
    """`tasks` judge each micro-batch; hot is a partition that has more rows than one of `cores` has to judge."""
    monkeypatch.setattr(planner.Builder, "_tasks", lambda *_: tasks)
    monkeypatch.setattr(planner.Builder, "_skewed_share", lambda *_: 1 / cores)


def mixed(*mixes: tuple[str, ...]) -> list[Run]:
    """Runs with as many rows, of other partitions."""
    return [
        Run(at(10 * number + 9), (obj(f"{number:02}", 10 * number + 5, 40, mix),)) for number, mix in enumerate(mixes)
    ]


def test_plans_of_several_tasks_are_told_where_partitions_go(tmp_path, built, monkeypatch):
    runs = mixed(("p0", "p1"), ("p1", "p2"), ("p2", "p0", "p0"), ("p0", "p1", "p2"))
    several_tasks(monkeypatch, 1)
    bound, fresh = Product(tmp_path / "bound", {"s": PLAIN}), Product(tmp_path / "fresh", {"s": PLAIN})
    bound.feed("s", runs)
    assert built == [1]
    assert verdicts(bound.events("s")) == expected(oracle.judge(PLAIN, runs))
    monkeypatch.setattr(plan_cache.Plans, "take", lambda *_: None)
    fresh.feed("s", runs)
    assert built == [1, 1, 2, 3, 4]
    assert contents(bound) == contents(fresh)


@pytest.mark.parametrize("tasks", [2, 3, 4])
def test_rows_of_several_tasks_cross_a_shuffle_however_many_these_are(tmp_path, monkeypatch, tasks):
    """Rows that are cheap to decode, too, so that what a run costs has one shape on any number of cores."""
    plans = plans_of(monkeypatch, "events/s", shuffled_into)
    monkeypatch.setattr(planner, "_is_text", lambda _: False)
    several_tasks(monkeypatch, tasks=tasks)
    Product(tmp_path, {"s": PLAIN}).feed("s", mixed(EVEN, EVEN))
    assert plans == [(True, tasks)] * 2


def test_a_hot_partition_is_cut_from_the_micro_batch_after_on(tmp_path, built, monkeypatch):
    runs = mixed(EVEN, EVEN, LONE, LONE, LONE, EVEN, EVEN)
    several_tasks(monkeypatch)
    product = Product(tmp_path, {"s": PLAIN})
    product.feed("s", runs)
    assert built == [1, 4, 5, 6], "those before which a partition was hot, which one without a plan kept looks for"
    assert verdicts(product.events("s")) == expected(oracle.judge(PLAIN, runs))


def test_partitions_go_where_those_of_the_micro_batch_before_would_have_gone_best(tmp_path, built, monkeypatch):
    taken, set_tasks = [], shuffle.PartitionTasks.set
    monkeypatch.setattr(
        shuffle.PartitionTasks, "set", lambda self, tasks: (taken.append(dict(tasks)), set_tasks(self, tasks))
    )
    several_tasks(monkeypatch, 1)
    product = Product(tmp_path, {"s": PLAIN})
    product.feed("s", mixed(("p0", "p0", "p1", "p1", "p2"), ("p2", "p2", "p1", "p1", "p0"), ("p0", "p1", "p2")))
    sizes = [Counter(r["_partition"] for r in product.events("s") if r["_batch_id"] == batch) for batch in (1, 2)]
    first, second = (layout.balanced(each, 3) for each in sizes)
    assert first != second
    assert taken == [first, first, second], "the first looks how large they are"
    assert built == [1]


def test_a_partition_without_a_state_starts_where_the_run_before_ended(tmp_path, built):
    source = replace(PLAIN, partitions=("p0",), landing_delay=0)
    early = Row("p0", at(100), at(100)), Row("p0", at(101), at(101))
    late = Row("new", at(90), at(109)), Row("p0", at(109), at(109))
    runs = [
        Run(at(105), (Obj("a", at(104), early),)),
        Run(at(115), (Obj("b", at(110), late),)),
        Run(at(125), (Obj("c", at(120), (Row("newer", at(95), at(119)),)),)),
    ]
    product = Product(tmp_path, {"s": source})
    product.feed("s", runs)
    found = {row["_partition"]: row["_watermark"] for row in product.events("s") if row["_partition"] != "p0"}
    assert built == [1]
    assert None not in found.values()
    assert found["new"] < found["newer"]
    assert verdicts(product.events("s"), "_watermark") == expected(oracle.judge(source, runs), "_watermark")


def test_sources_and_rules_of_their_own_have_plans_of_their_own(tmp_path, built):
    for number, source in enumerate((PLAIN, replace(PLAIN, late=(4 * SECOND, "adjust")))):
        product = Product(tmp_path / str(number), {"s": source})
        product.feed("s", log(2))
        assert verdicts(product.events("s")) == expected(oracle.judge(source, log(2)))
    assert built == [1, 1]


def test_what_is_looked_up_in_tables_is_built_each_time(tmp_path, built):
    product = Product(tmp_path, {"s": KEYED})
    product.feed("s", log(2))
    assert built == [1, 2]
    assert verdicts(product.events("s")) == expected(oracle.judge(KEYED, log(2)))


def test_the_plan_of_a_job_that_failed_is_not_kept(tmp_path, built, monkeypatch):
    runs, whole, interval = log(3), delta._appended, sys.getswitchinterval()
    product = Product(tmp_path, {"s": PLAIN})
    product.feed("s", runs[:1])

    def failing(rows: Any, place: str, batch_id: int, *more: Any) -> Any:
        if batch_id == 2 and place.endswith("events/s"):
            raise OSError("the disk is gone")
        return whole(rows, place, batch_id, *more)

    monkeypatch.setattr(delta, "_appended", failing)
    with pytest.raises(TidemarkError, match="is planned and fails: OSError: the disk is gone"):
        product.feed("s", runs[1:2])
    assert sys.getswitchinterval() == interval, "threads of the process take turns as before"
    monkeypatch.setattr(delta, "_appended", whole)
    product.feed("s", runs[2:])
    assert built == [1, 2], "the repair builds its own, which the run after it takes"
    assert verdicts(product.events("s")) == expected(oracle.judge(PLAIN, runs))


def test_an_object_that_cannot_be_read_is_found_in_a_bound_plan_too(tmp_path, built):
    product = Product(tmp_path, {"s": PLAIN})
    product.feed("s", log(1))
    product.land("s", [obj("01", 15)])
    gone = product.folder / "landing" / "s" / "02.gz"
    gone.write_bytes(b"\x1f\x8b no archive")
    os.utime(gone, ns=(at(15) * 1000, at(15) * 1000))
    product.run(at(19))
    whole = [row for row in product.events("s") if row["_file"].endswith("02.gz")]
    assert [row["_disposition"] for row in whole] == ["quarantined"]
    assert built == [1, 2], "with what cannot be read it is another plan"


def test_an_object_that_goes_before_a_bound_plan_reads_it_is_missed(tmp_path, built, monkeypatch):
    product, gone = Product(tmp_path, {"s": PLAIN}), unreadable.gone
    product.feed("s", log(1))
    product.land("s", [obj("01", 15), obj("02", 15)])
    lost = [product.folder / "landing" / "s" / "02"]

    def going(objects: Any) -> Any:
        found = gone(objects)
        if lost:
            lost.pop().unlink()
        return found

    monkeypatch.setattr(unreadable, "gone", going)
    told = product.run(at(19))
    assert (built, lost) == ([1, 2], [])
    assert told["batches"][0]["rows"] == 12
    assert {row["uri"]: row["state"] for row in product.table("objects") if row["batch_id"] == 2} == {
        "01": "read",
        "02": "vanished",
    }


def test_most_plans_are_let_go_of():
    plans = plan_cache.Plans()
    shapes = [plan_cache.BatchPlanKey(None, None, number, 0) for number in range(plan_cache.MOST_KEPT + 2)]  # type: ignore[arg-type]
    for number, shape in enumerate(shapes):
        plans.put(shape, number)  # type: ignore[arg-type]
    assert [plans.take(shape) for shape in shapes[:3]] == [None, None, 2]
    assert plans.take(shapes[2]) is None, "it serves one job at a time"


def test_leaves_that_a_plan_does_not_have_are_an_error(quick, tmp_path):
    def small(name: str) -> Any:
        return local_frame(quick, [(1,)], [(name, pa.int64())])

    one, other = tmp_path / "one", tmp_path / "other file"
    one.write_text("1\n")
    other.write_text("2\n3\n")
    plan = quick.read.text(str(one)).where(F.col("value") > "0").crossJoin(small("y"))
    bound = plan_cache.bound(plan, [str(one), str(other)], [small("y")])
    assert sorted(row[0] for row in bound.collect()) == ["1", "2", "3"]
    for wrong in ([], ["z"], ["y", "z"]):
        with pytest.raises(Py4JJavaError, match=r"the leaf|the plan has"):
            plan_cache.bound(plan, [str(one)], [small(name) for name in wrong])
    with pytest.raises(Py4JJavaError, match="the plan has"):
        plan_cache.bound(small("y"), [str(one)], [small("y")])
    with pytest.raises(Py4JJavaError, match="there are only"):
        plan_cache.bound(plan, [str(one), str(tmp_path / "none")], [small("y")])
