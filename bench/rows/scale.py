"""Row `scale`: ten times the rows in a heap of 1 GiB: how much longer, and how much more memory."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from bench.clock import Spread, alternate, ratios
from bench.data import LANES, Landed, landed
from bench.figures import MIB, Figure, Section
from bench.place import Place

TIMES = 10
HEAP = 1 << 30


def measure(place: Place) -> Section:
    """Both in turns, each in a process of its own that has judged the smaller one before: no turn is a warm-up."""
    small = landed(place.spark, place.cache, place.rows, LANES)
    large = landed(place.spark, place.cache, TIMES * place.rows, LANES)
    told: dict[str, list[dict[str, float]]] = {}

    def case(name: str, data: Landed) -> float:
        found = _run(place, small, data)
        told.setdefault(name, []).append(found)
        return found["seconds"]

    names = {f"{data.rows:,} rows": data for data in (small, large)}
    alternate({name: lambda name=name: case(name, names[name]) for name in names}, place.repeats, place.say, 0)
    few, many = told.values()
    what, against = f"{large.rows:,} rows in a heap of 1 GiB", f"{small.rows:,} rows"
    return Section(
        "scale",
        "Ten times the rows",
        [
            _figure(f"judge {what}", against, "seconds", few, many, 10.5),
            _figure(f"peak memory of the JVM, {what}", against, "java", few, many, 1.1),
            _figure(f"peak memory of Python, {what}", against, "python", few, many, 1.1),
        ],
        ["Memory is all that a process ever had in use, heap, code and buffers, as the system counts it."],
    )


def _figure(
    what: str, against: str, key: str, few: list[dict[str, float]], many: list[dict[str, float]], most: float
) -> Figure:
    unit, divisor = ("s", 1) if key == "seconds" else (MIB, 1 << 20)
    mine, other = ([told[key] / divisor for told in runs] for runs in (many, few))
    return Figure(what, against, ratios(mine, other), Spread.of(mine), Spread.of(other), most, unit)


def _run(place: Place, small: Landed, data: Landed) -> dict[str, float]:
    work: Path = place.work / "scale"
    sets = [f"{each.folder},{each.rows},{each.lanes},{each.end}" for each in (small, data)]
    command = [sys.executable, "-m", "bench.worker", str(HEAP), str(work), *sets]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    shutil.rmtree(work)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found
