"""Values of the rows before a row, one row after the other in literal Python (semantics section 9, preceding)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from oracle_streams import Item, Payload


@dataclass(frozen=True)
class Preceding:
    """A row gets what `select` says of it and of the rows of equal `by` that come before it in sort-key order, start
    later than its own start - `within`, and for which `where` is true. It knows them once its stream has passed its
    start."""

    within: int
    select: Callable[[Item, Sequence[Item]], Payload]
    by: Callable[[Item], Any] = lambda _: None
    where: Callable[[Item], bool | None] = lambda _: True

    def __call__(self, item: Item, rows: Iterable[Item]) -> Item:
        before = [
            each
            for each in rows
            if each.sort_key < item.sort_key
            and each.start > item.start - self.within
            and self.by(each) == self.by(item)
            and self.where(each)
        ]
        before.sort(key=lambda each: each.sort_key)
        return replace(item, payload={**item.payload, **self.select(item, before)}, paired=True, tentative=True)
