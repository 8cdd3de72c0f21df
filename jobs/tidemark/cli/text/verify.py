"""Text of the record of `verify`: the answer, the findings, and the parts that were not checked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from tidemark.cli.text.layout import LONGEST_TABLE, listed, paragraphs, table_of
from tidemark.core.shell import command
from tidemark.report.words import counted

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tidemark.records.verify import FlawRecord, VerifyRecord


def verify_text(config: Path) -> Callable[[VerifyRecord], RenderableType]:
    """Text of a check of the warehouse of this configuration."""
    return lambda record: paragraphs(
        _answer(record),
        _findings(record["findings"]),
        listed("What to do", dict.fromkeys(each["hint"] for each in record["findings"])),
        f"Head of the chain of batches: {record['chain']}" if record["chain"] else None,
        listed("Not checked", record["not_checked"]),
        f"For an auditor: {record['bundle']}" if record["bundle"] else None,
        None if record["sound"] else f"Next: {command('repair', config)}",
    )


def _answer(record: VerifyRecord) -> str:
    read = (
        f"{counted(record['batches'], 'batch', 'es')}, {counted(record['files'], 'file')} and "
        f"{counted(record['rows'], 'row')} of version {record['version']}"
    )
    judged = f"{counted(record['judged'], 'row')} judged again"
    if record["sound"]:
        return f"Sound: {read} are as recorded; {judged}."
    tables = counted(len({each["table"] for each in record["findings"]}), "table")
    return f"NOT SOUND: {tables} not as recorded. Checked: {read}; {judged}."


def _findings(findings: list[FlawRecord]) -> Table | None:
    if not findings:
        return None
    table = table_of("table", "batch>", "finding", "file", "what it is")
    for each in findings[:LONGEST_TABLE]:
        number = "" if each["batch_id"] is None else str(each["batch_id"])
        table.add_row(each["table"], number, each["kind"], each["file"] or "", each["message"])
    if len(findings) > LONGEST_TABLE:
        table.add_row(f"{len(findings) - LONGEST_TABLE:,} more", "", "", "", "")
    return table
