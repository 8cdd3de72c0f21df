"""Keeps rows of files that were read. A file never changes, so its rows stay valid after later commits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import pyarrow as pa

from tidemark.ledger.tables.cache import Cache
from tidemark.ledger.tables.files import DataFile, read_batches

MOST_KEPT, MOST_BYTES_KEPT = 64, 256 << 10
"""Maximum number of parts that are kept, and of bytes in one part."""

_Part: TypeAlias = tuple[str, int, int, tuple[str, ...]]


class FileRows:
    """Rows of ranges of batches in files; the oldest part is dropped first."""

    def __init__(self) -> None:
        self._kept: Cache[_Part, pa.Table] = Cache(MOST_KEPT)

    def read(self, file: DataFile, first: int, last: int, columns: Sequence[str]) -> pa.Table:
        """The rows of batches first..last in a file. Ranges that differ only beyond the file's bounds share a
        part."""
        low = first if file.first is None else max(first, file.first)
        high = last if file.last is None else min(last, file.last)
        part = str(file.path), low, high, tuple(columns)
        found = self._kept.get(part)
        found = read_batches(file, low, high, columns) if found is None else found
        if found.nbytes <= MOST_BYTES_KEPT:
            self._kept.put(part, found)
        return found
