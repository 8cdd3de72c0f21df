"""A warehouse of which retention has deleted rows is sound, and what is left of it is still judged again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable, write_deltalake

from oracle import SECOND, Obj, Row, Run, Source
from product import DAY, Product
from tidemark_verify.check import Warehouse

BASE = 1_767_225_600 * SECOND
PLAIN = Source(late=(3 * DAY, "adjust"), out_of_order=(60 * SECOND, "adjust"), partitions=("p", "q"))
KEYED = Source(late=(DAY, "drop"), out_of_order=(0, "adjust"), partitions=("p",), over=True)
STREAMS = {
    f"of_{name}": {"from": name, "tumbling": "36h", "select": {"n": "count(*)"}} for name in ("plain", "keyed")
}
"""Windows of a day and a half: of a day whose rows are deleted, those that end after an open one's begin stay."""


def runs(seed: int) -> Iterator[Run]:
    """Runs of two days each, whose rows are up to a day late, and partly broken."""
    dice = Random(seed)  # noqa: S311 - the same rows each time
    for number in range(4):
        rows = []
        for arrival in sorted(
            BASE + (2 * number * DAY) + dice.randrange(2 * DAY // SECOND) * SECOND for _ in range(40)
        ):
            event = arrival - dice.choice((0, 30, 90, 3600, 80_000)) * SECOND
            partition = dice.choice("pq" if seed == 1 else "p")
            rows.append(Row(partition, event, arrival, dice.choice("abc"), broken=dice.random() < 0.1))
        landed = BASE + 2 * (number + 1) * DAY
        yield Run(landed + SECOND, (Obj(f"{seed}{number}", landed, tuple(rows)),))


@dataclass(frozen=True)
class Kept:
    product: Product

    def flaws(self) -> list[str]:
        warehouse = Warehouse(self.product.folder / "warehouse" / "tested", everything=True)
        warehouse.check()
        return [f"{flaw.kind} of {flaw.table}: {flaw.message}" for flaw in warehouse.found]


@pytest.fixture(scope="module")
def kept(request, tmp_path_factory) -> Kept:
    request.getfixturevalue("quick")
    settings = {"streams": STREAMS, "retention": {"events": "1d"}}
    product = Product(tmp_path_factory.mktemp("deleted") / "p", {"plain": PLAIN, "keyed": KEYED}, settings)
    for plain, keyed in zip(runs(1), runs(2), strict=True):
        product.land("plain", plain.objects)
        product.land("keyed", keyed.objects)
        product.run(plain.as_of)
    return Kept(product)


def test_rows_are_deleted_from_the_begin_and_the_middle_of_batches(kept):
    offsets = [row["_offset"] for row in kept.product.events("keyed") if row["_partition"] == "p"]
    assert 40 < len(offsets) + min(offsets) < max(offsets) + 1, "the first are gone, and some between others"


def test_what_is_left_is_sound(kept):
    assert kept.flaws() == []


def test_a_changed_time_among_the_rows_that_are_left_is_found(kept):
    table = kept.product.folder_of("events/keyed")
    rows = DeltaTable(table).to_pyarrow_table()
    on_time = rows.filter(pc.field("_disposition") == "on_time")
    last = max(on_time["_offset"].to_pylist())
    changed = pc.equal(rows["_offset"], pa.scalar(last))
    moved = pc.add(rows["_system_timestamp"], pa.scalar(1, pa.duration("us")))
    column = rows.schema.get_field_index("_system_timestamp")
    edited = rows.set_column(column, "_system_timestamp", pc.if_else(changed, moved, rows["_system_timestamp"]))
    write_deltalake(str(table), edited, mode="overwrite")
    assert any(f"offset {last}: on_time" in flaw for flaw in kept.flaws())
