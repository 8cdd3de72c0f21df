"""The tamper drill: every random edit of a warehouse is found, and a finding names its table and batch."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from tampering import Drill, copied

from tidemark_verify.check import Warehouse

pytestmark = pytest.mark.spark


def test_an_untouched_warehouse_is_sound(made):
    found = Warehouse(made.product.folder / "warehouse" / "tested", everything=True)
    found.check(made.head)
    assert found.found == []
    assert found.judged == sum(row["rows"] for row in found.chain.batches) > 0
    assert found.chain.head == made.head
    assert len(found.chain.committed) == 6


def drill(made, folder: Path, seeds: range) -> None:
    missed = []
    for seed in seeds:
        place = copied(made.product.folder / "warehouse" / "tested", folder / str(seed))
        edit = Drill(place / "v1", Random(seed)).edit()  # noqa: S311 - the same edits each time
        audit = Warehouse(place)
        audit.check(made.head)
        if not any(flaw.table == edit.table and flaw.batch_id in edit.batches for flaw in audit.found):
            missed.append((seed, edit, [(flaw.table, flaw.batch_id, flaw.message) for flaw in audit.found][:5]))
    assert missed == []


def test_sixty_edits_are_found_and_placed(made, tmp_path):
    drill(made, tmp_path, range(60))


@pytest.mark.long
@pytest.mark.parametrize("first", range(60, 1000, 94))
def test_a_thousand_edits_are_found_and_placed(made, tmp_path, first):
    drill(made, tmp_path, range(first, first + 94))
