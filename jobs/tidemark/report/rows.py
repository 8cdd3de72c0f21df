"""Finds rows, with their reasons and shifts: newest first, with an exact total.

Two narrow scans count the matches and find the newest. Only then are whole rows read, only from files that hold some
of these rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.dataset import Dataset

from tidemark.errors import UsageError
from tidemark.records.rows import FoundRow, RowsRecord, WindowBounds
from tidemark.report.events import EventRow, event_rows, instant
from tidemark.report.export import export_rows
from tidemark.report.scan import Condition, both, single, sql, stream
from tidemark.report.selection import NEWEST_FIRST, WINDOW_COLUMNS, Filter, Selection, choose, matching
from tidemark.report.values import micros_of
from tidemark.report.words import iso

__all__ = ["LONGEST", "Filter", "export_rows", "find_rows"]

LONGEST = 1_000
"""Most rows in a list; export returns more."""

_KEY = ["_arrival_time", "_batch_id", "_partition", "_offset"]


def find_rows(
    datasets: Mapping[str, Dataset], where: Filter, limit: int = 100, letters: Dataset | None = None
) -> RowsRecord:
    """Return the newest `limit` (at most 1,000) of the matching rows; `datasets` are events by source.

    Order: by arrival (rows without one last) and batch, both descending, then source, partition, and offset,
    descending. `total` counts all matches; `truncated`: there are more than returned. With `letters`, the dead
    letters of a stream: one entry for each, with its row's payload and the window that it is late for. If no
    condition but the source is given, `gone` counts dead letters whose row is no longer in the events table.
    """
    chosen = choose(datasets, where, letters)
    if limit < 0:
        raise UsageError(f"--limit {limit} is negative", hint="give the number of rows to show, such as 100")
    with sql() as connection:
        total = sum(_count(connection, each, where) for each in chosen)
        keys = _newest(connection, chosen, where, min(limit, LONGEST)) if total and limit else None
        rows = [] if keys is None else _whole(connection, chosen, keys)
    found: RowsRecord = {"rows": rows, "total": total, "truncated": total > len(rows)}
    if letters is not None and where == Filter(source=where.source):
        found["gone"] = sum(each.letters.count_rows() for each in chosen if each.letters is not None) - total
    return found


def _count(connection: duckdb.DuckDBPyConnection, chosen: Selection, where: Filter) -> int:
    if where.reason is None and chosen.letters is None:
        return chosen.events.count_rows(filter=where.condition())
    found = matching(connection, "counted", chosen, where, [])
    return single(connection, f"SELECT count(*) FROM {found}") or 0  # noqa: S608


def _newest(
    connection: duckdb.DuckDBPyConnection, chosen: Sequence[Selection], where: Filter, limit: int
) -> pa.Table:
    parts, order = [], NEWEST_FIRST
    for number, each in enumerate(chosen):
        found = matching(connection, f"keys{number}", each, where, _KEY)
        names = list(_KEY)
        if each.letters is not None:
            names += [f'"{name}"' for name in WINDOW_COLUMNS]
            order = f'{NEWEST_FIRST}, "{WINDOW_COLUMNS[0]}"'
        quoted = each.source.replace("'", "''")
        parts.append(f"SELECT '{quoted}' AS source, {', '.join(names)} FROM {found}")  # noqa: S608
    union = " UNION ALL ".join(parts)
    table: pa.Table = connection.sql(
        f"SELECT * FROM ({union}) ORDER BY {order} LIMIT {limit}"  # noqa: S608
    ).to_arrow_table()
    return table


def _whole(connection: duckdb.DuckDBPyConnection, chosen: Sequence[Selection], keys: pa.Table) -> list[FoundRow]:
    connection.register("wanted", keys)
    found: dict[tuple[str, str, int], EventRow] = {}
    for each in chosen:
        here = keys.filter(pc.field("source") == each.source)
        if not here.num_rows:
            continue
        connection.register("candidates", stream(each.events, None, _range(here)))
        wanted = "(SELECT DISTINCT source, _partition, _offset, _batch_id FROM wanted) AS w"
        table = connection.sql(
            f"SELECT candidates.* FROM candidates JOIN {wanted} USING (_partition, _offset, _batch_id) "  # noqa: S608
            "WHERE w.source = ?",
            params=[each.source],
        ).to_arrow_table()
        found |= {(each.source, row.partition, row.offset): row for row in event_rows(each.source, table)}
    names = keys.select(["source", "_partition", "_offset"])
    windows = _windows(keys)
    return [
        {**found[key["source"], key["_partition"], key["_offset"]].record(), **window}
        for key, window in zip(names.to_pylist(), windows, strict=True)
    ]


def _windows(keys: pa.Table) -> list[WindowBounds]:
    """Return the window of each dead letter, as commands print it; empty dicts if the keys are not dead letters."""
    if WINDOW_COLUMNS[0] not in keys.schema.names:
        return [{}] * keys.num_rows
    start, end = (keys[name] for name in WINDOW_COLUMNS)
    return [
        {"window_start": iso(micros_of(start[n])), "window_end": iso(micros_of(end[n]))} for n in range(keys.num_rows)
    ]


def _range(keys: pa.Table) -> Condition:
    """Return a condition that skips files and row groups without any of the keys."""
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
