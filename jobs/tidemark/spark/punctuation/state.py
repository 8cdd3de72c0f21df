"""Marks of a punctuated source's rows, and the punctuations that they make (time rules: punctuated sources).

Rows from landing and event rows go through equal functions, so that a first run, a recovery and a replay agree.
"""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from tidemark.core.advance import Opening
from tidemark.core.punctuation import Every, Mark, Marks, Punctuation, Shape
from tidemark.core.watermarks import PartitionState, latest
from tidemark.spark.admission import admitted
from tidemark.spark.columns import ARRIVAL, CELL, END, EVENT, MARK, MATCH, OFFSET, PARTITION, PUNCTUATED, SEED, TASK
from tidemark.spark.expressions import text_of, value_of
from tidemark.spark.local_frames import Columns, small_frame
from tidemark.spark.maxima import punctuated
from tidemark.spark.partitioning.by_task import send
from tidemark.spark.partitioning.layout import Layout, balanced
from tidemark.spark.times import at_bounds, divided, micros_of

COUNTED = tuple(mark.value for mark in (Mark.POINT, Mark.INTERVAL, Mark.START))
"""Marks of rows that count for `every`."""
WITH_END = (Mark.INTERVAL.value, Mark.END.value)
_WHOLE = 62
"""Bits of a cell that is a whole partition."""


def mark_columns(rows: DataFrame, punctuation: Punctuation, shape: Shape) -> dict[str, Column]:
    """Columns `MARK`, `END` and `MATCH` of each row.

    `MARK` is the kind of row, null for an edge that is neither start nor end. `END` is in microseconds, null if the
    row needs no end or has none that can be read. `MATCH` is the text by which edges are paired.
    """
    mark = F.lit((Mark.POINT if shape.end_time is None else Mark.INTERVAL).value)
    if shape.kind is not None:
        kind = text_of(rows, shape.kind, "shape.edge.kind")
        mark = F.when(kind == shape.start, Mark.START.value).when(kind == shape.end, Mark.END.value)
    if punctuation.row is not None:
        given = value_of(rows, punctuation.row, "punctuation.row")[0].cast("boolean")
        mark = F.when(F.coalesce(given, F.lit(False)), Mark.PUNCTUATION.value).otherwise(mark)
    end = F.lit(None).cast("long")
    if shape.end_time is not None:
        end = F.when(mark.isin(*WITH_END), micros_of(rows, shape.end_time, "shape.end_time"))
    parts = [text_of(rows, text, "shape.edge.match") for text in shape.match]
    match = F.to_json(F.array(*parts), {"ignoreNullFields": "false"}) if parts else F.lit("")
    return {MARK: mark, END: end, MATCH: match}


class PunctuationColumns(NamedTuple):
    """Columns from which punctuations are computed; null where a row has no value.

    `counts`: true if the row counts for `every`. `often`: a punctuation is issued each time so many rows have
    counted. `period`: the row's period. `given`: the punctuation that the row gives if it issues one. `sets`: the
    punctuation that the row itself is.
    """

    counts: Column
    often: Column
    period: Column
    given: Column
    sets: Column


def punctuation_columns(punctuation: Punctuation, sound: Column, event: Column) -> PunctuationColumns:
    """`PunctuationColumns` of rows with `MARK`; `sound` is false for quarantined rows, `event` in microseconds."""
    every, none = punctuation.every, F.lit(None).cast("long")
    return PunctuationColumns(
        sound & F.coalesce(F.col(MARK).isin(*COUNTED), F.lit(False)),
        none if every is None or every.count is None else F.lit(every.count).cast("long"),
        none if every is None or every.period is None else divided(event, every.period),
        at_bounds(event - punctuation.delay),
        F.when(sound & (F.col(MARK) == Mark.PUNCTUATION.value), event),
    )


def marked_events(events: DataFrame, punctuation: Punctuation, shape: Shape) -> DataFrame:
    """Event rows with `MARK`, `END`, `MATCH`, partition, offset and `EVENT` under the names that judging uses."""
    named = events.withColumns(mark_columns(events, punctuation, shape))
    times = {EVENT: F.unix_micros("_event_time"), PARTITION: F.col("_partition"), OFFSET: F.col("_offset")}
    return named.withColumns(times)


def issued_by_events(
    events: DataFrame, punctuation: Punctuation, shape: Shape, opening: Opening, layout: Layout
) -> DataFrame:
    """Rows (`PARTITION`, `ARRIVAL`, `PUNCTUATED`) from event rows of consecutive batches; `opening` is the state
    before.

    `PUNCTUATED` is a punctuation set by this row or an earlier row; the partition's punctuation is the greatest so
    far. Rows are computed by cells, each some consecutive rows of a partition. The state before each cell is counted
    first. So the cells of one partition can be divided among tasks.
    """
    rows = marked_events(events, punctuation, shape).withColumn(ARRIVAL, F.unix_micros("_arrival_time"))
    columns = punctuation_columns(punctuation, admitted(), F.col(EVENT))
    named = {name: column.alias(name) for name, column in columns._asdict().items()}
    if punctuation.every is None:
        return rows.select(PARTITION, ARRIVAL, named["sets"].alias(PUNCTUATED))
    cell = F.shiftright(F.col(OFFSET), layout.bits if layout.tasks > 1 else _WHOLE).alias(CELL)
    rows = rows.select(PARTITION, ARRIVAL, OFFSET, cell, *named.values())
    rows = rows.join(_cells(rows, opening, layout.tasks), [PARTITION, CELL], "left")
    rows = send(rows, layout.tasks, F.col(TASK)).sortWithinPartitions(PARTITION, CELL, OFFSET)
    part = F.col(PARTITION).cast("binary")
    issued = punctuated(F.col(CELL), part, F.col(SEED), *[F.col(name) for name in named])
    return rows.select(PARTITION, ARRIVAL, issued["after"].alias(PUNCTUATED))


