"""The published examples of windows, through the whole product."""

from __future__ import annotations

from typing import Any

import pytest

from oracle import Obj, Row, Source
from product import Product, micros
from published import EXAMPLES, at

ATLAS = Source(early=None, late=None, out_of_order=(0, "keep"), single=True)
pytestmark = pytest.mark.usefixtures("quick")


def rows_of(given: list[dict[str, Any]]) -> list[Row]:
    return [Row(event=at(row["event_time"]), arrival=at(row["arrival_time"])) for row in given]


def windowed(folder: Any, example: dict[str, Any]) -> Product:
    keys = {key: value for key, value in example["window"].items() if value not in ("0s", None)}
    step = {"from": "s", "select": {"rows": "collect_list(e)"}, **keys}
    return Product(folder, {"s": ATLAS}, {"streams": {"w": step}})


def windows(product: Product) -> dict[int, list[int]]:
    """By start, the event times of the rows in each window, in order."""
    return {micros(row["_window_start"]): sorted(map(micros, row["rows"])) for row in product.table("streams/w")}


@pytest.mark.parametrize("name", ["atlas-watermark", "atlas-allowed-lateness"])
def test_published_windows_hold_the_rows_that_are_printed(tmp_path, name):
    example = EXAMPLES[name]
    rows, landed = rows_of(example["rows"]), at(example["rows"][-1]["arrival_time"])
    product = windowed(tmp_path, example)
    product.land("s", [Obj("o", landed, tuple(rows))])
    said = product.run(landed)
    closed = [window for window in example["expected_windows_by_event_time"] if window["closed"]]
    assert said["streams"]["w"]["dead_letters"] == 0
    assert windows(product).keys() == {at(window["start"]) for window in closed}
    product.pipeline().close(as_of=landed)
    wanted = {
        at(window["start"]): sorted(rows[number - 1].event for number in window["rows"])
        for window in example["expected_windows_by_event_time"]
    }
    assert windows(product) == wanted


def test_a_published_window_with_allowed_lateness_closes_exactly_at_its_watermark(tmp_path):
    example = EXAMPLES["atlas-allowed-lateness"]
    product = windowed(tmp_path, example)
    written = []
    for number, row in enumerate(rows_of(example["rows"])):
        product.land("s", [Obj(f"{number:02}", row.arrival, (row,))])
        written.append(product.run(row.arrival)["streams"]["w"]["rows"])
    assert written == [0] * 9 + [1]
    assert not product.table("dead_letters/w")


def test_the_published_idle_timeout_run_by_run(tmp_path):
    example = EXAMPLES["atlas-idle-timeout"]
    product = windowed(tmp_path, example)
    for number, run in enumerate(example["runs"]):
        as_of, before = at(run["as_of"]), set(windows(product))
        if run["rows"]:
            product.land("s", [Obj(f"{number:02}", as_of, tuple(rows_of(run["rows"])))])
        product.run(as_of)
        assert set(windows(product)) - before == {at(text) for text in run["closed"]}
