"""Computes columns from the rows before each row (time rules: `preceding`).

A frame of Spark that is bounded by time cannot distinguish rows of equal time. So each row has a number that grows
with the sort key: its start times `_STEP`, plus its position among the rows of equal `by`. A range of these numbers
is exactly the rows before a row that start less than a given time before it, in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from py4j.java_gateway import JavaObject
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from tidemark.config.models.rows_before import PrecedingSpec
from tidemark.config.models.streams import StreamSpec
from tidemark.config.sql.aggregates import outermost
from tidemark.spark.columns import PRECEDING, RANK, WAS, ordinal
from tidemark.spark.compat.plans import children_of, column_of, name_of, node_of, parsed, with_children
from tidemark.spark.expressions import aggregate_of, value_of
from tidemark.spark.streams.paths import Path
from tidemark.spark.tables.delta import quoted
from tidemark.spark.tables.time_range import Span, needed
from tidemark.spark.times import came
from tidemark.spark.validity import fit

_BY, _COUNTS, _NUMBER = f"{PRECEDING}_by", f"{PRECEDING}_counts", f"{PRECEDING}_number"
_STEP = 10**10
"""More than the rows of equal `by` that one task can number."""


def with_preceding(
    rows: DataFrame, step: StreamSpec, payload: Sequence[str], order: Sequence[Column]
) -> tuple[DataFrame, list[str]]:
    """Rows with the columns of the step's `preceding`, and the names of all payload columns. `rows` holds all rows
    that come before a row whose columns matter, and `order` is their sort key.

    Raises ConfigError if an expression cannot be resolved.
    """
    if step.preceding is None:
        return rows, list(payload)
    spec, key = step.preceding, f"streams.{step.name}.preceding"
    given = [quoted(name) for name in rows.columns]
    numbered = _numbered(rows, spec, key, order)
    calls = {text[call.start : call.end]: call for text in spec.select.values() for call in outermost(text)}
    names = {written: f"{PRECEDING}_{number}" for number, written in enumerate(calls)}
    asked = {written: call.where(_COUNTS) if spec.where else written for written, call in calls.items()}
    over = _frame(spec)
    found = numbered.withColumns({names[each]: _over(numbered, asked[each], f"{key}.select", over) for each in calls})
    made = {name: value_of(found, _named(text, names), f"{key}.select.{name}") for name, text in spec.select.items()}
    columns = [fit(kind, value).alias(name) for name, (value, kind) in made.items()]
    return found.select(*given, *columns), [*payload, *made]


def order_within(rows: DataFrame, rank: int) -> DataFrame:
    """Rename the sort columns of rows to sort columns of one path, the path of `rank`."""
    own = {name: f"{ordinal()}{rank:04}_{name.removeprefix(ordinal())}" for name in rows.columns}
    renamed = {name: other for name, other in own.items() if name.startswith(ordinal())}
    return rows.withColumnsRenamed({**renamed, RANK: f"{ordinal()}{rank:04}_-rank_end"})


def in_span(rows: DataFrame, path: Path, span: Span) -> Column:
    """Condition that a row of a path's origin is in a span of the path."""
    start, end, alone = F.col("_system_timestamp"), F.col("_end_time"), replace(span, since=None)
    if path.lasts is None:
        found = needed(start, end, path.begin, 1, alone, open_=end.isNull())
    else:
        found = needed(start, start, path.begin, path.lasts, alone)
    if span.since is None:
        return found
    asked = WAS in rows.columns and (span.behind or not span.only)
    ended = F.col(WAS).isNotNull() if asked else F.lit(False)
    return found | (came(rows.columns) >= span.since) | ended


def _numbered(rows: DataFrame, spec: PrecedingSpec, key: str, order: Sequence[Column]) -> DataFrame:
    """Rows with the values of `by`, their `_NUMBER`, and `_COUNTS`, true if `where` lets a row count."""
    by = {f"{_BY}_{number}": value_of(rows, text, f"{key}.by")[0] for number, text in enumerate(spec.by)}
    counts = {} if spec.where is None else {_COUNTS: value_of(rows, spec.where, f"{key}.where")[0].cast("boolean")}
    known = rows.withColumns(by | counts) if by or counts else rows
    number = F.row_number().over(Window.partitionBy(*by).orderBy(*order))
    start = F.unix_micros("_system_timestamp").cast("decimal(20, 0)") * F.lit(_STEP).cast("decimal(11, 0)")
    return known.withColumn(_NUMBER, (start + number).cast("decimal(38, 0)"))


def _frame(spec: PrecedingSpec) -> str:
    """SQL frame: the rows of equal `by` before a row that start less than `within` before it, in their order."""
    by = ", ".join(f"{_BY}_{number}" for number in range(len(spec.by)))
    whose, least = f"PARTITION BY {by} " if by else "", spec.within * _STEP - 1
    return f"({whose}ORDER BY {_NUMBER} RANGE BETWEEN {least}BD PRECEDING AND 1BD PRECEDING)"


def _over(rows: DataFrame, call: str, key: str, frame: str) -> Column:
    """An aggregate over the frame of each row."""
    some = parsed(rows.sparkSession, f"count(1) OVER {frame}")

    def over(node: JavaObject) -> JavaObject:
        if name_of(node) == "AggregateExpression":
            return with_children(some, [node, children_of(some)[1]])
        parts = [over(child) for child in children_of(node)]
        return with_children(node, parts) if parts else node

    return column_of(over(node_of(aggregate_of(rows.groupBy(), rows, call, key))))


def _named(text: str, names: dict[str, str]) -> str:
    """The text in which each aggregate is replaced by the name of its column."""
    for call in reversed(outermost(text)):
        text = text[: call.start] + names[text[call.start : call.end]] + text[call.end :]
    return text
