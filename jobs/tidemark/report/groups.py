"""Counts rows by partition, reason, fate, hour, day, file or run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import duckdb
from pyarrow.dataset import Dataset

from tidemark.core.times import DAY, HOUR
from tidemark.errors import UsageError
from tidemark.records.rows import GroupsRecord, RowGroup
from tidemark.report.scan import single, sql, stream
from tidemark.report.selection import Filter, Selection, choose, matching
from tidemark.report.words import iso

_COLUMNS = {
    "source": None,
    "partition": "_partition",
    "reason": "_reasons",
    "fate": "_disposition",
    "hour": "_arrival_time",
    "day": "_arrival_time",
    "file": "_file",
    "run": "_batch_id",
}
DIMENSIONS = tuple(_COLUMNS)
LONGEST = 1_000
"""Most groups in a list."""


def known_dimensions(by: Sequence[str]) -> list[str]:
    """Return the dimensions without duplicates. Raises UsageError if there is none, or if one is unknown."""
    names = list(dict.fromkeys(by))
    for name in names:
        if name not in DIMENSIONS:
            raise UsageError(f"rows can't be counted by {name!r}", hint=f"one or more of: {', '.join(DIMENSIONS)}")
    if not names:
        raise UsageError("there is nothing to count rows by", hint=f"one or more of: {', '.join(DIMENSIONS)}")
    return names


def count_rows(
    datasets: Mapping[str, Dataset],
    where: Filter,
    by: Sequence[str],
    limit: int,
    batches: Dataset,
    letters: Dataset | None = None,
) -> GroupsRecord:
    """Count the matching rows by dimensions and return the largest `limit` (at most 1,000) groups; `batches` names
    the runs.

    `hour` and `day` are hour and day of arrival, UTC. A row with two reasons counts once in the group of each reason;
    a row without a reason counts under null. `total` counts each row, or each dead letter, once.
    """
    dimensions = known_dimensions(by)
    chosen = choose(datasets, where, letters)
    if limit < 0:
        raise UsageError(f"--limit {limit} is negative", hint="give the number of groups to show, such as 100")
    with sql() as connection:
        connection.register("read_batches", stream(batches, ["batch_id", "run_id"], None))
        connection.execute("CREATE TEMP TABLE runs AS SELECT DISTINCT batch_id, run_id FROM read_batches")
        parts = [_counted(connection, number, each, where, dimensions) for number, each in enumerate(chosen)]
        if not parts:
            return {"groups": [], "by": dimensions, "total": 0, "truncated": False}
        connection.execute(f"CREATE TEMP TABLE counted AS {' UNION ALL '.join(parts)}")
        total = single(connection, "SELECT CAST(coalesce(sum(n), 0) AS BIGINT) FROM counted") or 0
        groups, found = _largest(connection, dimensions, min(limit, LONGEST))
    return {"groups": groups, "by": dimensions, "total": total, "truncated": found > len(groups)}


def _counted(
    connection: duckdb.DuckDBPyConnection, number: int, chosen: Selection, where: Filter, dimensions: Sequence[str]
) -> str:
    """Return SQL that counts one source's rows; reasons stay a list, so that each row is counted once."""
    columns = list(dict.fromkeys(column for name in dimensions if (column := _COLUMNS[name]) is not None))
    found = matching(connection, f"rows{number}", chosen, where, columns or ["_partition"])
    quoted = chosen.source.replace("'", "''")
    shown = {
        "source": f"'{quoted}'",
        "reason": "coalesce(_reasons, [])",
        "hour": _floor(HOUR),
        "day": _floor(DAY),
        "run": "(SELECT any_value(run_id) FROM runs WHERE batch_id = _batch_id)",
    }
    names = ", ".join(f'{shown.get(name, _COLUMNS[name])} AS "{name}"' for name in dimensions)
    return f"SELECT {names}, count(*) AS n FROM {found} GROUP BY ALL"  # noqa: S608


def _floor(step: int) -> str:
    """Return SQL for the start of an arrival's hour or day, in microseconds."""
    at = "epoch_us(_arrival_time)"
    return f"{at} - ({at} % {step} + {step}) % {step}"


def _largest(
    connection: duckdb.DuckDBPyConnection, dimensions: Sequence[str], limit: int
) -> tuple[list[RowGroup], int]:
    """Return the largest groups, groups of equal size by name, and the number of all groups."""
    names = ", ".join(f'"{name}"' for name in dimensions)
    shown = names.replace('"reason"', 'unnest(CASE WHEN len("reason") = 0 THEN [NULL] ELSE "reason" END) AS "reason"')
    grouped = f"SELECT {names}, CAST(sum(n) AS BIGINT) AS n FROM (SELECT {shown}, n FROM counted) GROUP BY {names}"  # noqa: S608
    found = single(connection, f"SELECT count(*) FROM ({grouped})") or 0  # noqa: S608
    rows = connection.execute(f"{grouped} ORDER BY n DESC, {names} LIMIT {limit}").fetchall()
    return [_group(dimensions, row) for row in rows], found


def _group(dimensions: Sequence[str], row: tuple[Any, ...]) -> RowGroup:
    group = dict(zip([*dimensions, "rows"], row, strict=True))
    for name in ("hour", "day"):
        if name in group:
            text = iso(group[name])
            group[name] = text[:10] if text and name == "day" and text.endswith("Z") else text
    return cast(RowGroup, group)  # its keys are dimensions
