"""Lays out texts: tables, lists, paragraphs, and sizes with their units."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import RenderableType

LONGEST_TABLE = 20
"""The most lines of a table; a last line says how many more there are."""
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def size_text(size: int) -> str:
    """A size in bytes in the largest unit in which it is at least 1."""
    amount, unit = float(size), 0
    while amount >= 1024 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{amount:.1f} {_UNITS[unit]}" if unit else f"{size} B"


def listed(title: str, lines: Iterable[str]) -> str | None:
    """A title with a list below it; None if the list is empty."""
    found = list(lines)
    return "\n".join([f"{title}:", *(f"  - {line}" for line in found)]) if found else None


def table_of(*columns: str) -> Table:
    """A table with these column headings; a column whose name ends in `>` holds numbers."""
    table = Table(box=None, padding=(0, 2), pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column.rstrip(">"), justify="right" if column.endswith(">") else "left")
    return table


def paragraphs(*parts: RenderableType | None) -> Group:
    """The parts that are not None, with an empty line between them."""
    found = [Text(part) if isinstance(part, str) else part for part in parts if part is not None]
    spaced: list[RenderableType] = []
    for part in found:
        spaced += [Text(""), part] if spaced else [part]
    return Group(*spaced)
