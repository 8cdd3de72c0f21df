"""SQL over Delta datasets: Arrow skips files and row groups by the filter, DuckDB does the rest."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.dataset import Dataset
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

from tidemark.core.policy import Reason
from tidemark.core.times import MAX_TIME, MIN_TIME
from tidemark.report.events import instant

Condition = pc.Expression | None

_SETTINGS: dict[str, Any] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}


@contextmanager
def sql() -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a private in-memory DuckDB that reads only what is registered, with times in UTC."""
    connection = duckdb.connect(":memory:", config=_SETTINGS)
    try:
        connection.execute("SET TimeZone = 'UTC'")
        yield connection
    finally:
        connection.close()


def stream(dataset: Dataset, columns: Sequence[str] | None, where: Condition) -> pa.RecordBatchReader:
    """Read the rows that fulfil `where`, once, in small batches, so that wide rows fit in memory."""
    names = None if columns is None else list(columns)
    return dataset.scanner(
        columns=names, filter=where, batch_size=1 << 15, batch_readahead=4, fragment_readahead=2
    ).to_reader()


def files_here(dataset: Dataset, where: Condition) -> list[str]:
    """Return the files that may have rows that fulfil `where`, for DuckDB to read directly. Empty if the table is not
    in a folder of this machine, or if DuckDB would read a path as a pattern."""
    system = getattr(dataset, "filesystem", None)
    if not isinstance(system, SubTreeFileSystem) or not isinstance(system.base_fs, LocalFileSystem):
        return []
    files = [f"{system.base_path}{each.path}" for each in dataset.get_fragments(where)]
    return [] if any(set(file) & set("*?[") for file in files) else files


def both(*conditions: Condition) -> Condition:
    """Combine all conditions that are not None with "and"; None if there is none."""
    found: Condition = None
    for condition in conditions:
        if condition is not None:
            found = condition if found is None else found & condition
    return found


def between(column: str, low: float, high: float) -> Condition:
    """Return low <= column <= high for a time column; bounds outside the valid years are ignored."""
    field = pc.field(column)
    above = None if low <= MIN_TIME else field >= instant(math.ceil(min(low, MAX_TIME)))
    below = None if high >= MAX_TIME else field <= instant(math.floor(max(high, MIN_TIME)))
    return both(above, below)


def single(connection: duckdb.DuckDBPyConnection, query: str, values: Sequence[object] = ()) -> int | None:
    """Return the only value of a query that gives one row."""
    found: list[tuple[int | None]] = connection.execute(query, list(values)).fetchall()
    return found[0][0]


UNREPEATED = f"NOT list_contains(_reasons, '{Reason.DUPLICATE}')"
"""SQL condition for rows that are no duplicates."""


def first_offset(events: Dataset, where: pc.Expression, substream: tuple[str | None] | None) -> int | None:
    """Return the smallest offset of rows that fulfil `where`, within `substream` if given (`(None,)`: null)."""
    columns = ["_offset"] if substream is None else ["_offset", "_substream"]
    with sql() as connection:
        connection.register("found", stream(events, columns, where))
        condition = "" if substream is None else "WHERE _substream IS NOT DISTINCT FROM ?"
        return single(connection, f"SELECT min(_offset) FROM found {condition}", substream or ())  # noqa: S608
