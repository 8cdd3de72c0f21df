"""Removes the rows of batches from a given one on from the Spark tables of a version that nobody reads yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.core.advance import States
from tidemark.core.stream_output import OUTPUTS
from tidemark.core.watermarks import UNKNOWN
from tidemark.spark.judge import seen, substreams
from tidemark.spark.tables.delta import append, exists
from tidemark.storage import Location

_REPAIR = "tidemark/repair"
KINDS = ("events", *OUTPUTS)


def truncate(
    spark: SparkSession,
    root: Location,
    tables: Sequence[str],
    sources: Mapping[str, SourceSpec],
    states: States,
    first: int,
) -> None:
    """Delete the rows of batches from `first` on in `tables`, and write substreams and seen keys as the batches
    before `first` left them. `states` are the states after these batches."""
    for table in tables:
        if table.partition("/")[0] in KINDS:
            DeltaTable.forPath(spark, str(root / table)).delete(F.col("_batch_id") >= first)
    if exists(str(root / "substreams")):
        write_substreams(spark, root, sources, states, first)
    write_all_seen(spark, root, sources, states, first)


def write_all_seen(
    spark: SparkSession, root: Location, sources: Mapping[str, SourceSpec], states: States, first: int
) -> None:
    """Write the keys that batches before `first` left, of all sources that look for duplicates."""
    for source in sources.values():
        if source.deduplicate is not None:
            write_seen(spark, root, source, states, first)


def write_seen(spark: SparkSession, root: Location, source: SourceSpec, states: States, first: int) -> int:
    """Write the keys that batches before `first` left, computed from the events. Returns the number of rows."""
    location = str(root / f"events/{source.name}")
    if not exists(location):
        return 0
    mine = {name: state for (of, name), state in states.items() if of == source.name}
    rows = seen.left(spark.read.format("delta").load(location), source, first, mine).persist()
    try:
        seen.replace_all(rows, str(root / seen.table_of(source.name)), first - 1)
        return rows.count()
    finally:
        rows.unpersist()


def write_substreams(
    spark: SparkSession, root: Location, sources: Mapping[str, SourceSpec], states: States, first: int
) -> int:
    """Write the substreams as the batches before `first` left them, computed from the events. Returns the number of
    rows."""
    left = [_left(spark, root, source, states, first) for source in sources.values()]
    known = [rows for rows in left if rows is not None]
    if not known:
        return 0
    whole = reduce(DataFrame.unionByName, known).persist()
    try:
        location = str(root / "substreams")
        if exists(location):
            whole.write.format("delta").mode("overwrite").save(location)
        else:
            append(whole, location, first - 1, application=_REPAIR)
        return whole.count()
    finally:
        whole.unpersist()


def _left(spark: SparkSession, root: Location, source: SourceSpec, states: States, first: int) -> DataFrame | None:
    """Watermark of each substream of a source above its partition's floor, from the rows that set it; None if the
    source has no substreams or no events table."""
    location = str(root / f"events/{source.name}")
    if not source.over or source.timestamp_by is None or not exists(location):
        return None
    floors = {name: state.floor for (of, name), state in states.items() if of == source.name and name != UNKNOWN}
    events = spark.read.format("delta").load(location)
    return substreams.left(events, source.name, first, source.policy.disorder, floors)
