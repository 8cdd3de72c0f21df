"""Row `growth`: how cost grows with each thing there can be more of, at three sizes each."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from bench.answers import DEVICE, LANE
from bench.clock import Spread, alternate, ratios
from bench.data import LANES, Shape, Trickle, landed
from bench.figures import Figure, Section
from bench.history import Past, fabricate
from bench.place import Place
from bench.rows.batch import ROWS, Side
from bench.subject import SOURCE, timed
from tidemark.pipeline import Pipeline

STEP = 8
"""From one size to the next."""
WARM_UPS = 12


def measure(place: Place) -> Section:
    """Each kind by itself: its three sizes in turns."""
    part, keys = place.rows // 4, _sizes(place.scaled(10**6, 1000))
    figures: list[Figure] = []
    exponents: list[str] = []
    for kind, sizes in (
        ("rows", {size: _judging(place, size) for size in _sizes(place.rows)}),
        ("partitions", {size: _judging(place, part, lanes=size) for size in _sizes(2048)}),
        ("substreams", {size: _judging(place, part, devices=size // LANES) for size in keys}),
        ("files, each a micro-batch", {size: _judging(place, part, files=size) for size in _sizes(64)}),
        ("windows per row", {size: _judging(place, part, overlap=size) for size in _sizes(64)}),
        ("batches behind a micro-batch", {size: _behind(place, size) for size in _sizes(place.scaled(10**5, 100))}),
    ):
        cases = {f"{size:,} {kind}": case for size, case in sizes.items()}
        found, exponent = _grown(alternate(cases, place.repeats, place.say, _warm_ups(kind)), list(sizes), kind)
        figures += found
        exponents.append(exponent)
        shutil.rmtree(place.work, ignore_errors=True)
    return Section("growth", "How cost grows", figures, exponents)


def _sizes(largest: int) -> list[int]:
    return [largest // STEP**2, largest // STEP, largest]


def _warm_ups(kind: str) -> int:
    return WARM_UPS if kind.startswith("batches") else 1


def _grown(taken: dict[str, list[float]], sizes: list[int], kind: str) -> tuple[list[Figure], str]:
    """Each size against the one before, and the power of the size that time goes with between the largest two."""
    names = list(taken)
    figures = [
        Figure(larger, smaller, ratios(taken[larger], taken[smaller]), Spread.of(taken[larger]),
               Spread.of(taken[smaller]))
        for smaller, larger in pairwise(names)
    ]  # fmt: skip
    exponent = math.log(figures[-1].ratio.median) / math.log(sizes[-1] / sizes[-2])
    return figures, f"{kind}: time goes with their number to the power of {exponent:.2f} at the largest size."


def _judging(
    place: Place,
    rows: int,
    lanes: int = LANES,
    devices: int | None = None,
    files: int | None = None,
    overlap: int = 0,
) -> Callable[[], float]:
    """A run over so many rows. Each of `devices` is a substream of each partition, each of `files` a micro-batch;
    each row is in `overlap` windows."""
    shape = Shape(files=files or Shape.files, devices=devices or Shape.devices)
    keys: dict[str, Any] = {} if devices is None else {"source": {"over": "device"}}
    if overlap:
        hopping = {"size": "64m", "hop": f"{64 * 60 // overlap}s"}
        counted = {"from": SOURCE, "hopping": hopping, "group_by": ["lane"], "select": {"n": "count(*)"}}
        keys["streams"] = {"w": counted}

    def case() -> float:
        data = landed(place.spark, place.cache, rows, lanes, shape)
        key, at_once = LANE if devices is None else DEVICE, None if files is None else 1
        return timed(place.work / "grown", data, key=key, max_files=at_once, **keys)

    return case


def _behind(place: Place, batches: int) -> Callable[[], float]:
    """A micro-batch of a warehouse with so many behind it."""
    trickle = Trickle(place.spark, place.cache, ROWS, LANES, 116)
    side = Side(place.work / f"behind-{batches}", trickle)

    def case() -> float:
        if not side.next:
            side.batch()
            fabricate(Pipeline.load(side.config, {}).ledger, Past(batches, 10 * batches, min(batches, 20_000)))
        return side.batch()

    return case
