"""Objects of a landing folder, and the choice of objects to sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

MOST_OBJECTS = 20
MOST_ROWS = 20_000
MOST_BYTES = 64 << 20
"""Bounds of one source's sample; bytes are counted decompressed."""


class ListedObject(NamedTuple):
    """An object: its URI below the landing folder, the path for reading it, its size, and its landing time
    (microseconds)."""

    uri: str
    path: str
    size: int
    modified: int


def in_log_order(objects: Sequence[ListedObject]) -> list[ListedObject]:
    """Return the objects as a run takes them: by landing time, then by the bytes of the URI."""
    return sorted(objects, key=lambda item: (item.modified, item.uri.encode("utf-8", "surrogateescape")))


def sample_newest(objects: Sequence[ListedObject], most: int = MOST_OBJECTS) -> list[ListedObject]:
    """Return at most `most` of the objects, which are in log order. Half are the newest, since future rows resemble
    these. The others are pairs of neighbours, evenly spread over the older objects, to show disorder from one object
    to the next."""
    if len(objects) <= most:
        return list(objects)
    newest, pairs = most - most // 4 * 2, most // 4
    last = len(objects) - newest - 2
    starts = [number * last // max(pairs - 1, 1) for number in range(pairs)]
    chosen = {index for start in starts for index in (start, start + 1)}
    return [*(objects[index] for index in sorted(chosen)), *objects[-newest:]]
