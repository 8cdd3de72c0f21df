"""Puts rows into windows and aggregates them (time rules: streams and windows).

Windows are computed as numbers: a row's windows, and which of them close or are closed already. A row is repeated
only for the windows that are asked for.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.config.models.streams import StreamSpec
from tidemark.config.sql.aggregates import order_sensitive
from tidemark.core.windows import NumberedWindows
from tidemark.errors import ConfigError, Problem, first_line
from tidemark.spark.columns import JUDGED, OPEN_UNTIL, WINDOW
from tidemark.spark.expressions import aggregate_of
from tidemark.spark.streams.distinct import with_firsts
from tidemark.spark.streams.equal_values import alike, holds_floats
from tidemark.spark.streams.numbers.window_numbers import numbers_of
from tidemark.spark.streams.operators.steps import order_of
from tidemark.spark.tables.delta import quoted
from tidemark.spark.validity import fit

_FIRST, _LAST = f"{WINDOW}_first", f"{WINDOW}_last"
_BOUNDS = ("_window_start", "_window_end")
_LIFE = ("_system_timestamp", "_end_time")
_MOST = 10_000_000
"""Windows of one row that a run may close: a task holds their numbers in an array."""
_TOO_MANY = f"a row that lives from %s to %s is in %,d windows that the run closes: more than {_MOST:,}"
BEFORE, AFTER = f"{WINDOW}_before", f"{WINDOW}_after"
"""Times that a row's part of the step had passed when the run began, and when it ended; microseconds or null."""


def closing(
    rows: DataFrame, window: NumberedWindows, complete: bool, *, kept: bool = True, points: bool = False
) -> DataFrame:
    """Rows with each `WINDOW` in which they count and that closes while their part goes from `BEFORE` to `AFTER`.

    `complete`: all open windows close. `kept`: rows may lie behind their own watermark, and do not count in windows
    that it had passed. `points`: all rows are points, each in at most one window if windows do not overlap.
    """
    rows = rows if complete else rows.where(F.col(AFTER).isNotNull())
    passed = F.greatest(F.col(BEFORE), _own()) if kept else F.col(BEFORE)
    if points and not window.overlap:
        closes = numbers_of(window).end(F.col(WINDOW)) + window.lateness
        open_ = _lone(rows, window).where(passed.isNull() | (closes > passed))
        return open_ if complete else open_.where(closes <= F.col(AFTER))
    bound = F.lit(None).cast("long") if complete else _first_open(window, F.col(AFTER))
    first, last = F.greatest(_FIRST, _first_open(window, passed)), F.least(_LAST, bound - 1)
    return _in_windows(_numbered(rows, window), window, first, last)


def late(rows: DataFrame, window: NumberedWindows) -> DataFrame:
    """Rows with each `WINDOW` that they belong to and are late for.

    They are late if their own watermark before them, or the step's when the run began, had passed the window.
    """
    passed = F.greatest(F.col(BEFORE), _own())
    last = F.least(_LAST, _first_open(window, passed) - 1)
    numbered = _numbered(rows.where(F.col(JUDGED) & passed.isNotNull()), window)
    return _in_windows(numbered, window, F.col(_FIRST), last)


def outside(rows: DataFrame, window: NumberedWindows) -> DataFrame:
    """Rows in no window: rows in the gaps between windows."""
    return _numbered(rows, window).where(F.col(_LAST) < F.col(_FIRST))


def start_of(window: NumberedWindows) -> Column:
    """The start of a row's `WINDOW`."""
    return F.timestamp_micros(numbers_of(window).start(F.col(WINDOW)))


def end_of(window: NumberedWindows) -> Column:
    """The end of a row's `WINDOW`."""
    return F.timestamp_micros(numbers_of(window).end(F.col(WINDOW)))


def pulled_back(window: NumberedWindows, reached: Column) -> Column:
    """Watermark of the windows' stream for one part, by the rule of `NumberedWindows.pulled_back`."""
    return F.least(reached, numbers_of(window).start(_first_open(window, reached)))


def bounded(rows: DataFrame, window: NumberedWindows) -> DataFrame:
    """Rows with the bounds of their `WINDOW`."""
    return rows.withColumns({"_window_start": start_of(window), "_window_end": end_of(window)})


def with_known_ends(rows: DataFrame, window: NumberedWindows | None) -> DataFrame:
    """Rows without ends at or after their window's end: another run may not know these ends yet.

    Without `window`, rows have the bounds of their windows already.
    """
    end, bound = F.col("_end_time"), F.col("_window_end") if window is None else end_of(window)
    return rows.withColumn("_end_time", F.when(end < bound, end))


