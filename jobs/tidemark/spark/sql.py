"""SQL expressions of a configuration as columns that never stop a job and never read a clock."""

from __future__ import annotations

import re
from collections.abc import Callable

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, GroupedData
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StringType

from tidemark.errors import ConfigError, Problem
from tidemark.spark.fitness import fit
from tidemark.spark.functions import running
from tidemark.spark.settings import ARITHMETIC, EXACT

TIME_OF_DAY = r"^[\x00-\x20\x7f-\x9f]*(T|[0-9]{1,2}:)"
"""Text that Spark would read as a time of today, whenever that is: it says no date."""
_COLUMN = re.compile(r"\w+|`(?:[^`]|``)+`")


def value_of(rows: DataFrame, expression: str, key: str) -> tuple[Column, DataType]:
    """The value of `expression` over `rows` and its type; null in a row on which it cannot be computed, be it
    because a time of day would have to be completed with the day on which the job happens to run.

    Raises ConfigError when the expression cannot be resolved or reads the clock whatever the row says; `key`
    tells where it stands.
    """
    column = F.expr(expression)
    selected = _analysed(lambda: rows.select(column), expression, key)
    kind = selected.schema[0].dataType
    return (column if _COLUMN.fullmatch(expression) else _sound(selected, expression, key)), kind


def text_of(rows: DataFrame, expression: str, key: str) -> Column:
    """The value of `expression` over `rows` as text that every reader of the tables can hold; null where it is not
    UTF-8, as where it cannot be computed."""
    return fit(StringType(), value_of(rows, expression, key)[0].cast("string"))


def aggregate_of(groups: GroupedData, expression: str, key: str) -> Column:
    """An aggregate expression over the rows of `groups`; what it aggregates is null in rows on which it cannot be
    computed, as with `value_of`, and so is what cannot be computed from aggregates."""
    return _sound(_analysed(lambda: groups.agg(F.expr(expression)), expression, key), expression, key)


def _analysed(make: Callable[[], DataFrame], expression: str, key: str) -> DataFrame:
    try:
        return make()
    except AnalysisException as error:
        reason = str(error).splitlines()[0]
        raise ConfigError([Problem("", key, f"{expression!r} cannot be resolved: {reason}")]) from error


def _sound(analysed: DataFrame, expression: str, key: str) -> Column:
    """The last expression of a projection or aggregation, null where it cannot be computed.

    Turning ANSI mode off is not enough: overflowing times and unknown zones raise all the same, and whole numbers
    wrap.
    """
    exact = analysed.sparkSession.conf.get(ARITHMETIC, None) == EXACT
    try:
        return Column(running().tidemark.Sound.of(analysed._jdf.queryExecution().analyzed(), exact))
    except Py4JJavaError as error:
        refused = error.java_exception
        if refused.getClass().getName() != "tidemark.Refused":
            raise
        raise ConfigError([Problem("", key, f"{expression!r} {refused.getMessage()}")]) from None
