"""Finds the session windows that a run closes and leaves open, from the tables.

No window that was open before the run, and no row of such a window, begins before the time that the stream was pulled
back to then; earlier rows are not read. Closed windows are known by the rows that were written for them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.config.models.streams import StreamSpec
from tidemark.core.stream_output import Due
from tidemark.core.watermarks import latest
from tidemark.core.windows import DataDrivenWindows, SessionWindows
from tidemark.spark.columns import KEY, WINDOW
from tidemark.spark.streams import session_windows
from tidemark.spark.streams.partitioned import OPENED, key_of_substream
from tidemark.spark.streams.session_windows import Time
from tidemark.spark.streams.windows import AFTER, BEFORE
from tidemark.spark.tables.delta import exists
from tidemark.spark.tables.time_range import Span


@dataclass(frozen=True)
class SessionWindowState:
    """The session windows of one step at the end of a run.

    `along` returns the rows that reach the step in a span. `with_passed_times` adds `BEFORE` and `AFTER`, the times
    that a row's part had passed before and after the run.
    """

    spark: SparkSession
    root: str
    step: StreamSpec
    due: Due
    along: Callable[[Span], DataFrame | None]
    with_passed_times: Callable[[DataFrame], DataFrame]

    @property
    def windows(self) -> DataDrivenWindows:
        """Declaration of the windows."""
        return self.due.data_driven

    @property
    def groups(self) -> tuple[str, ...]:
        """The columns whose values have windows of their own."""
        return (*self.step.parts, *self.step.group_by)

    def closing(self) -> DataFrame | None:
        """Rows in the windows that the run closes, with their bounds."""
        rows = self._bounding()
        if rows is None:
            return None
        begun, (after, until) = self.due.begun(), self._settled()
        if not isinstance(self.windows, SessionWindows):
            rows = session_windows.with_ended(rows, self._closed(begun), self.groups)
        return session_windows.closing(rows, self.windows, self.groups, begun, after, until)

    def late(self, rows: DataFrame) -> DataFrame:
        """Rows of the run that came late, with the late part of their lifetime as their window."""
        return session_windows.late(rows, self.windows.lateness, self.due.after.bounds)

    def earliest(self) -> int | None:
        """Start of the earliest window that the run leaves open, microseconds; None if there is none before the
        settled time."""
        opened = self.opened()
        start: int | None = None if opened is None else opened.agg(F.min(OPENED)).collect()[0][0]
        return start

    def opened(self) -> DataFrame | None:
        """By part of the step, the start of the earliest window left open (`OPENED`); only parts with such a
        window."""
        rows, (_, until) = self._bounding(), self._settled()
        if rows is None or until is None:
            return None
        starts = session_windows.open_starts(rows, self.windows, self.groups, until)
        keys = {"_partition": F.col("_partition"), "_substream": key_of_substream().alias(KEY)}
        by = [keys[name] for name in self.step.parts]
        return starts.groupBy(*by).agg(F.min(WINDOW).alias(OPENED))

    def idle(self, limit: int) -> tuple[int | None, int | None]:
        """Latest time up to `limit`, and first time after it, at which a window that was open before the run ends or
        closes; microseconds, or None."""
        rows = self._rows(None)
        if rows is None:
            return None, None
        assigned = session_windows.in_windows(rows, self.windows, self.groups, self._settled()[0], None)
        return session_windows.ends_about(assigned, self.windows.lateness, limit)

    def _settled(self) -> tuple[Time, Time]:
        """Times settled before and after the run: for all rows, or as columns if the step has parts."""
        if not self.step.parts:
            return self.due.settled
        return BEFORE, None if self.due.after.complete else AFTER

    def _latest(self) -> int | None:
        """A time by which windows that the run closes have begun; None if it is unknown."""
        if not self.step.parts:
            return self.due.settled[1]
        if self.due.after.complete or not self.due.listed:
            return None
        return latest(*[part.after for part in self.due.passed_by_part()])

    def _bounding(self) -> DataFrame | None:
        """Rows of the windows that the run closes or leaves open."""
        rows = self._rows(self._latest())
        if rows is None or isinstance(self.windows, SessionWindows):
            return rows
        return session_windows.certain(rows, self.windows.lateness, self._settled()[1])

    def _rows(self, until: int | None) -> DataFrame | None:
        """Rows of windows that were open before the run and begin at `until` or before (None: at any time)."""
        begun = self.due.begun()
        span = Span(None if begun is None else begun - 1, None if until is None else until + 1)
        found = self.along(span)
        if found is None:
            return None
        lateness = self.windows.lateness
        if self.step.parts:
            found = self.with_passed_times(found)
            found = found.withColumns({name: F.col(name) - lateness for name in (BEFORE, AFTER)})
        rows = session_windows.taking_part(found, lateness, self.due.after.bounds)
        if isinstance(self.windows, SessionWindows) and (begun is not None or self.step.parts):
            rows = rows if begun is None else rows.where(F.col(session_windows.FROM) >= begun)
            rows = session_windows.unclosed(rows, self._closed(begun), self.groups)
        return rows

    def _closed(self, after: int | None) -> DataFrame | None:
        """Windows that earlier runs closed and that end after a time (None: all); None without a table."""
        locations = [f"{self.root}/{folder}/{self.step.name}" for folder in ("streams", "before_start")]
        frames = [self.spark.read.format("delta").load(location) for location in locations if exists(location)]
        if not frames:
            return None
        whole = reduce(DataFrame.unionByName, frames).where(F.col("_batch_id") < self.due.first_batch)
        return whole if after is None else whole.where(F.col("_window_end") > F.timestamp_micros(F.lit(after)))
