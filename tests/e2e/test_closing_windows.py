"""What closing windows reads, and that what they come to has the same bits however rows are cut and spread."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
from samples import at, fork
from test_lifetimes import lose
from test_progress import SPREAD, settings, with_engine

from oracle import SECOND, Obj, Row, Source
from product import Product

pytestmark = pytest.mark.usefixtures("quick")
MINUTE = 60 * SECOND
SOURCE = Source(late=(SECOND, "adjust"), partitions=("0",))
STREAMS = {
    "minutes": {
        "from": "s",
        "tumbling": "60s",
        "select": {
            "total": "sum(cast(k AS DOUBLE))",
            "mean": "avg(cast(k AS DOUBLE))",
            "first": "first(k)",
            "last": "last(k)",
            "every": "collect_list(k)",
            "tied": "max_by(e, length(k))",
        },
    }
}
VALUES = ("1e16", "1", "-1e16", "0.1", "3", "-7e15")


def minute(number: int) -> list[Obj]:
    """Four objects of ten rows that came as they happened, a quarter of a minute each; sums of them depend on the
    order in which they are added."""
    found = []
    for part in range(4):
        start = at(60 * number + 15 * part)
        times = [start + index * SECOND for index in range(10) for _ in range(2)]
        rows = [Row("0", time, time, VALUES[(index * 7 + part) % 6]) for index, time in enumerate(times)]
        found.append(Obj(f"{number}-{part}", start + 14 * SECOND, tuple(rows)))
    return found


def fed(folder: Path, minutes: int) -> Product:
    product = Product(folder, {"s": SOURCE}, {"streams": STREAMS})
    for number in range(minutes):
        product.land("s", minute(number))
        product.run(at(60 * number + 60))
    return product


@pytest.fixture(scope="module")
def base(tmp_path_factory, quick) -> Product:  # noqa: ARG001 # the session's settings
    return fed(tmp_path_factory.mktemp("closing") / "base", 4)


def windows(product: Product) -> list[tuple[Any, ...]]:
    """The windows with their doubles as bytes: equal only if every bit is."""
    found = product.table("streams/minutes")
    for row in found:
        row.pop("_batch_id")
        row.update({name: struct.pack("d", row[name]) for name in ("total", "mean")})
        row["every"] = tuple(row["every"])
    return sorted(tuple(row.values()) for row in found)


def test_closing_reads_the_rows_of_closing_windows_and_no_older_ones(base, tmp_path):
    twin, product = fork(base, tmp_path / "twin"), fork(base, tmp_path / "p")
    assert lose(product, "events/s", "_system_timestamp", at(180)) == 3
    for each in (twin, product):
        each.land("s", minute(4))
        assert each.run(at(300))["streams"]["minutes"]["rows"] == 1
    assert windows(product) == windows(twin)


def test_a_run_that_closes_nothing_reads_no_events(base, tmp_path):
    product = fork(base, tmp_path / "p")
    assert lose(product, "events/s", "_system_timestamp", at(1000)) == 4
    rows = tuple(Row("0", at(235 + index), at(235 + index), "1") for index in range(4))
    product.land("s", [Obj("4", at(239), rows)])
    said = product.run(at(240) + SECOND // 2)
    assert said["streams"]["minutes"]["rows"] == 0
    assert sum(batch["rows"] for batch in said["batches"]) == 4


@pytest.mark.parametrize(
    ("spread", "tasks", "files"),
    [
        pytest.param(SPREAD[2], 3, 3, id="many splits, 3 tasks, 6 micro-batches"),
        pytest.param(SPREAD[1], 8, None, id="8 tasks, one micro-batch", marks=pytest.mark.long),
    ],
)
def test_all_bits_are_the_same_for_any_cut_and_spread(spark, base, tmp_path, spread, tasks, files):
    product = Product(tmp_path / "p", {"s": SOURCE}, {"streams": STREAMS})
    for number in range(4):
        product.land("s", minute(number))
    with settings(spark, spread):
        with_engine(product, spark, tasks).run(at(240), max_files=files)
    assert len(windows(base)) == 3
    assert windows(product) == windows(base)
