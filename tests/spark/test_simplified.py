"""Plans that are simplified once, whatever their leaves hold."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from tidemark.spark.local_frames import local_frame
from tidemark.spark.plans.bind import bound, simplified
from tidemark.spark.plans.parameters import PlanParameters


def test_settings_of_the_rows_session_hold_as_they_are_now(spark):
    key = "spark.sql.optimizer.excludedRules"
    text = simplified(spark.sql("SELECT 'x' / 2 AS n, timestamp_micros(0) AS t"))
    assert text.selectExpr("n", "string(t)").collect() == [(None, "1970-01-01 00:00:00")]
    assert spark.conf.get(key, None) is None
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        local = simplified(spark.sql("SELECT string(timestamp_micros(0)) AS t"))
        assert local.collect() == [("1970-01-01 09:00:00",)]
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


@pytest.mark.parametrize("first", [[], [(1,), (5,)]], ids=["nothing", "rows"])
def test_a_simplified_plan_takes_other_leaves_whatever_its_own_held(spark, tmp_path, first):
    def leaf(rows: list[tuple[int]]) -> Any:
        return local_frame(spark, rows, [("n", pa.int64())])

    path = tmp_path / "lines"
    path.write_text("7\n")
    lines = spark.read.text(str(path)).select(F.col("value").cast("long").alias("n"))
    rows = leaf(first).where(F.col("n") > 1).select((F.col("n") + 1).alias("n")).unionByName(lines)
    whole = simplified(rows)
    assert sorted(whole.collect()) == sorted(rows.collect())
    assert [row.n for row in bound(whole, [str(path)], [leaf([(0,), (3,)])]).collect()] == [4, 7]


def test_a_parameter_stays_open_in_a_simplified_plan(spark):
    held = PlanParameters()
    rows = spark.range(4)
    whole = simplified(rows.where(F.col("id").isNotNull()).where(F.col("id") >= held("least", 1, "id")))
    for least in (3, 2):
        held.set({"least": least})
        assert sorted(row.id for row in whole.collect()) == list(range(least, 4))
