"""Functions with a memory give what window functions give, task by task and group by group."""

from __future__ import annotations

import pytest
from pyspark.sql import Window
from pyspark.sql import functions as F

from tidemark.spark.jvm_functions import invoked, or_none
from tidemark.spark.maxima import greatest_before, running_state, unseen


@pytest.fixture
def rows(spark):
    """Rows of three partitions in two chunks each, in no order: numbers, null now and then. Of each group but
    the last two, the first row is a seed."""
    drawn = spark.range(0, 600, 1, 4).select(
        (F.col("id") % 2).cast("int").alias("chunk"),
        F.concat(F.lit("p"), (F.col("id") % 3).cast("string")).alias("partition"),
        F.xxhash64("id").alias("place"),
        F.when(F.col("id") % 7 > 0, F.xxhash64("id", F.lit(1)) % 100).alias("own"),
    )
    seeds = spark.sql(
        "SELECT chunk, partition, CAST(-9223372036854775808 AS BIGINT) AS place, 40L AS own,"
        " named_struct('rows', 10L, 'watermark', 5L, 'high', CAST(NULL AS BIGINT)) AS seed"
        " FROM VALUES (0, 'p0'), (0, 'p1'), (1, 'p0'), (1, 'p2') AS v(chunk, partition)"
    )
    none = F.lit(None).cast(seeds.schema["seed"].dataType)
    return drawn.withColumn("seed", none).unionByName(seeds)


@pytest.mark.usefixtures("ways")
@pytest.mark.parametrize("tasks", [1, 3])
def test_they_equal_window_functions(rows, tasks):
    order = ("chunk", "partition", "place")
    placed = rows.repartition(tasks, "chunk", "partition").sortWithinPartitions(*order)
    start = unseen(3)
    run = running_state(F.col("chunk"), F.col("partition"), F.col("own"), F.col("seed"), start)
    start.set(7)
    told = placed.withColumn("run", run)
    none = F.lit(None).cast("binary")
    told = told.withColumn("before", greatest_before(F.col("run")["group"], none, F.col("own")))
    named = (F.col("partition").cast("binary"), F.col("chunk").cast("string").cast("binary"))
    told = told.withColumn("also", greatest_before(*named, F.col("own")))
    group = Window.partitionBy("chunk", "partition").orderBy("place")
    ordered = group.rowsBetween(Window.unboundedPreceding, 0)
    expected = placed.select(
        *order,
        F.sum(F.coalesce(F.col("seed")["rows"], F.lit(1))).over(ordered).alias("number"),
        F.max("own").over(ordered).alias("arrival"),
        F.coalesce(F.max(F.col("seed")["watermark"]).over(ordered), F.lit(7)).alias("watermark"),
        F.max(F.col("seed")["high"]).over(ordered).alias("high"),
        F.max("own").over(group.rowsBetween(Window.unboundedPreceding, -1)).alias("before"),
    )
    parts = [F.col("run")[name].alias(name) for name in ("number", "arrival", "watermark", "high")]
    found = told.select(*order, *parts, "before")
    assert told.where("NOT before <=> also").isEmpty()
    assert sorted(map(repr, found.collect())) == sorted(map(repr, expected.collect()))
    assert found.count() == 604


@pytest.mark.usefixtures("ways")
@pytest.mark.parametrize("runs", [1, 3, 50])
def test_groups_that_come_mixed_in_runs_are_told_apart(spark, runs):
    rows = spark.range(0, 500, 1, 1).select(
        "id",
        F.concat(F.lit("p"), (F.xxhash64("id") % 2).cast("string")).alias("one"),
        F.concat(F.lit("k"), F.abs(F.xxhash64("id", F.lit(1)) % 20).cast("string")).alias("other"),
        F.when(F.col("id") % 7 > 0, F.xxhash64("id", F.lit(2)) % 100).alias("value"),
    )
    run = F.pmod(F.xxhash64("one", "other"), F.lit(runs))
    placed = rows.withColumn("run", run).sortWithinPartitions("run", "id")
    named = (F.col("run"), F.col("one"), F.col("other"))
    before = invoked("rows.PrecedingMaximum", *named, or_none(F.col("value")))
    found = placed.withColumn("before", before).select("id", "before")
    earlier = Window.partitionBy("one", "other").orderBy("id").rowsBetween(Window.unboundedPreceding, -1)
    expected = rows.select("id", F.max("value").over(earlier).alias("before"))
    assert sorted(found.collect()) == sorted(expected.collect())
    assert found.where("before IS NOT NULL").count() > 400
