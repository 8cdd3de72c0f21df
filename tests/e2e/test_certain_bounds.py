"""Rows at the very watermark that may still turn out to be none bound no snapshot: what snapshots have does not
depend on how logs are cut into runs (law 1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from oracle import Obj, Row, Source
from product import Product
from strategies import at

pytestmark = pytest.mark.usefixtures("quick")
POINTS = Source(early=None, late=None, out_of_order=(0, "drop"), arrival_column=False, partitions=("0", "1"))
LIVES = {"lifetime": "10s"}
N = {"select": {"n": "count(*)"}}
STREAMS: dict[str, dict[str, Any]] = {
    "left": {"from": "a", **LIVES},
    "right": {"from": "b", **LIVES},
    "alone": {"join": ["left", "right"], "on": ["k"], "how": "anti", "select": {"k": "left.k"}},
    "all": {"join": ["left", "right"], "on": ["k"], "how": "left", "select": {"other": "right.k"}},
    "of_alone": {"from": "alone", "snapshot": {}, **N},
    "of_all": {"from": "all", "snapshot": {}, "group_by": ["other"], **N},
    "looked": {"from": "c", "preceding": {"within": "20s", "select": {"before": "last(k)"}}},
    "asked": {"from": "looked", "where": "before = 'y' AND k = 'q'", "lifetime": "10s"},
    "of_asked": {"from": "asked", "snapshot": {}, **N},
}
"""Whether a row of `a` is alone, and which row of `c` is before another, is not known until all rows of its time are
there."""
SNAPSHOTS = ("of_alone", "of_all", "of_asked")


def row(second: float, key: str, partition: str) -> Row:
    return Row(partition, at(second), None, key)


START = (row(0, "z", "0"), row(0, "y", "1"))
END = (row(40, "z", "0"), row(40, "y", "1"))
LANDED = {
    "a": ((*START, row(5, "u", "0"), row(5, "v", "1")), END),
    "b": ((row(5, "m", "0"), row(5, "n", "1")), (row(5, "u", "0"), row(5, "v", "1"), *END)),
    "c": ((*START, row(3, "q", "0"), row(5, "y", "0"), row(5, "q", "1")), (row(5, "x", "0"), *END)),
}
"""Rows of two objects: by the first, each source has reached second 5; by the second more rows of that time come."""


def made(folder: Path, runs: int) -> Product:
    """A pipeline that has taken both objects of each source in so many runs, and is closed."""
    product = Product(folder, dict.fromkeys(LANDED, POINTS), {"streams": STREAMS})
    for number in range(2):
        for name, rows in LANDED.items():
            product.land(name, [Obj(f"{number}", at(60 + number), rows[number])])
        if runs == 2:
            product.run(at(60 + number))
    product.pipeline().close(as_of=at(120))
    return product


def windows(product: Product, name: str) -> list[Any]:
    rows = product.table(f"streams/{name}")
    shown = [{key: value for key, value in each.items() if key != "_batch_id"} for each in rows]
    return sorted(shown, key=lambda each: (each["_window_start"], each["_window_end"], str(each)))


@pytest.fixture(scope="module")
def products(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bounds")
    return made(folder / "one", 1), made(folder / "two", 2)


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_snapshots_do_not_depend_on_the_run_that_brought_a_row_of_the_watermark(products, name):
    one, two = (windows(product, name) for product in products)
    assert one
    assert two == one
