"""Ends rows where the next row of equal keys starts (time rules: more operators on streams).

The next row is found among all rows that have come. Another row may still come before it, if it starts after the
stream's watermark. That row cannot start before the watermark. So an end never moves to before the watermark, and
nothing that is due changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from tidemark.config.models.lifetimes import UntilSpec
from tidemark.core.times import MAX_TIME, MIN_TIME, TICK
from tidemark.spark.columns import NEXT, TENTATIVE, WAS
from tidemark.spark.expressions import value_of
from tidemark.spark.times import came, timestamp_of

_BY, _COUNTS, _COUNTED = f"{NEXT}_by", f"{NEXT}_counts", f"{NEXT}_counted"


@dataclass(frozen=True)
class Known:
    """Facts that decide which rows end others. With `since`, ends are also computed as they were before that batch.
    `certain` are two times, microseconds: before them the stream had all its rows before the run, and has all its
    rows after the run (None: all). A `TENTATIVE` row ends others only if it is before that time."""

    since: int | None = None
    certain: tuple[int, int | None] = (MIN_TIME, None)

    def now(self, names: Sequence[str]) -> Column:
        """True if a row ends others now; `names` are its columns."""
        return self._passed(names, self.certain[1])

    def before(self, names: Sequence[str], since: int) -> Column:
        """True if a row ended others before the batch `since`."""
        return (came(names) < since) & self._passed(names, self.certain[0])

    @staticmethod
    def _passed(names: Sequence[str], bound: int | None) -> Column:
        if TENTATIVE not in names or bound is None:
            return F.lit(True)
        return F.coalesce(F.unix_micros(TENTATIVE) < bound, F.lit(True))


NOW = Known()
"""Every row that has come ends others."""


def ending_next(
    rows: DataFrame, until: UntilSpec, order: Sequence[Column], key: str, known: Known, *, emptied: bool
) -> DataFrame:
    """Rows whose end is the start of the next row with equal `by`, ordered by `order`; null if none is known.

    `rows` must have all rows after a row whose end matters. A row is left out if the next row has its start; with
    `emptied`, only such rows stay, as points. Until the stream has passed its start, a row may become one: it is
    `TENTATIVE` there. `WAS` is the end before batch `known.since`, if it differs.

    Raises ConfigError if an expression cannot be resolved.
    """
    keys = {f"{_BY}_{number}": value_of(rows, text, f"{key}.by")[0] for number, text in enumerate(until.by)}
    start, names = F.unix_micros("_system_timestamp"), rows.columns
    marked = rows.withColumns(keys | {_COUNTS: F.when(known.now(names), start)})
    if known.since is not None:
        marked = marked.withColumn(_COUNTED, F.when(known.before(names, known.since), start))
    ordered = Window.partitionBy(*keys).orderBy(*order)
    found = marked.withColumns({name: _following(name).over(ordered) for name in _marks(known)})
    lives = F.coalesce(F.col(_COUNTS) > start, F.lit(True))
    if emptied:
        gone = found.where(~lives).withColumn("_end_time", F.timestamp_micros(start + TICK))
        return gone.drop(*keys, _COUNTS, _COUNTED, WAS)
    end = _bounded(start, _COUNTS, until)
    given = {"_end_time": F.timestamp_micros(end), TENTATIVE: F.col("_system_timestamp")}
    if known.since is not None:
        was = _bounded(start, _COUNTED, until)
        before = F.coalesce(F.timestamp_micros(was), timestamp_of(MAX_TIME))
        given[WAS] = F.when(~was.eqNullSafe(end), before)
    return found.where(lives).withColumns(given).drop(*keys, _COUNTS, _COUNTED)


def _marks(known: Known) -> list[str]:
    return [_COUNTS] if known.since is None else [_COUNTS, _COUNTED]


def _following(name: str) -> Column:
    return F.expr(f"lead({name}) IGNORE NULLS")


def _bounded(start: Column, name: str, until: UntilSpec) -> Column:
    """The end of a row whose next one starts at `name`."""
    return F.col(name) if until.at_most is None else F.least(name, start + until.at_most)
