"""Punctuations and shapes of rows, for sources without tolerance policies (time rules: punctuated sources).

A punctuation (CTI) at c promises that nothing before c will change. Everything here is per partition; times and
durations are microseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tidemark.core.policy import Action


class Mark(StrEnum):
    """Roles of a row of a punctuated source."""

    POINT = "point"
    INTERVAL = "interval"
    START = "start"
    END = "end"
    PUNCTUATION = "punctuation"


@dataclass(frozen=True)
class Every:
    """Frequency of generated punctuations: one for so many rows, or one for each period of so many microseconds."""

    count: int | None = None
    period: int | None = None


@dataclass(frozen=True)
class Punctuation:
    """Origin of a source's punctuations, and the action on rows behind one. `row` is a predicate over rows;
    `import_from` names the sources whose least watermark is followed."""

    violations: Action
    every: Every | None = None
    delay: int = 0
    import_from: tuple[str, ...] = ()
    row: str | None = None
    final: bool = False


@dataclass(frozen=True)
class Shape:
    """Shape of lifetimes: points (no `end_time`), intervals (no `kind`), or edges. Of edges, `kind` gives `start` or
    `end`, and equal values of `match` belong together. `kind`, `end_time` and `match` are expressions over rows."""

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
        """The longest lifetime, in microseconds; None if the data decide."""
        return 1 if self.end_time is None else None


POINT = Shape()


@dataclass(frozen=True)
class Marks:
    """Result of a micro-batch for a partition: its punctuation, the number of rows that count for `every`, the last
    period entered, and the number of lifetimes opened, less those closed."""

    watermark: int | None
    counted: int
    period: int | None
    opened: int


def imports_first(imports: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Names of sources, each after those it imports from, otherwise in their order; there are no cycles."""
    done: dict[str, None] = {}

    def add(name: str) -> None:
        for below in imports[name]:
            add(below)
        done.setdefault(name)

    for name in imports:
        add(name)
    return tuple(done)
