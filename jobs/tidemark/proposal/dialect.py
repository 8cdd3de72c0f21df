"""Dialects of CSV files: separator, quotes, comments, header, and the word for null."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tidemark.proposal.columns.timestamps import reading_of
from tidemark.proposal.columns.types import cell_type
from tidemark.proposal.columns.words import TIME_WORDS, words_of

SEPARATORS = (",", ";", "\t", "|")
NULLS = ("NA", "N/A", "n/a", "#N/A", "null", "NULL", "(null)", "None", "\\N", "-", "--", "nan", "?", "M")
_FEW = 300
_MOST_ALIKE = 0.9
_DOUBLED = re.compile(r'""')
_PLAIN_NAMES = {
    "id", "name", "type", "kind", "value", "status", "code", "key", "message", "user", "device", "country",
    "city", "category", "level", "host", "source", "site", "region", "partition",
}  # fmt: skip


@dataclass(frozen=True)
class Dialect:
    """The rules for splitting lines. `doubled`: a quote within quotes is written twice; else it follows a backslash.
    `comment`: prefix of comment lines; empty: there are no comments."""

    sep: str = ","
    doubled: bool = False
    comment: str = ""

    def cells(self, line: str) -> list[str] | None:
        """Return the values of one line; None if a quote is left open."""
        escape = None if self.doubled or '\\"' not in line else "\\"
        try:
            return next(csv.reader([line], delimiter=self.sep, escapechar=escape, strict=True))
        except csv.Error:
            return None

    def rows(self, lines: Sequence[str]) -> list[list[str] | None]:
        """Return the values of all lines that are not comments."""
        return [self.cells(line) for line in lines if not (self.comment and line.startswith(self.comment))]

    def options(self) -> dict[str, str]:
        """Return the Spark reader options of this dialect that differ from Spark's defaults."""
        found = {} if self.sep == "," else {"sep": self.sep}
        found |= {"escape": '"'} if self.doubled else {}
        return found | ({"comment": self.comment} if self.comment else {})


def dialect_of(lines: Sequence[str], *, one_column: bool = False) -> tuple[Dialect, int] | None:
    """Return the dialect in which most lines have an equal number of values, and that number; None if there is none.

    With `one_column` a line may be a single value.
    """
    few = [line for line in lines[:_FEW] if line.strip()]
    marked = sum(line.startswith("#") for line in few)
    comment = "#" if 0 < marked < len(few) else ""
    few = [line for line in few if not (comment and line.startswith(comment))]
    best: tuple[float, int, Dialect] | None = None
    for sep in SEPARATORS:
        dialect = Dialect(sep, _doubles(few, sep), comment)
        counts = Counter(len(cells) for line in few if (cells := dialect.cells(line)) is not None)
        width, times = max(counts.items(), key=lambda item: (item[1], item[0]), default=(0, 0))
        share = times / len(few) if few else 0
        if width > 1 and share >= _MOST_ALIKE and (best is None or (share, width) > best[:2]):
            best = share, width, dialect
    if best is not None:
        return best[2], best[1]
    return (Dialect(",", _doubles(few, ","), comment), 1) if one_column and few else None


def _doubles(lines: Sequence[str], sep: str) -> bool:
    """True if a quote is written twice anywhere but in an empty value."""
    edge = re.escape(sep)
    empty = re.compile(rf'(?:^|(?<={edge}))""(?=$|{edge})')
    return any(_DOUBLED.search(empty.sub("", line)) for line in lines if '""' in line)


@dataclass(frozen=True)
class Header:
    """The column names in the first line of files; empty if it is a row. `sure`: other lines or files prove it."""

    names: tuple[str, ...] = ()
    sure: bool = True


def header_of(files: Sequence[Sequence[list[str]]]) -> Header:
    """Find the header of files, each given as the values of its lines."""
    firsts = [rows[0] for rows in files if rows]
    if not firsts:
        return Header()
    first, body = firsts[0], [row for rows in files for row in rows[1:] if len(row) == len(firsts[0])]
    names = tuple(cell.strip() for cell in first)
    if any(name and cell_type([name]).type != "STRING" for name in names):
        return Header()
    if not all(each == first for each in firsts):
        return Header()
    columns = list(zip(*body, strict=True)) if body else []
    if any(name and any(column) and _shows_a_header(column) for name, column in zip(names, columns, strict=False)):
        return Header(names)
    if len(firsts) > 1:
        return Header(names)
    repeated = len(set(names)) < len(names) or any(
        name in column for name, column in zip(names, columns, strict=False)
    )
    known = any(set(words_of(name)) & (TIME_WORDS | _PLAIN_NAMES) for name in names)
    return Header(names if known and not repeated else (), sure=False)


def _shows_a_header(column: Sequence[str]) -> bool:
    """True if the values below a name prove that it is a name: they have a type, or are texts with times."""
    there = [cell for cell in column if cell]
    return cell_type(there).type != "STRING" or reading_of(there) is not None


def null_word(columns: Sequence[Sequence[str]]) -> str:
    """Return the word that means null: with it more columns have a type. Empty: only empty values are null."""
    plain = _typed(columns, "")
    best = max(NULLS, key=lambda word: _typed(columns, word))
    return best if _typed(columns, best) > plain else ""


def _typed(columns: Sequence[Sequence[str]], null: str) -> int:
    """Count the columns with a type other than STRING if `null` means null; empty values are then no nulls."""
    found = 0
    for column in columns:
        if null and null not in column and "" not in column:
            found += cell_type(column).type != "STRING"
            continue
        there = [text for text in column if text != null]
        found += bool(there) and cell_type(there).type != "STRING"
    return found


def padded(rows: Sequence[Sequence[str]]) -> bool:
    """True if blanks around values hide their types."""
    blank = [cell for row in rows for cell in row if cell != cell.strip() and cell.strip()]
    return any(cell_type([cell.strip()]).type != "STRING" for cell in blank)
