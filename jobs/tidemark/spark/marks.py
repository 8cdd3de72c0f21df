"""What rows of a punctuated source are, and what they make of its punctuation (time rules: punctuated sources).

Computed alike over rows as they are read and over events: so a first run, a repair and a replay agree.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.core.advance import Opening
from tidemark.core.policy import Fate
from tidemark.core.progress import PartitionState
from tidemark.core.punctuation import Mark, Marks, Punctuation, Shape
from tidemark.core.times import MAX_TIME, MIN_TIME
from tidemark.spark.maxima import punctuated
from tidemark.spark.names import END, EVENT, MARK, MATCH, OFFSET, PARTITION, PUNCTUATED, SEED
from tidemark.spark.small import Columns, local_frame
from tidemark.spark.sql import value_of
from tidemark.spark.times import divided, micros_of

COUNTED = tuple(mark.value for mark in (Mark.POINT, Mark.INTERVAL, Mark.START))
"""Rows that count for `every`."""
WITH_END = (Mark.INTERVAL.value, Mark.END.value)
SEED_FIELDS = ("watermark", "counted", "period")


def mark_columns(rows: DataFrame, punctuation: Punctuation, shape: Shape) -> dict[str, Column]:
    """What each row is (`MARK`, null for an edge of neither kind), its `END` in microseconds if it has to have one
    and one can be read, and what edges are matched by (`MATCH`)."""
    mark = F.lit((Mark.POINT if shape.end_time is None else Mark.INTERVAL).value)
    if shape.kind is not None:
        kind = value_of(rows, shape.kind, "shape.edge.kind")[0].cast("string")
        mark = F.when(kind == shape.start, Mark.START.value).when(kind == shape.end, Mark.END.value)
    if punctuation.row is not None:
        told = value_of(rows, punctuation.row, "punctuation.row")[0].cast("boolean")
        mark = F.when(F.coalesce(told, F.lit(False)), Mark.PUNCTUATION.value).otherwise(mark)
    end = F.lit(None).cast("long")
    if shape.end_time is not None:
        end = F.when(mark.isin(*WITH_END), micros_of(rows, shape.end_time, "shape.end_time"))
    parts = [value_of(rows, text, "shape.edge.match")[0].cast("string") for text in shape.match]
    match = F.to_json(F.array(*parts), {"ignoreNullFields": "false"}) if parts else F.lit("")
    return {MARK: mark, END: end, MATCH: match}


def endless(event: Column) -> Column:
    """Whether a row has to have an end and has none after its start."""
    return F.col(MARK).isin(*WITH_END) & (F.col(END).isNull() | (F.col(END) <= event))


def with_punctuation(
    rows: DataFrame, punctuation: Punctuation, sound: Column, event: Column, group: Column, part: Column, seed: Column
) -> DataFrame:
    """Sorted rows of a task with `PUNCTUATED`: the punctuation before each and after it, by rows of the partition
    alone. `seed` is null but where a group's state stands."""
    every, none = punctuation.every, F.lit(None).cast("long")
    often = none if every is None or every.count is None else F.lit(every.count).cast("long")
    period = none if every is None or every.period is None else divided(event, every.period)
    counts = sound & F.col(MARK).isin(*COUNTED)
    given = F.least(F.greatest(event - punctuation.delay, F.lit(MIN_TIME)), F.lit(MAX_TIME))
    sets = F.when(sound & (F.col(MARK) == Mark.PUNCTUATION.value), event)
    told = [counts, often, period, given, sets]
    return rows.withColumn(PUNCTUATED, punctuated(rows.sparkSession, group, part, seed, *told))


def marked_events(events: DataFrame, punctuation: Punctuation, shape: Shape) -> DataFrame:
    """Event rows with `MARK`, `END`, `MATCH`, partition, offset and `EVENT` under the names that judging uses."""
    named = events.withColumns(mark_columns(events, punctuation, shape))
    times = {EVENT: F.unix_micros("_event_time"), PARTITION: F.col("_partition"), OFFSET: F.col("_offset")}
    return named.withColumns(times)


def punctuated_events(events: DataFrame, punctuation: Punctuation, shape: Shape, opening: Opening) -> DataFrame:
    """Event rows of consecutive batches, which began with an opening, with `MARK` and `PUNCTUATED`; narrow."""
    kept = ["_disposition", "_system_timestamp", "_arrival_time", "_watermark", MARK, EVENT, PARTITION, OFFSET]
    rows = marked_events(events, punctuation, shape).select(*kept)
    types = {field.name: field.dataType for field in rows.schema}
    seeds = _seeds(rows, opening.states)
    given = {PARTITION: F.col(PARTITION), OFFSET: F.lit(-1)}
    filled = [given.get(name, F.lit(None)).cast(kind).alias(name) for name, kind in types.items()]
    seeds = seeds.select(*filled, F.struct(*SEED_FIELDS).alias(SEED))
    none = F.lit(None).cast(seeds.schema[SEED].dataType)
    whole = rows.withColumn(SEED, none).unionByName(seeds).repartition(PARTITION)
    whole = whole.sortWithinPartitions(PARTITION, OFFSET)
    sound = F.col("_disposition") != Fate.QUARANTINED.value
    part, seed = F.col(PARTITION).cast("binary"), F.col(SEED)
    told = with_punctuation(
        whole, punctuation, F.coalesce(sound, F.lit(False)), F.col(EVENT), F.lit(0).cast("long"), part, seed
    )
    return told.where(F.col(SEED).isNull()).drop(SEED)


def marks_of(events: DataFrame, punctuation: Punctuation, shape: Shape, opening: Opening) -> dict[str, Marks]:
    """By partition, what a batch's event rows left."""
    rows = punctuated_events(events, punctuation, shape, opening)
    every = punctuation.every
    period = F.lit(None).cast("long")
    if every is not None and every.period is not None:
        period = divided(F.col(EVENT), every.period)
    sound = F.col("_disposition") != Fate.QUARANTINED.value
    counts = sound & F.col(MARK).isin(*COUNTED)
    there = F.col("_system_timestamp").isNotNull()
    opened = F.count_if((F.col(MARK) == Mark.START.value) & there)
    ended = F.count_if((F.col(MARK) == Mark.END.value) & there)
    own = F.max(F.col(PUNCTUATED)["after"])
    found = rows.groupBy(PARTITION).agg(
        F.greatest(own, F.max(F.unix_micros("_watermark"))),
        F.count_if(counts),
        F.max(F.when(counts, period)),
        opened - ended,
    )
    return {row[0]: Marks(row[1], row[2], row[3], row[4]) for row in found.collect()}


def _seeds(rows: DataFrame, states: Mapping[str, PartitionState]) -> DataFrame:
    known = [(name, state.watermark, state.counted, state.period) for name, state in states.items()]
    columns: Columns = [(PARTITION, pa.string()), *[(name, pa.int64()) for name in SEED_FIELDS]]
    return local_frame(rows.sparkSession, known, columns)
