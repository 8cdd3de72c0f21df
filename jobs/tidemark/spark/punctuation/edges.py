"""Pairs end edges with their start edges (time rules: punctuated sources, edges).

A batch's end edges are paired with its own start edges and with start edges that earlier batches left open; nothing
else is read. Ended lifetimes and open start edges go to the two tables of lifetimes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.core.batch_result import NEWEST, Occurrence, TableDigest
from tidemark.core.policy import Fate
from tidemark.core.punctuation import Mark, Punctuation
from tidemark.spark.admission import admitted
from tidemark.spark.columns import BAD, BEHIND, EARLIER, EVENT, MARK, MATCH, OFFSET, PAIR, PARTITION, STAMP
from tidemark.spark.digests import measured
from tidemark.spark.maxima import paired
from tidemark.spark.punctuation.lifetimes import (
    BROUGHT,
    CLOSED_DATE,
    ROW_KEY,
    START,
    ended_table,
    open_before,
    open_table,
)
from tidemark.spark.punctuation.state import mark_columns, marked_events
from tidemark.spark.tables.accounts import occurrences
from tidemark.spark.tables.delta import append_measured, holds, quoted, slice_of

_KEY = (PARTITION, MATCH, EVENT)
_ROLE = "__tidemark_role"


@dataclass(frozen=True)
class KeptLifetimes:
    """Results of a batch's edges: rows of the two tables of lifetimes.

    `left_open` has, by partition, dropped end edges whose lifetime stays open.
    """

    source: SourceSpec
    batch_id: int
    ended: DataFrame
    opened: DataFrame
    left_open: dict[str, Occurrence]

    def write(self, root: str, recovering: bool, checkpoint: Callable[[str], None]) -> tuple[TableDigest, ...]:
        """Append the rows of both tables and return their digests; `checkpoint` is called with the name of each.

        With `recovering`, rows already there are kept.
        """
        made = []
        for table, (rows, by, ranges) in self._tables().items():
            location, written = f"{root}/{table}", None
            if not (recovering and holds(location, self.batch_id)):
                written = append_measured(rows, location, self.batch_id, table, partition_by=by, statistics=ranges)
            if written is None:
                made.append(measured(table, slice_of(rows.sparkSession, location, self.batch_id)))
            else:
                made.append(written.digest)
            checkpoint(table.partition("/")[0])
        return tuple(made)

    def digests(self, versions: Mapping[str, int]) -> tuple[TableDigest, ...]:
        """Digests of the rows of both tables, nothing written; `versions` gives a digest's version by table."""
        tables = self._tables().items()
        return tuple(measured(table, rows, versions.get(table, NEWEST)) for table, (rows, _, _) in tables)

    def _tables(self) -> dict[str, tuple[DataFrame, str | None, str]]:
        """By table: its rows, the column that partitions its files, and the columns with bounds for each file."""
        name, often = self.source.name, "_offset,_system_timestamp,_batch_id"
        return {
            ended_table(name): (self.ended, CLOSED_DATE, f"{often},_end_time,{BROUGHT}"),
            open_table(name): (self.opened, None, often),
        }


def with_pairs(root: str, source: SourceSpec, rows: DataFrame, batch_id: int, tasks: int) -> DataFrame:
    """Add `PAIR` to judged rows: for an end edge, the offset and start in force of the start edge that it closes.

    For an end edge behind the punctuation, `PAIR` is the start edge that it would have closed.
    """
    end = (F.col(MARK) == Mark.END.value) & F.col(BAD).isNull()
    role = (
        F.when((F.col(MARK) == Mark.START.value) & F.col(STAMP).isNotNull(), "start")
        .when(end & F.col(BEHIND), "left")
        .when(end, "end")
    )
    open_ = _keyed(open_before(rows.sparkSession, root, source, batch_id), source)
    return _paired(rows.withColumn(_ROLE, role), open_, tasks).drop(_ROLE)


