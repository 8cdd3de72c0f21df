"""What befalls the log of a table: a power loss, or a copy of one folder that is restored."""

from __future__ import annotations

import shutil
from pathlib import Path


def entries(table: Path) -> list[Path]:
    """The commits of a table's log, oldest first."""
    return sorted((table / "_delta_log").glob("*.json"))


def ending_with_rows(table: Path) -> Path:
    """The table without newest commits that brought no row: nothing is lost with them."""
    while '"add"' not in entries(table)[-1].read_text():
        removed(table)
    return table


def emptied(table: Path) -> None:
    """The newest commit is a file without content."""
    entries(table)[-1].write_bytes(b"")
    _unchecked(entries(table)[-1])


def removed(table: Path) -> None:
    """The newest commit is not there."""
    newest = entries(table)[-1]
    newest.unlink()
    _unchecked(newest)


def older(table: Path) -> None:
    """The newest commit is what the one before it is; of a single one nothing is left."""
    known = entries(table)
    if len(known) == 1:
        shutil.rmtree(table)
        return
    known[-1].write_bytes(known[-2].read_bytes())
    _unchecked(known[-1])


def restored(table: Path) -> None:
    """The folder is as it was two commits ago."""
    for entry in entries(table)[-2:]:
        entry.unlink()
        _unchecked(entry)


def _unchecked(entry: Path) -> None:
    """Without what Spark keeps beside a commit to check it."""
    for name in (f".{entry.name}.crc", f"{entry.stem}.crc", f".{entry.stem}.crc.crc"):
        (entry.parent / name).unlink(missing_ok=True)


DAMAGES = (emptied, removed, older)
