"""Computes the running state at the start of each chunk of a skewed partition, before any row is judged.

Two passes are made over narrow rows in the order of their files (`scattered` rows are sorted first). The first counts
the rows of each cell and takes their maxima. With the state before each cell known, the second finds the highest
staged time of each chunk, or the latest punctuation that its rows issue.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.core.advance import Opening
from tidemark.spark.columns import (
    ARRIVAL,
    ARRIVED_BEFORE,
    BAD,
    BLOCK,
    CELL,
    CHUNK,
    COUNTED_BEFORE,
    END,
    EVENT,
    MARK,
    OBJECT,
    ORDER,
    OWN,
    PARTITION,
    PERIOD_BEFORE,
    PUNCTUATED,
    ROW,
    STAGED,
)
from tidemark.spark.judge.judge import staged_by_arrival
from tidemark.spark.maxima import latest_in_cell, punctuated
from tidemark.spark.partitioning.layout import FilePiece, Layout, RunningState, cell_of_row
from tidemark.spark.partitioning.shuffle import chunked, opened
from tidemark.spark.punctuation.state import punctuation_columns, seed_of

_CELL = (PARTITION, OBJECT, BLOCK, CELL)


def cut_skewed(rows: DataFrame, source: SourceSpec, opening: Opening, layout: Layout, scattered: bool) -> Layout:
    """Layout whose skewed partitions are cut into chunks, each with the state before it."""
    more = [MARK] if source.punctuated else [] if source.interval_end is None else [END]
    narrow = [*ORDER, PARTITION, OWN, EVENT, BAD, *more]
    skewed = rows.where(F.col(PARTITION).isin(list(layout.skewed))).select(
        *narrow, cell_of_row(layout.bits).alias(CELL)
    )
    own_time = source.timestamp_by is not None
    every = source.punctuated.every.period if source.punctuated and source.punctuated.every else None
    sorted_ = _in_order if scattered else _as_they_come
    cells = _cells(sorted_(skewed, layout), source)
    layout = layout.with_cells(cells, lambda name: opened(opening, name, own_time), None if own_time else every)
    known = sorted_(chunked(skewed, layout), layout)
    known = known.withColumn(ARRIVAL, F.greatest(ARRIVED_BEFORE, _arrival_in_cell()))
    highs = _highs(known, source, opening) if source.punctuated is None else _issued(known, source)
    return layout.with_highs(highs)


def _as_they_come(rows: DataFrame, layout: Layout) -> DataFrame:  # noqa: ARG001 # called like _in_order
    return rows


def _in_order(rows: DataFrame, layout: Layout) -> DataFrame:
    """Bring each cell's rows into one task, in log order."""
    return rows.repartition(layout.tasks, *_CELL).sortWithinPartitions(*_CELL, ROW)


def _cells(skewed: DataFrame, source: SourceSpec) -> list[FilePiece]:
    counts, period = F.lit(False), F.lit(None).cast("long")
    if source.punctuated is not None:
        if source.timestamp_by is None:
            skewed = skewed.withColumn(EVENT, _arrival_in_cell())
        columns = punctuation_columns(source.punctuated, F.col(BAD).isNull(), F.col(EVENT))
        counts, period = columns.counts, columns.period
    state = F.count("*"), F.max(OWN), F.count_if(counts), F.max(F.when(counts, period))
    found = skewed.groupBy(*_CELL).agg(*state).collect()
    return [FilePiece(row[0], (row[1], row[2], row[3]), RunningState(*row[4:])) for row in found]


def _arrival_in_cell() -> Column:
    """Latest arrival so far among the rows of a cell."""
    return latest_in_cell(F.col(PARTITION), _cell_number(), F.col(OWN))


def _cell_number() -> Column:
    return F.xxhash64(OBJECT, BLOCK, CELL)


def _highs(known: DataFrame, source: SourceSpec, opening: Opening) -> list[tuple[str, int, int | None]]:
    """(partition, chunk, highest staged time)."""
    return _by_chunk(staged_by_arrival(known, source, opening), F.col(STAGED))


def _issued(known: DataFrame, source: SourceSpec) -> list[tuple[str, int, int | None]]:
    """(partition, chunk, latest punctuation that its rows issue)."""
    if source.punctuated is None:
        raise ValueError(f"{source.name} is not punctuated")
    event = F.col(ARRIVAL) if source.timestamp_by is None else F.col(EVENT)
    columns = punctuation_columns(source.punctuated, F.col(BAD).isNull(), event)
    seed = seed_of(F.col(COUNTED_BEFORE), F.col(PERIOD_BEFORE))
    part = F.col(PARTITION).cast("binary")
    rows = known.withColumn(PUNCTUATED, punctuated(_cell_number(), part, seed, *columns))
    return _by_chunk(rows, F.col(PUNCTUATED)["after"])


def _by_chunk(rows: DataFrame, time: Column) -> list[tuple[str, int, int | None]]:
    return [(row[0], row[1], row[2]) for row in rows.groupBy(PARTITION, CHUNK).agg(F.max(time)).collect()]
