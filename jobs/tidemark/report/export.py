"""Writes all matching rows to one CSV or Parquet file, newest first, in bounded memory."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
from pyarrow.dataset import Dataset

from tidemark.config.types import EVENT_COLUMNS
from tidemark.errors import UsageError
from tidemark.records.rows import ExportRecord
from tidemark.report.events import payload_columns
from tidemark.report.scan import single, sql
from tidemark.report.selection import NEWEST_FIRST, WINDOW_COLUMNS, Filter, Selection, choose, matching
from tidemark.report.target import written_whole

FORMATS = {"csv": "FORMAT csv, HEADER true", "parquet": "FORMAT parquet, COMPRESSION zstd"}
_MEMORY = "1GB"
_MOVED = "_moved_micros"


def export_rows(
    datasets: Mapping[str, Dataset],
    where: Filter,
    target: Path,
    format: str,  # noqa: A002
    limit: int | None = None,
    letters: Dataset | None = None,
) -> ExportRecord:
    """Write the matching rows (the newest `limit`, or all) to `target` and return `{path, format, rows}`. With
    `letters`, write one line for each dead letter: `_window_start`, `_window_end`, then the columns of its row.

    Columns: `_source`, the columns of events tables, `_moved_micros`, then the payload; sources that lack a column
    have nulls. In CSV times are ISO 8601 with Z, reasons joined by `;`, bytes base64, nested values JSON. A file
    appears whole or not at all; rows that do not fit in memory are sorted on disk. Raises UsageError for an unknown
    format or filter, or, for Parquet, if columns of one name differ in type.
    """
    if format not in FORMATS:
        raise UsageError(f"there is no format {format!r}", hint=f"one of: {', '.join(FORMATS)}")
    chosen = choose(datasets, where, letters)
    payload = _payload({each.source: each.events for each in chosen}, text=format == "csv")
    with sql() as connection, tempfile.TemporaryDirectory() as scratch:
        connection.execute(f"SET memory_limit = '{_MEMORY}'")
        connection.execute("SET temp_directory = ?", [scratch])
        query = _query(connection, chosen, where, payload, text=format == "csv")
        query += "" if limit is None else f" LIMIT {limit:d}"
        rows = _write(connection, query, target, FORMATS[format])
    return {"path": str(target), "format": format, "rows": rows}


def _payload(datasets: Mapping[str, Dataset], *, text: bool) -> list[str]:
    """Return the payload columns, named as in the first source that has them: names that differ only in case are one
    column. Raises UsageError if types differ and `text` is false."""
    known: dict[str, tuple[str, str, pa.DataType]] = {}
    for source, dataset in datasets.items():
        for name in payload_columns(dataset.schema):
            kind = dataset.schema.field(name).type
            _, other, before = known.setdefault(name.lower(), (name, source, kind))
            if before != kind and not text:
                raise UsageError(
                    f"column {name} is {before} in source {other} and {kind} in {source}",
                    hint="export one source at a time with --source, or write csv",
                )
    return [name for name, _, _ in known.values()]


def _query(
    connection: duckdb.DuckDBPyConnection,
    chosen: Sequence[Selection],
    where: Filter,
    payload: Sequence[str],
    *,
    text: bool,
) -> str:
    taken = {name.lower() for name in payload}
    moved = next(name for name in (_MOVED + "_" * n for n in range(len(taken) + 1)) if name not in taken)
    windows = any(each.letters is not None for each in chosen)
    shown = [
        *["window_start", "window_end"] * windows,
        "source",
        *(f"r_{name}" for name in EVENT_COLUMNS),
        "moved",
        *(f"p{n}" for n in range(len(payload))),
    ]
    titles = [*["_window_start", "_window_end"] * windows, "_source", *EVENT_COLUMNS, moved, *payload]
    parts = [
        f"SELECT {_columns(each, payload, text=text)} FROM {matching(connection, f'rows{number}', each, where, None)}"  # noqa: S608
        for number, each in enumerate(chosen)
    ]
    renamed = ", ".join(f'{column} AS "{_quoted(title)}"' for column, title in zip(shown, titles, strict=True))
    union = " UNION ALL BY NAME ".join(parts)
    order = ", ".join(f"found.{each}" for each in [*NEWEST_FIRST.split(", "), *["window_start"] * windows])
    return f"SELECT {renamed} FROM ({union}) AS found ORDER BY {order}"  # noqa: S608 - sorted by unformatted columns


def _columns(selected: Selection, payload: Sequence[str], *, text: bool) -> str:
    """Return the select list of one source: the columns to write, and unformatted columns for sorting."""
    name, schema = selected.source.replace("'", "''"), selected.events.schema
    found = [f"'{name}' AS source", "_arrival_time", "_batch_id", "_partition", "_offset"]
    found += [f"{_written(schema, column, text=text)} AS r_{column}" for column in EVENT_COLUMNS]
    found.append("epoch_us(_system_timestamp) - epoch_us(_event_time) AS moved")
    own = {column.lower(): column for column in payload_columns(schema)}
    for number, column in enumerate(map(str.lower, payload)):
        if column in own:
            found.append(f"{_written(schema, own[column], text=text)} AS p{number}")
    if selected.letters is not None:
        kind = selected.letters.schema.field("_window_start").type
        times = pa.schema([(column, kind) for column in WINDOW_COLUMNS])
        start, end = (_written(times, column, text=text) for column in WINDOW_COLUMNS)
        found += [f"{start} AS window_start", f"{end} AS window_end"]
    return ", ".join(found)


def _written(schema: pa.Schema, column: str, *, text: bool) -> str:
    name = f'"{_quoted(column)}"'
    if not text:
        return name
    kind = schema.field(column).type
    if pa.types.is_timestamp(kind):
        zone = "Z" if kind.tz else ""
        return f"strftime(make_timestamp(epoch_us({name})), '%Y-%m-%dT%H:%M:%S.%f{zone}')"
    if column == "_reasons":
        return f"array_to_string({name}, ';')"
    if pa.types.is_nested(kind):
        return f"CAST(to_json({name}) AS VARCHAR)"
    if pa.types.is_binary(kind):
        return f"base64({name})"
    return f"CAST({name} AS VARCHAR)"


def _write(connection: duckdb.DuckDBPyConnection, query: str, target: Path, options: str) -> int:
    with written_whole(target) as partial:
        quoted = str(partial).replace("'", "''")
        rows = single(connection, f"COPY ({query}) TO '{quoted}' ({options}, USE_TMP_FILE false)")
    return rows or 0


def _quoted(name: str) -> str:
    return name.replace('"', '""')
