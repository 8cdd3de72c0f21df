"""The tamper drill: every random edit of a warehouse is found, and the finding names its table and batch."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from product import Product
from samples import KEYED, PLAIN, at, obj
from tampering import Drill, copied
from tidemark_verify.check import Warehouse

pytestmark = pytest.mark.spark
STREAMS = {
    "all": {"from": "keyed", "publish": True},
    "per_4s": {"from": "plain", "tumbling": "4s", "group_by": ["k"], "select": {"n": "count(*)"}},
}


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory, spark) -> tuple[Path, str]:
    """Six batches of two sources with streams, and the head of their chain."""
    settings = {"streams": STREAMS, "micro_batch": {"max_files": 2}}
    product = Product(tmp_path_factory.mktemp("drill"), {"keyed": KEYED, "plain": PLAIN}, settings)
    head = ""
    for run in range(3):
        for number in range(2):
            seconds = 10 * run + 4 * number + 4
            product.land("keyed", [obj(f"k{run}{number}.json", seconds)])
            product.land("plain", [obj(f"p{run}{number}.json", seconds)])
        head = product.run(at(10 * run + 12))["chain"]
    return product.folder / "warehouse" / "tested", head


def test_an_untouched_warehouse_is_sound(warehouse):
    root, head = warehouse
    found = Warehouse(root, everything=True)
    found.check(head)
    assert found.found == []
    assert found.judged == sum(row["rows"] for row in found.chain.batches)
    assert found.chain.head == head
    assert len(found.chain.committed) == 6


def drill(warehouse: tuple[Path, str], folder: Path, seeds: range) -> None:
    root, head = warehouse
    missed = []
    for seed in seeds:
        place = copied(root, folder / str(seed))
        made = Drill(place / "v1", Random(seed)).edit()  # noqa: S311 - the same edits each time
        audit = Warehouse(place)
        audit.check(head)
        if not any(flaw.table == made.table and flaw.batch_id in made.batches for flaw in audit.found):
            missed.append((seed, made, [(flaw.table, flaw.batch_id, flaw.message) for flaw in audit.found][:5]))
    assert missed == []


def test_sixty_edits_are_found_and_placed(warehouse, tmp_path):
    drill(warehouse, tmp_path, range(60))


@pytest.mark.long
@pytest.mark.parametrize("first", range(60, 1000, 94))
def test_a_thousand_edits_are_found_and_placed(warehouse, tmp_path, first):
    drill(warehouse, tmp_path, range(first, first + 94))
