"""Costs of other delays of a source's generated punctuations: rows behind a punctuation, and how late output is."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median_low

from tidemark.core.advice.grid import chosen
from tidemark.core.advice.history import RecordedStates
from tidemark.core.quality import within
from tidemark.core.watermarks import PartitionState


@dataclass(frozen=True)
class RowsBehind:
    """Rows of a partition by how far they came behind the latest row that issued a punctuation: `beyond` maps a
    number of rungs to the number of rows that were further behind than exactly so many. `always` counts rows behind
    a punctuation that no delay moves; rows of neither were behind nothing."""

    rows: int
    beyond: Mapping[int, int]
    always: int


@dataclass(frozen=True)
class DelayCost:
    """A delay, microseconds, with the rows that would be behind a punctuation, by partition. `output_delay` is how
    far the combined watermark would be behind the latest arrival when a run ended: the median over runs that brought
    rows, microseconds (None: not known)."""

    delay: int
    violations: Mapping[str, int]
    output_delay: int | None

    @property
    def total(self) -> int:
        return sum(self.violations.values())


def delay_costs(
    rungs: Sequence[int], parts: Mapping[str, RowsBehind], present: int, lags: Sequence[int] | None
) -> list[DelayCost]:
    """Costs of the present delay, zero, and quantiles of how far rows were behind, ascending. `lags` are output
    delays of runs under the present delay; other delays move them by the difference."""
    whole: dict[int, int] = {0: 0}
    for part in parts.values():
        for rung, count in part.beyond.items():
            whole[rung] = whole.get(rung, 0) + count
        whole[0] += part.rows - part.always - sum(part.beyond.values())
    found = []
    for delay in sorted({present, *chosen(whole, rungs)}):
        rung = bisect_left(rungs, delay)
        behind = {name: part.always + _more(part.beyond, rung) for name, part in sorted(parts.items())}
        moved = [max(0, lag + delay - present) for lag in lags or ()]
        found.append(DelayCost(delay, behind, median_low(moved) if moved else None))
    return found


def smallest(costs: Iterable[DelayCost], rows: int, target: float) -> DelayCost | None:
    """The smallest delay that leaves at most a share of all rows behind; None if none does."""
    return next((cost for cost in costs if within(cost.total, rows, target)), None)


def lags_of(history: Iterable[RecordedStates]) -> list[int]:
    """By run that brought rows, how far the combined watermark was behind the latest arrival when it ended, negative
    if ahead; runs without a combined watermark are left out."""
    known: dict[str, PartitionState] = {}
    found, offsets = [], 0
    for batch in history:
        known |= batch.states
        if not batch.ends_run:
            continue
        before, offsets = offsets, sum(state.next_offset for state in known.values())
        marks = [state.watermark for state in known.values() if state.watermark is not None]
        arrivals = [state.last_arrival for state in known.values() if state.last_arrival is not None]
        if offsets > before and arrivals and len(marks) == len(known):
            found.append(max(arrivals) - min(marks))
    return found


def _more(beyond: Mapping[int, int], rung: int) -> int:
    """Number of rows that are beyond the rung of this number."""
    return sum(count for many, count in beyond.items() if many > rung)
