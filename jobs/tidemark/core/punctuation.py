"""Punctuations and shapes of rows: what a source without tolerance policies goes by (time rules: punctuated sources).

A punctuation (CTI) at c promises that nothing before c will change. Everything here is per partition; times and
durations are microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tidemark.core.policy import Action


class Mark(StrEnum):
    """What a row of a punctuated source is."""

    POINT = "point"
    INTERVAL = "interval"
    START = "start"
    END = "end"
    PUNCTUATION = "punctuation"


@dataclass(frozen=True)
class Every:
    """How often a punctuation is generated: each so many rows, or once a period of so many microseconds."""

    count: int | None = None
    period: int | None = None


@dataclass(frozen=True)
class Punctuation:
    """How a source comes to punctuations, and what happens to rows behind one. `row` is a predicate over rows."""

    violations: Action
    every: Every | None = None
    delay: int = 0
    import_from: str | None = None
    row: str | None = None
    final: bool = False


@dataclass(frozen=True)
class Shape:
    """What lives how long: a point (no `end_time`), an interval (no `kind`), or edges, where `kind` gives `start` or
    `end` and `match` tells which belong together. `kind`, `end_time` and `match` are expressions over rows."""

    end_time: str | None = None
    kind: str | None = None
    start: str = ""
    end: str = ""
    match: tuple[str, ...] = ()

    @property
    def edges(self) -> bool:
        return self.kind is not None

    @property
    def longest(self) -> int | None:
        """The most that a lifetime can be; None where the data say."""
        return 1 if self.end_time is None else None


POINT = Shape()


@dataclass(frozen=True)
class Marks:
    """What a micro-batch left to a partition: its punctuation, rows that count for `every`, the last period that
    was entered, and lifetimes that were opened, less those that were closed."""

    watermark: int | None = None
    counted: int = 0
    period: int | None = None
    opened: int = 0
