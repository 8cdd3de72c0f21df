"""Plans that are made once, before they run.

Spark plans the rest of a query anew after each of its shuffles, from the amount of data that came through. Where each
shuffle has a given number of tasks and nothing is joined, that can change nothing and only costs time.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from tidemark.spark.compat.jvm import frame_of, rows_of
from tidemark.spark.jvm_functions import java_class


def simplified(rows: DataFrame) -> DataFrame:
    """Rows of a plan that Spark has simplified without looking at its leaves, so that less is left to do once other
    leaves are bound."""
    return frame_of(java_class("plans.StaticPlan").simplified(rows_of(rows)), rows.sparkSession)


def unadapted(rows: DataFrame, partitions: int) -> DataFrame:
    """Rows whose plan is made once; shuffles without a number of tasks of their own get `partitions`."""
    return frame_of(java_class("plans.StaticPlan").of(rows_of(rows), partitions), rows.sparkSession)
