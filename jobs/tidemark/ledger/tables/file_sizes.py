"""Sizes to which small files are compacted, so that the cost of compaction does not grow with history."""

from __future__ import annotations

from collections.abc import Sequence

FULL_BYTES = 4 << 20
"""A file of at least this size is never written again."""

MIDDLE_BYTES = FULL_BYTES // 4
"""Small files are first compacted to this size, later to FULL_BYTES, so that each compaction rewrites few rows."""


def size_due(sizes: Sequence[int], more_than: int) -> int | None:
    """The smallest target size with more than `more_than` files due for it; None if there is none. A file is due if
    it is smaller than a quarter of the target size."""
    if sum(size < MIDDLE_BYTES // 4 for size in sizes) > more_than:
        return MIDDLE_BYTES
    if sum(MIDDLE_BYTES // 4 <= size < MIDDLE_BYTES for size in sizes) > more_than:
        return FULL_BYTES
    return None
