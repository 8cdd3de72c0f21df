"""Rows that a punctuated source gives to streams: points, intervals, and lifetimes between edges.

Lifetimes between edges are in two tables, with the columns of their start edges that streams may use.
`lifetimes/<source>` has ended lifetimes, appended by the batch of the end edge. `open_lifetimes/<source>` has start
edges that their own batch left open. Compaction removes from it the lifetimes that batches up to some batch B ended,
and records B in the table's log. So the lifetimes open before a batch N are the rows of `open_lifetimes`, less the
lifetimes that batches after B and before N ended; if N is not after B, plus the lifetimes that batches N to B ended.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.core.punctuation import Mark
from tidemark.spark.columns import CLOSED, MARK, TENTATIVE
from tidemark.spark.punctuation.state import mark_columns
from tidemark.spark.tables.delta import exists, last_of, quoted

ROW_KEY = ("_partition", "_offset")
START = (*ROW_KEY, "_system_timestamp", "_event_time", "_arrival_time", "_watermark")
"""Columns that are kept of a start edge besides its payload."""
BROUGHT = "_start_batch_id"
"""The batch that brought the start edge; `_batch_id` of an ended lifetime is the batch of its end edge."""
CLOSED_DATE = "_closed_date"
"""The day on which the end edge arrived; files of ended lifetimes are partitioned by it."""
_FORGETTING = "tidemark/forgotten"
"""Name in a table's log for the batch up to which ended lifetimes are removed."""


def ended_table(source: str) -> str:
    """The name of the table of a source's lifetimes that have ended."""
    return f"lifetimes/{source}"


def open_table(source: str) -> str:
    """The name of the table of a source's lifetimes that are open."""
    return f"open_lifetimes/{source}"


def open_before(spark: SparkSession, root: str, source: SourceSpec, batch_id: int) -> DataFrame | None:
    """Start edges of batches before `batch_id` that none of these batches closed; None without a table.

    Columns are `START`, `BROUGHT` and payload.
    """
    location, ended = f"{root}/{open_table(source.name)}", f"{root}/{ended_table(source.name)}"
    if not exists(location):
        return None
    through, left = _unforgotten(spark, location)
    left = left.where(F.col("_batch_id") < batch_id).withColumnRenamed("_batch_id", BROUGHT)
    found = left.select(*START, BROUGHT, *_payload(left, source))
    if not exists(ended):
        return found
    number = F.col("_batch_id")
    known = spark.read.format("delta").load(ended)
    known = known.where((F.col(BROUGHT) < batch_id) & (F.col(BROUGHT) < number))
    if batch_id > through:
        since = known.where((number > through) & (number < batch_id))
        return found.join(since.select(*ROW_KEY), list(ROW_KEY), "left_anti")
    again = known.where((number >= batch_id) & (number <= through))
    return found.unionByName(again.select(*START, BROUGHT, *_payload(again, source)))


def forgotten(root: str, source: str) -> int:
    """Last batch whose ended lifetimes are removed from the open lifetimes; 0 if none are removed."""
    location = f"{root}/{open_table(source)}"
    return (last_of(location, _FORGETTING) or 0) if exists(location) else 0


def forget_ended(spark: SparkSession, root: str, source: str, through: int) -> None:
    """Remove lifetimes ended by batches up to `through`, which are all committed, from the open lifetimes."""
    location, ended = f"{root}/{open_table(source)}", f"{root}/{ended_table(source)}"
    if not (exists(location) and exists(ended)):
        return
    since, whole = _unforgotten(spark, location)
    number = F.col("_batch_id")
    known = spark.read.format("delta").load(ended)
    known = known.where((number > since) & (number <= through) & (F.col(BROUGHT) < number))
    kept = whole.join(known.select(*ROW_KEY), list(ROW_KEY), "left_anti").select(*map(quoted, whole.columns))
    once = {"txnAppId": _FORGETTING, "txnVersion": str(through)}
    kept.write.format("delta").mode("overwrite").options(**once).save(location)


def of_stream(source: SourceSpec, events: DataFrame) -> DataFrame:
    """Surviving event rows of a source without edges as rows of its stream, with their `_end_time`."""
    if source.punctuated is None:
        return events if source.longest is None else events.withColumn("_end_time", _next_tick())
    mark = mark_columns(events, source.punctuated, source.lifetimes)[MARK]
    rows = events.where(mark.isin(Mark.POINT.value, Mark.INTERVAL.value))
    return rows if source.longest is None else rows.withColumn("_end_time", _next_tick())


def of_edges(spark: SparkSession, root: str, source: SourceSpec, last: int) -> DataFrame | None:
    """Rows of the stream of a source with edges, as they are after batch `last`; None if there has been none.

    `_end_time` is null while a lifetime is open. `_batch_id` is the batch of the start edge, `CLOSED` of the end
    edge. Lifetimes that end where they start are left out; an open one that may still end there is `TENTATIVE`.
    """
    ended = f"{root}/{ended_table(source.name)}"
    frames = []
    if exists(ended):
        known = spark.read.format("delta").load(ended)
        known = known.where((F.col("_batch_id") <= last) & (F.col("_end_time") > F.col("_system_timestamp")))
        frames.append(_as_rows(known, source, F.col("_end_time"), F.col("_batch_id")))
    open_ = open_before(spark, root, source, last + 1)
    if open_ is not None:
        none = F.lit(None)
        frames.append(_as_rows(open_, source, none.cast("timestamp"), none.cast("long")))
    return None if not frames else frames[0] if len(frames) == 1 else frames[0].unionByName(frames[1])


def _as_rows(rows: DataFrame, source: SourceSpec, end: Column, closed: Column) -> DataFrame:
    substream = F.lit(None).cast("string").alias("_substream")
    start = F.col("_system_timestamp")
    tentative = F.when(closed.isNull() & (start > F.col("_event_time")), start).alias(TENTATIVE)
    added = [end.alias("_end_time"), closed.alias(CLOSED), F.col(BROUGHT).alias("_batch_id"), substream, tentative]
    return rows.select(*START, *added, *_payload(rows, source))


def _unforgotten(spark: SparkSession, location: str) -> tuple[int, DataFrame]:
    """Last batch whose ended lifetimes are removed (0: none), and the rows of the table.

    Both are read at one version of the table: a replay may read while a run removes lifetimes.
    """
    while True:
        through = last_of(location, _FORGETTING)
        left = spark.read.format("delta").load(location)
        if last_of(location, _FORGETTING) == through:
            return through or 0, left


def _payload(rows: DataFrame, source: SourceSpec) -> list[Column]:
    """Declared columns; a column that was not yet declared when `rows` were written is null."""
    there = {name.lower() for name in rows.columns}
    return [
        quoted(column.name) if column.name.lower() in there else F.lit(None).cast(column.type).alias(column.name)
        for column in source.columns
    ]


def _next_tick() -> Column:
    return F.col("_system_timestamp") + F.expr("interval 1 microsecond")
