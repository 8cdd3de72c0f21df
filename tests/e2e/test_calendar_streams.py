"""Calendar windows of the product are those of the oracle, run by run, over changes of clocks, and replay."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from samples import feed
from test_streams import (
    columns_of,
    declared,
    hold_replayed,
    hold_told,
    letters,
    payload,
    wanted,
    wanted_letters,
    written,
)

from oracle import SECOND, Obj, Row, Run, Source
from oracle_calendar import CalendarWindow, utc
from oracle_streams import Item, Step, flow
from product import Product

pytestmark = pytest.mark.usefixtures("quick")
HOUR = 3600 * SECOND
KEPT = Source(early=None, late=None, out_of_order=(2 * HOUR, "keep"), partitions=("0", "1"))
AS_OF = tuple(
    map(utc, ("2011-10-29T22:00", "2011-10-30T23:30", "2011-12-30T09:00", "2011-12-31T11:00", "2012-01-03T00:00"))
)
"""Runs before, in and after Amsterdam's day of 25 hours and the day that Apia skipped."""


def counted(items: list[Item]) -> dict[str, Any]:
    return {"n": len(items), "keys": [item.payload["k"] for item in items]}


def summed(items: list[Item]) -> dict[str, Any]:
    return {"n": sum(item.payload["n"] for item in items)}


COUNTED = {"n": "count(*)", "keys": "collect_list(k)"}
AMSTERDAM = CalendarWindow(1, 1, aggregate=counted, calendar="day", zone="Europe/Amsterdam")
APIA = replace(AMSTERDAM, zone="Pacific/Apia")
CALENDARS = {
    "days": (AMSTERDAM, "a", COUNTED),
    "parts": (replace(AMSTERDAM, partition_by="partition", allowed_lateness=HOUR), "a", COUNTED),
    "apia": (replace(APIA, group_by=("k",), idle_timeout=20 * HOUR), "a", COUNTED),
    "lives": (replace(APIA, offset=10 * HOUR), "longer", COUNTED),
    "weeks": (replace(AMSTERDAM, aggregate=summed, calendar="week"), "days", {"n": "sum(n)"}),
}
STEPS = {"longer": Step(("a",), lifetime=30 * HOUR)} | {
    name: Step((below,), window=window) for name, (window, below, _) in CALENDARS.items()
}


def configured() -> dict[str, dict[str, Any]]:
    streams: dict[str, dict[str, Any]] = {"longer": {"from": "a", "lifetime": "30h"}}
    for name, (window, below, select) in CALENDARS.items():
        keys = declared(window, below, select)
        del keys["hopping"]
        shape = {"calendar": window.calendar, "zone": window.zone, "offset": f"{window.offset}us"}
        streams[name] = keys | {"tumbling": shape}
    return streams


def runs(seed: int) -> tuple[Run, ...]:
    """Rows of the 40 hours before each run, in any order; the third run brings none."""
    dice = Random(seed)  # noqa: S311 # rows of a test
    found = []
    for number, as_of in enumerate(AS_OF):
        made = [
            Row(dice.choice("01"), as_of - dice.randrange(40 * HOUR), as_of - HOUR, dice.choice("ab"))
            for _ in range(0 if number == 2 else 14)
        ]
        objects = [Obj(f"{number}-{part}", as_of - HOUR + part, tuple(made[part::2])) for part in range(2)]
        found.append(Run(as_of, tuple(objects) if made else ()))
    return (*found, Run(AS_OF[-1] + HOUR, (), close=True))


def hold_equal(folder, source: Source, seed: int, **options: Any) -> Product:
    """Every window, dead letter and count of every run is the oracle's."""
    logs = {"a": (source, runs(seed))}
    product = Product(folder, {"a": source}, {"streams": configured()})
    said = feed(product, logs, **options)
    found = {name: written(product, STEPS[name], name) for name in CALENDARS}
    for number, run in enumerate(flow(logs, STEPS, payload)):
        batch = said[number]["batches"][-1]["batch_id"]
        for name in CALENDARS:
            where = f"{name}, run {number + 1}"
            shown = columns_of(name, configured())
            assert found[name].get(batch, Counter()) == wanted(STEPS[name], run[name], shown), where
            assert letters(product, name, batch) == wanted_letters(run[name]), where
            hold_told(said[number]["streams"][name], run[name], where)
    return product


def test_calendar_windows_of_runs_that_are_cut_equal_the_oracle_and_replay(tmp_path):
    product = hold_equal(tmp_path, KEPT, 1, max_files=1)
    assert all(product.table(f"streams/{name}") for name in CALENDARS)
    assert product.table("dead_letters/days")
    hold_replayed(product)
    assert all('"zone database"' in batch["engine"] for batch in product.table("batches"))
