"""Turns SQL expressions of a configuration into columns that never stop a job and never read a clock."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, GroupedData
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StringType

from tidemark.config.sql.functions import AGGREGATES
from tidemark.errors import ConfigError, Problem, first_line
from tidemark.spark.compat.plans import (
    analyzed,
    children_of,
    column_of,
    name_of,
    node_of,
    nodes_of,
    nulls_ignored,
    parsed,
    with_children,
)
from tidemark.spark.jvm_functions import java_class
from tidemark.spark.session.settings import ARITHMETIC, EXACT
from tidemark.spark.streams.equal_values import alike
from tidemark.spark.validity import fit

T = TypeVar("T")
TIME_OF_DAY = r"^[\x00-\x20\x7f-\x9f]*(T|[0-9]{1,2}:)"
"""Pattern of text without a date, which Spark would read as a time of today."""
_COLUMN = re.compile(r"\w+|`(?:[^`]|``)+`")
_AMONG_EQUALS = frozenset({"max", "min", "median", "percentile"})
"""Aggregates that return whichever of equal values they meet first."""
_BY = frozenset({"max_by", "min_by"})
"""Aggregates that leave out rows whose second argument is null, not the first."""
_COLLECTIONS = ("_list", "_set", "_agg")
_COUNTING_NULLS: dict[str, Callable[[Column], Column]] = {
    **dict.fromkeys(("any_value", "first", "first_value"), lambda values: F.first(values, True).getField("v")),
    **dict.fromkeys(("last", "last_value"), lambda values: F.last(values, True).getField("v")),
    **dict.fromkeys(
        ("array_agg", "collect_list"), lambda values: F.transform(F.collect_list(values), lambda each: each["v"])
    ),
    "collect_set": lambda values: F.transform(F.collect_set(values), lambda each: each["v"]),
}
"""Aggregates that may count nulls, over values packed in structs: the struct is null in rows that are left out."""


def value_of(rows: DataFrame, expression: str, key: str) -> tuple[Column, DataType]:
    """Column of the value of `expression` over `rows`, and its type. It is null in rows on which it cannot be
    computed. A time of day without a date cannot be: Spark would add the day on which the job runs.

    Raises ConfigError for `key` if the expression cannot be resolved, or reads the clock whatever the row says.
    """
    column = F.expr(expression)
    selected = _analysed(lambda: rows.select(column), expression, key)
    kind = selected.schema[0].dataType
    return (column if _COLUMN.fullmatch(expression) else _sound(selected, expression, key)), kind


def text_of(rows: DataFrame, expression: str, key: str) -> Column:
    """The value of `expression` over `rows` as text that every reader of the tables can hold. It is null if it cannot
    be computed or is not UTF-8."""
    return fit(StringType(), value_of(rows, expression, key)[0].cast("string"))


def aggregate_of(groups: GroupedData, rows: DataFrame, expression: str, key: str) -> Column:
    """An aggregate expression over the rows of `groups`. Its arguments are null in rows on which they cannot be
    computed, as with `value_of`; its result is null if it cannot be computed from the aggregates."""
    tree = _analysed(lambda: parsed(rows.sparkSession, expression), expression, key)
    column = column_of(_rewritten(rows, tree, key))
    return _sound(_analysed(lambda: groups.agg(column), expression, key), expression, key)


def compared_in(rows: DataFrame, expression: str, key: str) -> list[tuple[Column, DataType]]:
    """Arguments of a DISTINCT aggregate, as Spark converts them, with their types: rows with equal arguments count
    once. Raises ConfigError if the expression cannot be resolved."""
    tree = _analysed(lambda: parsed(rows.sparkSession, expression), expression, key)
    column = column_of(_rewritten(rows, tree, key))
    found = _analysed(lambda: rows.groupBy().agg(column), expression, key)
    resolved = analyzed(found).expressions().last()
    call: Any = next(each for each in nodes_of(resolved) if name_of(each) == "AggregateExpression")
    children = [child for child in children_of(call.aggregateFunction()) if name_of(child) != "SortOrder"]
    selected = [rows.select(column_of(child)) for child in children if not child.foldable()]
    return [(_sound(each, expression, key), each.schema[0].dataType) for each in selected]


def _rewritten(rows: DataFrame, node: JavaObject, key: str) -> JavaObject:
    """A parsed expression, rewritten so that its aggregates need no FILTER."""
    if _aggregate(node):
        return node_of(_filtered(rows, node, key))
    children = [_rewritten(rows, child, key) for child in children_of(node)]
    return with_children(node, children) if children else node


def _filtered(rows: DataFrame, call: JavaObject, key: str) -> Column:
    """Set the arguments of an aggregate to null in rows that its FILTER leaves out; if the aggregate counts nulls,
    make it ignore these rows. Spark drops a FILTER when it aggregates sorted rows."""
    name, children = str(_aggregate(call)), children_of(call)
    count, has_filter = call.arguments().size(), call.filter().isDefined()
    arguments = [_argument(rows, child, key, equal=name in _AMONG_EQUALS) for child in children[:count]]
    sorts = children[count + has_filter :]
    orders = [_argument(rows, children_of(sort)[0], key) for sort in sorts]
    if has_filter:
        over = _argument(rows, children[count], key)
        if _nulls_count(name, call):
            return _COUNTING_NULLS[name](F.when(over, F.struct(arguments[0].alias("v"))))
        orders = [F.when(over, order) for order in orders]
        index = int(name in _BY)
        arguments[index : index + 1] = [F.when(over, value) for value in arguments[index : index + 1]]
    sorted_by = [with_children(sort, [node_of(order)]) for sort, order in zip(sorts, orders, strict=True)]
    made = [*map(node_of, arguments), *[node_of(F.lit(True))] * has_filter, *sorted_by]
    return column_of(with_children(call, made))


def _argument(rows: DataFrame, node: JavaObject, key: str, *, equal: bool = False) -> Column:
    """An argument of an aggregate; with `equal`, its equal values are made equal to the last bit."""
    column = column_of(node)
    if not equal or all(name_of(part) != "UnresolvedAttribute" for part in nodes_of(node)):
        return column
    return alike(_analysed(lambda: rows.select(column), node.sql(), key).schema[0].dataType, column)


def _nulls_count(name: str, call: JavaObject) -> bool:
    """True if an aggregate counts nulls as values."""
    if name not in _COUNTING_NULLS:
        return False
    ignored, more = nulls_ignored(call), children_of(call)[1 : call.arguments().size()]
    if ignored is not None:
        return not ignored
    return not name.endswith(_COLLECTIONS) and not any(each.sql().lower() == "true" for each in more)


def _aggregate(node: JavaObject) -> str | None:
    """The name of the aggregate that a node calls."""
    name = str(node.nameParts().last()).lower() if name_of(node) == "UnresolvedFunction" else ""
    return name if name in AGGREGATES else None


def _analysed(make: Callable[[], T], expression: str, key: str) -> T:
    try:
        return make()
    except AnalysisException as error:
        reason = first_line(error)
        raise ConfigError([Problem("", key, f"{expression!r} cannot be resolved: {reason}")]) from error


def _sound(analysed: DataFrame, expression: str, key: str) -> Column:
    """Last expression of an analysed projection or aggregation, null where it cannot be computed. Raises ConfigError
    if there is no way to do so.

    Turning ANSI mode off is not enough: overflowing times and unknown zones raise even so, and whole numbers wrap.
    """
    exact = analysed.sparkSession.conf.get(ARITHMETIC, None) == EXACT
    try:
        return Column(java_class("expressions.SafeExpressions").of(analyzed(analysed), exact))
    except Py4JJavaError as error:
        refused = error.java_exception
        if refused.getClass().getName() != "tidemark.expressions.RefusedExpression":
            raise
        raise ConfigError([Problem("", key, f"{expression!r} {refused.getMessage()}")]) from None
