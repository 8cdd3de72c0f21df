"""Writes rows of a table again, unchanged, into other files."""

from __future__ import annotations

from collections.abc import Collection

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from tidemark.spark.digests import measured

_ALL = "true"


def rewrite_days(spark: SparkSession, location: str, column: str | None, days: Collection[str]) -> int | None:
    """Write all rows again, or rows of some days if the table is partitioned by day (`column`), in one commit that
    changes no data. Returns the number of rows, or None: the digest came out different, and the table was
    restored."""
    table = DeltaTable.forPath(spark, location)
    before: int = table.history(1).select("version").collect()[0][0]
    wanted = _ALL if column is None else f"`{column}` IN ({', '.join(repr(day) for day in sorted(days))})"
    rows = spark.read.format("delta").load(location).where(wanted)
    digest = measured("", rows)
    writer = rows.write.format("delta").mode("overwrite").option("dataChange", "false")
    (writer if column is None else writer.option("replaceWhere", wanted)).save(location)
    spark.catalog.refreshByPath(location)
    if measured("", spark.read.format("delta").load(location).where(wanted)) == digest:
        return digest.rows
    table.restoreToVersion(before)
    return None
