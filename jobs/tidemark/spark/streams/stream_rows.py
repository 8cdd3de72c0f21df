"""Reads the rows of a stream along its paths.

The rows that a run needs are found by the times of each path's origin, and files of other times are not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.config import PipelineSpec, SourceSpec
from tidemark.config.models.stream_graph import columns_of
from tidemark.config.models.streams import StreamSpec
from tidemark.core.times import TICK
from tidemark.spark.columns import CAME, JUDGED, RANK, SOURCE, TENTATIVE, WAS, ordinal
from tidemark.spark.expressions import value_of
from tidemark.spark.plans.parameters import Parameter, constant
from tidemark.spark.punctuation import lifetimes
from tidemark.spark.streams.gaps import joined
from tidemark.spark.streams.joins import Side
from tidemark.spark.streams.lives.until import ENDS, living, outlived
from tidemark.spark.streams.paths import Path, longest, paths_to
from tidemark.spark.streams.unnest import unnested
from tidemark.spark.tables import delta, file_pruning
from tidemark.spark.tables.delta import quoted
from tidemark.spark.tables.time_range import Span, between_edges, ends_before, needed
from tidemark.spark.validity import fit

SYSTEM = (
    "_system_timestamp",
    "_end_time",
    "_event_time",
    "_arrival_time",
    "_partition",
    "_substream",
    "_offset",
    "_watermark",
    "_window_start",
    "_window_end",
    "_batch_id",
)


@dataclass(frozen=True)
class StreamRows:
    """Reads the rows of streams from the tables of one version, as they were after batch `last`.

    `ahead` has, by table, rows that are about to be written; they are read as if they were there. `given` are rows
    that replace the only events table that is read, with all rows that are needed. `known` gives plan parameters,
    `empty` the frame of a stream that has no table yet.
    """

    spark: SparkSession
    root: str
    spec: PipelineSpec
    last: int
    ahead: Mapping[str, DataFrame] = field(default_factory=dict)
    given: DataFrame | None = None
    known: Parameter = constant
    empty: Callable[[str], DataFrame] | None = None

    def along(self, paths: Sequence[Path], span: Span, *, emptied: bool = False) -> DataFrame | None:
        """Rows with `SYSTEM` columns, columns of their order, and payload; None if no origin has a row yet. With
        `emptied` those to which the last step leaves no lifetime, as they came to it."""
        found = [self._frame(path, rank, path.within(span), emptied) for rank, path in enumerate(paths)]
        frames = [frame for frame in found if frame is not None]
        if not frames:
            return None
        whole = frames[0]
        for frame in frames[1:]:
            whole = whole.unionByName(frame, allowMissingColumns=True)
        return whole

    def _frame(self, path: Path, rank: int, span: Span, emptied: bool) -> DataFrame | None:
        if path.joined:
            rows = self._pairs(path, rank, span)
        else:
            rows = self._windows(path, rank, span) if path.windowed else self._events(path, span)
        if rows is None:
            return None
        columns = columns_of(self.spec, path.origin)
        payload = [column.name for column in columns or ()]
        for step in path.steps:
            last = step is path.steps[-1]
            rows, payload = stepped(rows, step, payload, last=last, emptied=emptied and last)
        return rows.withColumns({RANK: F.lit(rank), SOURCE: F.lit(path.origin)})

    def _events(self, path: Path, span: Span) -> DataFrame | None:
        source = self.spec.sources[path.origin]
        rows = self._alive(source, path, span)
        if rows is None:
            return None
        none = F.lit(None).cast("timestamp")
        payload = [quoted(column.name) for column in source.columns]
        given = {"_window_start": none, "_window_end": none}
        named = [given.get(name, F.col(name)).alias(name) for name in SYSTEM]
        kept = [TENTATIVE] if TENTATIVE in rows.columns else []
        return rows.select(*named, *kept, *ends_before(rows, span), F.lit(True).alias(JUDGED), *payload)

    def _alive(self, source: SourceSpec, path: Path, span: Span) -> DataFrame | None:
        """Rows of a source's stream that are alive in a span of a path; None if the source has no table."""
        start, end = F.col("_system_timestamp"), F.col("_end_time")
        if source.lifetimes.edges:
            rows = lifetimes.of_edges(self.spark, self.root, source, self.last)
            return None if rows is None else rows.where(between_edges(path.begin, path.lasts, span))
        place = f"{self.root}/events/{source.name}"
        if self.given is None and not delta.exists(place):
            return None
        if self.given is not None:
            whole, wanted = self.given, F.lit(True)
        elif source.longest is None and path.lasts is None:
            whole, wanted = self.spark.read.format("delta").load(place), needed(start, end, path.begin, 0, span)
        else:
            length = path.lasts or 1
            whole = file_pruning.rows_of(self.spark, place, "_system_timestamp", path.begin, length, span, self.last)
            wanted = needed(start, start, path.begin, length, span)
        judged = whole.where(start.isNotNull() & (F.col("_batch_id") <= self.known("last", self.last, "_batch_id")))
        return lifetimes.of_stream(source, judged).where(wanted)

    def _windows(self, path: Path, rank: int, span: Span) -> DataFrame | None:
        name, step = path.origin, self.spec.streams[path.origin]
        names = [f"{folder}/{name}" for folder in ("streams", "before_start")]
        places = [f"{self.root}/{table}" for table in names]
        frames = [self.spark.read.format("delta").load(place) for place in places if delta.exists(place)]
        frames += [self.ahead[table] for table in names if table in self.ahead]
        if not frames:
            return None
        whole = reduce(DataFrame.unionByName, frames)
        start, end = F.col("_window_start"), F.col("_window_end")
        length = path.lasts
        ends = end if length is None else start
        rows = whole.where(F.col("_batch_id") <= self.last)
        rows = rows.where(needed(start, ends, path.begin, length or 0, span))
        given = {"_system_timestamp": start, "_end_time": end, "_window_start": start, "_window_end": end}
        given |= {column: F.col(column) for column in (*step.parts, "_batch_id")}
        named = [given.get(column, F.lit(None)).cast(kind_of(column)).alias(column) for column in SYSTEM]
        order = [quoted(column).alias(ordinal(rank, n)) for n, column in enumerate(step.group_by)]
        ending = end.alias(ordinal(rank, -1))
        payload = [quoted(column.name) for column in columns_of(self.spec, name) or ()]
        return rows.select(*named, F.lit(False).alias(JUDGED), ending, *order, *payload)

    def _pairs(self, path: Path, rank: int, span: Span) -> DataFrame | None:
        """Rows of a join, made from all rows of its sides that are alive in the span.

        None if a side has no rows, or if only rows of batches are wanted (`span.only`): no run brings pairs, they
        come when they are due.
        """
        if span.only:
            return None
        step = self.spec.streams[path.origin]
        alive = self._alive_sides(path, span)
        left = self._side(step.join[0], alive)
        right = self._matching(step.join[1], left, alive) if step.gapped else self._side(step.join[1], alive)
        if left is None or right is None:
            return None
        pairs = joined(step, left, right, rank, alive)
        if path.lasts is not None:
            start = F.col("_system_timestamp")
            known = needed(start, start, path.begin, path.lasts, replace(span, since=None))
            pairs = pairs.where(known | (F.col(CAME) >= span.since) if span.since is not None else known)
        own = ("_system_timestamp", "_end_time")
        none = [F.lit(None).cast(kind_of(name)).alias(name) for name in SYSTEM if name not in own]
        return pairs.select("*", *none, F.lit(False).alias(JUDGED))

    def _alive_sides(self, path: Path, span: Span) -> Span:
        """Span of the rows that make the pairs of a span."""
        after = None if span.after is None else span.after - path.begin - (path.lasts or 0)
        before = None if span.before is None else span.before - path.begin
        if after is not None and span.behind:
            after = min([after, *self._starts(self.spec.streams[path.origin], span)])
        return replace(span, after=after, before=before)

    def _matching(self, name: str, left: Side | None, span: Span) -> Side | None:
        """The right rows that decide about gaps of left rows: alive at any time since these began, or beginning in
        the very moment in which a gap ends that is due. Without a table of them there is an empty frame."""
        after = span.after
        if left is not None and after is not None and left.longest is not None:
            after -= left.longest
        elif left is not None and after is not None:
            start = left.rows.agg(F.min(F.unix_micros("_system_timestamp"))).collect()[0][0]
            after = after if start is None else min(after, start - TICK)
        before = None if span.before is None else span.before + TICK
        found = self._side(name, replace(span, after=after, before=before))
        if found is not None or self.empty is None:
            return found
        empty = self.empty(name)
        return Side(name, empty, names_of_order(empty), None)

    def _starts(self, step: StreamSpec, span: Span) -> Iterator[int]:
        """By path to a join, the first start of rows that came or ended in batches from `since` on, microseconds."""
        paths = [path for name in step.join for path in paths_to(self.spec, name)]
        for path in paths:
            if path.joined:
                yield from (path.begin + start for start in self._starts(self.spec.streams[path.origin], span))
                continue
            rows = self.along([path], Span(since=span.since, only=True, behind=True))
            start = None if rows is None else rows.agg(F.min(F.unix_micros("_system_timestamp"))).collect()[0][0]
            if start is not None:
                yield start

    def _side(self, name: str, span: Span) -> Side | None:
        paths = paths_to(self.spec, name)
        rows = self.along(paths, span)
        return None if rows is None else Side(name, rows, names_of_order(rows), longest(self.spec, paths))


