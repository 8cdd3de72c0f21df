"""Times as Spark sees them: expressions that give microseconds UTC, or null where there is no time."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DateType, StringType, TimestampNTZType, TimestampType

from tidemark.core.times import MAX_TIME, MIN_TIME
from tidemark.errors import ConfigError, Problem
from tidemark.spark.sql import TIME_OF_DAY, value_of

_TIME_TYPES = (TimestampType, TimestampNTZType, DateType, StringType)


def micros_of(rows: DataFrame, expression: str, key: str) -> Column:
    """`expression` over `rows` as microseconds UTC; null outside the years 1 to 9999.

    Raises ConfigError when the expression cannot be resolved or gives no time; `key` says where it stands.
    """
    value, kind = value_of(rows, expression, key)
    if not isinstance(kind, _TIME_TYPES):
        allowed = "TIMESTAMP, TIMESTAMP_NTZ, DATE or STRING; for numbers write timestamp_millis(column)"
        raise ConfigError([Problem("", key, f"{expression!r} gives {kind.simpleString()}: it must give {allowed}")])
    if isinstance(kind, StringType):
        value = F.when(~value.rlike(TIME_OF_DAY), value)
    micros = F.unix_micros(value.cast("timestamp"))
    return F.when(micros.between(MIN_TIME, MAX_TIME), micros)
