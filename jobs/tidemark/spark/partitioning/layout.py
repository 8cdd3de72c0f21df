"""Assigns rows to tasks so that a skewed partition uses all cores, without changing any result.

A partition with more rows than a task should have is cut into chunks, runs of consecutive rows. Each chunk needs the
state before it: number of rows, latest arrival, highest time; for a punctuated source also the number of rows that
count, their latest period and the latest punctuation. It is computed for each chunk first and then carried across
chunks: a two-level running maximum. Only counts and maxima reach the driver, never rows.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.core.advance import Opening
from tidemark.core.watermarks import latest
from tidemark.spark.columns import PARTITION, ROW
from tidemark.spark.partitioning.ranges import Ranges

Name = TypeVar("Name", str, tuple[str, int])
CELL_BITS = 16
"""Rows of a cell, as a power of two. A cell is a run of rows of one file split that is never cut further."""
SAMPLED_BYTES = 32 << 20
POSITION_BITS = 33
"""Low bits of a row's number that are its position in its split, from which its cell follows."""
_WORTH_PLACING = 20
_TASK_BYTES = 32 << 20
"""Bytes of objects per task: rows that wait in memory while they are judged take several times as much."""
_SMALL_BYTES = 4 << 20
"""Most bytes of binary objects that one task judges alone; more are worth the shuffle to several."""
_UNCUT_BYTES = 16 << 20
"""Most bytes of a partition in binary objects that is not cut: cutting reads its rows twice."""
_SKEW = 1.5
"""Most rows of a partition that is not cut, as a multiple of the rows of a core with an equal share."""


def tasks_of(size: int, cores: int, text: bool, partitioned: bool) -> int:
    """Number of tasks that judge `size` bytes of objects on `cores` cores. One task judges up to `_TASK_BYTES` of
    `text`, up to `_SMALL_BYTES` of `partitioned` binary objects, and up to `_UNCUT_BYTES` of others, whose rows must
    be cut."""
    alone = _TASK_BYTES if text else _SMALL_BYTES if partitioned else _UNCUT_BYTES
    return 1 if size <= alone else max(cores, math.ceil(size / _TASK_BYTES))


def skewed_share(size: int, cores: int, text: bool) -> float:
    """Share of the rows in `size` bytes of objects above which a partition is skewed, and cut.

    One task judges a smaller partition sooner: cutting needs a first pass over its rows.
    """
    uncut = _TASK_BYTES if text else _UNCUT_BYTES
    return max(_SKEW / cores, uncut / max(size, 1))


def sampled_share(source: SourceSpec, size: int, opening: Opening) -> float | None:
    """Share of rows from which the layout is computed; None if it needs all rows, or no rows."""
    looked_at = source.partition is not None or bool(opening.imported)
    return SAMPLED_BYTES / size if looked_at and size > SAMPLED_BYTES else None


CellPosition = tuple[int, int, int]
"""Position of a cell within its partition, by which cells are ordered: (rank of object, start of split, index)."""


@dataclass(frozen=True)
class RunningState:
    """Running state of a partition: its number of rows and their latest arrival.

    For a punctuated source also the number of rows that count for `every`, and the latest period of these rows.
    """

    rows: int = 0
    arrival: int | None = None
    counted: int = 0
    period: int | None = None


@dataclass(frozen=True)
class Chunk:
    """A run of consecutive rows of one partition, and the state before it.

    `high_before` is the highest time of the batch's earlier chunks, or for a punctuated source their latest
    punctuation.
    """

    partition: str
    number: int
    before: RunningState = RunningState()
    high_before: int | None = None


@dataclass(frozen=True)
class FilePiece:
    """A cell: consecutive rows of one file split and partition, and the state of these rows alone."""

    partition: str
    position: CellPosition
    state: RunningState


