"""Rewrites files that some readers of Parquet cannot read, table by table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from tidemark.ledger.tables.null_counts import miscounted
from tidemark.ledger.tables.schemas import TABLES
from tidemark.records.status import TableDamage
from tidemark.records.versions import RewrittenTable
from tidemark.storage import Location, delta_table
from tidemark.storage.folders import tables_below


def rewritten(
    root: Location, spark: Callable[[], Any], damaged: Collection[str]
) -> Iterator[RewrittenTable | TableDamage]:
    """Rewrite files with a wrong number of nulls, except in tables that are still damaged. Yields for each table the
    rewritten files and rows, or the reason why it was not rewritten."""
    for name in sorted({*tables_below(root)} - TABLES.keys() - {*damaged}):
        if files := miscounted(root / name):
            yield _rewritten(name, root / name, spark(), files)


def _rewritten(
    name: str,
    location: Location,
    spark: Any,  # noqa: ANN401 # a session
    files: Mapping[str, str | None],
) -> RewrittenTable | TableDamage:
    from tidemark.spark.tables.rewrite import rewrite_days

    columns = delta_table(location).metadata().partition_columns
    days = {day for day in files.values() if day is not None}
    rows = rewrite_days(spark, str(location), columns[0] if columns else None, days)
    if rows is None:
        why = f"{len(files)} files that not all readers read: written again, their rows differed"
        return {"table": name, "why": why}
    return {"table": name, "files": len(files), "rows": rows}
