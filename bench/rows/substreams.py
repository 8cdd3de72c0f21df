"""Row `substreams`: the same rows with a watermark for each of a million devices, against sixteen devices."""

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
    """Both in turns, each to a fresh warehouse."""
    many = place.scaled(MANY, 1000)
    taken = alternate(
        {f"{devices:,} substreams": _case(place, devices) for devices in (FEW, many)}, place.repeats, place.say
    )
    few, much = taken.values()
    what = f"judge {place.rows:,} rows of {many:,} substreams"
    return Section("substreams", "Substreams", [Figure.of(what, f"tidemark, {FEW} substreams", much, few, 1.5)])


def _case(place: Place, devices: int) -> Callable[[], float]:
    data = landed(place.spark, place.cache, place.rows, LANES, Shape(devices=devices))

    return lambda: timed(place.work / "substreams", data, key=DEVICE, source={"over": "device"})
