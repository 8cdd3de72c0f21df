"""Plans that are made once, before they run.

Spark plans the rest of a query anew after each of its shuffles, from how much came through. Where that can change
nothing, since each shuffle is told how many tasks it is for and nothing is joined, it only costs time.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from tidemark.spark.jvm_functions import running


def simplified(rows: DataFrame) -> DataFrame:
    """The same rows, of a plan that Spark has simplified whatever its leaves hold, so that it has less to do once
    others are bound to them."""
    return DataFrame(running().tidemark.Unadapted.simplified(rows._jdf), rows.sparkSession)


def unadapted(rows: DataFrame, partitions: int) -> DataFrame:
    """The same rows, planned once; shuffles that are not told how many tasks they are for are for `partitions`."""
    return DataFrame(running().tidemark.Unadapted.of(rows._jdf, partitions), rows.sparkSession)
