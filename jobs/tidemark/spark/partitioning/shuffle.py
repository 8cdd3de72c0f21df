"""Repartitions rows to the tasks that judge them; columns not needed for judging are packed into one struct.

The state before a batch is added as rows. The state before a partition's rows, or before a chunk, is a seed: a row
ahead of these rows, from which their running sums and maxima start. Data, unlike literals, need no new compilation
for each batch.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.core.advance import Opening
from tidemark.core.watermarks import PartitionState, latest
from tidemark.spark.columns import (
    ARRIVED_BEFORE,
    BAD,
    BLOCK,
    CELL,
    CHUNK,
    COUNTED_BEFORE,
    END,
    EVENT,
    IDENTITY,
    MARK,
    MATCH,
    OBJECT,
    ORDER,
    OWN,
    PARTITION,
    PERIOD_BEFORE,
    REST,
    ROW,
    SEED,
    TASK,
    WATERMARK,
)
from tidemark.spark.compat.jvm import scala_columns
from tidemark.spark.jvm_functions import java_class
from tidemark.spark.local_frames import Columns, local_frame, small_frame
from tidemark.spark.partitioning.by_task import send
from tidemark.spark.partitioning.layout import Chunk, Layout, RunningState, cell_of_row
from tidemark.spark.tables.delta import quoted

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

_NARROW = (*ORDER, PARTITION, OWN, EVENT, BAD)
_MARKS = (IDENTITY, MARK, END, MATCH)
"""Further columns that judging needs for sources with `deduplicate`, intervals or punctuation."""
_WHOLE, _NOT_CHUNKED = 0, -1
"""Chunk numbers of partitions that are not cut: if no partition is cut, and if others are."""
_FIELDS = ("rows", "watermark", "high", "counted", "period")


class _Seed(NamedTuple):
    """State before the rows of one chunk, added as a row before them; times in microseconds."""

    partition: str
    chunk: int
    arrival: int | None
    rows: int
    watermark: int | None
    high: int | None
    counted: int
    period: int | None


class PartitionTasks:
    """Plan parameter: the tasks of partitions that are not assigned by the hash of their names.

    Tasks get it as a job begins, so that a batch with other partitions needs no other plan.
    """

    def __init__(self) -> None:
        self._lookup: JavaObject = java_class("plans.PlanTasks")()

    def set(self, tasks: Mapping[str, int]) -> None:
        """Set the tasks of partitions for later jobs."""
        self._lookup.set(json.dumps(dict(tasks)))

    def at(self, partition: Column, by_name: Column) -> Column:
        """Task of a partition; `by_name` if none was set for it."""
        return Column(self._lookup.at(scala_columns([partition, by_name])))


def repartition(
    rows: DataFrame,
    layout: Layout,
    opening: Opening,
    own_time: bool,
    tasks: PartitionTasks | None = None,
    seen: DataFrame | None = None,
) -> DataFrame:
    """Send each row to its task, with its chunk, and add seeds and remembered keys, which sort before these rows.

    Columns not needed for judging are packed in `REST`. `SEED` is null except in seeds and remembered keys (from
    `seen`). `tasks` is set to the tasks of partitions; later jobs may set others.
    """
    kept = [*_NARROW, *[name for name in _MARKS if name in rows.columns]]
    rest = F.struct(*[quoted(name) for name in rows.columns if name not in kept])
    chunk = F.lit(_WHOLE)
    if layout.cells:
        rows = chunked(rows, layout)
        chunk = F.coalesce(F.col(CHUNK), F.lit(_NOT_CHUNKED))
    narrow = rows.select(*kept, rest.alias(REST), chunk.alias(CHUNK))
    seeds = _as_rows(known_before(rows.sparkSession, layout, opening, own_time), narrow)
    task = (F.lit(0) if layout.tasks == 1 else _task(layout, tasks or PartitionTasks())).alias(TASK)
    none = F.lit(None).cast(seeds.schema[SEED].dataType)
    if seen is not None:
        seeds = seeds.unionByName(_remembered(seen, narrow))
    whole = narrow.select("*", task, none.alias(SEED)).unionByName(seeds.select("*", task))
    return send(whole, layout.tasks, F.col(TASK))


def _task(layout: Layout, tasks: PartitionTasks) -> Column:
    tasks.set(layout.assigned)
    task = tasks.at(F.col(PARTITION), F.pmod(F.hash(PARTITION), F.lit(layout.tasks)))
    if layout.cells:
        task = F.when(F.col(CHUNK) >= 0, F.pmod(F.col(CHUNK), F.lit(layout.tasks))).otherwise(task)
    return task


def chunked(rows: DataFrame, layout: Layout) -> DataFrame:
    """Rows with their cell, its chunk, and the state before the cell.

    The state is the latest arrival, and for a punctuated source the number of rows that count and their latest
    period. Chunk and state are null for rows of partitions without skew.
    """
    known = [
        (partition, *position, number, before.arrival, before.counted, before.period)
        for (partition, position), number in layout.cells.items()
        for before in (layout.before[partition, position],)
    ]
    columns: Columns = [
        (PARTITION, pa.string()),
        (OBJECT, pa.int32()),
        (BLOCK, pa.int64()),
        (CELL, pa.int32()),
        (CHUNK, pa.int32()),
        *[(name, pa.int64()) for name in (ARRIVED_BEFORE, COUNTED_BEFORE, PERIOD_BEFORE)],
    ]
    cells = small_frame(rows.sparkSession, known, columns)
    return rows.withColumn(CELL, cell_of_row(layout.bits)).join(cells, [PARTITION, OBJECT, BLOCK, CELL], "left")


def opened(opening: Opening, partition: str, own_time: bool) -> RunningState:
    """State of a partition when a batch begins. For rows without an event time of their own, the latest arrival is at
    least the estimated one."""
    state = opening.states.get(partition, opening.unseen)
    arrival = state.last_arrival if own_time else latest(state.last_arrival, state.estimated_high)
    return RunningState(state.next_offset, arrival, state.counted, state.period)


def known_before(spark: SparkSession, layout: Layout, opening: Opening, own_time: bool) -> DataFrame:
    """State before a batch: one row for each chunk and each partition that is not cut."""
    columns: Columns = [
        (PARTITION, pa.string()),
        (CHUNK, pa.int32()),
        *[(name, pa.int64()) for name in (OWN, *_FIELDS)],
    ]
    return local_frame(spark, list(_known(layout, opening, own_time)), columns)


def _as_rows(seeds: DataFrame, narrow: DataFrame) -> DataFrame:
    """Seeds as rows that belong to no object: they sort first and are marked as quarantined."""
    types = {field.name: field.dataType for field in narrow.schema}
    given = {
        PARTITION: F.col(PARTITION),
        CHUNK: F.col(CHUNK),
        OWN: F.col(OWN),
        OBJECT: F.lit(-1),
        BAD: F.lit(SEED),
    }
    filled = [given.get(name, F.lit(None)).cast(kind).alias(name) for name, kind in types.items()]
    return seeds.select(*filled, F.struct(*_FIELDS).alias(SEED))


def _remembered(seen: DataFrame, narrow: DataFrame) -> DataFrame:
    """Remembered keys as rows that sort after their partition's seed and do not change its state; no partition is cut
    if there are such keys."""
    types = {field.name: field.dataType for field in narrow.schema}
    given = {name: F.col(name) for name in (PARTITION, OWN, IDENTITY)}
    given |= {CHUNK: F.lit(_WHOLE), OBJECT: F.lit(-1), BLOCK: F.lit(0), ROW: F.lit(0), BAD: F.lit(SEED)}
    filled = [given.get(name, F.lit(None)).cast(kind).alias(name) for name, kind in types.items()]
    numbers = {"rows": F.lit(0), "watermark": F.col(WATERMARK), "counted": F.lit(0)}
    state = [numbers.get(name, F.lit(None)).cast("long").alias(name) for name in _FIELDS]
    return seen.select(*filled, F.struct(*state).alias(SEED))


def _known(layout: Layout, opening: Opening, own_time: bool) -> Iterator[_Seed]:
    cut = {chunk.partition for chunk in layout.chunks.values()}
    for name, state in opening.states.items():
        if name not in cut:
            whole = _NOT_CHUNKED if layout.cells else _WHOLE
            yield _seed(Chunk(name, whole, opened(opening, name, own_time)), state)
    for chunk in layout.chunks.values():
        yield _seed(chunk, opening.states.get(chunk.partition, opening.unseen))


def _seed(chunk: Chunk, state: PartitionState) -> _Seed:
    before = chunk.before
    known = before.arrival, before.rows, state.watermark, chunk.high_before
    return _Seed(chunk.partition, chunk.number, *known, before.counted, before.period)
