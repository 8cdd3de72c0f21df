"""Expressions for times in Spark: microseconds UTC, or null where there is no time."""

from __future__ import annotations

from collections.abc import Callable, Collection

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DateType, StringType, TimestampNTZType, TimestampType

from tidemark.core.times import MAX_TIME, MIN_TIME
from tidemark.errors import ConfigError, Problem
from tidemark.spark.columns import CAME
from tidemark.spark.expressions import TIME_OF_DAY, value_of

_TIME_TYPES = (TimestampType, TimestampNTZType, DateType, StringType)


def micros_of(rows: DataFrame, expression: str, key: str) -> Column:
    """`expression` over `rows` as microseconds UTC; null outside the years 1 to 9999.

    Raises ConfigError, for `key`, if the expression cannot be resolved or gives no time.
    """
    value, kind = value_of(rows, expression, key)
    if not isinstance(kind, _TIME_TYPES):
        allowed = "TIMESTAMP, TIMESTAMP_NTZ, DATE or STRING; for numbers write timestamp_millis(column)"
        raise ConfigError([Problem("", key, f"{expression!r} gives {kind.simpleString()}: it must give {allowed}")])
    if isinstance(kind, StringType):
        value = F.when(~value.rlike(TIME_OF_DAY), value)
    micros = F.unix_micros(value.cast("timestamp"))
    return F.when(micros.between(MIN_TIME, MAX_TIME), micros)


def within_years(name: str) -> Column:
    """A time of a row or window as tables hold it: a time beyond the years 1 to 9999, which not every reader can
    hold, is set to their bound. Null stays null."""
    micros = F.unix_micros(name)
    return F.when(micros.isNotNull(), F.timestamp_micros(at_bounds(micros))).alias(name)


def at_bounds(micros: Column) -> Column:
    """Microseconds, set to the nearest bound if they are beyond the years 1 to 9999; null becomes the first bound."""
    return F.least(F.greatest(micros, F.lit(MIN_TIME)), F.lit(MAX_TIME))


def timestamp_of(micros: int) -> Column:
    """A time in microseconds UTC as a timestamp."""
    return F.timestamp_micros(F.lit(micros))


def came(names: Collection[str], of: Callable[[str], Column] = F.col) -> Column:
    """The batch that brought a row, from the columns `names` that it has; of a pair, the batch of its later row."""
    return F.coalesce(of(CAME), of("_batch_id")) if CAME in names else of("_batch_id")


def divided(number: Column, by: int) -> Column:
    """A whole number, divided and rounded down. Doubles would be wrong for microseconds after 2255."""
    return F.call_function("div", number - F.pmod(number, F.lit(by)), F.lit(by)) if by > 1 else number
