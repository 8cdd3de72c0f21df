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

from tidemark.config.streams import StreamSpec
from tidemark.core.due import Due
from tidemark.core.measured import Measured, Session
from tidemark.spark import measured
from tidemark.spark.paths import Span
from tidemark.spark.tables import exists


@dataclass(frozen=True)
class Measuring:
    """The windows of one step at the end of a run; `along` gives the rows that come to the step in a span."""

    spark: SparkSession
    root: str
    step: StreamSpec
    due: Due
    along: Callable[[Span], DataFrame | None]

    @property
    def windows(self) -> Measured:
        """What they are."""
        if self.step.measured is None:
            raise ValueError(f"{self.step.name} has no windows whose bounds come from rows")
        return self.step.measured

    def closing(self) -> DataFrame | None:
        """Rows in the windows that the run closes, with their bounds."""
        after, until = self.due.settled
        rows = self._rows(until)
        return None if rows is None else measured.in_windows(rows, self.windows, self.step.group_by, after, until)

    def late(self, rows: DataFrame) -> DataFrame:
        """Of rows that the run brought, those of which a part came late, with the window that it is."""
        return measured.late(rows, self.windows.lateness)

    def earliest(self) -> int | None:
        """The start of the earliest window that the run leaves open; None: none begins before what is settled."""
        _, until = self.due.settled
        rows = self._rows(until)
        if rows is None or until is None:
            return None
        return measured.earliest(rows, self.windows, self.step.group_by, until)

    def _rows(self, until: int | None) -> DataFrame | None:
        """Rows that take part in windows that were open before the run and begin at a time or before."""
        begun = self.due.before.watermark
        span = Span(None if begun is None else begun - 1, None if until is None else until + 1)
        found = self.along(span)
        if found is None:
            return None
        rows = measured.taking_part(found, self.windows.lateness)
        if isinstance(self.windows, Session) and begun is not None:
            rows = rows.where(F.col(measured.FROM) >= begun)
            rows = measured.unclosed(rows, self._closed(begun), self.step.group_by)
        return rows

    def _closed(self, after: int) -> DataFrame | None:
        """The windows that earlier runs closed and that end after a time."""
        places = [f"{self.root}/{folder}/{self.step.name}" for folder in ("streams", "before_start")]
        frames = [self.spark.read.format("delta").load(place) for place in places if exists(place)]
        if not frames:
            return None
        whole = reduce(DataFrame.unionByName, frames)
        ended = F.col("_window_end") > F.timestamp_micros(F.lit(after))
        return whole.where(ended & (F.col("_batch_id") < self.due.first_batch))