def aggregated(
    rows: DataFrame,
    step: StreamSpec,
    window: NumberedWindows | None,
    types: dict[str, str | None],
    *,
    alone: bool = False,
) -> DataFrame:
    """One row per window and group: bounds, part, group values and selected values.

    Without `window`, rows have the bounds of their windows already. Aggregates that depend on the order of rows see
    them in the order of the sort key, each group in one task: so their bits do not depend on the partitioning of
    rows. The others are computed where the rows are. `alone`: one task has all rows already.
    """
    keys = [WINDOW, *step.parts, *step.group_by]
    read = window is None or any(name in text.lower() for name in _BOUNDS for text in step.select.values())
    rows = bounded(rows, window) if window is not None and read else rows
    grouped = [quoted(name) for name in (*keys, *(_BOUNDS if read else ()))]
    whose = WINDOW if window is not None else _BOUNDS[0]
    if any(order_sensitive(text, types) for text in step.select.values()):
        rows, floats = _with_equal_groups(rows, step)
        found = _in_order(rows, step, grouped, whose, () if alone else tuple(map(quoted, keys)), floats)
    else:
        found = _groups(rows, step, step.select, grouped)
    selected = [fit(found.schema[name].dataType, quoted(name)).alias(name) for name in step.select]
    found = found if window is None else bounded(found, window)
    return found.select(*_BOUNDS, *step.parts, *map(quoted, step.group_by), *selected)


def _with_equal_groups(rows: DataFrame, step: StreamSpec) -> tuple[DataFrame, bool]:
    """Rows whose group values are identical in all bits where they are equal, since sorted rows are grouped by bits;
    and true if there are floats in group values."""
    fields = rows.select(*map(quoted, step.group_by)).schema
    rows = rows.withColumns({each.name: alike(each.dataType, quoted(each.name)) for each in fields})
    return rows, any(holds_floats(each.dataType) for each in fields)


def _in_order(
    rows: DataFrame, step: StreamSpec, grouped: list[Column], whose: str, keys: tuple[Column, ...], floats: bool
) -> DataFrame:
    """Selected values of each group, computed in the order of the sort key in one task, chosen by `keys`.

    Without `keys`, one task has all rows already. Groups with floats are brought together only after `with_firsts`:
    Spark compares normalized floats, does not see that these rows are together, and would spread them again.

    Spark drops a sort below aggregates that it takes to be independent of order. Among these are sums of long
    decimals, where it depends on the order whether they overflow on the way. Spark keeps the sort if a `first` of a
    group column is computed, too.
    """
    order = order_of(rows)
    given = rows.repartition(*keys) if keys and not floats else rows
    known, select = with_firsts(given, step.select, grouped, order, _key(step))
    known = known.repartition(*keys) if keys and floats else known
    ordered = known.sortWithinPartitions(*grouped, *order)
    found = _groups(ordered, step, select, grouped, F.first(whose).alias(_FIRST))
    return found.withColumn(whose, F.col(_FIRST))


def _groups(
    rows: DataFrame, step: StreamSpec, select: Mapping[str, str], grouped: list[Column], *more: Column
) -> DataFrame:
    """Selected values of each group, and `more`; ConfigError if Spark cannot resolve an expression."""
    groups = rows.groupBy(*grouped)
    try:
        selected = [
            aggregate_of(groups, rows, text, f"{_key(step)}.{name}").alias(name) for name, text in select.items()
        ]
        return groups.agg(*([*selected, *more] or [F.lit(0).alias(_FIRST)]))
    except AnalysisException as error:
        reason = first_line(error)
        raise ConfigError([Problem("", _key(step), f"cannot be resolved: {reason}")]) from error


def _key(step: StreamSpec) -> str:
    return f"streams.{step.name}.select"


def _numbered(rows: DataFrame, window: NumberedWindows) -> DataFrame:
    """Rows with the numbers of the first and last window that they overlap.

    The last is null for an open lifetime that is not cut at `OPEN_UNTIL`.
    """
    start, end = F.unix_micros("_system_timestamp"), F.unix_micros("_end_time")
    if OPEN_UNTIL in rows.columns:
        end = F.least(end, OPEN_UNTIL)
    numbers = numbers_of(window)
    return rows.withColumns({_FIRST: numbers.first(start), _LAST: numbers.last(end - 1)})


def _lone(rows: DataFrame, window: NumberedWindows) -> DataFrame:
    """Points with the one `WINDOW` they are in, if windows do not overlap; without points in gaps."""
    numbers, time = numbers_of(window), F.unix_micros("_system_timestamp")
    found, inside = rows.withColumn(WINDOW, numbers.last(time)), numbers.lone(time, F.col(WINDOW))
    return found if inside is None else found.where(inside)


def _in_windows(rows: DataFrame, window: NumberedWindows, first: Column, last: Column) -> DataFrame:
    rows = rows.withColumns({_FIRST: first, _LAST: last}).where(F.col(_FIRST) <= F.col(_LAST))
    count = F.col(_LAST) - F.col(_FIRST) + 1
    said = F.format_string(_TOO_MANY, *(F.col(time).cast("string") for time in _LIFE), count)
    numbers = F.when(count > _MOST, F.raise_error(said).cast("array<bigint>"))
    numbers = numbers.otherwise(F.sequence(_FIRST, _LAST))
    found = rows.withColumn(WINDOW, F.explode(numbers)).drop(_FIRST, _LAST)
    held = numbers_of(window).held(F.col(WINDOW))
    return found if held is None else found.where(held)


def _own() -> Column:
    return F.when(F.col(JUDGED), F.unix_micros("_watermark"))


def _first_open(window: NumberedWindows, reached: Column) -> Column:
    """Number of the earliest window that is not closed at a watermark; null if that is null."""
    return numbers_of(window).first(reached - window.lateness)