def names_of_order(rows: DataFrame) -> list[str]:
    """Columns of the sort key, total within a stream: start, path, then columns that differ among rows of one origin.

    The last are offsets, if all rows come from sources.
    """
    own = sorted(name for name in rows.columns if name.startswith(ordinal()))
    ends = [name for name in own if name.endswith("_end")]
    values = [name for name in own if not name.endswith("_end")]
    return ["_system_timestamp", RANK, *ends, "_partition", "_offset", *(["_substream"] if own else ()), *values]


def order_of(rows: DataFrame) -> list[Column]:
    """The sort key."""
    return [F.col(name) for name in names_of_order(rows)]


def stepped(
    rows: DataFrame, step: StreamSpec, payload: Sequence[str], *, last: bool, emptied: bool = False
) -> tuple[DataFrame, list[str]]:
    """Rows after one step, and the names of their payload columns; with `emptied`, those to which it leaves no
    lifetime.

    The `select` of a last step with windows is left out: it is for the windows.
    """
    key = f"streams.{step.name}"
    if step.unnest is not None:
        rows, payload = unnested(rows, step.unnest, payload, key)
    if step.where is not None:
        rows = rows.where(value_of(rows, step.where, f"{key}.where")[0].cast("boolean"))
    if step.until is not None:
        rows = (outlived if emptied else living)(rows, step.until, f"{key}.lifetime.until")
    left_out = {name.lower() for name in step.except_}
    names = [name for name in payload if name.lower() not in left_out]
    rows = rows.drop(*step.except_)
    groups = {name: _selected(rows, text, f"{key}.group_by.{name}") for name, text in step.computed_groups.items()}
    rows = rows.withColumns(groups) if groups else rows
    if step.select and not (last and step.windowed):
        kept = [name for name in rows.columns if name not in payload]
        selected = [_selected(rows, text, f"{key}.select.{name}").alias(name) for name, text in step.select.items()]
        rows, names = rows.select(*map(quoted, kept), *selected), list(step.select)
    return _moved(rows, step), names


def _selected(rows: DataFrame, text: str, key: str) -> Column:
    value, kind = value_of(rows, text, key)
    return fit(kind, value)


def _moved(rows: DataFrame, step: StreamSpec) -> DataFrame:
    if step.lasts is not None:
        rows = rows.withColumn("_end_time", _plus("_system_timestamp", step.lasts)).drop(WAS)
    if ENDS in rows.columns:
        rows = rows.withColumn("_end_time", F.timestamp_micros(ENDS)).drop(ENDS, WAS)
    if step.shift:
        moved = ("_system_timestamp", "_end_time", "_watermark", WAS, TENTATIVE)
        rows = rows.withColumns({name: _plus(name, step.shift) for name in moved if name in rows.columns})
    return rows


def _plus(name: str, micros: int) -> Column:
    return F.timestamp_micros(F.unix_micros(name) + micros)


def kind_of(name: str) -> str:
    """The type of one of the `SYSTEM` columns."""
    return {"_offset": "bigint", "_batch_id": "bigint"}.get(
        name, "string" if name in ("_partition", "_substream") else "timestamp"
    )
