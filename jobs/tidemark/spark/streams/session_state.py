"""What a run closes and leaves open of windows whose bounds come from rows, found in the tables that stand.

No window that was open before the run, nor any of its rows, begins before what the stream was pulled back to then: so
much is read, and no more. Windows that are closed already are told by what was written of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.config.models.streams import StreamSpec
from tidemark.core.session_windows import Measured, Session
from tidemark.core.stream_output import Due
from tidemark.core.watermarks import latest
from tidemark.spark.columns import KEY, WINDOW
from tidemark.spark.streams import session_windows
from tidemark.spark.streams.partitioned import OPENED, key_of_substream
from tidemark.spark.streams.session_windows import Time
from tidemark.spark.streams.windows import AFTER, BEFORE
from tidemark.spark.tables.delta import exists
from tidemark.spark.tables.time_range import Span


@dataclass(frozen=True)
class Measuring:
    """The windows of one step at the end of a run; `along` gives the rows that come to the step in a span, `told` the
    same with what their part had passed before the run and after it."""

    spark: SparkSession
    root: str
    step: StreamSpec
    due: Due
    along: Callable[[Span], DataFrame | None]
    told: Callable[[DataFrame], DataFrame]

    @property
    def windows(self) -> Measured:
        """What they are."""
        if self.step.measured is None:
            raise ValueError(f"{self.step.name} has no windows whose bounds come from rows")
        return self.step.measured

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
        if not isinstance(self.windows, Session):
            rows = session_windows.with_ended(rows, self._closed(begun), self.groups)
        return session_windows.closing(rows, self.windows, self.groups, begun, after, until)

    def late(self, rows: DataFrame) -> DataFrame:
        """Of rows that the run brought, those of which a part came late, with the window that it is."""
        return session_windows.late(rows, self.windows.lateness, self.due.after.bounds)

    def earliest(self) -> int | None:
        """The start of the earliest window that the run leaves open; None: none begins before what is settled."""
        opened = self.opened()
        start: int | None = None if opened is None else opened.agg(F.min(OPENED)).collect()[0][0]
        return start

    def opened(self) -> DataFrame | None:
        """By part of the step, the same as `OPENED`; parts without such a window are left out."""
        rows, (_, until) = self._bounding(), self._settled()
        if rows is None or until is None:
            return None
        starts = session_windows.open_starts(rows, self.windows, self.groups, until)
        keys = {"_partition": F.col("_partition"), "_substream": key_of_substream().alias(KEY)}
        by = [keys[name] for name in self.step.parts]
        return starts.groupBy(*by).agg(F.min(WINDOW).alias(OPENED))

    def idle(self, limit: int) -> tuple[int | None, int | None]:
        """Of the windows that were open before the run, the latest time up to a limit at which one ends or closes,
        and the first after it."""
        rows = self._rows(None)
        if rows is None:
            return None, None
        placed = session_windows.in_windows(rows, self.windows, self.groups, self._settled()[0], None)
        return session_windows.ends_about(placed, self.windows.lateness, limit)

    def _settled(self) -> tuple[Time, Time]:
        """What was settled before the run and is after it, for all rows or by the row."""
        if not self.step.parts:
            return self.due.settled
        return BEFORE, None if self.due.after.complete else AFTER

    def _latest(self) -> int | None:
        """A time by which windows that the run closes have begun; None: it is not known."""
        if not self.step.parts:
            return self.due.settled[1]
        if self.due.after.complete or not self.due.listed:
            return None
        return latest(*[part.after for part in self.due.reached()])

    def _bounding(self) -> DataFrame | None:
        """Rows that the windows are made from that the run closes or leaves open."""
        rows = self._rows(self._latest())
        if rows is None or isinstance(self.windows, Session):
            return rows
        return session_windows.certain(rows, self.windows.lateness, self._settled()[1])

    def _rows(self, until: int | None) -> DataFrame | None:
        """Rows that take part in windows that were open before the run and begin at a time or before."""
        begun = self.due.begun()
        span = Span(None if begun is None else begun - 1, None if until is None else until + 1)
        found = self.along(span)
        if found is None:
            return None
        lateness = self.windows.lateness
        if self.step.parts:
            found = self.told(found)
            found = found.withColumns({name: F.col(name) - lateness for name in (BEFORE, AFTER)})
        rows = session_windows.taking_part(found, lateness, self.due.after.bounds)
        if isinstance(self.windows, Session) and (begun is not None or self.step.parts):
            rows = rows if begun is None else rows.where(F.col(session_windows.FROM) >= begun)
            rows = session_windows.unclosed(rows, self._closed(begun), self.groups)
        return rows

    def _closed(self, after: int | None) -> DataFrame | None:
        """The windows that earlier runs closed and that end after a time."""
        places = [f"{self.root}/{folder}/{self.step.name}" for folder in ("streams", "before_start")]
        frames = [self.spark.read.format("delta").load(place) for place in places if exists(place)]
        if not frames:
            return None
        whole = reduce(DataFrame.unionByName, frames).where(F.col("_batch_id") < self.due.first_batch)
        return whole if after is None else whole.where(F.col("_window_end") > F.timestamp_micros(F.lit(after)))
