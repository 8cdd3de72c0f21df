"""What is known of a run's rows beyond their counts, and what checks come to (time rules: what is reported)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from tidemark.core.policy import Fate

_WORD = 1 << 64
MOST_EXAMPLES = 5


class RowRule(IntEnum):
    """What holds for each judged row, checked as it is written; the numbers are those of the bits that tell of a
    row which rules it breaks."""

    EVENT_TIME = 0
    """On time: the system timestamp is the event time."""
    MOVED = 1
    """Adjusted: it is another."""
    JUDGED = 2
    """There is one exactly where the row was not dropped or quarantined."""
    WITHIN = 3
    """It lies in [arrival - late, arrival + early], or at a watermark that is later."""
    NOT_BEHIND = 4
    """It is not before the watermark in force, unless rows out of order are kept."""


@dataclass(frozen=True)
class Offsets:
    """The offsets of a partition's rows in a micro-batch: the first, the last, and the sums of them and of their
    squares modulo 2^64, which tell a gap and a double from a whole range."""

    first: int
    last: int
    total: int
    squares: int

    def whole(self, first: int, rows: int) -> bool:
        """Whether they are `first`, `first` + 1 and so on for so many rows, each once."""
        end = first + rows - 1
        total = (first + end) * rows // 2
        squares = _squares(end) - _squares(first - 1)
        same = (total - self.total) % _WORD == 0 and (squares - self.squares) % _WORD == 0
        return same and (self.first, self.last) == (first, end)


def _squares(last: int) -> int:
    return last * (last + 1) * (2 * last + 1) // 6


@dataclass(frozen=True)
class Broken:
    """How many rows break a rule, and the lowest offsets among them."""

    rows: int
    offsets: tuple[int, ...]


@dataclass(frozen=True)
class RowChecks:
    """What was checked of a partition's rows in a micro-batch. `firsts` are the lowest offsets of each kind of row
    with a fate: examples of it."""

    offsets: Offsets
    broken: Mapping[RowRule, Broken] = field(default_factory=dict)
    firsts: Mapping[Fate, tuple[int, ...]] = field(default_factory=dict)


class Severity(StrEnum):
    """What a failed check does: it stops the run before anything is published, it is told, or it is recorded."""

    BLOCK = "block"
    WARN = "warn"
    RECORD = "record"


@dataclass(frozen=True)
class Check:
    """One row of `quality`: an expectation of a table in a run. `observed` and `limit` are numbers (shares from 0 to
    1, durations in seconds, else counts); `examples` name rows to explain, as `source partition offset`."""

    table: str
    expectation: str
    observed: float | None
    limit: float | None
    success: bool
    severity: Severity
    examples: tuple[str, ...] = ()
    message: str = ""

    @property
    def blocks(self) -> bool:
        return not self.success and self.severity is Severity.BLOCK


RELEASED = "released"
"""The expectation under which the release of a blocked run is recorded."""
