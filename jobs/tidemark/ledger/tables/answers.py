"""Keeps rows that were read from one version of a small table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tidemark.ledger.tables.cache import Cache
from tidemark.ledger.tables.files import DataFile
from tidemark.ledger.tables.rows import Row

MOST_KEPT, MOST_ROWS_KEPT = 16, 4096
"""Maximum number of answers that are kept, and of rows in one answer."""


@dataclass
class ReadRows:
    """Rows that were read from one version of a table: a run repeats its questions."""

    version: int | None = None
    files: list[DataFile] = field(default_factory=list)
    answers: Cache[tuple[int | str, ...], list[Row]] = field(default_factory=lambda: Cache(MOST_KEPT))

    def answer(self, asked: tuple[int | str, ...], read: Callable[[], list[Row]]) -> list[Row]:
        """The kept answer, or the result of `read`, which is kept if it is small enough."""
        rows = self.answers.get(asked)
        rows = read() if rows is None else rows
        if len(rows) <= MOST_ROWS_KEPT:
            self.answers.put(asked, rows)
        return [dict(row) for row in rows]
