"""Plans that are made once, before they run.

Spark plans the rest of a query anew after each of its shuffles, from how much came through. Where that can change
nothing, since each shuffle is told how many tasks it is for and nothing is joined, it only costs time.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from tidemark.spark.functions import running


def unadapted(rows: DataFrame, partitions: int) -> DataFrame:
    """The same rows, planned once; shuffles that are not told how many tasks they are for are for `partitions`."""
    return DataFrame(running().tidemark.Unadapted.of(rows._jdf, partitions), rows.sparkSession)
