"""Which rows and outputs a run passes, that goes from one time to another."""

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
"""The end of an open lifetime."""


def not_due(due: Due, known: Parameter) -> Column:
    """Whether an output is not one that the run passed. Of parts, and of windows that rows make, nothing is told but
    what the step has not passed yet. A time at the bound of the years may stand for one beyond them, of which nothing
    is told."""
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
    if due.before.complete or before is None or due.behind or step.measured is not None:
        return early
    return early | ((end <= known("before", before, name)) & (time < MAX_TIME))


def passing_span(due: Due, before: int | None, after: int | None) -> Span:
    """When rows are alive whose end is passed in a run that goes from a time to another; and those that it brought,
    where they may lie behind."""
    return Span(before, after, since=due.first_batch if due.behind else None, behind=due.straggling)


def passing(rows: DataFrame, due: Due, before: int | None, after: int | None) -> DataFrame:
    """Of these, the rows whose end the run has passed: those that earlier runs had passed stand."""
    done = rows if after is None else rows.where(ends("_end_time") <= after)
    if before is None:
        return done
    known = [name for name in (WAS, "_end_time") if name in rows.columns]
    return done.where((ends(*known) > before) | (came(rows.columns) >= due.first_batch))


def ends(*names: str) -> Column:
    """The first of these times that there is, microseconds."""
    return F.coalesce(*map(F.unix_micros, names), F.lit(_NEVER))


def cut_open(rows: DataFrame, due: Due) -> DataFrame:
    """Rows of a complete stream: windows that begin after its last finite start, end or punctuation give no row."""
    times = [F.max(F.unix_micros(name)) for name in ("_system_timestamp", "_end_time")]
    bound = latest(due.after.reached, *rows.agg(*times).collect()[0])
    return rows if bound is None else rows.withColumn(OPEN_UNTIL, F.lit(bound + 1))
