"""Sends each row to the task of a number."""

from __future__ import annotations

from functools import cache

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F


def send(rows: DataFrame, tasks: int, task: Column) -> DataFrame:
    """Send each row to its `task`, an int from 0 to `tasks` - 1. With one task, rows are coalesced."""
    if tasks == 1:
        return rows.coalesce(1)
    if hasattr(DataFrame, "repartitionById"):
        return rows.repartitionById(tasks, task)
    keys = F.array(*map(F.lit, _keys_by_task(rows.sparkSession, tasks)))
    return rows.repartition(tasks, F.element_at(keys, task + 1))


@cache
def _keys_by_task(spark: SparkSession, tasks: int) -> list[int]:
    """For each task a number that Spark's partitioning by hash sends there. Spark 4.0 has no other way."""
    numbers = spark.range(40 * tasks).select(F.col("id").cast("int").alias("key"))
    found = numbers.groupBy(F.pmod(F.hash("key"), F.lit(tasks))).agg(F.min("key"))
    by_task = {row[0]: row[1] for row in found.collect()}
    return [by_task[task] for task in range(tasks)]
