"""Plans that close windows, built once and bound to the runs that follow."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from samples import at, contents, lines, plans_of
from test_closing_windows import SOURCE, STREAMS, minute

from oracle import SECOND, Obj, Row
from product import Product, declared
from tidemark.errors import TidemarkError
from tidemark.spark.streams import window_plans, writer
from tidemark.spark.tables import delta
from tidemark.spark.tables.file_pruning import SelectedFiles

pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The batches whose closing plans were built, none being kept from before."""
    batches: list[int] = []
    whole = writer.Outputs._closed_of

    def built_of(self: writer.Outputs, due: Any, *more: Any) -> Any:
        batches.append(due.last_batch)
        return whole(self, due, *more)

    monkeypatch.setattr(writer.Outputs, "_closed_of", built_of)
    window_plans._PLANS.clear()
    yield batches
    window_plans._PLANS.clear()


def feed(product: Product, *numbers: int) -> Product:
    for number in numbers:
        product.land("s", minute(number))
        product.run(at(60 * number + 60))
    return product


def streams(**changed: Any) -> dict[str, Any]:
    made = deepcopy(STREAMS)
    whole: dict[str, Any] = {**made["minutes"], **changed}
    if whole["from"] == "moved":
        moved = {"from": "s", "shift": "-10s", "where": "k <> '3'"}
        return {"streams": {"moved": moved, "minutes": whole}}
    return {"streams": {"minutes": {key: value for key, value in whole.items() if value is not None}}}


def told(product: Product) -> dict[str, list[str]]:
    """All tables, those of the stream among them."""
    return contents(product) | {
        name: lines(product.table(name)) for name in ("streams/minutes", "dead_letters/minutes")
    }


SHAPES: dict[str, dict[str, Any]] = {
    "tumbling": {},
    "hopping": {"tumbling": None, "hopping": {"size": "60s", "hop": "20s"}},
    "closing later": {"allowed_lateness": "15s"},
    "closing by time alone": {"idle_timeout": "90s"},
    "of some rows, moved": {"from": "moved"},
    "in any order": {"select": {"n": "count(*)", "most": "max(k)"}, "group_by": ["k"]},
}


_LONG = ("closing later", "closing by time alone", "in any order")


@pytest.mark.parametrize(
    "changed",
    [pytest.param(SHAPES[name], marks=[pytest.mark.long] * (name in _LONG), id=name) for name in SHAPES],
)
def test_what_is_bound_is_what_would_be_built(tmp_path, built, monkeypatch, changed):
    bound = feed(Product(tmp_path / "bound", {"s": SOURCE}, streams(**changed)), *range(5))
    assert built == [1, 2], "the first run had passed nothing before it"
    monkeypatch.setattr(writer, "files_for", lambda *_: None)
    fresh = feed(Product(tmp_path / "fresh", {"s": SOURCE}, streams(**changed)), *range(5))
    assert len(built) == 2
    assert len(bound.table("streams/minutes")) >= 3
    assert told(bound) == told(fresh)


@pytest.mark.parametrize("name", ["tumbling", "in any order"])
def test_what_several_tasks_read_is_bound_too(tmp_path, built, monkeypatch, name):
    """By the same plan, however many they are: one shuffle brings groups together."""
    changed = SHAPES[name]
    alone = feed(Product(tmp_path / "alone", {"s": SOURCE}, streams(**changed)), *range(4))
    shuffled = plans_of(monkeypatch, "streams/minutes", lambda plan: "Exchange" in plan.toString())
    monkeypatch.setattr(window_plans, "_ALONE_BYTES", 0)
    several = feed(Product(tmp_path / "several", {"s": SOURCE}, streams(**changed)), *range(4))
    assert built == [1, 2, 1, 2], "its plans are others"
    assert told(several) == told(alone)
    assert shuffled[1:] == [True] * 3


def test_one_task_reads_all_of_no_more_than_it_may_have_alone(tmp_path):
    """Where there is one core, too: what is larger is sorted piece by piece."""
    files = SelectedFiles(str(tmp_path), (), window_plans._ALONE_BYTES, "")
    assert window_plans._alone(files)
    assert not window_plans._alone(replace(files, size=files.size + 1))


