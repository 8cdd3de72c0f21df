"""Selects the rows and outputs that a run passes as the watermark goes from one time to another."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.core.stream_output import Due
from tidemark.core.times import MAX_TIME, MIN_TIME
from tidemark.core.watermarks import latest
from tidemark.spark.columns import OPEN_UNTIL, WAS
from tidemark.spark.plans.parameters import Parameter
from tidemark.spark.tables.time_range import Span
from tidemark.spark.times import came

_NEVER = (1 << 63) - 1
"""The end of an open lifetime, microseconds."""


def not_due(due: Due, known: Parameter) -> Column:
    """True if an output is not due: it ends after the run's watermark, or at or before the watermark of the run
    before.

    Steps with `partition_by` are not checked. The first case is not checked with an idle timeout. The second is not
    checked for session windows, nor if rows may lie behind; a later pair may end a gap exactly at the earlier
    watermark. A time at a bound of the years may mean a time beyond it, and is not checked on that side.
    """
    windows_, step, name = due.step.windows, due.step, "_end_time"
    before, after = due.before.watermark, due.after.watermark
    if windows_ is not None:
        before, after, name = due.before.reached, due.after.reached, "_window_end"
    time = ends(name)
    end = time + (0 if windows_ is None else windows_.lateness)
    idle = windows_ is not None and windows_.idle_timeout is not None
    if step.partition_by is not None:
        return F.lit(False)
    early = F.lit(False)
    if not (due.after.complete or after is None or idle):
        early = (end > known("after", after, name)) & (time > MIN_TIME)
    if due.before.complete or before is None or due.behind or step.data_driven is not None:
        return early
    past = known("before", before, name)
    return early | ((end < past if due.gapped else end <= past) & (time < MAX_TIME))


def passing_span(due: Due, before: int | None, after: int | None) -> Span:
    """Span of rows whose end a run passes as its watermark goes from `before` to `after`.

    If rows of the run may lie behind `before`, or end gaps exactly there, they are included.
    """
    since = due.first_batch if due.behind or due.gapped else None
    return Span(before, after, since=since, behind=due.straggling)


def passing(rows: DataFrame, due: Due, before: int | None, after: int | None) -> DataFrame:
    """Rows whose end the run passes.

    Rows that earlier runs passed are written already and left out, unless this run brought or closed them.
    """
    done = rows if after is None else rows.where(ends("_end_time") <= after)
    if before is None:
        return done
    known = [name for name in (WAS, "_end_time") if name in rows.columns]
    return done.where((ends(*known) > before) | (came(rows.columns) >= due.first_batch))


def ends(*names: str) -> Column:
    """The first of these times that is not null, microseconds; `_NEVER` if all are null."""
    return F.coalesce(*map(F.unix_micros, names), F.lit(_NEVER))


def cut_open(rows: DataFrame, due: Due) -> DataFrame:
    """Rows of a complete stream with the time up to which open lifetimes have windows (`OPEN_UNTIL`).

    Windows that begin after the stream's last finite start, end or punctuation give no row. An end at the bound of
    the years is not finite: windows that never end have it.
    """
    start, end = map(F.unix_micros, ("_system_timestamp", "_end_time"))
    times = [F.max(start), F.max(F.when(end < MAX_TIME, end))]
    bound = latest(due.after.reached, *rows.agg(*times).collect()[0])
    return rows if bound is None else rows.withColumn(OPEN_UNTIL, F.lit(bound + 1))
