"""Selects the rows of a time span by columns whose bounds are recorded for each file, so that other files are
skipped."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.core.times import MAX_TIME
from tidemark.spark.columns import CLOSED, WAS
from tidemark.spark.times import timestamp_of


@dataclass(frozen=True)
class Span:
    """Selects rows alive at some time in [`after`, `before`), microseconds (None: no bound). `since`: also all rows
    of batches from this one on, and `WAS` is set; `only`: only rows of these batches. `behind`: rows of these batches
    may lie before the span, and make pairs before it."""

    after: int | None = None
    before: int | None = None
    since: int | None = None
    only: bool = False
    behind: bool = False


def needed(start: Column, end: Column, begin: int, length: int, span: Span, open_: Column | None = None) -> Column:
    """Condition that a row is alive in a span, over its origin's columns so that files can be skipped. A row that is
    `open_` has no end."""
    wanted = F.lit(not span.only)
    if span.after is not None:
        later = end > timestamp_of(span.after - begin - length)
        wanted = wanted & (later if open_ is None else open_ | later)
    if span.before is not None:
        wanted = wanted & (start < timestamp_of(span.before - begin))
    return wanted if span.since is None else wanted | (F.col("_batch_id") >= span.since)


def between_edges(begin: int, lasts: int | None, span: Span) -> Column:
    """Condition of `needed` for rows between edges. A row that ends in the very moment in which the span begins is
    selected, too: it was open when that moment was passed."""
    start, end = F.col("_system_timestamp"), F.col("_end_time")
    if lasts is not None:
        return needed(start, start, begin, lasts, span)
    known = needed(start, end, begin, 1, span, open_=end.isNull())
    if span.since is None or (span.only and not span.behind):
        return known
    return known | (F.col(CLOSED) >= span.since)  # no coalesce: files are skipped by plain comparisons only


def ends_before(rows: DataFrame, span: Span) -> list[Column]:
    """Column `WAS` of rows between edges, or none: rows that ended in batches from `since` on were open before."""
    if CLOSED not in rows.columns or span.since is None:
        return []
    return [F.when(F.col(CLOSED) >= span.since, timestamp_of(MAX_TIME)).alias(WAS)]
