"""Alternating measurements: what is compared is run in turns, so that a slow minute meets both."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Spread:
    """Median, least and greatest of repeated measurements."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(median(values), min(values), max(values))


def seconds(action: Callable[[], object]) -> float:
    """How long an action takes, begun when nothing of what came before is left to be written."""
    gc.collect()
    os.sync()
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def alternate(
    cases: Mapping[str, Callable[[], float]], repeats: int, say: Callable[[str], None], warmups: int = 1
) -> dict[str, list[float]]:
    """Seconds of each case, run in turns after `warmups` rounds that don't count.

    A case does its own preparation and checks its answer; it returns the seconds that count.
    """
    taken: dict[str, list[float]] = {name: [] for name in cases}
    for turn in range(warmups + repeats):
        for name, case in cases.items():
            took = case()
            say(f"{name}: {took:.2f} s" + (" (warm-up)" if turn < warmups else ""))
            if turn >= warmups:
                taken[name].append(took)
    return taken


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> Spread:
    """Ours over theirs, pair by pair."""
    return Spread.of([mine / other for mine, other in zip(ours, theirs, strict=True)])
