"""Digests of what stands in a version's tables, batch by batch."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from tidemark.config import PipelineSpec
from tidemark.core.account import TableDigest
from tidemark.places import Place
from tidemark.spark import events, tables
from tidemark.spark.digest import measured

KINDS = ("events", "streams", "dead_letters")


def standing(
    spark: SparkSession, root: Place, spec: PipelineSpec, batch_id: int, versions: Mapping[str, int]
) -> list[TableDigest]:
    """The digests of what a batch has in tables of these `KINDS`, by table in such a version."""
    found = []
    for table, version in versions.items():
        kind, _, name = table.partition("/")
        if tables.exists(str(root / table)):
            rows = _rows(spark, root, spec, batch_id, table, name if kind == "events" else None)
            if rows is not None:
                found.append(measured(table, rows, version))
    return found


def _rows(
    spark: SparkSession, root: Place, spec: PipelineSpec, batch_id: int, table: str, source: str | None
) -> DataFrame | None:
    if source is None:
        return tables.slice_of(spark, str(root / table), batch_id)
    return events.appended(spark, spec.sources[source], str(root / table), batch_id)