@dataclass(frozen=True)
class Layout:
    """Assignment of rows to tasks.

    `skewed` are the partitions that are cut: `cells` maps their cells to chunks, `before` to the state before them.
    `assigned` maps other large partitions to tasks; the rest go by the hash of their name. `ranges` divide imported
    punctuation by arrival.
    """

    tasks: int
    bits: int = CELL_BITS
    skewed: tuple[str, ...] = ()
    cells: dict[tuple[str, CellPosition], int] = field(default_factory=dict)
    before: dict[tuple[str, CellPosition], RunningState] = field(default_factory=dict)
    chunks: dict[tuple[str, int], Chunk] = field(default_factory=dict)
    assigned: dict[str, int] = field(default_factory=dict)
    ranges: Ranges = field(default_factory=Ranges)

    def with_cells(
        self, cells: Iterable[FilePiece], opened: Callable[[str], RunningState], every: int | None = None
    ) -> Layout:
        """Layout with cells grouped into chunks of about a quarter of a task's rows, at least one cell each.

        `opened` returns a partition's state before the batch. `every` is the punctuation period, microseconds, if
        arrivals are event times. Then rows that count are at least in the period of the latest arrival before their
        cell.
        """
        ordered = sorted(cells, key=lambda cell: (cell.partition, cell.position))
        grain = max(1 << self.bits, sum(cell.state.rows for cell in ordered) // (4 * self.tasks))
        numbers: dict[tuple[str, CellPosition], int] = {}
        before: dict[tuple[str, CellPosition], RunningState] = {}
        chunks: dict[tuple[str, int], Chunk] = {}
        partition, number, filled, known = None, -1, 0, RunningState()
        for cell in ordered:
            if cell.partition != partition:
                partition, filled, known = cell.partition, grain, opened(cell.partition)
            if filled >= grain:
                number, filled = number + 1, 0
                chunks[partition, number] = Chunk(partition, number, known)
            numbers[partition, cell.position], before[partition, cell.position] = number, known
            filled, known = filled + cell.state.rows, _after(known, cell.state, every)
        return replace(self, cells=numbers, before=before, chunks=chunks)

    def with_highs(self, highs: Iterable[tuple[str, int, int | None]]) -> Layout:
        """Layout in which each chunk knows the highest time of its partition's earlier chunks."""
        found = {(partition, number): high for partition, number, high in highs}
        chunks: dict[tuple[str, int], Chunk] = {}
        carried: dict[str, int | None] = {}
        for key in sorted(self.chunks):
            chunks[key] = replace(self.chunks[key], high_before=carried.get(key[0]))
            carried[key[0]] = latest(carried.get(key[0]), found.get(key))
        return replace(self, chunks=chunks)


def _after(known: RunningState, own: RunningState, every: int | None) -> RunningState:
    arrived = known.arrival // every if every is not None and known.arrival is not None and own.counted else None
    return RunningState(
        known.rows + own.rows,
        latest(known.arrival, own.arrival),
        known.counted + own.counted,
        latest(known.period, own.period, arrived),
    )


def cell_of_row(bits: int) -> Column:
    """Index of a row's cell within its split; grows along the split."""
    return F.shiftright(F.col(ROW).bitwiseAND((1 << POSITION_BITS) - 1), bits).cast("int")


def sizes_of(rows: DataFrame) -> DataFrame:
    """Number of `rows` of each partition."""
    return rows.groupBy(PARTITION).agg(F.count("*").alias("rows"))


def assign(sizes: DataFrame, layout: Layout, skewed: float) -> Layout:
    """Layout in which partitions have tasks by their sizes, counted in all rows or in a sample.

    A partition is skewed if it has more than the share `skewed` of the rows.
    """
    whole = Observation()
    observed = sizes.observe(whole, F.sum("rows").alias("all"))
    largest = observed.orderBy(F.desc("rows"), PARTITION).limit(_WORTH_PLACING * layout.tasks).collect()
    return assigned_by({row[0]: row[1] for row in largest}, whole.get["all"] or 0, layout, skewed)


def assigned_by(largest: Mapping[str, int], rows: int, layout: Layout, skewed: float) -> Layout:
    """Layout as from `assign`, given the sizes of the largest partitions and the number of rows of all."""
    worth = {name: size for name, size in largest.items() if size > rows / layout.tasks / _WORTH_PLACING}
    cut = tuple(name for name, size in worth.items() if size > skewed * rows)
    return replace(
        layout, skewed=cut, assigned=balanced({n: s for n, s in worth.items() if n not in cut}, layout.tasks)
    )


def balanced(sizes: Mapping[Name, int], tasks: int) -> dict[Name, int]:
    """Task of each name: the largest first, each to the task with the fewest rows so far."""
    loads = [(0, task) for task in range(tasks)]
    assigned = {}
    for name, size in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
        load, task = heapq.heappop(loads)
        assigned[name] = task
        heapq.heappush(loads, (load + size, task))
    return assigned
