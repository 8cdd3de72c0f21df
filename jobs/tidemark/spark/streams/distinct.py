"""Computes DISTINCT aggregates beside aggregates that depend on the order of rows (time rules: sort key).

Spark computes aggregates beside a DISTINCT one by distinct value first, and so in another order. Here each row has a
flag that is true if it is the first with its values. DISTINCT becomes a FILTER by this flag, and every aggregate sees
each row once, in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from tidemark.config.sql.aggregates import distinct_calls, without_distinct
from tidemark.spark.columns import FIRST
from tidemark.spark.expressions import compared_in
from tidemark.spark.streams.equal_values import orderable


def with_firsts(
    rows: DataFrame, select: Mapping[str, str], groups: Sequence[Column], order: Sequence[Column], key: str
) -> tuple[DataFrame, dict[str, str]]:
    """Rows with a flag for each DISTINCT aggregate, and expressions that filter by these flags.

    `key` is the configuration key of the expressions.
    """
    where = {call: f"{key}.{name}" for name, text in select.items() for call in distinct_calls(text)}
    columns = {call: f"{FIRST}_{number}" for number, call in enumerate(where)}
    firsts = {name: _first(rows, call, groups, order, where[call]) for call, name in columns.items()}
    asked = {name: without_distinct(text, columns) for name, text in select.items()}
    return rows.withColumns(firsts) if firsts else rows, asked


def _first(rows: DataFrame, call: str, groups: Sequence[Column], order: Sequence[Column], key: str) -> Column:
    """True if a row is the first of its group with its values."""
    values = [orderable(kind, value) for value, kind in compared_in(rows, call, key)]
    return F.row_number().over(Window.partitionBy(*groups, *values).orderBy(*order)) == 1
