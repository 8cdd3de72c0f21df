"""Values that SQL takes for equal are identical, and values without an order get one."""

from __future__ import annotations

import math

import pytest
from pyspark.sql import functions as F

from tidemark.spark.rebuild.comparison import missing
from tidemark.spark.streams.equal_values import alike, orderable


def changed(spark, text, change):
    """A value after a change; its type is kept unless it has parts without an order."""
    frame = spark.sql(f"SELECT {text} AS v")
    return frame.select(change(frame.schema[0].dataType, F.col("v")).alias("v"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("-0.0D", "0.0"),
        ("-1.5D", "-1.5"),
        ("CAST(NULL AS DOUBLE)", "None"),
        ("FLOAT(-0.0D)", "0.0"),
        ("7", "7"),
        ("struct(-0.0D AS a, 'x' AS b)", "Row(a=0.0, b='x')"),
        ("struct('x' AS b, struct(FLOAT(-0.0D) AS a) AS c)", "Row(b='x', c=Row(a=0.0))"),
        ("CAST(NULL AS STRUCT<a: DOUBLE>)", "None"),
        ("array(-0.0D, NULL, 2.5D)", "[0.0, None, 2.5]"),
        ("array(struct(-0.0D AS a))", "[Row(a=0.0)]"),
        ("array(array(1, 2))", "[[1, 2]]"),
        ("map(1, -0.0D)", "{1: -0.0}"),
        ("struct(-0.0D AS a, map(1, -0.0D) AS m)", "Row(a=0.0, m={1: -0.0})"),
        ("from_json('{\"a\": -0.0, \"e\": {}}', 'a DOUBLE, e STRUCT<>')", "Row(a=0.0, e=Row())"),
    ],
)
def test_zeros_of_both_signs_become_one_at_any_depth_but_in_maps(spark, text, shown):
    found = changed(spark, text, alike)
    assert repr(found.collect()[0][0]) == shown
    assert (
        found.schema[0].dataType.simpleString() == spark.sql(f"SELECT {text} AS v").schema[0].dataType.simpleString()
    )


def test_what_is_not_a_number_stays_so(spark):
    assert math.isnan(changed(spark, "double('NaN')", alike).collect()[0][0])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("map(2, 'b', 1, 'a')", "[Row(key=1, value='a'), Row(key=2, value='b')]"),
        ("struct(10 AS n, map(2, 1, 1, 1) AS m)", "Row(n=10, m=[Row(key=1, value=1), Row(key=2, value=1)])"),
        ("array(map(2, 1, 1, 1))", "[[Row(key=1, value=1), Row(key=2, value=1)]]"),
        ("map(1, map(3, 1, 2, 1))", "[Row(key=1, value=[Row(key=2, value=1), Row(key=3, value=1)])]"),
        ("make_interval(0, 0, 0, 4)", "'4 days'"),
        ("struct(make_interval(0, 0, 0, 4) AS i)", "Row(i='4 days')"),
        ("CAST(NULL AS MAP<INT, INT>)", "None"),
        ("struct(1 AS a, array('x') AS b)", "Row(a=1, b=['x'])"),
    ],
)
def test_maps_become_their_sorted_entries_and_intervals_their_text(spark, text, shown):
    found = changed(spark, text, orderable)
    assert repr(found.orderBy("v").collect()[0][0]) == shown


def test_rows_are_missing_by_their_bits_and_as_often_as_they_are(spark):
    """Also rows with maps, which Spark cannot compare."""
    old = [(0.0, {1: "a"}), (1.0, {1: "a"}), (1.0, {1: "a"}), (None, None), (2.0, {2: "b"})]
    new = [(-0.0, {1: "a"}), (1.0, {1: "a"}), (None, None), (2.0, {2: "c"})]
    rows, others = (spark.createDataFrame(each, "`a.b` DOUBLE, m MAP<INT, STRING>") for each in (old, new))
    assert sorted(map(tuple, missing(rows, others).collect())) == [(0.0, {1: "a"}), (1.0, {1: "a"}), (2.0, {2: "b"})]
    assert missing(spark.sql("SELECT 1 AS a"), spark.sql("SELECT 1L AS a")).isEmpty()
