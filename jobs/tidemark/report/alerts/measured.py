"""Words for failed checks: each value with its limit, in the unit in which people set it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tidemark.core.quality import Check
from tidemark.core.times import SECOND
from tidemark.report.page.measures import MULTIPLES, SHARES
from tidemark.report.words import brief, duration

_SHARE, _JUMP = "_share", "_jump"
_DELAYS = ("watermark_delay", "output_delay")
_MOST_DIGITS = 12


def measured(check: Check) -> str:
    """Return `dropped rows of readings: 6.25 % of at most 2 %`; a check without such a unit keeps its name."""
    value, limit = check.observed, check.limit
    if value is None:
        return f"{check.expectation} of {_place(check.table)}: failed"
    fate = check.expectation.removesuffix(_SHARE).removesuffix(_JUMP)
    if check.expectation in SHARES:
        return f"{fate} rows of {_place(check.table)}: {_of_most(value, limit, _percent)}"
    if check.expectation in MULTIPLES:
        return f"{fate} rows of {_place(check.table)}: {_of_most(value, limit, _times)} the usual share"
    if check.expectation in _DELAYS:
        name, of = check.expectation.replace("_", " "), check.examples[0] if check.examples else "the run"
        return f"{name} of {of}: {_of_most(value, limit, _delay)}"
    bound = "" if limit is None else f", limit {limit:,.15g}"
    return f"{check.expectation} of {check.table}: {value:,.15g}{bound}"


def _place(table: str) -> str:
    return "the run" if table == "batches" else table.removeprefix("events/")


def _of_most(value: float, limit: float | None, text: Callable[[float, int], str]) -> str:
    """Return `6.25 % of at most 2 %`, with as many digits as both need to differ."""
    if limit is None:
        return text(value, 3)
    shown = ((text(value, digits), text(limit, digits)) for digits in range(3, _MOST_DIGITS))
    seen, bound = next((pair for pair in shown if pair[0] != pair[1]), (repr(value), repr(limit)))
    return f"{seen} of at most {bound}"


def _percent(value: float, digits: int) -> str:
    return f"{_number(100 * value, digits)} %"


def _times(value: float, digits: int) -> str:
    return f"{_number(value, digits)} times"


def _number(value: float, digits: int) -> str:
    return f"{value:.{digits}g}" if abs(value) < 10**digits else f"{value:,.0f}"


def _delay(seconds: float, digits: int) -> str:
    write = brief if digits == 3 else partial(duration)
    return write(round(seconds * SECOND))
