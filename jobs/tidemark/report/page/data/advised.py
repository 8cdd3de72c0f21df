"""The last advice on tolerances, read from the table `advice`: every number of its heat maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

from tidemark.report.page.data.tables import Row, Tables
from tidemark.report.values import plain


@dataclass(frozen=True)
class Advised:
    """One source's candidates, ordered by late and then by out-of-order tolerance (microseconds; late off comes
    last). They are based on the rows up to batch `batch_id`, whose run had this `as_of` (ISO 8601)."""

    source: str
    batch_id: int
    as_of: str
    cells: Sequence[Row]

    @property
    def present(self) -> Row:
        """The candidate with the tolerances that the source had at that time."""
        return next(cell for cell in self.cells if cell["present"])

    @property
    def recommended(self) -> Row | None:
        """The recommended candidate; None if no candidate meets the target."""
        return next((cell for cell in self.cells if cell["recommended"]), None)

    @property
    def alike(self) -> bool:
        """True if each candidate would adjust as many rows as it would drop."""
        return all(cell["adjusted"] == cell["dropped"] for cell in self.cells)


def advised_of(tables: Tables) -> list[Advised]:
    """Return the last advice on each source. It holds until the next advice, whatever runs a report covers."""
    if tables.advice is None:
        return []
    found = tables.advice.to_table()
    rows: list[dict[str, Any]] = [
        {name: plain(found.column(name)[n]) for name in found.schema.names} for n in range(found.num_rows)
    ]
    rows.sort(key=_order)
    listed = [(source, list(cells)) for source, cells in groupby(rows, itemgetter("source"))]
    return [Advised(source, cells[0]["batch_id"], cells[0]["as_of"], cells) for source, cells in listed]


def _order(cell: Row) -> tuple[str, bool, int, int]:
    return cell["source"], cell["late"] is None, cell["late"] or 0, cell["out_of_order"]
