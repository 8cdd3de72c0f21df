"""Rows in their windows, and what windows say of them (time rules: streams and windows).

Window n is [n * hop + offset, n * hop + offset + size). Which windows a row is in, and which of those close or are
closed already, is arithmetic on numbers: rows are multiplied only into the windows that are asked for.
"""

from __future__ import annotations

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.config.aggregates import order_sensitive
from tidemark.config.streams import StreamSpec
from tidemark.core.streams import Window
from tidemark.errors import ConfigError, Problem
from tidemark.spark.fitness import fit
from tidemark.spark.names import JUDGED, OPEN_UNTIL, WINDOW
from tidemark.spark.paths import order_of
from tidemark.spark.sql import aggregate_of
from tidemark.spark.tables import quoted
from tidemark.spark.times import divided

_FIRST, _LAST = f"{WINDOW}_first", f"{WINDOW}_last"
BEFORE, AFTER = f"{WINDOW}_before", f"{WINDOW}_after"
"""What a row's part of the step had passed when the run began, and when it ended; microseconds or null."""


def closing(rows: DataFrame, window: Window, complete: bool) -> DataFrame:
    """Rows with the `WINDOW` they count in, of windows that close while their part goes from `BEFORE` to `AFTER`
    (`complete`: of all that were open). A row is left out of a window that its own watermark had passed before."""
    after = F.lit(None).cast("long") if complete else F.col(AFTER)
    rows = rows if complete else rows.where(F.col(AFTER).isNotNull())
    first = F.greatest(_FIRST, _first_open(window, F.col(BEFORE)), _first_open(window, _own()))
    last = F.least(_LAST, _first_open(window, after) - 1)
    return _in_windows(_numbered(rows, window), first, last)


def late(rows: DataFrame, window: Window) -> DataFrame:
    """Rows with each `WINDOW` that they belong to and are late for: their own watermark before them, or the step's
    when the run began, had passed it."""
    passed = F.greatest(F.col(BEFORE), _own())
    last = F.least(_LAST, _first_open(window, passed) - 1)
    numbered = _numbered(rows.where(F.col(JUDGED) & passed.isNotNull()), window)
    return _in_windows(numbered, F.col(_FIRST), last)


def outside(rows: DataFrame, window: Window) -> DataFrame:
    """Rows in no window: those in the gaps."""
    return _numbered(rows, window).where(F.col(_LAST) < F.col(_FIRST))


def start_of(window: Window) -> Column:
    """The start of a row's `WINDOW`."""
    return F.timestamp_micros(F.col(WINDOW) * window.hop + window.offset)


def end_of(window: Window) -> Column:
    """The end of a row's `WINDOW`."""
    return F.timestamp_micros(F.col(WINDOW) * window.hop + window.offset + window.size)


def pulled_back(window: Window, reached: Column) -> Column:
    """The watermark of the windows' stream for one part, as `Window.pulled_back`."""
    return F.least(reached, _first_open(window, reached) * window.hop + window.offset)


def aggregated(rows: DataFrame, step: StreamSpec, window: Window, types: dict[str, str | None]) -> DataFrame:
    """One row a window and group: its bounds, its part, what it is grouped by, what is selected.

    Aggregates that depend on the order of rows see them in that of the sort key, each group in one task: so their
    bits do not depend on how rows are spread. The others are computed where the rows are.
    """
    bounds = ["_window_start", "_window_end"]
    keys = [WINDOW, *step.parts, *step.group_by]
    rows = rows.withColumns({"_window_start": start_of(window), "_window_end": end_of(window)})
    grouped = [quoted(name) for name in (*keys, *bounds)]
    if any(order_sensitive(text, types) for text in step.select.values()):
        rows = rows.repartition(*map(quoted, keys)).sortWithinPartitions(*grouped, *order_of(rows))
    told = [aggregate_of(rows, text, _key(step, name)).alias(name) for name, text in step.select.items()]
    groups = rows.groupBy(*grouped)
    try:
        found = groups.agg(*told) if told else groups.agg(F.lit(0).alias(_FIRST))
    except AnalysisException as error:
        reason = str(error).splitlines()[0]
        raise ConfigError([Problem("", _key(step, "").rstrip("."), f"cannot be resolved: {reason}")]) from error
    selected = [fit(found.schema[name].dataType, quoted(name)).alias(name) for name in step.select]
    return found.select(*bounds, *step.parts, *map(quoted, step.group_by), *selected)


def _key(step: StreamSpec, name: str) -> str:
    return f"streams.{step.name}.select.{name}"


def _numbered(rows: DataFrame, window: Window) -> DataFrame:
    """Rows with the numbers of the first and last window that they overlap; the last is null of an open lifetime that
    is not cut at `OPEN_UNTIL`."""
    start, end = F.unix_micros("_system_timestamp"), F.unix_micros("_end_time")
    if OPEN_UNTIL in rows.columns:
        end = F.coalesce(end, OPEN_UNTIL)
    first = divided(start - window.offset - window.size, window.hop) + 1
    return rows.withColumns({_FIRST: first, _LAST: divided(end - 1 - window.offset, window.hop)})


def _in_windows(rows: DataFrame, first: Column, last: Column) -> DataFrame:
    rows = rows.withColumns({_FIRST: first, _LAST: last}).where(F.col(_FIRST) <= F.col(_LAST))
    return rows.withColumn(WINDOW, F.explode(F.sequence(_FIRST, _LAST))).drop(_FIRST, _LAST)


def _own() -> Column:
    return F.when(F.col(JUDGED), F.unix_micros("_watermark"))


def _first_open(window: Window, reached: Column) -> Column:
    """Number of the earliest window that is not closed at a watermark; null at none."""
    return divided(reached - window.lateness - window.size - window.offset, window.hop) + 1
