"""Compares the rows of a table with the rows that a case expects.

Rows are compared without order: each expected row needs its own row with equal values, and no row may be left over.
Columns that an expected row does not name are not compared.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tidemark.commands.cases import values
from tidemark.commands.cases.case import Row

Form = Mapping[str, Any]


@dataclass(frozen=True)
class TableRows:
    """Rows of a table with the types of their columns; times are integers in the rows."""

    schema: pa.Schema
    rows: Sequence[Row]

    def written(self, number: int, names: Sequence[str] = ()) -> dict[str, Any]:
        """A row as a case file has it: these columns, by default all that are not null."""
        row = self.rows[number]
        chosen = [name for name in names if name in row] or [name for name, each in row.items() if each is not None]
        return {name: values.written(row[name], self.schema.field(name).type) for name in chosen}

    def all_written(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """All rows with these columns, as a case file has them."""
        return [self.written(number, names) for number in range(len(self.rows))]


@dataclass(frozen=True)
class Pair:
    """An expected row and the number of the row that is nearest to it; one of them may be missing."""

    expected: Row | None
    found: int | None


def unmatched(expected: Sequence[Row], found: TableRows) -> list[Pair]:
    """Expected rows without a match, paired with the nearest rows left over; then the other rows left over."""
    forms = [_forms(row, found.schema) for row in expected]
    rows = [
        {name: values.form(each, found.schema.field(name).type) for name, each in row.items()} for row in found.rows
    ]
    fits = [[number for number, row in enumerate(rows) if _equal_columns(form, row) == len(form)] for form in forms]
    matched = _matched(fits)
    missing = [number for number in range(len(expected)) if number not in matched.values()]
    over = [number for number in range(len(rows)) if number not in matched]
    return [*_nearest(expected, forms, missing, rows, over)]


def unequal(expected: Row, row: Row, schema: pa.Schema) -> list[str]:
    """Columns in which a row differs from the expected one."""
    form = _forms(expected, schema)
    seen = {name: values.form(row[name], schema.field(name).type) for name in form if name in row}
    return [name for name, value in form.items() if not values.equal(value, seen.get(name))]


def _forms(row: Row, schema: pa.Schema) -> Form:
    """The forms of an expected row. A value that its column cannot hold, or whose column the table lacks, equals
    nothing."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        try:
            found[name] = values.read(value, schema.field(name).type)
        except (ValueError, KeyError):
            found[name] = object()
    return found


def _equal_columns(expected: Form, row: Form) -> int:
    return sum(values.equal(value, row.get(name)) for name, value in expected.items())


def _matched(fits: Sequence[Sequence[int]]) -> dict[int, int]:
    """A maximum matching: number of the expected row by number of the row. Adding an expected row may move others,
    along a shortest path to a free row."""
    taken: dict[int, int] = {}
    for first in range(len(fits)):
        before: dict[int, int] = {}
        waiting, free = deque([first]), None
        while waiting and free is None:
            here = waiting.popleft()
            for row in fits[here]:
                if row not in before:
                    before[row] = here
                    if row not in taken:
                        free = row
                        break
                    waiting.append(taken[row])
        while free is not None:
            mover = before[free]
            left = next((row for row, each in taken.items() if each == mover), None)
            taken[free] = mover
            if left is not None:
                del taken[left]
            free = left if mover != first else None
    return taken


def _nearest(
    expected: Sequence[Row], forms: Sequence[Form], missing: list[int], rows: Sequence[Form], over: list[int]
) -> Iterator[Pair]:
    """Pair missing rows with the left-over rows that have most columns equal; the others stay alone."""
    scores = sorted(
        ((_equal_columns(forms[one], rows[other]), -one, -other) for one in missing for other in over), reverse=True
    )
    partner: dict[int, int] = {}
    for score, one, other in scores:
        alone = len(forms[-one]) == 1 or (len(missing) == len(over) == 1)
        if (score or alone) and -one not in partner and -other not in partner.values():
            partner[-one] = -other
    yield from (Pair(expected[one], partner.get(one)) for one in missing)
    yield from (Pair(None, other) for other in over if other not in partner.values())
