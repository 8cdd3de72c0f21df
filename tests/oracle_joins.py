"""Pairs of a temporal join and gaps of its left rows, one by one in literal Python (semantics sections 5 and 9,
join)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from oracle_streams import Item, Payload


@dataclass(frozen=True)
class Join:
    """Two rows are a pair if the columns `on` are equal, the predicate is true and their lifetimes overlap; the pair
    lives while both do. It stands in order of its start, then by the left row's sort key, then by the right's. How
    `left` gives also each left row in its gaps, without a right row; `anti` gives the gaps alone."""

    on: tuple[str, ...]
    select: Callable[[Item, Any], Payload]
    where: Callable[[Item, Item], bool | None] = lambda _left, _right: True
    how: str = "inner"

    def __call__(self, left: Item, right: Item) -> Item | None:
        start, end = max(left.start, right.start), min(left.end, right.end)
        matching = all(_equal(left.payload[column], right.payload[column]) for column in self.on)
        if start >= end or not matching or not self.where(left, right):
            return None
        ending = [side for side in (left, right) if side.end == end]
        row = _row(start, end, (*left.sort_key, *right.sort_key), self.select(left, right))
        return replace(
            row,
            known=min(side.known for side in ending),
            strict=all(side.strict for side in ending),
            tentative=self.how != "inner",
        )

    def gaps(self, left: Item, rights: Sequence[tuple[int, Item]]) -> list[Item]:
        """The left row in each maximal interval of its lifetime in which no pair of it is alive. Such an interval
        ends with the lifetime, or with a pair, which is known from the run on that brings its right row; if this may
        turn out to be none, once it is passed."""
        pairs = [(run, pair, right) for run, right in rights if (pair := self(left, right)) is not None]
        bounds = sorted({left.start, left.end, *(time for _, pair, _ in pairs for time in (pair.start, pair.end))})
        spans = [each for each in pairwise(bounds) if not any(p.start <= each[0] < p.end for _, p, _ in pairs)]
        starts = [start for start, _ in spans if start not in {end for _, end in spans}]
        ends = [end for _, end in spans if end not in {start for start, _ in spans}]
        found = []
        for start, end in zip(starts, ends, strict=True):
            ending = [(run, right.tentative) for run, pair, right in pairs if pair.start == end]
            known, strict = [run for run, _ in ending], [each for _, each in ending]
            row = _row(start, end, left.sort_key, self.select(left, None))
            row = replace(row, known=min(known, default=left.known), strict=all(strict) if strict else left.strict)
            found.append(replace(row, tentative=True))
        return found


def _row(start: int, end: int, order: tuple[Any, ...], payload: Payload) -> Item:
    return Item(
        start=start,
        end=end,
        order=order,
        payload=payload,
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
