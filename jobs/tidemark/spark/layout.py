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

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from tidemark.core.progress import latest
from tidemark.spark.names import BLOCK, CELL, OBJECT, OWN, PARTITION, ROW

CELL_BITS = 16
"""Rows of one split that are never cut further, as a power of two: the grain of chunks."""
_POSITION_BITS = (1 << 33) - 1
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
    """Which task judges which rows: `cells` maps the cells of `hot` partitions to chunks (`arrivals`: to the latest
    arrival before them), `placed` maps other large partitions to tasks, and the rest go by the hash of their name."""

    tasks: int
    bits: int = CELL_BITS
    hot: tuple[str, ...] = ()
    cells: dict[tuple[str, tuple[int, int, int]], int] = field(default_factory=dict)
    arrivals: dict[tuple[str, tuple[int, int, int]], int | None] = field(default_factory=dict)
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


def place(sample: DataFrame, layout: Layout, cores: int) -> Layout:
    """Count the rows of partitions, of all or of a sample, and decide where they go and which are hot: those
    with more rows than one of `cores` has to judge."""
    whole = Observation()
    sizes = sample.groupBy(PARTITION).agg(F.count("*").alias("rows")).observe(whole, F.sum("rows").alias("all"))
    largest = sizes.orderBy(F.desc("rows"), PARTITION).limit(_WORTH_PLACING * layout.tasks).collect()
    rows = whole.get["all"] or 0
    worth = {row[0]: row[1] for row in largest if row[1] > rows / layout.tasks / _WORTH_PLACING}
    hot = tuple(name for name, size in worth.items() if size > rows / cores)
    return replace(layout, hot=hot, placed=_placed({n: s for n, s in worth.items() if n not in hot}, layout.tasks))


def cut_hot(rows: DataFrame, layout: Layout) -> Layout:
    """Cut hot partitions into chunks; one pass over their arrivals, before any row is judged."""
    cell = cell_of_row(layout.bits).alias(CELL)
    groups = rows.where(F.col(PARTITION).isin(list(layout.hot))).groupBy(PARTITION, OBJECT, BLOCK, cell)
    found = groups.agg(F.count("*").alias("rows"), F.max(OWN).alias("arrival")).collect()
    return _chunked(layout, [Cell(row[0], (row[1], row[2], row[3]), row["rows"], row["arrival"]) for row in found])


def _chunked(layout: Layout, cells: list[Cell]) -> Layout:
    """Group cells into chunks of about a quarter of a task's rows, at least one cell."""
    grain = max(1 << layout.bits, sum(cell.rows for cell in cells) // (4 * layout.tasks))
    numbers: dict[tuple[str, tuple[int, int, int]], int] = {}
    arrivals: dict[tuple[str, tuple[int, int, int]], int | None] = {}
    chunks: dict[tuple[str, int], Chunk] = {}
    partition, number, filled, rows, arrival = None, -1, 0, 0, None
    for item in sorted(cells, key=lambda cell: (cell.partition, cell.place)):
        if item.partition != partition:
            partition, filled, rows, arrival = item.partition, grain, 0, None
        if filled >= grain:
            number, filled = number + 1, 0
            chunks[partition, number] = Chunk(partition, number, rows, arrival)
        numbers[partition, item.place], arrivals[partition, item.place] = number, arrival
        filled, rows, arrival = filled + item.rows, rows + item.rows, latest(arrival, item.arrival)
    return replace(layout, cells=numbers, arrivals=arrivals, chunks=chunks)


def _placed(sizes: dict[str, int], tasks: int) -> dict[str, int]:
    """Largest first, each to the task that has least."""
    loads = [(0, task) for task in range(tasks)]
    placed = {}
    for name, size in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
        load, task = heapq.heappop(loads)
        placed[name] = task
        heapq.heappush(loads, (load + size, task))
    return placed