def test_rows_behind_their_watermark_are_in_no_window_that_had_closed(tmp_path, built, monkeypatch):
    source = replace(SOURCE, late=None, out_of_order=(SECOND, "keep"))

    def product(name: str) -> Product:
        found = Product(tmp_path / name, {"s": source}, streams())
        for number in range(4):
            behind = [Row("0", at(60 * number - 5 * back), at(60 * number + 59), str(back)) for back in range(1, 16)]
            found.land("s", [*minute(number), Obj(f"{number}-z", at(60 * number + 59), tuple(behind))])
            found.run(at(60 * number + 60))
        return found

    bound = product("bound")
    assert built == [1, 2]
    monkeypatch.setattr(writer, "files_for", lambda *_: None)
    fresh = product("fresh")
    assert bound.table("dead_letters/minutes")
    assert told(bound) == told(fresh)


def test_other_configurations_have_plans_of_their_own(tmp_path, built):
    wanted = {"some": "k <> '3'", "others": "k = '3'"}
    products = {name: Product(tmp_path / name, {"s": SOURCE}, streams(where=text)) for name, text in wanted.items()}
    for number in range(4):
        for product in products.values():
            feed(product, number)
    assert built == [1, 1, 2, 2]
    found = {
        name: [set(row["every"]) for row in product.table("streams/minutes")] for name, product in products.items()
    }
    assert all("3" not in every for every in found["some"])
    assert found["others"] == [{"3"}] * 3
    products["some"].settings["micro_batch"] = {"max_files": 10}
    products["some"].write()
    feed(products["some"], 4)
    assert built == [1, 1, 2, 2, 5]


def test_a_table_with_another_column_has_a_plan_of_its_own(tmp_path, built):
    product = feed(Product(tmp_path, {"s": SOURCE}, streams()), 0, 1, 2)
    schema = declared(SOURCE)["schema"]
    product.write(s={"schema": f"{schema}, more STRING"})
    feed(product, 3, 4)
    assert built == [1, 2, 4]
    assert len(product.table("streams/minutes")) == 4


def test_two_pipelines_in_turns_get_windows_of_their_own(tmp_path, built):
    products = [Product(tmp_path / name, {"s": SOURCE}, streams()) for name in ("one", "other")]
    for number in range(4):
        feed(products[0], number)
        feed(products[1], number + 7)
    assert built == [1, 1, 2, 2]
    starts = [sorted(row["_window_start"] for row in product.table("streams/minutes")) for product in products]
    assert [(start[1] - start[0]).total_seconds() for start in starts] == [60, 60]
    assert (starts[1][0] - starts[0][0]).total_seconds() == 7 * 60
    alone = feed(Product(tmp_path / "alone", {"s": SOURCE}, streams()), *range(7, 11))
    assert lines(alone.table("streams/minutes")) == lines(products[1].table("streams/minutes"))


def test_the_plan_of_a_job_that_failed_is_not_kept(tmp_path, built, monkeypatch):
    whole = delta._appended
    product = feed(Product(tmp_path / "p", {"s": SOURCE}, streams()), 0, 1, 2)

    def failing(rows: Any, place: str, *more: Any) -> Any:
        if place.endswith("streams/minutes"):
            raise OSError("the disk is gone")
        return whole(rows, place, *more)

    monkeypatch.setattr(delta, "_appended", failing)
    with pytest.raises(TidemarkError, match="is planned and fails: OSError: the disk is gone"):
        feed(product, 3)
    monkeypatch.setattr(delta, "_appended", whole)
    feed(product, 4)
    assert built == [1, 2, 4, 5], "the repair is under the configuration as it was recorded"
    sound = feed(Product(tmp_path / "sound", {"s": SOURCE}, streams()), *range(5))
    assert lines(product.table("streams/minutes")) == lines(sound.table("streams/minutes"))


def test_replays_of_bound_windows_are_identical(tmp_path, built):
    product = feed(Product(tmp_path, {"s": SOURCE}, streams()), *range(4))
    verdicts = product.pipeline().replay(all_batches=True)
    assert built == [1, 2]
    assert verdicts["identical"] is True


def test_a_closing_plan_is_not_compiled_anew(tmp_path, compiled, built):
    times = compiled._jvm.org.apache.spark.metrics.source.CodegenMetrics.METRIC_COMPILATION_TIME()
    first = times.getCount()
    product = feed(Product(tmp_path, {"s": SOURCE}, streams()), 0, 1, 2)
    before = times.getCount()
    assert before > first
    feed(product, 3, 4)
    assert built == [1, 2]
    assert times.getCount() == before
