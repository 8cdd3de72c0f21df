"""Rows that end with the next one, one by one in literal Python (semantics section 9, until: next)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from oracle_streams import Item


@dataclass(frozen=True)
class Next:
    """A row ends where the next one of equal `by` in sort-key order starts, `at_most` after its own start at the
    latest. One whose next has its own start is gone (None)."""

    by: Callable[[Item], Any]
    at_most: int

    def __call__(self, item: Item, rows: Iterable[tuple[int, Item]]) -> Item | None:
        """The row among all that ever come, each with the run that brings it. Its end is known from the run on that
        brings a row which starts there; if each of these may turn out to be none, once it is passed."""
        later = [
            (run, each) for run, each in rows if each.sort_key > item.sort_key and self.by(each) == self.by(item)
        ]
        end = min([each.start for _, each in later], default=None)
        if end == item.start:
            return None
        lives = replace(item, paired=True, tentative=True, known=0, strict=False)
        if end is None or end >= item.start + self.at_most:
            return replace(lives, end=item.start + self.at_most)
        known = [(run, each) for run, each in later if each.start == end]
        strict = all(each.tentative for _, each in known)
        return replace(lives, end=end, known=min(run for run, _ in known), strict=strict)
