"""Detects the format of an object from its first bytes: JSON lines, CSV, Parquet, ORC, or nothing readable."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import pyarrow as pa
from pyarrow import orc, parquet

from tidemark.config.formats import FORMATS
from tidemark.proposal.columns.types import json_number
from tidemark.proposal.dialect import dialect_of, header_of
from tidemark.proposal.nested_rows import documents_of, wrapped
from tidemark.proposal.objects import ListedObject
from tidemark.storage import open_file, seen

FIRST = 64 << 10
_TABULAR = (".csv", ".tsv", ".psv", ".tab")
_MAYBE_TABULAR = (".txt", ".dat", ".data", ".log", "")
_BINARY: Sequence[tuple[bytes, str, str, Callable[[ListedObject], Sequence[str]]]] = (
    (b"PAR1", "parquet", "Parquet", lambda item: parquet.read_schema(seen(item.path)).names),
    (b"ORC", "orc", "ORC", lambda item: orc.ORCFile(seen(item.path)).schema.names),
)
"""Formats that are no text: first bytes of a file, name, name for people, columns of an object."""
_FEW = 100
_NO_ENDING = re.compile(r"\.(?=.*[0-9]).{4,}")


@dataclass(frozen=True)
class Look:
    """The content of an object: `format` (empty: none), and `what`, a description for people. `columns`: its column
    names; for a CSV file without a header, one text with the number of columns. `spans`: rows of JSON are not on
    separate lines."""

    format: str
    what: str
    columns: tuple[str, ...] = ()
    spans: bool = False

    def like(self, other: Look, least: float) -> bool:
        """True if both may belong to one source. CSV: equal columns (without names, equally many). Other formats: at
        least the share `least` of the smaller number of columns in common."""
        if self.format != other.format or not self.format or self.spans != other.spans:
            return False
        mine, theirs = ({name.lower() for name in look.columns} for look in (self, other))
        if FORMATS[self.format].by_position:
            return mine == theirs
        return len(mine & theirs) >= least * max(min(len(mine), len(theirs)), 1)

    def same(self, other: Look) -> bool:
        """True if both have nearly the same columns."""
        mine, theirs = ({name.lower() for name in look.columns} for look in (self, other))
        return self.like(other, 1) and len(mine & theirs) >= 0.8 * len(mine | theirs)


def suffix(uri: str) -> str:
    """Return the ending of a name in lower case, without `.gz`; empty if ids or times follow the dot."""
    name = PurePosixPath(uri).name.lower().removesuffix(".gz")
    ending = PurePosixPath(name).suffix
    return "" if _NO_ENDING.fullmatch(ending) else ending


def look(item: ListedObject) -> Look:
    """Detect the content of one object."""
    if item.size == 0:
        return Look("", "empty")
    try:
        with open_file(item.path) as raw:
            start = raw.read(FIRST)
        for beginning, kind, what, columns in _BINARY:
            if start.startswith(beginning):
                return Look(kind, what, tuple(columns(item)))
    except (OSError, pa.ArrowException):
        return Look("", "damaged, or not readable")
    return _of_text(item, start)


def text_of(item: ListedObject, most: int) -> tuple[str, bool]:
    """Return the start of a text object (at most `most` bytes when decompressed, cut at the end of a line), and
    whether it is the whole object. Raises OSError, EOFError, zlib.error or UnicodeDecodeError if it is no text."""
    with open_file(item.path) as raw, gzip.open(raw) if item.path.endswith(".gz") else raw as file:
        content = file.read(most + 1)
    whole = len(content) <= most
    if not whole:
        content = content[: content.rfind(b"\n", 0, most) + 1] or content[:most]
    return content.decode("utf-8-sig", "strict" if whole or content.endswith(b"\n") else "ignore"), whole


def lines_of(text: str) -> list[str]:
    """Return the lines of a text that are not blank, split where Spark splits them."""
    return [line for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n") if line.strip()]


def json_rows(lines: list[str]) -> list[dict[str, object] | None]:
    """Return the object on each line; None where there is none."""
    rows: list[dict[str, object] | None] = []
    for line in lines:
        try:
            value = json.loads(line, parse_float=json_number)
        except (ValueError, RecursionError):
            value = None
        rows.append(value if isinstance(value, dict) else None)
    return rows


def _of_text(item: ListedObject, start: bytes) -> Look:  # noqa: PLR0911 # one finding a line
    compressed = start.startswith(b"\x1f\x8b")
    if compressed != item.path.endswith(".gz"):
        wrong = "compressed by gzip, but not named .gz" if compressed else "named .gz, but not compressed"
        return Look("", wrong)
    ending = suffix(item.uri)
    try:
        text, _ = text_of(item, FIRST)
    except (OSError, EOFError, zlib.error):
        return Look("", "damaged, or not readable")
    except UnicodeDecodeError:
        return Look("", f"{ending or 'no ending'}, no UTF-8 text")
    if "\0" in text:
        return Look("", f"{ending or 'no ending'}, no text")
    lines = lines_of(text)
    if not lines:
        return Look("", "empty")
    if lines[0].lstrip()[0] in "{[":
        return _of_json(lines, text)
    return _of_csv(lines, ending)


def _of_json(lines: list[str], text: str) -> Look:
    rows = json_rows(lines[:_FEW])
    found = [row for row in rows if row is not None]
    if found and len(found) * 2 >= len(rows) and not wrapped(rows):
        return Look("json", "JSON lines", _names(found))
    documents = documents_of(text)
    if documents is None:
        return Look("", "no JSON lines, and no document that can be read")
    where = f"JSON documents with rows in {documents.path}" if documents.path else "JSON documents over lines"
    return Look("json", where, _names([row for row in documents.rows if row is not None]), spans=True)


def _names(rows: Sequence[Mapping[str, object]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for row in rows for name in row))


def _of_csv(lines: list[str], ending: str) -> Look:
    found = dialect_of(lines, one_column=ending in _TABULAR)
    if ending not in (*_TABULAR, *_MAYBE_TABULAR) or found is None or (ending not in _TABULAR and len(lines) < 2):
        return Look("", ending if ending else "text of no known form")
    dialect, width = found
    rows = [row for row in dialect.rows(lines[:_FEW]) if row is not None and len(row) == width]
    header = header_of([rows])
    return Look("csv", "CSV", header.names or (f"{width} columns",))