def _cells(rows: DataFrame, opening: Opening, tasks: int) -> DataFrame:
    """Rows (`PARTITION`, `CELL`, `TASK`, `SEED`): the task of each cell, and the state before it.

    With one task there is one cell per partition, and nothing has to be counted.
    """
    known: list[tuple[str, int, int, int, int | None]] = []
    if tasks == 1:
        known = [(name, 0, 0, state.counted, state.period) for name, state in opening.states.items()]
    else:
        counts = F.count_if("counts"), F.max(F.when(F.col("counts"), F.col("period")))
        found = rows.groupBy(PARTITION, CELL).agg(F.count("*"), *counts).orderBy(PARTITION, CELL).collect()
        shared = balanced({(row[0], row[1]): row[2] for row in found}, tasks)
        left: dict[str, tuple[int, int | None]] = {}
        for name, cell, _, counted, period in found:
            state = opening.states.get(name, opening.unseen)
            before = left.get(name, (state.counted, state.period))
            known.append((name, cell, shared[name, cell], *before))
            left[name] = before[0] + counted, latest(before[1], period)
    numbers: Columns = [(CELL, pa.int64()), (TASK, pa.int32()), ("counted", pa.int64()), ("period", pa.int64())]
    cells = small_frame(rows.sparkSession, known, [(PARTITION, pa.string()), *numbers])
    return cells.select(PARTITION, CELL, TASK, seed_of(F.col("counted"), F.col("period")).alias(SEED))


def seed_of(counted: Column, period: Column, watermark: Column | None = None) -> Column:
    """State before a group of rows, as `punctuated` takes it; without a `watermark` if none is needed."""
    mark = F.lit(None).cast("long") if watermark is None else watermark
    return F.struct(mark.alias("watermark"), counted.alias("counted"), period.alias("period"))


def marks_of(events: DataFrame, punctuation: Punctuation, shape: Shape, opening: Opening) -> dict[str, Marks]:
    """By partition, the `Marks` that a batch's event rows left.

    A punctuation that a row issues is the `_watermark` of the rows after it. Only if the last row that counts issues
    one, it must still be found, and aggregates in any order suffice for that.
    """
    rows = marked_events(events, punctuation, shape)
    columns = punctuation_columns(punctuation, admitted(), F.col(EVENT))
    there = F.col("_system_timestamp").isNotNull()
    opened = F.when(there & (F.col(MARK) == Mark.START.value), 1).when(there & (F.col(MARK) == Mark.END.value), -1)
    rows = rows.select(
        PARTITION,
        F.greatest(F.unix_micros("_watermark"), columns.sets).alias("mark"),
        F.when(columns.counts, F.col(OFFSET)).alias("position"),
        F.when(columns.counts, columns.period).alias("period"),
        columns.given.alias("given"),
        opened.alias("opened"),
    )
    every = punctuation.every
    return {
        row[0]: _left(row, every, opening.states.get(row[0], opening.unseen)) for row in _by_partition(rows).collect()
    }


def _by_partition(rows: DataFrame) -> DataFrame:
    """Aggregates of each partition for `_left`, from rows with `mark`, `position`, `period`, `given` and `opened`."""
    periods = rows.groupBy(PARTITION, "period").agg(
        F.max("mark").alias("mark"),
        F.count("position").alias("counted"),
        F.sum("opened").alias("opened"),
        F.min_by("given", "position").alias("first"),
        F.max_by("given", "position").alias("last"),
        F.max("position").alias("position"),
    )
    return periods.groupBy(PARTITION).agg(
        F.max("mark").alias("mark"),
        F.sum("counted").alias("counted"),
        F.max("period").alias("period"),
        F.sum("opened").alias("opened"),
        F.max_by("first", "period").alias("entering"),
        F.max_by("last", "position").alias("last"),
    )


def _left(row: Row, every: Every | None, state: PartitionState) -> Marks:
    """`Marks` from a partition's aggregates.

    `entering` is the punctuation that the first row of the latest period gives, `last` the punctuation that the last
    counted row gives.
    """
    issued = None
    if every is not None and every.count is not None and (state.counted + row["counted"]) % every.count == 0:
        issued = row["last"]
    if row["period"] is not None and (state.period is None or row["period"] > state.period):
        issued = row["entering"]
    return Marks(latest(row["mark"], issued), row["counted"], row["period"], row["opened"] or 0)
