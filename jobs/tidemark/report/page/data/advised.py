"""What was last advised on tolerances, as it is kept in the table `advice`: every number of its heat maps."""

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
    """One source's cells, by late and then by out-of-order tolerance, microseconds, a late of None last; made of the
    rows up to a batch, of a run with this as_of (ISO 8601)."""

    source: str
    batch_id: int
    as_of: str
    cells: Sequence[Row]

    @property
    def present(self) -> Row:
        """The cell whose tolerances the source had."""
        return next(cell for cell in self.cells if cell["present"])

    @property
    def recommended(self) -> Row | None:
        """The cell that was recommended."""
        return next((cell for cell in self.cells if cell["recommended"]), None)

    @property
    def alike(self) -> bool:
        """Whether each cell drops as many rows under one action as it adjusts under the other."""
        return all(cell["adjusted"] == cell["dropped"] for cell in self.cells)


def advised_of(tables: Tables) -> list[Advised]:
    """The last advice on each source; it stands until the next, whatever runs a report is about."""
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
