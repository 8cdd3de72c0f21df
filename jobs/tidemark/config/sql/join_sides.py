"""Columns that an expression of a join may read: those of both sides, with the name of the input in front."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidemark.config.sql.row import KnownColumn, ReadableColumns
from tidemark.config.types import Type, quoted


@dataclass(frozen=True)
class Sides(ReadableColumns):
    """Rows of a pair by the names of their inputs: `readings.Speed` is Speed of the side `readings`. Sides `without`
    a row have no columns: the right one of an anti join."""

    sides: Mapping[str, ReadableColumns] = field(default_factory=dict)
    without: tuple[str, ...] = ()

    def find(self, name: str) -> KnownColumn | None:
        """Always None: no column of a join has a name of one word."""
        del name
        return None

    def findings(self, names: list[str]) -> list[str]:
        """Reasons why a chain of names (input, column, members) leads nowhere."""
        side = self.sides.get(names[0].lower())
        first = quoted(names[0])
        if side is None:
            return [self._of_no_side(names[0])]
        if len(names) == 1:
            return [f"{names[0]!r} is a whole row: name a column of it, such as {first}.{_example(side)}"]
        return side.findings(names[1:])

    def type(self, names: list[str]) -> Type | None:
        """The type at the end of a chain of names; None if it leads nowhere or is unknown."""
        side = self.sides.get(names[0].lower())
        return side.type(names[1:]) if side is not None and len(names) > 1 else None

    def _of_no_side(self, name: str) -> str:
        if name.lower() in self.without:
            left = next(iter(self.sides))
            return f"{name!r} has no row where {left!r} is without one (how: anti): select columns of {left!r} alone"
        having = [f"{side}.{quoted(name)}" for side, row in self.sides.items() if row.find(name)]
        if having:
            return f"{name!r} may be of either side of a join: write {' or '.join(having)}"
        listed = " and ".join(f"{side}.{_example(row)}" for side, row in self.sides.items())
        return f"{name!r} is no side of the join: columns are written with their input, such as {listed}"


def _example(row: ReadableColumns) -> str:
    return quoted(row.columns[0].name) if row.columns else "column"
