"""JSON documents whose rows do not lie on lines of their own: where the rows are, and as many as a sample has."""

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
    """What a text holds: `path` is where its rows are, as `rows` says it (None: each document is one), `rows` the
    first of them, None for one that is no object."""

    path: str | None
    rows: list[Row | None]


def documents_of(text: str) -> Documents | None:
    """The rows of a text, which may be cut off, that begins with a document over lines, or with one in which they are
    an array; None where it has none."""
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
    """Whether objects on lines are wraps around the rows: nothing in them but one array of objects."""
    there = [row for row in rows if row is not None]
    return bool(there) and all(
        len(row) == 1 and isinstance(each, list) and bool(each) and isinstance(each[0], dict)
        for row in there
        for each in [next(iter(row.values()), None)]
    )


def _arrays(text: str, name: str) -> Iterator[int]:
    """Where the arrays of that name begin, of all documents."""
    pattern = re.compile(rf'"{re.escape(name)}"\s*:\s*\[')
    return (found.end() for found in pattern.finditer(text))


def _elements(text: str, at: int) -> Iterator[Row | None]:
    """The elements of the array whose bracket is before this place, as far as they are whole."""
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
    """How many braces and brackets are open, those in texts left out."""
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', "", text)
    return sum((char in "{[") - (char in "}]") for char in bare)
