"""Sends rows to the tasks that judge them, narrow: columns that judging does not look at travel as one.

What is known before a batch comes as rows too: each partition's state, and what earlier chunks leave to a
chunk, as a seed that stands before the rows of its task, so that the running sums and maxima over a task's
rows begin with it. As data, and not as literals, it has no batch compiled anew.
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
    MARK,
    MATCH,
    OBJECT,
    ORDER,
    OWN,
    PARTITION,
    PERIOD_BEFORE,
    REST,
    SEED,
    TASK,
)
from tidemark.spark.jvm_functions import running
from tidemark.spark.local_frames import Columns, local_frame, small_frame
from tidemark.spark.partitioning.layout import Chunk, Layout, Reached, cell_of_row
from tidemark.spark.tables.delta import quoted

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

_NARROW = (*ORDER, PARTITION, OWN, EVENT, BAD)
_MARKS = (MARK, END, MATCH)
"""What judging looks at besides, in rows of punctuated sources."""
_WHOLE, _NOT_CHUNKED = 0, -1
"""Chunks of partitions that are not cut: where none is, and where others are."""
_FIELDS = ("rows", "watermark", "high", "counted", "period")


class _Seed(NamedTuple):
    """What stands before the rows of one chunk; times in microseconds."""

    partition: str
    chunk: int
    arrival: int | None
    rows: int
    watermark: int | None
    high: int | None
    counted: int
    period: int | None


class Placed:
    """The tasks of partitions that are not spread by their names, told to tasks as a job begins, so that a batch with
    others needs no other plan."""

    def __init__(self) -> None:
        self._told: JavaObject = running().tidemark.Placed()

    def tell(self, placed: Mapping[str, int]) -> None:
        """Tell jobs that begin later of others."""
        self._told.tell(json.dumps(dict(placed)))

    def at(self, partition: Column, by_name: Column) -> Column:
        """The task of a partition, which has one by its name."""
        return Column(self._told.at(running().PythonUtils.toSeq([partition._jc, by_name._jc])))


def spread(
    rows: DataFrame, layout: Layout, opening: Opening, own_time: bool, placed: Placed | None = None
) -> DataFrame:
    """Each row in its task, with its chunk, seeds before them; what is not needed to judge a row is packed in
    `REST`. `SEED` is null but for seeds. `placed` is told where partitions go, and of others later."""
    kept = [*_NARROW, *[name for name in _MARKS if name in rows.columns]]
    rest = F.struct(*[quoted(name) for name in rows.columns if name not in kept])
    chunk = F.lit(_WHOLE)
    if layout.cells:
        rows = chunked(rows, layout)
        chunk = F.coalesce(F.col(CHUNK), F.lit(_NOT_CHUNKED))
    narrow = rows.select(*kept, rest.alias(REST), chunk.alias(CHUNK))
    seeds = _as_rows(known_before(rows.sparkSession, layout, opening, own_time), narrow)
    task = (F.lit(0) if layout.tasks == 1 else _task(layout, placed or Placed())).alias(TASK)
    none = F.lit(None).cast(seeds.schema[SEED].dataType)
    whole = narrow.select("*", task, none.alias(SEED)).unionByName(seeds.select("*", task))
    return whole.coalesce(1) if layout.tasks == 1 else whole.repartitionById(layout.tasks, F.col(TASK))


def _task(layout: Layout, placed: Placed) -> Column:
    placed.tell(layout.placed)
    task = placed.at(F.col(PARTITION), F.pmod(F.hash(PARTITION), F.lit(layout.tasks)))
    if layout.cells:
        task = F.when(F.col(CHUNK) >= 0, F.pmod(F.col(CHUNK), F.lit(layout.tasks))).otherwise(task)
    return task


def chunked(rows: DataFrame, layout: Layout) -> DataFrame:
    """The chunk of each row of a hot partition, its cell, and what was reached before that: the latest arrival, and
    of a punctuated source the rows that count and their latest period. All null for other rows."""
    known = [
        (partition, *place, number, before.arrival, before.counted, before.period)
        for (partition, place), number in layout.cells.items()
        for before in (layout.reached[partition, place],)
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


def opened(opening: Opening, partition: str, own_time: bool) -> Reached:
    """What the rows of a partition had come to when a batch began. Where rows have no event time of their own,
    arrivals begin at the estimated ones."""
    state = opening.states.get(partition, opening.unseen)
    arrival = state.last_arrival if own_time else latest(state.last_arrival, state.estimated_high)
    return Reached(state.next_offset, arrival, state.counted, state.period)


def known_before(spark: SparkSession, layout: Layout, opening: Opening, own_time: bool) -> DataFrame:
    """What is known before a batch, a row for each chunk or partition."""
    columns: Columns = [
        (PARTITION, pa.string()),
        (CHUNK, pa.int32()),
        *[(name, pa.int64()) for name in (OWN, *_FIELDS)],
    ]
    return local_frame(spark, list(_known(layout, opening, own_time)), columns)


def _as_rows(seeds: DataFrame, narrow: DataFrame) -> DataFrame:
    """Rows that no object has: they come first, and are quarantined as far as judging can tell."""
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


def _known(layout: Layout, opening: Opening, own_time: bool) -> Iterator[_Seed]:
    hot = {chunk.partition for chunk in layout.chunks.values()}
    for name, state in opening.states.items():
        if name not in hot:
            whole = _NOT_CHUNKED if layout.cells else _WHOLE
            yield _seed(Chunk(name, whole, opened(opening, name, own_time)), state)
    for chunk in layout.chunks.values():
        yield _seed(chunk, opening.states.get(chunk.partition, opening.unseen))


def _seed(chunk: Chunk, state: PartitionState) -> _Seed:
    before = chunk.before
    known = before.arrival, before.rows, state.watermark, chunk.high_before
    return _Seed(chunk.partition, chunk.number, *known, before.counted, before.period)
