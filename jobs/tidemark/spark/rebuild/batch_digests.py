"""Digests of the rows in a version's tables, batch by batch."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from tidemark.config import PipelineSpec
from tidemark.core.batch_result import TableDigest
from tidemark.spark.digests import measured
from tidemark.spark.judge import events
from tidemark.spark.tables import delta
from tidemark.storage import Location

KINDS = ("events", "streams", "dead_letters")


def standing(
    spark: SparkSession, root: Location, spec: PipelineSpec, batch_id: int, versions: Mapping[str, int]
) -> list[TableDigest]:
    """Digests of a batch's rows in the tables of these `KINDS`. `versions` gives the digest version of each table."""
    found = []
    for table, version in versions.items():
        kind, _, name = table.partition("/")
        if delta.exists(str(root / table)):
            rows = _rows(spark, root, spec, batch_id, table, name if kind == "events" else None)
            if rows is not None:
                found.append(measured(table, rows, version))
    return found


def _rows(
    spark: SparkSession, root: Location, spec: PipelineSpec, batch_id: int, table: str, source: str | None
) -> DataFrame | None:
    if source is None:
        return delta.slice_of(spark, str(root / table), batch_id)
    return events.appended(spark, spec.sources[source], str(root / table), batch_id)
