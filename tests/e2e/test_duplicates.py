"""Requirements and duplicates (time rules: before judging), of rows that meet their bounds."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

import oracle
from oracle import SECOND, Obj, Row, Run, Source
from product import Product, expected, verdicts
from strategies import at

EXACT = ("_watermark", "_substream")
STRICT = Source(
    early=(5 * SECOND, "adjust"),
    late=(20 * SECOND, "adjust"),
    out_of_order=(2 * SECOND, "adjust"),
    partitions=("p", "q"),
    require=True,
    by=("k",),
    within=10 * SECOND,
)


def row(name: str, second: float, key: str | None, event: float | None = None) -> Row:
    return Row(name, at(second if event is None else event), at(second), key)


def test_first_rows(tmp_path):
    rows = (row("p", 1, "a"), row("p", 2, "a"), row("p", 3, None), row("p", 4, "b"), row("q", 5, "a"), row("p", 12, "a"), row("p", 11.9, "c"), row("p", 22, "a"))
    runs = (Run(at(30), (Obj("1", at(25), rows),)), Run(at(40), (Obj("2", at(35), (row("p", 31.9, "a"), row("p", 32, "a", 20))),)))
    product = Product(tmp_path, {"s": STRICT})
    product.feed("s", runs)
    assert verdicts(product.events("s"), *EXACT) == expected(oracle.judge(STRICT, runs), *EXACT)
    print(product.table("seen/s"))
    print(product.table("batches")[-1]["further_reasons"])
    found = product.pipeline().replay(all_batches=True)
    assert found["identical"], found
    found = product.pipeline().replay(all_batches=True, input="events")
    assert found["identical"], found
