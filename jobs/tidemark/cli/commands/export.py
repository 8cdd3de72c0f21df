"""Shows or exports rows: as a table, or as CSV or Parquet in a file or on standard output."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tidemark.cli.output import Answer, reader_may_leave, text_width
from tidemark.errors import UsageError

if TYPE_CHECKING:
    from tidemark.pipeline import Pipeline
    from tidemark.records.rows import ExportRecord, GroupsRecord, RowsRecord

_ONE_ROW = "give one row, such as that of `tidemark rows CONFIG --json --limit 1`"


def fitting(kind: str, out: Path | None, as_json: bool) -> None:
    """Raise UsageError if the format does not suit the destination of the rows."""
    if kind == "table":
        if out is not None:
            raise UsageError("--out writes no table", hint="add --format csv or --format parquet")
        return
    if out is None and (as_json or (kind == "parquet" and sys.stdout.isatty())):
        taken = "--json prints there" if as_json else "it is a terminal"
        raise UsageError(f"rows can't be written as {kind} to standard output: {taken}", hint="give --out FILE")


def row_read(text: str) -> dict[str, Any]:
    """The row in a JSON text: one row, or the record of `rows` with one row. Raises UsageError for other texts."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise UsageError(f"standard input is not JSON: {error}", hint=_ONE_ROW) from error
    rows = found.get("rows", [found]) if isinstance(found, dict) else []
    if not isinstance(rows, list) or len(rows) != 1 or not isinstance(rows[0], dict):
        raise UsageError("standard input is not one row", hint=_ONE_ROW)
    return rows[0]


def only_given(filters: dict[str, Any], kind: str) -> dict[str, Any]:
    """Filters as arguments of `Pipeline.rows`: dimensions as a list, without options that were not given."""
    found = {
        name: value for name, value in filters.items() if value is not None or name not in {"by", "dead_letters"}
    }
    if "by" in found:
        if kind != "table":
            raise UsageError(f"--by gives counts, and {kind} holds rows", hint="leave out one of --by and --format")
        found["by"] = [name.strip() for name in found["by"].split(",")]
    return found


def shown(pipeline: Pipeline, config: Path, filters: dict[str, Any]) -> Answer[RowsRecord] | Answer[GroupsRecord]:
    """Show the rows, or their counts, as a table."""
    from tidemark.report.text import groups_view, rows_view

    by = filters.pop("by", None)
    if by is not None:
        return Answer(pipeline.rows(by=by, **filters).record, groups_view)
    return Answer(pipeline.rows(**filters).record, lambda record: rows_view(record, text_width(), str(config)))


def export(pipeline: Pipeline, kind: str, out: Path | None, filters: dict[str, Any]) -> Answer[ExportRecord]:
    """Write the rows to the file, or to standard output."""
    from tidemark.cli.text.runs import export_text
    from tidemark.report.text import unread

    if out is not None:
        return Answer(pipeline.export_rows(out, kind, **filters), export_text(out))
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / f"rows.{kind}"
        record = pipeline.export_rows(target, kind, **filters)
        with target.open("rb") as rows_file, reader_may_leave():
            shutil.copyfileobj(rows_file, sys.stdout.buffer)
            sys.stdout.flush()
        if not_read := unread(record):
            click.echo(not_read, err=True)
    return Answer(record)
