"""Pairs of rows of two streams that are alive together (time rules: streams and windows).

A pair lives in the intersection of two lifetimes. Pairs are made from their sides whenever they are needed, and are
not stored while they wait. The rows alive in a span make all pairs alive in it, so a run reads no others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from tidemark.config.models.streams import StreamSpec
from tidemark.core.times import TICK
from tidemark.errors import ConfigError, Problem
from tidemark.spark.columns import CAME, CELL, TENTATIVE, WAS, ordinal
from tidemark.spark.expressions import value_of
from tidemark.spark.times import came, divided
from tidemark.spark.validity import column_of, fit

START, END = "_system_timestamp", "_end_time"
_ONE_VALUE = ("array", "map", "struct", "variant", "interval")


@dataclass(frozen=True)
class Side:
    """One stream of a join, by name: its rows with start and end (null: open), and their sort key, `order`.

    `longest` is the longest lifetime of a row, microseconds (None: no bound).
    """

    name: str
    rows: DataFrame
    order: Sequence[str]
    longest: int | None

    def column(self, name: str) -> Column:
        """A column of this side among the columns of both."""
        return F.col(f"{column_of(self.name)}.{column_of(name)}")


def paired(step: StreamSpec, left: Side, right: Side, rank: int) -> DataFrame:
    """Pairs of a join: start, end, columns of their order as the path of `rank`, and the selected columns.

    Pairs are ordered by the left row's sort key, then the right row's. Columns of `on` are compared by `=`: null
    equals nothing, NaN equals NaN and -0.0 equals 0.0. If both sides have a longest lifetime, rows are also joined by
    the cells of time that they live in, so that keys with many rows are not paired across all times.

    Raises ConfigError when columns of `on` have types that cannot be equal.
    """
    both = combined(step, left, right, "inner")
    if step.where is not None:
        both = both.where(condition(both, step))
    start = F.greatest(left.column(START), right.column(START)).alias(START)
    end = F.least(left.column(END), right.column(END)).alias(END)
    times = (start, end, *_was((left, right), end), *tentative((left, right)))
    return selected(both, step, (left, right), rank, times)


def combined(step: StreamSpec, left: Side, right: Side, how: str) -> DataFrame:
    """Rows of both sides with equal `on` that are alive together; `how` is Spark's word for the kind of join. A left
    row may come once for each of its cells.

    Raises ConfigError when columns of `on` have types that cannot be equal.
    """
    _require_equal_types(step, left, right)
    widths = (left.longest, right.longest)
    width = None if None in widths else max(each for each in widths if each is not None)
    frames = [(side.rows if width is None else _in_cells(side, width)).alias(side.name) for side in (left, right)]
    return frames[0].join(frames[1], reduce(and_, _conditions(step, left, right, width)), how)


def condition(both: DataFrame, step: StreamSpec) -> Column:
    """The predicate `where` of a join over rows of both sides; null where it cannot be computed."""
    return value_of(both, step.where or "true", f"streams.{step.name}.where")[0].cast("boolean")


def selected(
    both: DataFrame, step: StreamSpec, sides: tuple[Side, Side], rank: int, times: Sequence[Column]
) -> DataFrame:
    """Rows of a join with these times, the columns of their order as the path of `rank`, and the selected columns."""
    keys = [side.column(name) for side in sides for name in side.order]
    order = [column.alias(ordinal(rank, number)) for number, column in enumerate(keys)]
    values = [fit(kind, value).alias(name) for name, (value, kind) in _values(both, step, f"streams.{step.name}")]
    brought = F.greatest(*[came(side.rows.columns, side.column) for side in sides]).alias(CAME)
    return both.select(*times, brought, *order, *values)


def _was(sides: Sequence[Side], end: Column) -> list[Column]:
    """`WAS` of the pairs, if a side has it; else no column."""
    if not any(WAS in side.rows.columns for side in sides):
        return []
    known = [(WAS, END) if WAS in side.rows.columns else (END,) for side in sides]
    ends = [F.coalesce(*map(side.column, names)) for side, names in zip(sides, known, strict=True)]
    before = F.least(*ends)
    return [F.when(~before.eqNullSafe(end), before).alias(WAS)]


def tentative(sides: Sequence[Side], *own: Column) -> list[Column]:
    """`TENTATIVE` of a join's rows: the latest of both sides' and the rows' `own`; no column if there is none."""
    known = [*[side.column(TENTATIVE) for side in sides if TENTATIVE in side.rows.columns], *own]
    return [(F.greatest(*known) if len(known) > 1 else known[0]).alias(TENTATIVE)] if known else []


def _values(both: DataFrame, step: StreamSpec, key: str) -> Iterator[tuple[str, tuple[Column, DataType]]]:
    for name, text in step.select.items():
        yield name, value_of(both, text, f"{key}.select.{name}")


def _conditions(step: StreamSpec, left: Side, right: Side, width: int | None) -> Iterator[Column]:
    """Join conditions: equal columns, overlapping lifetimes, and, with cells, the cell in which the pair begins."""
    for name in step.on:
        yield left.column(name) == right.column(name)
    for one, other in ((left, right), (right, left)):
        end = other.column(END)
        yield end.isNull() | (one.column(START) < end)
    if width is not None:
        start = F.unix_micros(F.greatest(left.column(START), right.column(START)))
        yield left.column(CELL) == right.column(CELL)
        yield left.column(CELL) == divided(start, width)


def _in_cells(side: Side, width: int) -> DataFrame:
    """Each row once for each `CELL` that it lives in, `width` microseconds of time: two at most."""
    start, end = F.unix_micros(START), F.unix_micros(END)
    first = divided(start, width)
    if side.longest == TICK:
        return side.rows.withColumn(CELL, first)
    return side.rows.withColumn(CELL, F.explode(F.sequence(first, divided(end - TICK, width))))


def _require_equal_types(step: StreamSpec, left: Side, right: Side) -> None:
    """Raise ConfigError for columns of `on` whose types cannot be equal.

    Only types that Spark alone knows can fail here; others were checked when the configuration was loaded.
    """
    for name in step.on:
        kinds = [side.rows.select(column_of(name)).schema[0].dataType for side in (left, right)]
        nested = kinds[0].typeName().startswith(_ONE_VALUE)
        if kinds[0] != kinds[1] or nested:
            listed = " and ".join(
                f"{kind.simpleString()} in {side.name!r}" for kind, side in zip(kinds, (left, right), strict=True)
            )
            advice = "which is not one value: select a member of it" if nested else "cast it in a step of its own"
            raise ConfigError([Problem("", f"streams.{step.name}.on", f"{name!r} is {listed}: {advice}")])
