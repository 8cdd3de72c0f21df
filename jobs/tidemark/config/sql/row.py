"""The payload columns that an expression may read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Protocol

from tidemark.config.types import Type, parse_type, quoted

_MANY = 20


class KnownColumn(Protocol):
    """A column that may be read; its type is None if only Spark will know it."""

    @property
    def name(self) -> str: ...

    @property
    def type(self) -> str | None: ...


@dataclass(frozen=True)
class ReadableColumns:
    """The columns of a source or stream, whose name is `of`. They are None if they are wrong, so that any name may be
    right."""

    columns: Sequence[KnownColumn] | None
    of: str = "the schema"

    def find(self, name: str) -> KnownColumn | None:
        """The column of that name, in upper or lower case."""
        return next((column for column in self.columns or () if column.name.lower() == name.lower()), None)

    def findings(self, names: list[str]) -> list[str]:
        """Reasons why a chain of names (column, members) leads nowhere."""
        if self.columns is None:
            return []
        column = self.find(names[0])
        if column is None:
            return [_unknown(names[0], [known.name for known in self.columns], f"a column of {self.of}")]
        return _follow(column, names[1:])[1]

    def type(self, names: list[str]) -> Type | None:
        """The type at the end of a chain of names; None if it leads nowhere."""
        column = self.find(names[0])
        return _follow(column, names[1:])[0] if column else None


def _follow(column: KnownColumn, names: list[str]) -> tuple[Type | None, list[str]]:
    """The type reached by following member names from a column, or the reason why that fails."""
    if column.type is None:
        return None, []
    reached, path = parse_type(column.type), column.name
    for name in names:
        while reached.element is not None and reached.text.startswith("ARRAY"):
            reached = reached.element
        if reached.element is not None:
            reached = reached.element
            continue
        member = next((known for known in reached.fields if known.name.lower() == name.lower()), None)
        if member is None and reached.fields:
            return None, [_unknown(name, [known.name for known in reached.fields], f"a member of {path!r}")]
        if member is None:
            return None, [f"{path!r} is {reached.text} and has no members such as {name!r}"]
        reached, path = parse_type(member.type), f"{path}.{name}"
    return reached, []


def _unknown(name: str, known: list[str], what: str) -> str:
    close = get_close_matches(name.lower(), [each.lower() for each in known], 3, 0.6)
    names = [each for lower in close for each in known if each.lower() == lower] or known[:_MANY]
    asked = "did you mean" if close else "there are"
    return f"{name!r} is not {what}: {asked} {', '.join(map(quoted, names))}"
