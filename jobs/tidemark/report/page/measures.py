"""Values and limits of checks as people write them: shares in per cent, delays as durations, counts as integers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tidemark.core.quality import figure
from tidemark.core.times import SECOND
from tidemark.report.words import brief, duration

SHARES = frozenset({"dropped_share", "adjusted_share", "quarantined_share"})
TARGETS = frozenset({"dropped_target", "adjusted_target"})
MULTIPLES = frozenset({"dropped_jump", "adjusted_jump", "quarantined_jump"})
_DIGITS = 3
_STEP = "watermarks_never_go_back"
DELAYS = frozenset({"watermark_delay", "output_delay"})
_SIDES = {
    "at most": SHARES | TARGETS | MULTIPLES | DELAYS,
    "at least": frozenset({_STEP}),
    "exactly": frozenset({"rows_in_equal_fates_out", "rows_recorded_are_rows_judged"}),
}


def measured(expectation: str, value: object, digits: int = _DIGITS) -> str | None:
    """Return a value of an expectation: `6.25 %`, `2h 6m`, `1,440`; None for none. With more `digits` than the
    default, a delay is written in full."""
    if isinstance(value, str) or value is None:
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if expectation in SHARES | TARGETS:
        return f"{figure(100 * value, digits)} %"
    if math.isfinite(value) and (expectation in DELAYS or expectation == _STEP):
        return (brief if digits == _DIGITS else duration)(round(value * SECOND))
    return f"{figure(value, digits)} times" if expectation in MULTIPLES else figure(value, digits)


def bounded(expectation: str, limit: object) -> str | None:
    """Return a limit with its side: `at most 2 %`, `at least 0s`, `exactly 1,440`; None if there is none. Limits of
    users' own expectations have no side."""
    text = measured(expectation, limit)
    if text is None:
        return None
    return " ".join([*(side for side, names in _SIDES.items() if expectation in names), text])


def once(checks: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the checks without duplicates: a check of all sources is left out if a check of one source in its run
    has equal value, limit and result."""
    own = {_seen(each) for each in checks if each["table"] != "batches"}
    return [each for each in checks if each["table"] != "batches" or _seen(each) not in own]


def _seen(check: Mapping[str, Any]) -> tuple[object, ...]:
    return tuple(check.get(name) for name in ("run_id", "expectation", "observed", "limit", "success", "severity"))


def failed(check: Mapping[str, Any]) -> str:
    """Return a failed check in words: `dropped share of readings is 6.25 %, at most 2 % is allowed`. `check` has the
    keys of a check's record."""
    table, expectation = str(check["table"]), str(check["expectation"])
    of = "all rows" if table == "batches" else table.partition("/")[2] or table
    name = f"{expectation.replace('_', ' ')} of {of}"
    seen, limit = measured(expectation, check["observed"]), bounded(expectation, check["limit"])
    if seen is None:
        return f"{name} failed"
    if limit is None:
        return f"{name} is {seen}"
    return f"{name} is {seen}, limit {limit}" if limit[0].isdigit() else f"{name} is {seen}, {limit} is allowed"
