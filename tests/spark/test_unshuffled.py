"""Rows that each of a few tasks reads, keeping its own."""

from __future__ import annotations

from pyspark.sql import functions as F

from tidemark.spark.unshuffled import MOST, at_hand, shares, united


def test_every_row_is_in_the_one_share_of_its_task_in_the_order_it_is_read_in(spark):
    rows = spark.range(0, 1000, numPartitions=7)
    found = united(shares(rows, F.pmod(F.hash("id"), F.lit(3)), 3))
    kept = [[row.id for row in task] for task in found.rdd.glom().collect()]
    assert len(kept) == 3
    assert all(task and task == sorted(task) for task in kept)
    assert sorted(number for task in kept for number in task) == list(range(1000))
    assert "Exchange" not in found._jdf.queryExecution().executedPlan().toString()


def test_what_is_far_or_wanted_by_many_is_shuffled():
    assert at_hand("/landing", MOST)
    assert not at_hand("s3://bucket/landing", MOST)
    assert not at_hand("/landing", MOST + 1)
    assert not at_hand("/landing", 1)
