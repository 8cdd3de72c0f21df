"""Which rows, why, and by how much they were moved: newest first, with an exact total.

Two narrow scans count the matches and find the newest; only then are whole rows read, and only from files
that hold some of those found.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.dataset import Dataset

from tidemark.errors import UsageError
from tidemark.report.events import EventRow, event_rows, instant
from tidemark.report.export import export_rows
from tidemark.report.scan import Condition, both, single, sql, stream
from tidemark.report.selection import NEWEST_FIRST, Filter, choose, matching
from tidemark.report.values import micros_of

__all__ = ["LONGEST", "Filter", "export_rows", "find_rows"]

LONGEST = 1_000
"""Most rows that a list holds; what is more is exported."""

_KEY = ["_arrival_time", "_batch_id", "_partition", "_offset"]


def find_rows(datasets: Mapping[str, Dataset], where: Filter, limit: int = 100) -> dict[str, Any]:
    """The newest `limit` (at most 1,000) of the matching rows of `datasets`, which are by source.

    Newest first: by arrival (rows without one last), then batch, both descending, then source, partition
    and offset, the last descending. `total` counts all that match, `truncated` says there are more.
    """
    chosen = choose(datasets, where)
    if limit < 0:
        raise UsageError(f"--limit {limit} is negative", hint="give the number of rows to show, such as 100")
    with sql() as connection:
        total = sum(_count(connection, dataset, where) for dataset in chosen.values())
        keys = _newest(connection, chosen, where, min(limit, LONGEST)) if total and limit else None
        rows = [] if keys is None else _whole(connection, chosen, keys)
    return {"rows": [row.record() for row in rows], "total": total, "truncated": total > len(rows)}


def _count(connection: duckdb.DuckDBPyConnection, dataset: Dataset, where: Filter) -> int:
    if where.reason is None:
        return dataset.count_rows(filter=where.condition())
    found = matching(connection, "counted", dataset, where, [])
    return single(connection, f"SELECT count(*) FROM {found}") or 0  # noqa: S608


def _newest(
    connection: duckdb.DuckDBPyConnection, datasets: Mapping[str, Dataset], where: Filter, limit: int
) -> pa.Table:
    parts = []
    for number, (source, dataset) in enumerate(datasets.items()):
        found = matching(connection, f"keys{number}", dataset, where, _KEY)
        quoted = source.replace("'", "''")
        parts.append(f"SELECT '{quoted}' AS source, {', '.join(_KEY)} FROM {found}")  # noqa: S608
    union = " UNION ALL ".join(parts)
    table: pa.Table = connection.sql(
        f"SELECT * FROM ({union}) ORDER BY {NEWEST_FIRST} LIMIT {limit}"  # noqa: S608
    ).to_arrow_table()
    return table


def _whole(connection: duckdb.DuckDBPyConnection, datasets: Mapping[str, Dataset], keys: pa.Table) -> list[EventRow]:
    connection.register("wanted", keys)
    found: dict[tuple[str, str, int], EventRow] = {}
    for source, dataset in datasets.items():
        here = keys.filter(pc.field("source") == source)
        if not here.num_rows:
            continue
        connection.register("candidates", stream(dataset, None, _range(here)))
        table = connection.sql(
            "SELECT candidates.* FROM candidates JOIN wanted USING (_partition, _offset, _batch_id) "
            "WHERE wanted.source = ?",
            params=[source],
        ).to_arrow_table()
        found |= {(source, row.partition, row.offset): row for row in event_rows(source, table)}
    names = keys.select(["source", "_partition", "_offset"])
    return [found[key["source"], key["_partition"], key["_offset"]] for key in names.to_pylist()]


def _range(keys: pa.Table) -> Condition:
    """What files and row groups are skipped by, to find the keys."""
    names = ("_batch_id", "_offset", "_partition")
    listed = [pc.field(name).isin(pc.unique(keys[name])) for name in names]
    earliest = micros_of(pc.min(keys["_arrival_time"]))
    arrival = pc.field("_arrival_time")
    if earliest is None:
        arrived = arrival.is_null()
    elif keys["_arrival_time"].null_count:
        arrived = arrival.is_null() | (arrival >= instant(earliest))
    else:
        arrived = (arrival >= instant(earliest)) & (arrival <= pc.max(keys["_arrival_time"]))
    return both(*listed, arrived)
