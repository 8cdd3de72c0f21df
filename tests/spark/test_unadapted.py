"""Plans that are made once."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from tidemark.spark.judge.plan_cache import bound
from tidemark.spark.local_frames import local_frame
from tidemark.spark.plans.parameters import PlanParameters
from tidemark.spark.plans.static_plan import simplified, unadapted


def grouped(spark: Any) -> Any:
    return spark.range(100).groupBy((F.col("id") % 7).alias("k")).agg(F.count("*").alias("n"))


def plan(rows: Any) -> str:
    return str(rows._jdf.queryExecution().executedPlan().toString())


def setting(rows: Any, key: str) -> str:
    return str(rows._jdf.sparkSession().conf().get(key))


def test_rows_are_the_same_and_planned_once_for_as_many_tasks(spark):
    rows = grouped(spark)
    once = unadapted(rows, 3)
    assert sorted(once.collect()) == sorted(rows.collect())
    assert "AdaptiveSparkPlan" in plan(rows)
    assert "AdaptiveSparkPlan" not in plan(once)
    assert once.rdd.getNumPartitions() == 3
    assert unadapted(rows, 5).rdd.getNumPartitions() == 5


def test_the_rows_own_session_stays_as_it_is(spark):
    known = {key: spark.conf.get(key) for key in ("spark.sql.adaptive.enabled", "spark.sql.shuffle.partitions")}
    rows = grouped(spark)
    unadapted(rows, 3).collect()
    assert {key: spark.conf.get(key) for key in known} == known
    assert "AdaptiveSparkPlan" in plan(grouped(spark))


def test_other_settings_are_those_of_the_rows_session_as_they_are_now(spark):
    key = "spark.sql.files.maxPartitionBytes"
    usual = setting(unadapted(spark.range(1), 1), key)
    spark.conf.set(key, "300b")
    try:
        assert setting(unadapted(spark.range(1), 1), key) == "300b"
    finally:
        spark.conf.unset(key)
    assert setting(unadapted(spark.range(1), 1), key) == usual != "300b"
    assert setting(unadapted(spark.range(1), 1), "spark.sql.ansi.enabled") == "false"


def test_settings_of_results_hold_and_the_session_is_made_once(spark):
    text = unadapted(spark.sql("SELECT 'x' / 2 AS n, timestamp_micros(0) AS t"), 1)
    assert text.selectExpr("n", "string(t)").collect() == [(None, "1970-01-01 00:00:00")]
    sessions = {unadapted(spark.range(1), tasks)._jdf.sparkSession().hashCode() for tasks in (1, 2, 1)}
    assert len(sessions) == 1


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


def test_a_number_that_is_told_stays_open_in_a_simplified_plan(spark):
    held = PlanParameters()
    rows = spark.range(4)
    whole = simplified(rows.where(F.col("id").isNotNull()).where(F.col("id") >= held("least", 1, "id")))
    for least in (3, 2):
        held.set({"least": least})
        assert sorted(row.id for row in unadapted(whole, 1).collect()) == list(range(least, 4))
