"""Row `substreams`: the same rows with a million watermarks, one for each device of a partition, against sixteen."""

from __future__ import annotations

from collections.abc import Callable

from bench.answers import DEVICE
from bench.clock import alternate
from bench.data import LANES, Shape, landed
from bench.figures import Figure, Section
from bench.place import Place
from bench.subject import timed

FEW, MANY = 16, 1_000_000


def measure(place: Place) -> Section:
    """All in turns, each to a fresh warehouse; in full also of so many that a substream has hardly two rows."""
    many = place.scaled(MANY, 1000)
    sizes = [FEW, many, *([LANES * many] if place.full else [])]
    cases = {f"{keys:,} substreams": _case(place, keys // LANES) for keys in sizes}
    few, *more = alternate(cases, place.repeats, place.say).values()
    what, against = f"judge {place.rows:,} rows of", f"tidemark, {FEW} substreams"
    figures = [
        Figure.of(f"{what} {keys:,} substreams", against, took, few, reach)
        for keys, took, reach in zip(sizes[1:], more, (1.5, None), strict=False)
    ]
    return Section("substreams", "Substreams", figures)


def _case(place: Place, devices: int) -> Callable[[], float]:
    data = landed(place.spark, place.cache, place.rows, LANES, Shape(devices=devices))

    return lambda: timed(place.work / "substreams", data, key=DEVICE, source={"over": "device"})
