"""Column names that a schema can hold, and replacements for reserved, repeated or unstorable ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from tidemark.config.types import SYSTEM_COLUMNS, unstorable

_WRITABLE = re.compile("[ -~\u00a0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]*")
"""Characters that YAML takes unescaped, on one line."""


class Named(NamedTuple):
    """A column's name in the files, its name in the schema, and the reason if the two differ."""

    written: str
    name: str
    reason: str = ""


def named(names: Sequence[str]) -> list[Named]:
    """Return a schema name for each column of a file; the names differ even if case is ignored."""
    found: list[Named] = []
    taken: set[str] = set()
    kept = {name.lower() for name in names}
    for written in names:
        reason = _reason(written, taken)
        name = _other(written, taken | kept) if reason else written
        taken.add(name.lower())
        found.append(Named(written, name, reason))
    return found


def _reason(name: str, taken: set[str]) -> str:
    if not name:
        return "it has no name"
    if name.lower() in taken:
        return "another column has this name, whatever the case"
    if name.lower() in SYSTEM_COLUMNS:
        return "the events tables have a column of this name"
    return "" if storable(name) else "no table can hold this name"


def storable(name: str) -> bool:
    """True if a table's column, or a member of a column, can have this name and a configuration can contain it."""
    return bool(name) and not [*unstorable(name)] and _WRITABLE.fullmatch(name) is not None


def writable(name: str) -> bool:
    """True if a configuration can contain this name as the name of a column in files."""
    return bool(name.strip()) and _WRITABLE.fullmatch(name) is not None


def _other(name: str, taken: set[str]) -> str:
    stem = re.sub(r"[^0-9A-Za-z_]+", "_", name).strip("_") or "column"
    stem = stem if stem[0].isalpha() else f"column_{stem}"
    number, found = 2, stem
    while found.lower() in taken or found.lower() in SYSTEM_COLUMNS:
        number, found = number + 1, f"{stem}_{number}"
    return found
