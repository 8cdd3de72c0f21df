"""Start edges and their end edges (time rules: punctuated sources, edges).

The table `lifetimes/<source>` has one row a pair, appended by the batch that brought the end edge. Which start edges
are open is told from it and from the events: those of batches before, from the earliest start on that an end edge of
the batch names, since the start in force is never before the original one.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.core.account import Occurrence, TableDigest
from tidemark.core.policy import Fate
from tidemark.core.punctuation import Mark
from tidemark.spark.accounts import occurrences
from tidemark.spark.digest import measured
from tidemark.spark.marks import marked_events
from tidemark.spark.maxima import paired
from tidemark.spark.names import BAD, BEHIND, EARLIER, EVENT, MARK, MATCH, OFFSET, PAIR, PARTITION, STAMP
from tidemark.spark.small import local_frame
from tidemark.spark.tables import append_measured, exists, holds, slice_of

STATISTICS = "_offset,_system_timestamp,_end_time,_batch_id"
_KEY = (PARTITION, MATCH, EVENT)


def table_of(source: str) -> str:
    """The name of the table of a source's pairs."""
    return f"lifetimes/{source}"


def earliest_end_edge(rows: DataFrame) -> int | None:
    """The earliest start that an end edge among marked rows names, microseconds; None without end edges."""
    ends = rows.where(F.col(MARK) == Mark.END.value)
    return ends.agg(F.min(EVENT)).collect()[0][0]  # type: ignore[no-any-return] # a whole number


def open_starts(spark: SparkSession, root: str, source: SourceSpec, before: int, since: int | None) -> DataFrame:
    """Start edges of batches before `before` that no end edge had closed, of starts in force from `since` on, with
    the names that judging uses."""
    place = f"{root}/events/{source.name}"
    if since is None or not exists(place):
        columns = [(PARTITION, pa.string()), (MATCH, pa.string())]
        numbers = [(name, pa.int64()) for name in (EVENT, OFFSET, STAMP)]
        return local_frame(spark, [], [*columns, *numbers])
    first = F.timestamp_micros(F.lit(since))
    events = spark.read.format("delta").load(place)
    events = events.where((F.col("_batch_id") < before) & (F.col("_system_timestamp") >= first))
    starts = _marked(events, source).where(F.col(MARK) == Mark.START.value)
    known = starts.withColumn(STAMP, F.unix_micros("_system_timestamp")).select(*_KEY, OFFSET, STAMP)
    pairs = f"{root}/{table_of(source.name)}"
    if not exists(pairs):
        return known
    ended = spark.read.format("delta").load(pairs)
    ended = ended.where((F.col("_batch_id") < before) & (F.col("_system_timestamp") >= first))
    named = ended.select(F.col("_partition").alias(PARTITION), F.col("_offset").alias(OFFSET))
    return known.join(named, [PARTITION, OFFSET], "left_anti")


def with_pairs(rows: DataFrame, open_: DataFrame, tasks: int) -> DataFrame:
    """Judged rows with `PAIR`: of an end edge, offset and start in force of the start edge that it closes, or, if it
    is behind the punctuation, would have closed."""
    end = (F.col(MARK) == Mark.END.value) & F.col(BAD).isNull()
    role = (
        F.when((F.col(MARK) == Mark.START.value) & F.col(STAMP).isNotNull(), "start")
        .when(end & F.col(BEHIND), "left")
        .when(end, "end")
    )
    return _paired(rows.withColumn(_ROLE, role), open_, tasks).drop(_ROLE)


def ends_of(spark: SparkSession, root: str, source: SourceSpec, batch_id: int, events: DataFrame) -> DataFrame:
    """Of a batch's event rows, the end edges that close a lifetime or leave one open."""
    open_ = open_starts(spark, root, source, batch_id, earliest_end_edge(_marked(events, source)))
    return ended(events, source, open_)


def ended(events: DataFrame, source: SourceSpec, open_: DataFrame) -> DataFrame:
    """Event rows of a batch that are end edges with a lifetime that they close or left open, with `PAIR`."""
    fate = F.col("_disposition")
    role = (
        F.when((F.col(MARK) == Mark.START.value) & F.col("_system_timestamp").isNotNull(), "start")
        .when((F.col(MARK) == Mark.END.value) & (fate == Fate.ON_TIME.value), "end")
        .when((F.col(MARK) == Mark.END.value) & (fate == Fate.DROPPED.value), "left")
    )
    names = ["_end_time", "_arrival_time", "_event_time", "_file", "_partition", "_offset", "_disposition"]
    marked = _marked(events, source).withColumn(STAMP, F.unix_micros("_system_timestamp")).withColumn(_ROLE, role)
    rows = marked.select(*_KEY, OFFSET, STAMP, _ROLE, *names)
    return _paired(rows, open_, 1).where((F.col(_ROLE) != "start") & F.col(PAIR).isNotNull())


def write(
    spark: SparkSession, root: str, source: SourceSpec, ends: DataFrame, batch_id: int, repairing: bool
) -> TableDigest:
    """Append a batch's pairs; when `repairing`, what is there already stands."""
    table = table_of(source.name)
    place = f"{root}/{table}"
    if not (repairing and holds(place, batch_id)):
        written = append_measured(pairs_of(ends, batch_id), place, batch_id, table, statistics=STATISTICS)
        if written is not None:
            return written
    return measured(table, slice_of(spark, place, batch_id))


def pairs_of(ends: DataFrame, batch_id: int) -> DataFrame:
    """Rows of the table, of the end edges that close a lifetime."""
    closing = ends.where(F.col(_ROLE) == "end")
    return closing.select(
        "_partition",
        F.col(PAIR)["offset"].alias("_offset"),
        F.timestamp_micros(F.col(PAIR)["start"]).alias("_system_timestamp"),
        "_end_time",
        F.col("_offset").alias("_end_offset"),
        F.lit(batch_id).cast("long").alias("_batch_id"),
    )


def left_open(ends: DataFrame) -> dict[str, Occurrence]:
    """By partition, dropped end edges whose lifetime stays open."""
    return occurrences(ends.where(F.col(_ROLE) == "left"))


_ROLE = "__tidemark_role"


def _marked(events: DataFrame, source: SourceSpec) -> DataFrame:
    if source.punctuated is None:
        raise ValueError(f"{source.name} has no edges")
    return marked_events(events, source.punctuated, source.lifetimes)


def _paired(rows: DataFrame, open_: DataFrame, tasks: int) -> DataFrame:
    """Rows with `PAIR`; those of one key come to one task, open start edges before them."""
    types = {field.name: field.dataType for field in rows.schema}
    given = {name: F.col(name) for name in (*_KEY, OFFSET, STAMP)} | {_ROLE: F.lit("start")}
    filled = [given.get(name, F.lit(None)).cast(kind).alias(name) for name, kind in types.items()]
    flags = rows.withColumn(EARLIER, F.lit(False)), open_.select(*filled, F.lit(True).alias(EARLIER))
    whole = flags[0].unionByName(flags[1])
    whole = whole.coalesce(1) if tasks == 1 else whole.repartition(tasks, *_KEY)
    whole = whole.sortWithinPartitions(*_KEY, OFFSET)
    told = [F.col(PARTITION).cast("binary"), F.col(MATCH).cast("binary"), F.col(EVENT)]
    pair = paired(rows.sparkSession, *told, F.col(_ROLE), F.col(OFFSET).cast("long"), F.col(STAMP))
    return whole.withColumn(PAIR, pair).where(~F.col(EARLIER)).drop(EARLIER)
