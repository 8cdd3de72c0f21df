"""Highest times that rows reach: by batch, and before each chunk of a partition."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tidemark.core.advice.grid import Grid
from tidemark.core.advice.history import NONE, Cells


@dataclass(frozen=True)
class High:
    """Highest time that the early step leaves to some rows of a batch and chunk, and their latest arrival. The rows
    are late under the first `late` tolerances of a grid and under no other."""

    partition: str
    batch_id: int
    chunk: int
    late: int
    stamp: int
    arrival: int


def by_batch(highs: Iterable[High]) -> dict[tuple[str, int], int]:
    """The highest time of the rows of each (partition, batch)."""
    found: dict[tuple[str, int], int] = {}
    for high in highs:
        key = high.partition, high.batch_id
        found[key] = max(found.get(key, NONE), high.stamp)
    return found


def before_chunks(grid: Grid, highs: Iterable[High]) -> list[tuple[str, int, Cells]]:
    """(partition, chunk, times): the highest times of all earlier chunks, for each but a partition's first chunk.
    `times` are by late tolerance, first with late rows adjusted, then with late rows dropped."""
    by_chunk: dict[tuple[str, int], list[High]] = {}
    for high in highs:
        by_chunk.setdefault((high.partition, high.chunk), []).append(high)
    found: list[tuple[str, int, Cells]] = []
    before, stamps, arrival = None, [NONE], NONE
    for partition, chunk in sorted(by_chunk):
        if partition == before:
            found.append((partition, chunk, _left(grid, stamps, arrival)))
        else:
            before, stamps, arrival = partition, [NONE] * (len(grid.lates) + 1), NONE
        for high in by_chunk[partition, chunk]:
            stamps[high.late] = max(stamps[high.late], high.stamp)
            arrival = max(arrival, high.arrival)
    return found


def _left(grid: Grid, stamps: Sequence[int], arrival: int) -> Cells:
    """Highest times before a chunk. Rows that are late under exactly the first n tolerances reach `stamps[n]`."""
    whole = max(stamps)
    adjusted = tuple(whole if late is None else max(whole, arrival - late) for late in grid.lates)
    return adjusted, tuple(max(stamps[: index + 1]) for index in range(len(grid.lates)))
