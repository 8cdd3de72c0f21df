"""A pipeline that a notebook or a service keeps, while other processes change what is live: it sees what is there."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest
from samples import PLAIN, at, obj

from product import Product, iso
from tidemark.commands.dashboard.causes import causes_of_run
from tidemark.commands.dashboard.pages import Pages

pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture
def product(tmp_path: Path) -> Product:
    made = Product(tmp_path, {"s": PLAIN})
    made.land("s", [obj("a", 10), obj("b", 11)])
    made.run(at(12))
    return made


def built(product: Product) -> int:
    return product.pipeline().backfill(iso(at(0)))["version"]


def rows_of(product: Product, version: int) -> int:
    return len(Product(product.folder, product.sources, version=version).events("s"))


def test_it_reads_and_writes_the_version_that_others_have_made_live(product):
    kept = product.pipeline()
    assert kept.table("events/s").count_rows() == rows_of(product, 1) == 24
    assert kept.replay()["identical"]
    product.pipeline().promote(built(product))
    product.land("s", [obj("c", 13)])
    assert [batch["batch_id"] for batch in kept.run(at(14))["batches"]] == [2]
    assert (rows_of(product, 1), rows_of(product, 2)) == (24, 36)
    assert kept.table("events/s").count_rows() == 36
    assert [each["version"] for each in kept.versions()["versions"] if each["live"]] == [2]
    assert product.pipeline().promote(1)["brought_up"] == [2]
    assert kept.status()["runs"] == product.pipeline().status()["runs"]
    assert rows_of(product, 1) == 36
    assert kept.replay(all_batches=True)["identical"]


def test_a_run_that_waits_for_a_promotion_goes_on_in_the_promoted_version(product):
    version = built(product)
    waiting = product.pipeline()
    assert waiting.table("events/s").count_rows() == 24
    product.land("s", [obj("c", 13)])
    thread = threading.Thread(target=lambda: waiting.run(at(14), wait=True))
    begun = threading.Event()

    def on_checkpoint(step: str) -> None:
        if step == "brought up":
            waiting.context.on_checkpoint = lambda _: None
            thread.start()
            begun.wait(0.3)

    product.hooks = {"on_checkpoint": on_checkpoint}
    product.pipeline().promote(version)
    thread.join(120)
    assert (rows_of(product, 1), rows_of(product, version)) == (24, 36)


def test_it_sees_a_warehouse_that_was_made_anew(product):
    kept = product.pipeline()
    assert kept.table("events/s").count_rows() == 24
    before = causes_of_run(Pages.open(kept.spec).reader, None)
    shutil.rmtree(product.folder / "warehouse")
    assert kept.status()["runs"] == []
    shutil.rmtree(product.folder / "landing" / "s")
    product.land("s", [obj("d", 10), obj("e", 11, 200)])
    run_id = product.run(at(12))["run_id"]
    assert kept.table("events/s").count_rows() == rows_of(product, 1) == 212
    assert kept.status()["runs"] == product.pipeline().status()["runs"]
    after = causes_of_run(Pages.open(kept.spec).reader, run_id)
    assert after.causes
    assert after != before


def test_it_sees_tables_that_another_process_has_repaired(product):
    product.land("s", [obj("c", 13)])
    product.run(at(14))
    kept = product.pipeline()
    row = next(row for row in product.events("s") if row["_disposition"] == "adjusted")
    story = kept.explain("s", row["_partition"], row["_offset"])
    assert kept.status()["damaged"] == []
    for table in ("watermarks", "objects"):
        (product.folder_of(table) / "_delta_log" / f"{1:020}.json").unlink()
    assert {each["table"] for each in product.pipeline().repair()["repaired"]} == {"watermarks", "objects"}
    assert kept.status()["damaged"] == []
    assert kept.explain("s", row["_partition"], row["_offset"]) == story
    product.land("s", [obj("d", 15)])
    assert product.run(at(16))["objects"] == 1
    assert kept.status()["runs"] == product.pipeline().status()["runs"]
    assert kept.replay(all_batches=True)["identical"]
    product.land("s", [obj("e", 17)])
    assert kept.run(at(18))["objects"] == 1
    assert kept.verify()["sound"]
