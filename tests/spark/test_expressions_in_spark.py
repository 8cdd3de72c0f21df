"""Expressions of a configuration never read the clock, whatever text they are given."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.errors import ConfigError
from tidemark.spark.sql import value_of

SOUND = {"text": "2013-02-03 04:05:06", "list": ["2013-02-03 04:05:06"]}
MOMENT = datetime(2013, 2, 3, 4, 5, 6, tzinfo=UTC)
READ_AS_TIMES = {
    "cast(text AS timestamp)": MOMENT,
    "text::timestamp": MOMENT,
    "try_cast(text AS timestamp)": MOMENT,
    "timestamp(text)": MOMENT,
    "to_timestamp(text)": MOMENT,
    "try_to_timestamp(text)": MOMENT,
    "to_timestamp(concat('', text))": MOMENT,
    "to_utc_timestamp(text, 'America/New_York')": datetime(2013, 2, 3, 9, 5, 6, tzinfo=UTC),
    "date_trunc('DAY', text)": datetime(2013, 2, 3, tzinfo=UTC),
    "date_add(to_timestamp(text), 1)": date(2013, 2, 4),
    "coalesce(cast(text AS timestamp), timestamp '2000-01-01')": MOMENT,
    "to_timestamp(list[0])": MOMENT,
}
NOT_TIMES = {
    "to_timestamp(text, 'yyyy-MM-dd HH:mm:ss')": MOMENT,
    "cast(text AS date)": date(2013, 2, 3),
    "substr(text, 1, 4)": "2013",
}
CLOCKS = [
    "if(text IS NULL, cast('now' AS timestamp), timestamp '2000-01-01')",
    "if(text IS NULL, cast('today' AS date), date '2000-01-01')",
    "if(text IS NULL, cast('to' || 'day' AS date), date '2000-01-01')",
    "if(text IS NULL, to_timestamp('12:30'), timestamp '2000-01-01')",
    "transform(list, x -> cast(x AS timestamp))[0]",
]


def rows_of(spark: SparkSession, *texts: str) -> DataFrame:
    return spark.createDataFrame([(text, [text]) for text in texts], "text STRING, list ARRAY<STRING>")


def values(rows: DataFrame, value: Column) -> list[object]:
    value = F.unix_micros(value) if rows.select(value).schema[0].dataType.typeName() == "timestamp" else value
    return [row[0] for row in rows.select(value).collect()]


def instant(found: object) -> object:
    return int(found.timestamp() * 1e6) if isinstance(found, datetime) else found


@pytest.mark.parametrize("expression", READ_AS_TIMES)
def test_text_with_a_date_is_read_and_a_time_of_day_is_null(spark: SparkSession, expression: str) -> None:
    rows = rows_of(spark, SOUND["text"], "12:30", " T04:05", "7:00:00Z")
    value, _ = value_of(rows, expression, "timestamp_by")
    assert values(rows, value) == [instant(READ_AS_TIMES[expression]), None, None, None]


@pytest.mark.parametrize("expression", NOT_TIMES)
def test_text_that_is_no_time_of_a_zone_is_left_alone(spark: SparkSession, expression: str) -> None:
    rows = rows_of(spark, SOUND["text"])
    value, _ = value_of(rows, expression, "timestamp_by")
    assert values(rows, value) == [instant(NOT_TIMES[expression])]


@pytest.mark.parametrize("expression", CLOCKS)
def test_an_expression_that_reads_the_clock_is_a_configuration_error(spark: SparkSession, expression: str) -> None:
    with pytest.raises(ConfigError) as raised:
        value_of(rows_of(spark, "x"), expression, "timestamp_by")
    assert [problem.key for problem in raised.value.problems] == ["timestamp_by"]


def test_what_cannot_be_computed_is_null_and_an_unknown_column_is_named(spark: SparkSession) -> None:
    rows = rows_of(spark, "9" * 30)
    value, _ = value_of(rows, "timestamp_seconds(cast(text AS decimal(30, 0)))", "timestamp_by")
    assert values(rows, value) == [None]
    with pytest.raises(ConfigError, match="nowhere"):
        value_of(rows, "upper(nowhere)", "over")
