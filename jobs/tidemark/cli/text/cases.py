"""Text for people about test cases: which failed, and how tables differ."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidemark.cli.text.layout import LONGEST_TABLE, paragraphs, table_of
from tidemark.core.shell import command
from tidemark.report.text import safe
from tidemark.report.words import counted

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tidemark.records.cases import CaseRecord, CasesRecord, RecordedCaseRecord


def cases_text(record: CasesRecord) -> RenderableType:
    """The cases that failed with their differences, and how many passed."""
    failed = [part for case in record["cases"] if not case["passed"] for part in _failed(case)]
    seconds = sum(case["seconds"] for case in record["cases"])
    summary = f"{counted(record['passed'], 'case')} passed, {record['failed']:,} failed, in {seconds:.1f} s."
    kept = f"Landing and warehouse of each case: {record['kept']}" if record["kept"] else None
    return paragraphs(*failed, summary, kept, f"Wrote {record['junit']}." if record["junit"] else None)


def recorded_text(config: Path) -> Callable[[RecordedCaseRecord], RenderableType]:
    """The file that was written, and the next command."""

    def text(record: RecordedCaseRecord) -> RenderableType:
        masked = f"; masked: {', '.join(record['masked'])}" if record["masked"] else ""
        wrote = f"Wrote {record['path']}: {counted(record['rows'], 'row')}, {counted(record['runs'], 'run')}{masked}."
        differing = (
            f"{counted(record['differing'], 'row')} had another fate when recorded: a case begins without watermarks."
            if record["differing"]
            else None
        )
        return paragraphs(wrote, differing, f"Next: {command('test', config, record['path'])}")

    return text


def _failed(case: CaseRecord) -> list[RenderableType]:
    title = f"FAILED {safe(case['name'])} ({case['file']}:{case['line']})"
    if case["failure"] is not None:
        return [f"{title}\n{safe(case['failure'])}"]
    table = table_of("table", "given", "expected", "got")
    for each in case["differences"][:LONGEST_TABLE]:
        given = "\n".join(_row(row, ()) for row in each["given"])
        expected, got = (_row(each[side], each["columns"]) for side in ("expected", "got"))
        table.add_row(each["table"], given, expected, got)
    if len(case["differences"]) > LONGEST_TABLE:
        table.add_row(f"{len(case['differences']) - LONGEST_TABLE:,} more", "", "", "")
    return [title, table]


def _row(row: Mapping[str, Any] | None, differing: list[str] | tuple[()]) -> str:
    """A row, one column a line; differing columns have a `!`."""
    if row is None:
        return "no row"
    return "\n".join(safe(f"{'! ' if name in differing else ''}{name}: {_value(each)}") for name, each in row.items())


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
