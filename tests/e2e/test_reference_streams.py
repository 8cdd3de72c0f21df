"""A slow stream of edges beside a fast stream of points: the example that importing punctuations comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import oracle
from oracle import SECOND, Obj
from oracle_punctuation import Row, Source
from product import Product, micros
from strategies import BASE

pytestmark = pytest.mark.usefixtures("quick")
FAST = oracle.Source(late=(2 * SECOND, "adjust"), single=True, landing_delay=5 * SECOND)
STREAMS = {
    "priced": {
        "join": ["fast", "slow"],
        "on": ["k"],
        "select": {"k": "fast.k", "since": "unix_micros(slow._system_timestamp)"},
    },
    "per_ten": {"from": "priced", "tumbling": "10s", "group_by": ["k"], "select": {"n": "count(*)"}},
}


def s(seconds: float) -> int:
    return BASE + round(seconds * SECOND)


def edges() -> tuple[Row, ...]:
    """`a` begins at 1 and again at 15, `b` begins at 4 and never ends; then nothing comes for ever."""
    return (
        Row(event=s(1), arrival=s(2), substream="a", kind="start"),
        Row(event=s(4), arrival=s(5), substream="b", kind="start"),
        Row(event=s(6), arrival=s(7), kind="cti"),
        Row(event=s(1), arrival=s(13), substream="a", kind="end", end=s(15)),
        Row(event=s(15), arrival=s(13), substream="a", kind="start"),
    )


def fed(folder: Path, import_from: str | None) -> tuple[Product, list[dict[str, Any]]]:
    """Points each second, of `a`, `b` and an unknown key in turns: 10 to 25 in the first run, 26 to 40 in the second,
    to which the slow source brings nothing."""
    slow = Source("drop", "edge", rows=True, import_from=import_from, single=True)
    product = Product(folder, {"fast": FAST, "slow": slow}, {"streams": STREAMS})  # type: ignore[dict-item]
    product.land("slow", [Obj("edges", s(30), edges())])
    said = []
    for number, seconds in enumerate((range(10, 26), range(26, 41))):
        points = tuple(oracle.Row("0", s(n), s(n), ("a", "b", "c")[n % 3]) for n in seconds)
        landed = s(seconds[-1] + 5)
        product.land("fast", [Obj(f"points-{number}", landed, points)])
        said.append(product.run(landed))
    return product, said


def pairs(product: Product, batch: int | None = None) -> list[tuple[str, int, int]]:
    rows = [row for row in product.table("streams/priced") if batch in (None, row["_batch_id"])]
    return sorted((row["k"], micros(row["_system_timestamp"]), row["since"]) for row in rows)


def expected(first: int, last: int) -> list[tuple[str, int, int]]:
    """The pairs of the points in [first, last], by hand."""
    of_a = [("a", s(n), s(1 if n < 15 else 15)) for n in range(first, last + 1) if n % 3 == 0]
    return of_a + [("b", s(n), s(4)) for n in range(first, last + 1) if n % 3 == 1]


def test_importing_the_fast_streams_punctuations_lets_a_join_keep_up_with_it(tmp_path):
    product, said = fed(tmp_path, "fast")
    assert [run["streams"]["priced"]["watermark"][-9:] for run in said] == ["00:00:25Z", "00:00:40Z"]
    batches = [run["batches"][-1]["batch_id"] for run in said]
    assert pairs(product, batches[0]) == expected(10, 24)
    assert pairs(product, batches[1]) == expected(25, 39)
    windows = {(row["k"], micros(row["_window_start"])): row["n"] for row in product.table("streams/per_ten")}
    assert windows == {
        (k, s(start)): n
        for k, start, n in (("a", 10, 3), ("b", 10, 4), ("a", 20, 3), ("b", 20, 3), ("a", 30, 4), ("b", 30, 3))
    }
    assert product.pipeline().replay(all_batches=True)["identical"]


def test_without_the_import_a_join_waits_for_the_slow_streams_own_punctuations(tmp_path):
    product, said = fed(tmp_path, None)
    assert [run["streams"]["priced"]["watermark"][-9:] for run in said] == ["00:00:06Z", "00:00:06Z"]
    assert pairs(product) == []
    assert product.table("streams/per_ten") == []
    closed = product.pipeline().close(as_of=s(60))
    assert not closed["streams"]["priced"]["complete"], "a punctuated source keeps its punctuation unless it is final"
    assert pairs(product) == []


def test_what_is_open_when_both_are_complete_is_written_without_an_end(tmp_path):
    slow = Source("drop", "edge", rows=True, final=True, single=True)
    streams = {
        "rates": {"from": "slow", "publish": True},
        "both": {"join": ["rates", "again"], "on": ["k"], "select": {"k": "rates.k"}},
        "again": {"from": "slow", "shift": "1s"},
    }
    product = Product(tmp_path, {"slow": slow}, {"streams": streams})  # type: ignore[dict-item]
    product.land("slow", [Obj("edges", s(30), edges())])
    product.pipeline().close(as_of=s(60))

    def lives(table: str) -> list[tuple[str, int, int | None]]:
        rows = product.table(table)
        ends = [None if row["_end_time"] is None else micros(row["_end_time"]) for row in rows]
        found = [(row["k"], micros(row["_system_timestamp"]), end) for row, end in zip(rows, ends, strict=True)]
        return sorted(found, key=repr)

    assert lives("streams/rates") == sorted([("a", s(1), s(15)), ("a", s(15), None), ("b", s(4), None)], key=repr)
    wanted = [("a", s(2), s(15)), ("a", s(15), s(16)), ("a", s(16), None), ("b", s(5), None)]
    assert lives("streams/both") == sorted(wanted, key=repr)
    assert product.pipeline().replay(all_batches=True)["identical"]
