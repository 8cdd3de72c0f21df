"""Pairs of a temporal join, one by one in literal Python (semantics section 5, join)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from oracle_streams import Item, Payload


@dataclass(frozen=True)
class Join:
    """Two rows are a pair if the columns `on` are equal, the predicate is true and their lifetimes overlap; the pair
    lives while both do. It stands in order of its start, then by the left row's sort key, then by the right's."""

    on: tuple[str, ...]
    select: Callable[[Item, Item], Payload]
    where: Callable[[Item, Item], bool | None] = lambda _left, _right: True

    def __call__(self, left: Item, right: Item) -> Item | None:
        start, end = max(left.start, right.start), min(left.end, right.end)
        matching = all(_equal(left.payload[column], right.payload[column]) for column in self.on)
        if start >= end or not matching or not self.where(left, right):
            return None
        return Item(
            start=start,
            end=end,
            order=(*left.sort_key, *right.sort_key),
            payload=self.select(left, right),
            source="",
            partition=None,
            substream=None,
            offset=None,
            judged=False,
            paired=True,
        )


def _equal(one: Any, other: Any) -> bool:
    """As `=` of SQL: null equals nothing; unlike in Python, NaN equals NaN."""
    if one is None or other is None:
        return False
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return bool(one == other)
