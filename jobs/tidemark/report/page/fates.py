"""Rows by fate as columns of a table, with a bar of their shares, and as cards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidemark.core.policy import Fate
from tidemark.report.page.charts.vega import words
from tidemark.report.page.markup import Cell, Html, element
from tidemark.report.words import percent

Counts = Mapping[Fate, int] | Mapping[str, Any]
HEADS = ("rows", *map(words, Fate), "shares")
_LEAST = 3.0
"""Least width of a part of a bar, per cent of it: one row of a million can still be seen."""


def fate_cells(counts: Counts | None) -> list[Cell | Html]:
    """Return the cells below `HEADS`; empty ones for None."""
    if counts is None:
        return [None] * len(HEADS)
    known = [counts.get(fate, 0) for fate in Fate]
    return [sum(known), *known, _bar(known) if any(known) else None]


def cards(counts: Counts, name: str | None = None) -> Html:
    """Return a card for all rows, and one for each fate with its share; `name` is their id."""
    whole = sum(counts[fate] for fate in Fate)
    parts = [element("div", element("dt", "rows"), element("dd", f"{whole:,}"))]
    for fate in Fate:
        share = percent(counts[fate], whole) if whole else "none"
        inner = (element("dt", f"{words(fate)} ({share})"), element("dd", f"{counts[fate]:,}"))
        parts.append(element("div", *inner, class_=_kind(fate)))
    return element("dl", *parts, class_="facts", id=name)


def _bar(known: list[int]) -> Html:
    """Return one bar with a part for each fate that has rows, in the order of the columns."""
    whole = sum(known)
    shares = {fate: count for fate, count in zip(Fate, known, strict=True) if count}
    wide = {fate: max(_LEAST, 100 * count / whole) for fate, count in shares.items()}
    said = ", ".join(f"{words(fate)} {percent(count, whole)}" for fate, count in shares.items())
    parts, begin, unit = [element("title", said)], 0.0, 100 / sum(wide.values())
    for fate, width in wide.items():
        parts.append(element("rect", x=f"{begin:.2f}", width=f"{width * unit:.2f}", height=10, class_=_kind(fate)))
        begin += width * unit
    box = {"viewBox": "0 0 100 10", "preserveAspectRatio": "none"}
    return element("svg", *parts, role="img", aria_label=said, class_="shares", **box)


def _kind(fate: Fate) -> str:
    return fate.value.replace("_", "-")
