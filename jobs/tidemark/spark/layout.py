"""Spreads rows over tasks so that one hot partition uses all cores, without changing any result.

A partition with more rows than a task should have is cut into chunks, runs of consecutive rows. What a
chunk must know of the rows before it (their number, latest arrival, highest time) is found first, per
chunk, and carried across chunks: a two-level running maximum. Only counts and maxima of chunks come to the
driver, never rows.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.core.progress import latest
from tidemark.spark.names import BLOCK, OBJECT, OWN, PARTITION, ROW

CELL_BITS = 16
"""Rows of one split that are never cut further, as a power of two: the grain of chunks."""
_POSITION_BITS = (1 << 33) - 1
_CELL = "__tidemark_cell"
_WORTH_PLACING = 20


@dataclass(frozen=True)
class Chunk:
    """A run of consecutive rows of one partition and what the rows of earlier chunks left to it."""

    partition: str
    number: int
    rows_before: int = 0
    arrival_before: int | None = None
    high_before: int | None = None


@dataclass(frozen=True)
class Cell:
    """Consecutive rows of one file split and partition: (rank, split start, index) orders them."""

    partition: str
    place: tuple[int, int, int]
    rows: int
    arrival: int | None


@dataclass(frozen=True)
class Layout:
    """Which task judges which rows: `cells` maps the cells of hot partitions to chunks, `placed` maps other
    large partitions to tasks, and the rest go by the hash of their name."""

    tasks: int
    bits: int = CELL_BITS
    cells: dict[tuple[str, tuple[int, int, int]], int] = field(default_factory=dict)
    chunks: dict[tuple[str, int], Chunk] = field(default_factory=dict)
    placed: dict[str, int] = field(default_factory=dict)

    def with_highs(self, highs: Iterable[tuple[str, int, int | None]]) -> Layout:
        """The layout in which each chunk knows the highest time of the earlier ones."""
        found = {(partition, number): high for partition, number, high in highs}
        chunks: dict[tuple[str, int], Chunk] = {}
        carried: dict[str, int | None] = {}
        for key in sorted(self.chunks):
            chunks[key] = replace(self.chunks[key], high_before=carried.get(key[0]))
            carried[key[0]] = latest(carried.get(key[0]), found.get(key))
        return replace(self, chunks=chunks)


def cell_of_row(bits: int) -> Column:
    """Index of a row's cell within its split; grows along the split."""
    return F.shiftright(F.col(ROW).bitwiseAND(_POSITION_BITS), bits).cast("int")


def plan_layout(rows: DataFrame, tasks: int, bits: int = CELL_BITS) -> Layout:
    """Count the rows and decide. One pass over partition and arrival alone, before any row is judged."""
    counted = (
        rows.groupBy(PARTITION, OBJECT, BLOCK, cell_of_row(bits).alias(_CELL))
        .agg(F.count("*").alias("rows"), F.max(OWN).alias("arrival"))
        .persist()
    )
    try:
        sizes = counted.groupBy(PARTITION).agg(F.sum("rows").alias("rows"))
        whole = counted.agg(F.sum("rows")).first()
        mean = ((whole[0] if whole else None) or 0) / tasks
        large = {row[0]: row[1] for row in sizes.where(F.col("rows") > mean / _WORTH_PLACING).collect()}
        hot = [name for name, size in large.items() if size > mean]
        found = counted.where(F.col(PARTITION).isin(hot)).collect() if hot else []
    finally:
        counted.unpersist()
    layout = _chunked(
        Layout(tasks, bits), [Cell(r[0], (r[1], r[2], r[3]), r["rows"], r["arrival"]) for r in found], mean
    )
    return replace(layout, placed=_placed({n: s for n, s in large.items() if n not in hot}, tasks))


def _chunked(layout: Layout, cells: list[Cell], mean: float) -> Layout:
    """Group cells into chunks of about a quarter of a task's rows, at least one cell."""
    grain = max(1 << layout.bits, int(mean / 4))
    numbers: dict[tuple[str, tuple[int, int, int]], int] = {}
    chunks: dict[tuple[str, int], Chunk] = {}
    partition, number, filled, rows, arrival = None, -1, 0, 0, None
    for item in sorted(cells, key=lambda cell: (cell.partition, cell.place)):
        if item.partition != partition:
            partition, filled, rows, arrival = item.partition, grain, 0, None
        if filled >= grain:
            number, filled = number + 1, 0
            chunks[partition, number] = Chunk(partition, number, rows, arrival)
        numbers[partition, item.place] = number
        filled, rows, arrival = filled + item.rows, rows + item.rows, latest(arrival, item.arrival)
    return replace(layout, cells=numbers, chunks=chunks)


def _placed(sizes: dict[str, int], tasks: int) -> dict[str, int]:
    """Largest first, each to the task that has least."""
    loads = [(0, task) for task in range(tasks)]
    placed = {}
    for name, size in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
        load, task = heapq.heappop(loads)
        placed[name] = task
        heapq.heappush(loads, (load + size, task))
    return placed
