"""How the lines of CSV files are cut into values: separator, quotes, comments, header, the word for null."""

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
NULLS = ("NA", "N/A", "null", "NULL", "None", "\\N", "-", "nan")
_FEW = 300
_MOST_ALIKE = 0.9
_DOUBLED = re.compile(r'""')
_PLAIN_NAMES = {
    "id", "name", "type", "kind", "value", "status", "code", "key", "message", "user", "device", "country",
    "city", "category", "level", "host", "source", "site", "region", "partition",
}  # fmt: skip


@dataclass(frozen=True)
class Dialect:
    """How lines are cut. `doubled`: a quote within quotes is written twice; else it follows a backslash.
    `comment`: lines that begin so are none; empty: there are none."""

    sep: str = ","
    doubled: bool = False
    comment: str = ""

    def cells(self, line: str) -> list[str] | None:
        """The values of one line; None where a quote is left open."""
        escape = None if self.doubled or '\\"' not in line else "\\"
        try:
            return next(csv.reader([line], delimiter=self.sep, escapechar=escape, strict=True))
        except csv.Error:
            return None

    def rows(self, lines: Sequence[str]) -> list[list[str] | None]:
        """The values of all lines that are rows."""
        return [self.cells(line) for line in lines if not (self.comment and line.startswith(self.comment))]

    def options(self) -> dict[str, str]:
        """Reader options that say so, where Spark would do otherwise."""
        found = {} if self.sep == "," else {"sep": self.sep}
        found |= {"escape": '"'} if self.doubled else {}
        return found | ({"comment": self.comment} if self.comment else {})


def dialect_of(lines: Sequence[str], *, one_column: bool = False) -> tuple[Dialect, int] | None:
    """The dialect in which most lines have equally many values, and how many; None where there is none.

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
    """Whether a quote is written twice somewhere other than as an empty value."""
    edge = re.escape(sep)
    empty = re.compile(rf'(?:^|(?<={edge}))""(?=$|{edge})')
    return any(_DOUBLED.search(empty.sub("", line)) for line in lines if '""' in line)


@dataclass(frozen=True)
class Header:
    """The names that the first line of each file has; none where it is a row. `sure`: values tell."""

    names: tuple[str, ...] = ()
    sure: bool = True


def header_of(files: Sequence[Sequence[list[str]]]) -> Header:
    """Whether files, each the values of its lines, begin with names of columns."""
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
    if any(name and any(column) and _tells(column) for name, column in zip(names, columns, strict=False)):
        return Header(names)
    if len(firsts) > 1:
        return Header(names)
    repeated = len(set(names)) < len(names) or any(
        name in column for name, column in zip(names, columns, strict=False)
    )
    known = any(set(words_of(name)) & (TIME_WORDS | _PLAIN_NAMES) for name in names)
    return Header(names if known and not repeated else (), sure=False)


def _tells(column: Sequence[str]) -> bool:
    """Whether values below a name show that it is none of them: they have a type, or are times in a form of text."""
    there = [cell for cell in column if cell]
    return cell_type(there).type != "STRING" or reading_of(there) is not None


def null_word(columns: Sequence[Sequence[str]]) -> str:
    """The word that stands for null: without it more columns than else have a type. Empty: an empty value alone."""
    plain = _typed(columns, "")
    best = max(NULLS, key=lambda word: _typed(columns, word))
    return best if _typed(columns, best) > plain else ""


def _typed(columns: Sequence[Sequence[str]], null: str) -> int:
    """How many columns have a type of their own when a word is null; Spark takes that word alone for null."""
    found = 0
    for column in columns:
        if null and null not in column and "" not in column:
            found += cell_type(column).type != "STRING"
            continue
        there = [text for text in column if text != null]
        found += bool(there) and cell_type(there).type != "STRING"
    return found


def padded(rows: Sequence[Sequence[str]]) -> bool:
    """Whether values have blanks around them that hide what they are."""
    blank = [cell for row in rows for cell in row if cell != cell.strip() and cell.strip()]
    return any(cell_type([cell.strip()]).type != "STRING" for cell in blank)