@contextmanager
def kept(root: str, source: SourceSpec, events: DataFrame, batch_id: int, tasks: int) -> Iterator[KeptLifetimes]:
    """Context manager: the lifetimes that a batch's event rows end or open.

    Valid until exit: the pairs are found once and persisted.
    """
    open_ = open_before(events.sparkSession, root, source, batch_id)
    ends = _ends(events, source, open_, tasks).persist()
    try:
        began = _began(events, source)
        closing = ends.where(F.col(_ROLE) == "end").select(
            "_partition",
            F.col(PAIR)["offset"].alias("_offset"),
            "_end_time",
            F.col("_offset").alias("_end_offset"),
            F.col("_arrival_date").alias(CLOSED_DATE),
            F.lit(batch_id).cast("long").alias("_batch_id"),
        )
        known = began if open_ is None else began.unionByName(open_)
        ended = known.join(closing, list(ROW_KEY))
        opened = began.join(closing, list(ROW_KEY), "left_anti").withColumnRenamed(BROUGHT, "_batch_id")
        if tasks == 1:
            ended, opened = ended.coalesce(1), opened.coalesce(1)
        left = occurrences(ends.where(F.col(_ROLE) == "left"))
        yield KeptLifetimes(source, batch_id, ended, opened, left)
    finally:
        ends.unpersist()


def _began(events: DataFrame, source: SourceSpec) -> DataFrame:
    """Surviving start edges among event rows, with the columns that the tables keep."""
    marks = mark_columns(events, _punctuation(source), source.lifetimes)
    began = events.where((marks[MARK] == Mark.START.value) & F.col("_system_timestamp").isNotNull())
    payload = [quoted(column.name) for column in source.columns]
    return began.select(*START, F.col("_batch_id").alias(BROUGHT), *payload)


def _ends(events: DataFrame, source: SourceSpec, open_: DataFrame | None, tasks: int) -> DataFrame:
    """End edges among a batch's event rows that close a lifetime or leave one open, with `PAIR`."""
    fate = F.when(admitted(), F.col("_disposition"))
    role = (
        F.when((F.col(MARK) == Mark.START.value) & F.col("_system_timestamp").isNotNull(), "start")
        .when((F.col(MARK) == Mark.END.value) & (fate == Fate.ON_TIME.value), "end")
        .when((F.col(MARK) == Mark.END.value) & (fate == Fate.DROPPED.value), "left")
    )
    names = ["_end_time", "_arrival_time", "_arrival_date", "_event_time", "_file", *ROW_KEY, "_disposition"]
    marked = marked_events(events, _punctuation(source), source.lifetimes)
    marked = marked.withColumn(STAMP, F.unix_micros("_system_timestamp")).withColumn(_ROLE, role)
    rows = marked.where(F.col(_ROLE).isNotNull()).select(*_KEY, OFFSET, STAMP, _ROLE, *names)
    found = _paired(rows, _keyed(open_, source), tasks)
    return found.where((F.col(_ROLE) != "start") & F.col(PAIR).isNotNull())


def _keyed(open_: DataFrame | None, source: SourceSpec) -> DataFrame | None:
    """Open start edges under the column names that judging uses; None if there is no table of them."""
    if open_ is None:
        return None
    match = mark_columns(open_, _punctuation(source), source.lifetimes)[MATCH]
    columns = {PARTITION: F.col("_partition"), MATCH: match, OFFSET: F.col("_offset")}
    columns |= {EVENT: F.unix_micros("_event_time"), STAMP: F.unix_micros("_system_timestamp")}
    return open_.select(*[column.alias(name) for name, column in columns.items()])


def _punctuation(source: SourceSpec) -> Punctuation:
    if source.punctuated is None:
        raise ValueError(f"{source.name} has no edges")
    return source.punctuated


def _paired(rows: DataFrame, open_: DataFrame | None, tasks: int) -> DataFrame:
    """Rows with `PAIR`; all rows of a key are in one task, with open start edges among them."""
    whole = rows.withColumn(EARLIER, F.lit(False))
    if open_ is not None:
        types = {field.name: field.dataType for field in rows.schema}
        given = {name: F.col(name) for name in (*_KEY, OFFSET, STAMP)} | {_ROLE: F.lit("start")}
        filled = [given.get(name, F.lit(None)).cast(kind).alias(name) for name, kind in types.items()]
        whole = whole.unionByName(open_.select(*filled, F.lit(True).alias(EARLIER)))
    whole = whole.coalesce(1) if tasks == 1 else whole.repartition(tasks, *_KEY)
    whole = whole.sortWithinPartitions(*_KEY, OFFSET)
    columns = [F.col(PARTITION).cast("binary"), F.col(MATCH).cast("binary"), F.col(EVENT)]
    pair = paired(*columns, F.col(_ROLE), F.col(OFFSET).cast("long"), F.col(STAMP))
    return whole.withColumn(PAIR, pair).where(~F.col(EARLIER)).drop(EARLIER)
