"""JSON documents whose rows are not on separate lines: the path of the rows, and enough rows for a sample."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tidemark.proposal.columns.types import json_number

_ARRAY = re.compile(r'"((?:[^"\\.`\[\]])+)"\s*:\s*\[\s*\{')
_DECODER = json.JSONDecoder(parse_float=json_number)
Row = dict[str, object]


@dataclass(frozen=True)
class Documents:
    """The content of a text. `path`: path of its rows, as in the setting `rows` (None: each document is a row).
    `rows`: its first rows; None for each element that is no object."""

    path: str | None
    rows: list[Row | None]


def documents_of(text: str) -> Documents | None:
    """Return the rows of a text, which may be cut off. Its first document spans several lines, or holds rows in an
    array. None if it has no rows."""
    text = text.lstrip()
    if text.startswith("["):
        rows = list(_elements(text, 1))
        return Documents("[]", rows) if any(rows) else None
    found = _ARRAY.search(text)
    if found is not None and _depth(text[: found.start()]) == 1:
        rows = [row for start in _arrays(text, found[1]) for row in _elements(text, start)]
        return Documents(f"{found[1]}[]", rows)
    documents = list(_documents(text))
    return Documents(None, documents) if any(documents) else None


def wrapped(rows: list[Row | None]) -> bool:
    """True if the objects on lines only wrap rows: each has a single member, an array of objects."""
    there = [row for row in rows if row is not None]
    return bool(there) and all(
        len(row) == 1 and isinstance(each, list) and bool(each) and isinstance(each[0], dict)
        for row in there
        for each in [next(iter(row.values()), None)]
    )


def _arrays(text: str, name: str) -> Iterator[int]:
    """Positions after the opening bracket of each array with this name, in all documents."""
    pattern = re.compile(rf'"{re.escape(name)}"\s*:\s*\[')
    return (found.end() for found in pattern.finditer(text))


def _elements(text: str, at: int) -> Iterator[Row | None]:
    """Yield the complete elements of an array; position `at` is behind its opening bracket."""
    while True:
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        if at >= len(text) or text[at] == "]":
            return
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        yield value if isinstance(value, dict) else None


def _documents(text: str) -> Iterator[Row | None]:
    at = 0
    while at < len(text):
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        yield value if isinstance(value, dict) else None
        while at < len(text) and text[at].isspace():
            at += 1


def _depth(text: str) -> int:
    """Return the number of open braces and brackets, ignoring those in strings."""
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', "", text)
    return sum((char in "{[") - (char in "}]") for char in bare)
