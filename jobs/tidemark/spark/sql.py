"""SQL expressions of a configuration as columns that never stop a job and never read a clock."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import reduce
from operator import or_
from typing import Any

from py4j.java_gateway import JavaObject
from pyspark import SparkContext
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from tidemark.config.functions import AGGREGATES
from tidemark.errors import ConfigError, Problem

TIME_OF_DAY = r"^[\x00-\x20\x7f-\x9f]*(T|[0-9]{1,2}:)"
"""Text that Spark would read as a time of today, whenever that is: it says no date."""
_COLUMN = re.compile(r"\w+|`(?:[^`]|``)+`")
_SPECIAL = re.compile(r"\s*(now|today|yesterday|tomorrow)\b", re.IGNORECASE)
_TIMES = ("timestamp", "timestamp_ntz", "date")


def value_of(rows: DataFrame, expression: str, key: str) -> tuple[Column, DataType]:
    """The value of `expression` over `rows` and its type; null in a row on which it cannot be computed, be it
    because a time of day would have to be completed with the day on which the job happens to run.

    Raises ConfigError when the expression cannot be resolved or reads the clock whatever the row says; `key`
    tells where it stands.
    """
    return _value(rows, F.expr(expression), expression, key)


def aggregate_of(rows: DataFrame, expression: str, key: str) -> Column:
    """An aggregate expression over `rows`; what it aggregates is null in rows on which it cannot be computed, as
    with `value_of`, and so is what cannot be computed from aggregates."""
    columns = _jvm().org.apache.spark.sql.classic.ExpressionUtils
    tree = columns.expression(F.expr(expression)._jc)
    guarded = columns.column(_guarded(rows, tree, key))
    return Column(guarded) if _is_aggregate(tree) else _tried(guarded)


def _guarded(rows: DataFrame, node: JavaObject, key: str) -> JavaObject:
    """A parsed expression in which the arguments of aggregates are guarded."""
    columns = _jvm().org.apache.spark.sql.classic.ExpressionUtils
    children = list(_children(node))
    if _is_aggregate(node):
        guarded = [
            columns.expression(_value(rows, Column(columns.column(child)), child.sql(), key)[0]._jc)
            if _children(child) and any(_name(part) == "UnresolvedAttribute" for part in _nodes(child))
            else child
            for child in children
        ]
    else:
        guarded = [_guarded(rows, child, key) for child in children]
    return node.withNewChildren(_jvm().PythonUtils.toSeq(guarded)) if guarded else node


def _is_aggregate(node: JavaObject) -> bool:
    return _name(node) == "UnresolvedFunction" and str(node.nameParts().last()).lower() in AGGREGATES


def _value(rows: DataFrame, column: Column, expression: str, key: str) -> tuple[Column, DataType]:
    try:
        selected = rows.select(column)
    except AnalysisException as error:
        reason = str(error).splitlines()[0]
        raise ConfigError([Problem("", key, f"{expression!r} cannot be resolved: {reason}")]) from error
    kind = selected.schema[0].dataType
    if _COLUMN.fullmatch(expression):
        return column, kind
    tried = _tried(column._jc)
    try:
        texts = list(_texts_read_as_times(_expression_of(selected)))
    except ValueError as error:
        raise ConfigError([Problem("", key, f"{expression!r} {error}")]) from error
    if not texts:
        return tried, kind
    dayless = [F.coalesce(_tried(text).rlike(TIME_OF_DAY), F.lit(False)) for text in texts]
    return F.when(~reduce(or_, dayless), tried), kind


def _tried(column: JavaObject) -> Column:
    """Null where a column cannot be computed.

    Turning ANSI mode off is not enough: overflowing times and unknown zones raise all the same. Catalyst's
    own `TryEval`, on which the `try_` functions are built, has no SQL name.
    """
    jvm = _jvm()
    columns = jvm.org.apache.spark.sql.classic.ExpressionUtils
    expressions = jvm.org.apache.spark.sql.catalyst.expressions
    return Column(columns.column(expressions.TryEval(columns.expression(column))))


def _texts_read_as_times(expression: JavaObject) -> Iterator[JavaObject]:
    """The texts within a resolved expression that Spark casts to a time, as columns."""
    for node in _nodes(expression):
        if _name(node) != "Cast" or node.dataType().typeName() not in _TIMES:
            continue
        text = node.child()
        if text.dataType().typeName() != "string":
            continue
        if text.foldable():
            _require_a_date(text)
        elif node.dataType().typeName() == "timestamp":
            if any(_name(part) == "NamedLambdaVariable" for part in _nodes(text)):
                raise ValueError(
                    "takes text for a time inside a function over elements: Spark completes a time of day with"
                    " today's date; use to_timestamp(element, format)"
                )
            yield _jvm().org.apache.spark.sql.classic.ExpressionUtils.column(text)


def _require_a_date(text: JavaObject) -> None:
    value = str(text.value()) if _name(text) == "Literal" else None
    if value is None or _SPECIAL.match(value) or re.match(TIME_OF_DAY, value):
        raise ValueError(f"reads the clock for {text.sql()}: write a date and a time")


def _nodes(expression: JavaObject) -> Iterator[JavaObject]:
    yield expression
    for child in _children(expression):
        yield from _nodes(child)


def _children(expression: JavaObject) -> list[JavaObject]:
    children: Any = expression.children()
    return [children.apply(index) for index in range(children.size())]


def _expression_of(selected: DataFrame) -> JavaObject:
    """The only expression of a projection, with functions such as `to_timestamp` replaced by what they do."""
    replaced = _jvm().org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions
    return replaced.apply(selected._jdf.queryExecution().analyzed()).expressions().head()


def _name(node: JavaObject) -> str:
    return str(node.getClass().getSimpleName())


def _jvm() -> Any:  # noqa: ANN401 # py4j has no types
    context = SparkContext._active_spark_context
    if context is None or context._jvm is None:
        raise RuntimeError("no Spark session is open")
    return context._jvm
