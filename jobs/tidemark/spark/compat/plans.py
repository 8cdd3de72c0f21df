"""Spark's plans and expressions as trees: classes of Catalyst, which no public interface gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.spark.compat.jvm import running, scala_sequence

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject


def analyzed(frame: DataFrame) -> JavaObject:
    """The plan with names and types resolved."""
    plan: JavaObject = frame._jdf.queryExecution().analyzed()
    return plan


def require_plan(frame: DataFrame) -> None:
    """Ensure that Spark can plan the computation of rows, besides analysing it. Raises Spark's own errors."""
    frame._jdf.queryExecution().executedPlan()


def parsed(spark: SparkSession, expression: str) -> JavaObject:
    """A SQL expression as a tree that is not resolved."""
    tree: JavaObject = spark._jsparkSession.expression(F.expr(expression)._jc)
    return tree


def column_of(node: JavaObject) -> Column:
    """A tree as a column."""
    return Column(running().org.apache.spark.sql.classic.ExpressionUtils.column(node))


def node_of(column: Column) -> JavaObject:
    """A column as a tree."""
    node: JavaObject = running().org.apache.spark.sql.classic.ExpressionUtils.expression(column._jc)
    return node


def children_of(node: JavaObject) -> list[JavaObject]:
    """The parts of a tree's root, in order."""
    children: Any = node.children()
    return [children.apply(index) for index in range(children.size())]


def nulls_ignored(call: JavaObject) -> bool | None:
    """True if a call has IGNORE NULLS, False if it has RESPECT NULLS, None if it has neither. Spark 4.1 cannot
    distinguish the last two: it gives None for both."""
    said: Any = call.ignoreNulls()
    if isinstance(said, bool):
        return said or None
    return bool(said.get()) if said.isDefined() else None


def nodes_of(node: JavaObject) -> Iterator[JavaObject]:
    """The root and all nodes below it."""
    yield node
    for child in children_of(node):
        yield from nodes_of(child)


def name_of(node: JavaObject) -> str:
    """The name of a node's class."""
    return str(node.getClass().getSimpleName())


def with_children(node: JavaObject, children: list[JavaObject]) -> JavaObject:
    """A copy of a tree with other parts."""
    made: JavaObject = node.withNewChildren(scala_sequence(children))
    return made


def null_on_error(value: Column) -> Column:
    """A value, or null where computing it raises an exception."""
    return column_of(running().org.apache.spark.sql.catalyst.expressions.TryEval(node_of(value)))
