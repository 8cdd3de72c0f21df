"""Writes a run's outputs to streams and windows, computed from the tables (time rules: streams and windows).

No rows of the run's micro-batches are kept for this: committed rows and closing windows are found in the events
tables by their times, so that a recovery and a replay find identical ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.config import PipelineSpec
from tidemark.config.models.stream_graph import columns_of, sees_later_ends
from tidemark.core.batch_result import NEWEST, TableDigest
from tidemark.core.stream_output import Due
from tidemark.core.windows import NumberedWindows
from tidemark.spark.analysis import empty_rows
from tidemark.spark.columns import SOURCE
from tidemark.spark.digests import measured, table_digest
from tidemark.spark.plans.parameters import Parameter, constant
from tidemark.spark.session.parallel import side_by_side
from tidemark.spark.streams import windows
from tidemark.spark.streams.due import cut_open, ends, not_due, passing, passing_span
from tidemark.spark.streams.partitioned import PartitionedSteps
from tidemark.spark.streams.paths import paths_into
from tidemark.spark.streams.session_state import SessionWindowState
from tidemark.spark.streams.stream_rows import StreamRows
from tidemark.spark.streams.window_plans import closing, files_for
from tidemark.spark.tables.delta import append_counted, holds, quoted, slice_of, take_columns
from tidemark.spark.tables.row_counter import Counting
from tidemark.spark.tables.time_range import Span
from tidemark.spark.times import within_years

STATISTICS = "_system_timestamp,_end_time,_window_start,_window_end,_batch_id"


@dataclass(frozen=True)
class Outputs:
    """Reads and writes under `root`, the folder of one version.

    With `recompute`, for replays, watermarks of substreams are computed from the rows that set them. `ahead` has, by
    table, rows that are to be checked before they are written. `not_due` counts, by table, written rows that are not
    due. In a plan for several runs the event rows are `given`, in one task if `alone`, and `known` gives plan
    parameters.
    """

    spark: SparkSession
    root: str
    spec: PipelineSpec
    recompute: bool = False
    ahead: Mapping[str, DataFrame] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)
    not_due: dict[str, int] = field(default_factory=dict)
    given: DataFrame | None = None
    alone: bool = False
    known: Parameter = constant

    def making(self, due: Due) -> dict[str, DataFrame]:
        """Rows that the run has for a stream, by table, persisted and not written; the caller unpersists them."""
        made = {table: make() for table, make in self._tables(due).items()}
        return {table: rows.persist() for table, rows in made.items() if rows is not None}

    def behind(self, due: Due) -> int:
        """Number of rows made ahead for a stream that are not due.

        These end before the time that the run before had passed, or after the time that this run has passed.
        """
        rows = self.ahead.get(f"streams/{due.step.name}")
        return 0 if rows is None else rows.where(not_due(due, self.known)).count()

    def write(self, due: Due, recovering: bool) -> tuple[TableDigest, ...]:
        """Append the rows that the run has for a stream, its tables side by side, and return their digests.

        With `recovering`, rows that a crashed attempt appended are kept.
        """

        def writing(table: str, make: Callable[[], DataFrame | None]) -> Callable[[], TableDigest]:
            return lambda: self._written(table, f"{self.root}/{table}", make, due, recovering)

        written = side_by_side(self.spark, [writing(table, make) for table, make in self._tables(due).items()])
        return tuple(digest for digest in written if digest.rows)

    def measure(self, due: Due, versions: Mapping[str, int]) -> tuple[TableDigest, ...]:
        """Digests of the rows that the run has for a stream, nothing written; `versions` has their versions by
        table."""
        frames = {table: make() for table, make in self._tables(due).items()}
        digests = [
            measured(table, rows, versions.get(table, NEWEST)) for table, rows in frames.items() if rows is not None
        ]
        return tuple(digest for digest in digests if digest.rows)

    def outside(self, due: Due) -> int:
        """Number of new and of passed derived rows that are in no window or, without windows, get no lifetime."""
        if not (due.gaps if due.step.windowed else due.leaving):
            return 0
        emptied = not due.step.windowed
        rows = [self._new(due, emptied, derived=False), self._passed_pairs(due, emptied)]
        found = [each if emptied else windows.outside(each, _window(due)) for each in rows if each is not None]
        return sum(each.count() for each in found)

    def _written(
        self, table: str, location: str, make: Callable[[], DataFrame | None], due: Due, recovering: bool
    ) -> TableDigest:
        batch_id = due.last_batch
        self.written.add(table)
        if not (recovering and holds(location, batch_id)):
            with self._counting(table, make, due) as counting:
                if counting is None:
                    return table_digest(table, 0, 0, 0)
                if due.added:
                    take_columns(counting.rows, location)
                ranges = statistics_of(counting.columns)
                written = append_counted(counting, location, batch_id, table, statistics=ranges)
            if written is not None:
                self.not_due[table] = written.matching
                return written.digest
        stands = slice_of(self.spark, location, batch_id)
        self.not_due[table] = stands.where(self._wrong(table, due)).count()
        return measured(table, stands)

    def _counting(
        self, table: str, make: Callable[[], DataFrame | None], due: Due
    ) -> AbstractContextManager[Counting | None]:
        """Context manager: rows to write to a table, counted as they pass; None if there are none."""
        files = None
        if table not in self.ahead and table == f"streams/{due.step.name}" and due.step.fixed is not None:
            files = files_for(self.spec, self.root, due, self._closing_span(due))
        if files is not None:
            return closing(self.spark, self.spec, due, files, partial(self._closed_of, due))
        rows = self.ahead[table] if table in self.ahead else make()
        return nullcontext(None if rows is None else Counting.of(rows, self._wrong(table, due)))

    def _wrong(self, table: str, due: Due) -> Column:
        return not_due(due, self.known) if table == f"streams/{due.step.name}" else F.lit(False)

    def _tables(self, due: Due) -> dict[str, Callable[[], DataFrame | None]]:
        """By table that the run may write to, the function that makes its rows."""
        name = due.step.name
        found: dict[str, Callable[[], DataFrame | None]] = {}
        if not self.spec.streams[name].published:
            return found
        if not due.step.windowed:
            return {f"streams/{name}": lambda: self._committed(due)} if due.commits else found
        if due.late:
            found[f"dead_letters/{name}"] = lambda: self._late(due)
        if due.closes:
            found[f"streams/{name}"] = lambda: self._closed(due, early=False)
        if due.early:
            found[f"before_start/{name}"] = lambda: self._closed(due, early=True)
        return found

    # -- streams

    def _committed(self, due: Due) -> DataFrame | None:
        """Rows whose end the watermark has passed since the run before, and rows that the run brought behind it."""
        before = due.before.watermark
        bound = None if due.after.complete else due.after.watermark
        if bound is None and not due.after.complete:
            return None
        rows = self._along(due, passing_span(due, before, bound))
        if rows is None:
            return None
        rows, end = passing(rows, due, before, bound), ends("_end_time")
        started = F.lit(True) if due.starts is None else end > due.starts
        payload = [quoted(column.name) for column in columns_of(self.spec, due.step.name) or ()]
        times = [within_years(name) for name in ("_system_timestamp", "_end_time")]
        return rows.where(started).select(*times, "_partition", "_offset", self._batch(due, "_offset"), *payload)

    # -- windows

    def _closed(self, due: Due, *, early: bool) -> DataFrame | None:
        """One row per closing window and group; if `early`, of windows that end by the first output time."""
        step, window = self.spec.streams[due.step.name], due.step.fixed
        counted = self._counted(due)
        if counted is None:
            return None
        if due.starts is not None:
            end = F.unix_micros("_window_end" if window is None else windows.end_of(window))
            counted = counted.where(end <= due.starts if early else end > due.starts)
        counted = windows.with_known_ends(counted, window) if sees_later_ends(self.spec, step) else counted
        types = {column.name.lower(): column.type for column in columns_of(self.spec, step.inputs[0]) or ()}
        found = windows.aggregated(counted, step, window, types, alone=self.alone)
        own = ["_window_start", "_window_end", *step.parts]
        rest = [quoted(name) for name in found.columns if name not in own]
        bounds = [within_years(name) for name in own[:2]]
        return found.select(*bounds, *own[2:], self._batch(due, own[0]), *rest)

    def _closed_of(
        self, due: Due, given: DataFrame, alone: bool, known: Parameter
    ) -> tuple[DataFrame, Column] | None:
        """Windows that the run closes, from `given` event rows, and a column that is true for windows not due; None
        without rows."""
        rows = replace(self, given=given, alone=alone, known=known)._closed(due, early=False)
        return None if rows is None else (rows, not_due(due, known))

    def _counted(self, due: Due) -> DataFrame | None:
        """Rows in the windows that the run closes; for session windows, with their bounds."""
        if due.step.data_driven is not None:
            return self._session_windows(due).closing()
        rows, window = self._along(due, self._closing_span(due)), _window(due)
        if rows is None:
            return None
        points = all(path.points(self.spec) for path in paths_into(self.spec, self.spec.streams[due.step.name]))
        rows = cut_open(rows, due) if due.after.complete and due.step.endless else rows
        known = self._parts().with_passed_times(rows, due)
        return windows.closing(known, window, due.after.complete, kept=due.kept, points=points)

    def _late(self, due: Due) -> DataFrame | None:
        """One row for each row and each window that it is late for."""
        rows = self._new(due)
        if rows is None:
            return None
        if due.step.data_driven is not None:
            found = self._session_windows(due).late(rows)
        else:
            window = _window(due)
            found = windows.bounded(windows.late(self._parts().with_passed_times(rows, due), window), window)
        times = ("_system_timestamp", "_watermark", "_window_start", "_window_end")
        source = F.col(SOURCE).alias("_source")
        own = ["_partition", "_offset", "_event_time"]
        return found.select(source, *own, *map(within_years, times), self._batch(due, "_offset"))

    def earliest(self, due: Due) -> int | None:
        """Start of the earliest session window that the run leaves open, microseconds; None if it leaves none before
        the settled time."""
        return self._session_windows(due).earliest()

    def idle(self, due: Due, limit: int) -> tuple[int | None, int | None]:
        """Latest time up to `limit`, and first time after it, at which a session window that was open before the run
        ends or closes; microseconds, or None."""
        return self._session_windows(due).idle(limit)

    def _session_windows(self, due: Due) -> SessionWindowState:
        step = self.spec.streams[due.step.name]
        along = partial(self._along, due)
        return SessionWindowState(
            self.spark, self.root, step, due, along, lambda rows: self._parts().with_passed_times(rows, due)
        )

    def _parts(self) -> PartitionedSteps:
        opened = lambda due: self._session_windows(due).opened()  # noqa: E731
        return PartitionedSteps(self.spark, self.root, self.spec, self.recompute, opened, self.known)

    @staticmethod
    def _closing_span(due: Due) -> Span:
        """Span in which the rows of closing windows are alive."""
        window = _window(due)
        moved = due.closing()
        known = [before for before, _ in moved if before is not None]
        ends = [after for _, after in moved if after is not None]
        if window.partition_by is not None and not due.listed:
            least = due.least_before()
            return Span(after=None if least is None else window.start(window.first_open(least)))
        after = window.start(window.first_open(min(known))) if len(known) == len(moved) else None
        return Span(after=after, before=None if due.after.complete else max(ends) - window.lateness)

    def _along(self, due: Due, span: Span, emptied: bool = False, derived: bool | None = None) -> DataFrame | None:
        """The rows that reach the step in a span; with `emptied`, only rows to which it leaves no lifetime; with
        `derived`, only rows of paths that are `derived` (True) or are not (False)."""
        paths = paths_into(self.spec, self.spec.streams[due.step.name])
        wanted = [path for path in paths if derived is None or path.derived == derived]
        return self._rows(due).along(wanted, span, emptied=emptied)

    def _rows(self, due: Due) -> StreamRows:
        ahead = {table: rows for table, rows in self.ahead.items() if table not in self.written}
        empty = partial(empty_rows, self.spark, self.spec)
        given, known = self.given, self.known
        return StreamRows(self.spark, self.root, self.spec, due.last_batch, ahead, given, known, empty, due.certain)

    def _batch(self, due: Due, beside: str) -> Column:
        return self.known("last", due.last_batch, beside).alias("_batch_id")

    def _passed_pairs(self, due: Due, emptied: bool) -> DataFrame | None:
        """Derived rows that reach the step and whose end it has passed in this run."""
        before, after = due.before.passed, None if due.after.complete else due.after.passed
        if not due.joined or due.before.complete or (after is None and not due.after.complete):
            return None
        rows = self._along(due, passing_span(due, before, after), emptied, derived=True)
        return None if rows is None else passing(rows, due, before, after)

    def _new(self, due: Due, emptied: bool = False, derived: bool | None = None) -> DataFrame | None:
        """The rows that the run brought to the step."""
        return self._along(due, Span(since=due.first_batch, only=True), emptied, derived)


def _window(due: Due) -> NumberedWindows:
    if due.step.fixed is None:
        raise ValueError(f"{due.step.name} has no windows with fixed bounds")
    return due.step.fixed


def statistics_of(columns: Sequence[str]) -> str:
    """Columns with bounds for each file, by which readers skip files."""
    return ",".join(name for name in STATISTICS.split(",") if name in columns)
