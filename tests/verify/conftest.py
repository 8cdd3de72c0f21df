"""One warehouse for all tests of the audit."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from samples import KEYED, PLAIN, at, obj

from product import Product

STREAMS = {
    "all": {"from": "keyed", "publish": True},
    "per_4s": {"from": "plain", "tumbling": "4s", "group_by": ["k"], "select": {"n": "count(*)"}},
}


class Made(NamedTuple):
    """A pipeline that has run, and the head of its chain."""

    product: Product
    head: str


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory, spark: object) -> Made:
    """Six batches of two sources, in three runs, with streams."""
    del spark
    settings = {"streams": STREAMS, "micro_batch": {"max_files": 2}}
    product = Product(tmp_path_factory.mktemp("audited"), {"keyed": KEYED, "plain": PLAIN}, settings)
    head = ""
    for run in range(3):
        for number in range(2):
            seconds = 10 * run + 4 * number + 4
            product.land("keyed", [obj(f"k{run}{number}.json", seconds)])
            product.land("plain", [obj(f"p{run}{number}.json", seconds)])
        head = product.run(at(10 * run + 12))["chain"]
    return Made(product, head)
