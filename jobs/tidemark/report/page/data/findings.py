"""Diagnostics that runs recorded, and results of quality checks."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidemark.report.page.data.tables import Row, Tables, ask, in_scope
from tidemark.report.values import plain

MOST = 100
"""Most kinds of finding in the list."""
MOST_CHECKS = 40
"""Number of newest runs in the history of quality."""


def findings_of(tables: Tables) -> list[Row]:
    """Return one entry for each kind and source: numbers of occurrences and partitions, first and last time, the
    newest message and a sample. Times are times of arrival or landing, microseconds UTC."""
    if tables.scope.empty:
        return []
    found = ask(
        tables.diagnostics,
        ["batch_id", "source", "partition", "type", "count", "first_time", "last_time", "sample", "message"],
        'SELECT "type", source, CAST(sum("count") AS BIGINT) AS n, count(DISTINCT partition) AS partitions, '  # noqa: S608
        "epoch_us(min(first_time)) AS first, epoch_us(max(last_time)) AS last, "
        'arg_max({partition: partition, "offset": sample."offset", file: sample.file, message: message}, '
        "{batch: batch_id, partition: partition, message: message}) AS newest "
        f"FROM t GROUP BY 1, 2 ORDER BY n DESC, 1, 2 LIMIT {MOST}",
        where=in_scope(tables.scope, column="batch_id"),
    )
    return [row | row.pop("newest") for row in found]


def quality_of(tables: Tables) -> list[Row]:
    """Return every recorded check of the newest runs, oldest first, with JSON values. A run that quality blocks is
    included, although its batches are not committed."""
    if tables.quality is None:
        return []
    pending = [] if tables.status is None else tables.status["pending"]
    covered = tables.scope.of("batch_id") | pc.field("batch_id").isin(pa.array(pending, pa.int64()))
    found = tables.quality.to_table(filter=covered).sort_by("batch_id")
    rows: list[dict[str, Any]] = [
        {name: plain(found.column(name)[index]) for name in found.schema.names} for index in range(found.num_rows)
    ]
    runs = list(dict.fromkeys(row["run_id"] for row in rows))[-MOST_CHECKS:]
    return [row for row in rows if row["run_id"] in set(runs)]
