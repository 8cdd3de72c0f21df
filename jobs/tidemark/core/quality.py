"""Facts about a run's rows beyond their counts, and results of checks and their numbers as text (time rules: what is
reported)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from tidemark.core.policy import Fate

_WORD = 1 << 64
MOST_EXAMPLES = 5
_DIGITS, _MOST_DIGITS = 6, 16


def within(count: int, rows: int, most: float) -> bool:
    """True if `count` of `rows` is at most the share `most`. A quotient is compared, never a product: the quotient
    7 / 1000 and the limit 0.7% are the same float."""
    return count / rows <= most if rows else count == 0


class RowRule(IntEnum):
    """Rules that hold for each judged row, checked as it is written. The numbers are those of the bits that are set
    for a row that breaks the rule."""

    EVENT_TIME = 0
    """On time: the system timestamp is the event time."""
    MOVED = 1
    """Adjusted: the system timestamp is not the event time."""
    JUDGED = 2
    """A row has a system timestamp exactly if it was not dropped or quarantined."""
    WITHIN = 3
    """The system timestamp lies in [arrival - late, arrival + early], or at a watermark that is later."""
    NOT_BEHIND = 4
    """The system timestamp is not before the watermark in force, unless rows out of order are kept."""


@dataclass(frozen=True)
class Offsets:
    """Offsets of a partition's rows in a micro-batch: the first, the last, their sum, and the sum of their squares,
    both modulo 2^64. The sums show gaps and doubles."""

    first: int
    last: int
    total: int
    squares: int

    def whole(self, first: int, rows: int) -> bool:
        """True if the offsets are `first`, `first` + 1 and so on for `rows` rows, each once."""
        end = first + rows - 1
        total = (first + end) * rows // 2
        squares = _squares(end) - _squares(first - 1)
        same = (total - self.total) % _WORD == 0 and (squares - self.squares) % _WORD == 0
        return same and (self.first, self.last) == (first, end)


def _squares(last: int) -> int:
    return last * (last + 1) * (2 * last + 1) // 6


@dataclass(frozen=True)
class Broken:
    """Number of rows that break a rule, and the lowest offsets among them."""

    rows: int
    offsets: tuple[int, ...]


@dataclass(frozen=True)
class RowChecks:
    """Results of checking a partition's rows in a micro-batch. `firsts` are the lowest offsets of rows with each
    fate, as examples."""

    offsets: Offsets
    broken: Mapping[RowRule, Broken] = field(default_factory=dict)
    firsts: Mapping[Fate, tuple[int, ...]] = field(default_factory=dict)


class Severity(StrEnum):
    """Effect of a failed check: it stops the run before anything is published, it is a warning, or it is only
    recorded."""

    BLOCK = "block"
    WARN = "warn"
    RECORD = "record"


@dataclass(frozen=True)
class Check:
    """One row of `quality`: an expectation for a table in a run. `observed` and `limit` are numbers (shares from 0 to
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
"""Name of the expectation that records the release of a blocked run."""


def figure(value: float, digits: int = 3) -> str:
    """Return a whole number in full, `12,345,678`, and any other with so many significant digits, or with more if it
    has no more before its point and looked whole with them: `33.3`, `99.96`, `12,346`. The last digits, in which sums
    of floats differ, do not count."""
    if not math.isfinite(value):
        return str(value)
    exact = value if float(value).is_integer() else float(f"{value:.15g}")
    if float(exact).is_integer():
        return f"{int(exact):,}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(exact))))
    while abs(exact) < 10**digits and float(f"{exact:.{decimals}f}").is_integer():
        decimals += 1
    shown = f"{exact:,.{decimals}f}"
    return shown.rstrip("0") if decimals else shown


def apart(value: float, limit: float, write: Callable[[float, int], str | None], digits: int) -> list[str]:
    """Return a value and its limit as `write` does it, with as many digits as both need to differ, if they do."""
    for more in range(digits, _MOST_DIGITS):
        shown = [str(write(each, more)) for each in (value, limit)]
        if shown[0] != shown[1]:
            return shown
    return [repr(value), repr(limit)] if value != limit else [str(write(each, digits)) for each in (value, limit)]


def compared(value: float | None, limit: float | None) -> str:
    """Return what a check has seen, as it is recorded: ` is 0.0625, limit 0.02`; ` failed` without a value."""
    if value is None:
        return " failed"
    if limit is None:
        return f" is {figure(value, _DIGITS)}"
    seen, bound = apart(value, limit, figure, _DIGITS)
    return f" is {seen}, limit {bound}"
