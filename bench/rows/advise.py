"""Row `advise`: 64 pairs of tolerances tried on all rows, against one run that judges them."""

from __future__ import annotations

import shutil
from typing import Any

from bench.clock import alternate, seconds
from bench.data import landed
from bench.figures import Figure, Section
from bench.place import Place
from bench.subject import SOURCE, check, fresh, timed

LANES = (4, 1)
GRID = {"late": "0s,1s,5s,15s,1m,2m,5m,10m", "out_of_order": "0s,1s,2s,5s,10s,20s,1m,5m"}


def measure(place: Place) -> Section:
    """For each number of partitions, cases in turns: a run to a fresh target, and advice on what one has judged."""
    figures = [figure for lanes in LANES for figure in _figures(place, lanes)]
    return Section("advise", "Trying other tolerances", figures, [])


def _figures(place: Place, lanes: int) -> list[Figure]:
    data = landed(place.spark, place.cache, place.rows, lanes)
    ready = fresh(place.work / "ready", data)
    ready.run(data.end)
    fates = check(ready, data).fates

    def advised(**grid: str) -> float:
        record: dict[str, Any] = {}
        took = seconds(lambda: record.update(ready.advise(**grid)))
        present = record["present"][SOURCE]["own"]
        assert all(present[fate] == fates.get(fate, 0) for fate in present), f"a wrong answer: {present}"
        return took

    cases = {
        "a run": lambda: timed(place.work / "judged", data),
        "64 cells": lambda: advised(**GRID),
        "a chosen grid": advised,
    }
    taken = alternate(cases, place.repeats, place.say)
    shutil.rmtree(place.work / "ready")
    what = f"{data.rows:,} rows, {lanes} partition{'s' * (lanes > 1)}"
    one = "tidemark, one run that judges them"
    return [
        Figure.of(f"advise with 64 cells, {what}", one, taken["64 cells"], taken["a run"], 1.5),
        Figure.of(
            f"advise with a grid chosen from the rows, {what}", one, taken["a chosen grid"], taken["a run"], 1.5
        ),
    ]
