"""Reads the rows of a stream along its paths.

The rows that a run needs are found by the times of each path's origin, and files of other times are not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.config import PipelineSpec, SourceSpec
from tidemark.config.models.stream_graph import columns_of
from tidemark.config.models.streams import StreamSpec
from tidemark.core.times import MIN_TIME, TICK
from tidemark.spark.columns import CAME, JUDGED, RANK, SOURCE, TENTATIVE, ordinal
from tidemark.spark.plans.parameters import Parameter, constant
from tidemark.spark.punctuation import lifetimes
from tidemark.spark.streams.gaps import joined
from tidemark.spark.streams.joins import Side
from tidemark.spark.streams.lives.next_rows import Known
from tidemark.spark.streams.operators.rows_before import in_span, order_within
from tidemark.spark.streams.operators.steps import names_of_order, stepped
from tidemark.spark.streams.paths import Path, longest, paths_to
from tidemark.spark.tables import delta, file_pruning
from tidemark.spark.tables.delta import quoted
from tidemark.spark.tables.time_range import Span, between_edges, ends_before, needed

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

    `ahead` has, by table, rows that are about to be written; they are read as if they were there. `given` replaces
    the only events table that is read, and has all rows that are needed. `known` gives plan parameters, `empty` the
    frame of a stream that has no table yet. `certain` returns for a stream two times: before them it had all its rows
    before the run, and has them after the run (None: all).
    """

    spark: SparkSession
    root: str
    spec: PipelineSpec
    last: int
    ahead: Mapping[str, DataFrame] = field(default_factory=dict)
    given: DataFrame | None = None
    known: Parameter = constant
    empty: Callable[[str], DataFrame] | None = None
    certain: Callable[[str], tuple[int, int | None]] = lambda _: (MIN_TIME, None)

    def along(self, paths: Sequence[Path], span: Span, *, emptied: bool = False) -> DataFrame | None:
        """Rows with `SYSTEM` columns, sort columns and payload; None if no origin has a row yet. With `emptied`, only
        rows to which the last step leaves no lifetime, as they came to it."""
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
        elif path.preceding:
            rows = self._preceding(path, rank, span)
        elif path.until_next:
            rows = self._until_next(path, rank, span, emptied and not path.steps)
        else:
            rows = self._windows(path, rank, span) if path.windowed else self._events(path, span)
        if rows is None:
            return None
        columns = columns_of(self.spec, path.origin)
        payload = [column.name for column in columns or ()]
        for step in path.steps:
            last = step is path.steps[-1]
            rows, payload = stepped(rows, step, payload, last=last, emptied=emptied and last)
        source = F.col(SOURCE) if SOURCE in rows.columns else F.lit(path.origin)
        return rows.withColumns({RANK: F.lit(rank), SOURCE: source})

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
        location = f"{self.root}/events/{source.name}"
        if self.given is None and not delta.exists(location):
            return None
        if self.given is not None:
            whole, wanted = self.given, F.lit(True)
        elif source.longest is None and path.lasts is None:
            whole, wanted = self.spark.read.format("delta").load(location), needed(start, end, path.begin, 0, span)
        else:
            length = path.lasts or 1
            whole = file_pruning.rows_of(
                self.spark, location, "_system_timestamp", path.begin, length, span, self.last
            )
            wanted = needed(start, start, path.begin, length, span)
        judged = whole.where(start.isNotNull() & (F.col("_batch_id") <= self.known("last", self.last, "_batch_id")))
        return lifetimes.of_stream(source, judged).where(wanted)

    def _windows(self, path: Path, rank: int, span: Span) -> DataFrame | None:
        name, step = path.origin, self.spec.streams[path.origin]
        names = [f"{folder}/{name}" for folder in ("streams", "before_start")]
        locations = [f"{self.root}/{table}" for table in names]
        frames = [self.spark.read.format("delta").load(location) for location in locations if delta.exists(location)]
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
        pairs = joined(step, left, right, rank, alive, Known(alive.since, self.certain(step.name)))
        if path.lasts is not None:
            start = F.col("_system_timestamp")
            known = needed(start, start, path.begin, path.lasts, replace(span, since=None))
            pairs = pairs.where(known | (F.col(CAME) >= span.since) if span.since is not None else known)
        own = ("_system_timestamp", "_end_time")
        none = [F.lit(None).cast(kind_of(name)).alias(name) for name in SYSTEM if name not in own]
        return pairs.select("*", *none, F.lit(False).alias(JUDGED))

    def _preceding(self, path: Path, rank: int, span: Span) -> DataFrame | None:
        """Rows of a span with the columns of `preceding`, from rows before them; None if there are no rows.

        They are `TENTATIVE`: another row of their start may still come before them and change them.
        """
        step, below = self.spec.streams[path.origin], path.below(self.spec)
        looked_at = self._with_earlier(step, below, self._alive_sides(path, span))
        rows = None if looked_at is None else self.along(below, looked_at)
        if rows is None:
            return None
        payload = [column.name for column in columns_of(self.spec, step.inputs[0]) or ()]
        rows, _ = stepped(rows, step, payload, last=False)
        return order_within(_tentative(rows.where(in_span(rows, path, span))), rank)

    def _until_next(self, path: Path, rank: int, span: Span, emptied: bool) -> DataFrame | None:
        """Rows of a span whose ends are the starts of the next rows; None if there are no rows. With `emptied`, only
        rows that another row of equal start replaces."""
        step, below = self.spec.streams[path.origin], path.below(self.spec)
        looked_at = self._with_later(step, below, self._alive_sides(path, span))
        rows = None if looked_at is None else self.along(below, looked_at)
        if rows is None:
            return None
        payload = [column.name for column in columns_of(self.spec, step.inputs[0]) or ()]
        known = Known(span.since, self.certain(step.name))
        rows, _ = stepped(_marked(rows, below, self.spec), step, payload, last=False, emptied=emptied, known=known)
        return order_within(rows.where(in_span(rows, path, span)), rank)

    def _with_later(self, step: StreamSpec, below: Sequence[Path], span: Span) -> Span | None:
        """Span of the rows that may be alive in `span` if each ends with the next row, and of these next rows; None
        if there are no rows."""
        most = None if step.until_next is None else step.until_next.at_most
        if span.only:
            first = self._first_start(below, span)
            return None if first is None else replace(span, after=first, only=False)
        after = None if span.after is None or most is None else span.after - most
        return replace(span, after=after, before=None if span.before is None else span.before + TICK)

    def _with_earlier(self, step: StreamSpec, below: Sequence[Path], span: Span) -> Span | None:
        """Span of the rows of `span` and of the earlier rows that `preceding` needs; None if there are no rows."""
        within = 0 if step.preceding is None else step.preceding.within
        life = None if span.only else longest(self.spec, below)
        if span.after is None and not span.only:
            return span
        bounded = span.after is not None and life is not None
        first = (span.after or 0) - (life or 0) if bounded else self._first_start(below, span)
        return None if first is None else replace(span, after=first - within, only=False)

    def _alive_sides(self, path: Path, span: Span) -> Span:
        """Span of the rows from which the origin's rows of a span are made."""
        after = None if span.after is None else span.after - path.begin - (path.lasts or 0)
        before = None if span.before is None else span.before - path.begin
        if after is not None and span.behind:
            after = min([after, *self._starts(self.spec.streams[path.origin], span)])
        return replace(span, after=after, before=before)

    def _matching(self, name: str, left: Side | None, span: Span) -> Side | None:
        """The right rows that bound gaps of left rows: alive at any time since the left rows began, or beginning
        exactly when the span ends. Without a table of right rows, an empty frame."""
        after = span.after
        if left is not None and after is not None and left.longest is not None:
            after -= left.longest
        elif left is not None and after is not None:
            start = left.rows.agg(F.min(F.unix_micros("_system_timestamp"))).collect()[0][0]
            after = after if start is None else min(after, start - TICK)
        before = None if span.before is None else span.before + TICK
        found = self._side(name, replace(span, after=after, before=before))
        if found is not None:
            return replace(found, rows=_marked(found.rows, paths_to(self.spec, name), self.spec))
        if self.empty is None:
            return None
        empty = self.empty(name)
        return Side(name, empty, names_of_order(empty), None)

    def _starts(self, step: StreamSpec, span: Span) -> Iterator[int]:
        """For each path to a step, first start of rows that came or ended from batch `since` on, microseconds."""
        paths = [path for name in step.inputs for path in paths_to(self.spec, name)]
        for path in paths:
            if path.derived:
                yield from (path.begin + start for start in self._starts(self.spec.streams[path.origin], span))
                continue
            start = self._first_start([path], Span(since=span.since, only=True, behind=True))
            if start is not None:
                yield start

    def _first_start(self, paths: Sequence[Path], span: Span) -> int | None:
        """The first start of the rows of a span, microseconds; None if there are none."""
        rows = self.along(paths, span)
        start: int | None = None
        if rows is not None:
            start = rows.agg(F.min(F.unix_micros("_system_timestamp"))).collect()[0][0]
        return start

    def _side(self, name: str, span: Span) -> Side | None:
        paths = paths_to(self.spec, name)
        rows = self.along(paths, span)
        return None if rows is None else Side(name, rows, names_of_order(rows), longest(self.spec, paths))


def _marked(rows: DataFrame, paths: Sequence[Path], spec: PipelineSpec) -> DataFrame:
    """Rows of these paths, marked as `TENTATIVE` unless rows that have come are final (`Path.certain`)."""
    return rows if all(path.certain(spec) for path in paths) else _tentative(rows)


def _tentative(rows: DataFrame) -> DataFrame:
    """Rows with their start as `TENTATIVE`, unless an earlier step has set it."""
    start = F.col("_system_timestamp")
    return rows.withColumn(TENTATIVE, F.coalesce(TENTATIVE, start) if TENTATIVE in rows.columns else start)


def kind_of(name: str) -> str:
    """The type of one of the `SYSTEM` columns."""
    return {"_offset": "bigint", "_batch_id": "bigint"}.get(
        name, "string" if name in ("_partition", "_substream") else "timestamp"
    )
