"""SQL expressions of a configuration as columns that never stop a job."""

from __future__ import annotations

import re

from pyspark import SparkContext
from pyspark.sql import Column
from pyspark.sql import functions as F

_COLUMN = re.compile(r"\w+|`(?:[^`]|``)+`")


def value_of(expression: str) -> Column:
    """The value of `expression`; null in a row on which it cannot be computed.

    Turning ANSI mode off is not enough: overflowing times and unknown zones raise all the same. Catalyst's
    own `TryEval`, on which the `try_` functions are built, has no SQL name.
    """
    if _COLUMN.fullmatch(expression):
        return F.expr(expression)
    context = SparkContext._active_spark_context
    if context is None or context._jvm is None:
        raise RuntimeError("no Spark session is open")
    catalyst = context._jvm.org.apache.spark.sql.catalyst.expressions
    columns = context._jvm.org.apache.spark.sql.classic.ExpressionUtils
    return Column(columns.column(catalyst.TryEval(columns.expression(F.expr(expression)._jc))))
