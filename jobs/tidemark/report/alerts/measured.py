"""Words for failed checks: each value with its limit, in the unit in which people set it."""

from __future__ import annotations

from functools import partial

from tidemark.core.quality import Check, apart
from tidemark.report.page import measures

_SHARE, _JUMP = "_share", "_jump"


def measured(check: Check) -> str:
    """Return `dropped rows of readings: 6.25 % of at most 2 %`; a check without such a unit keeps its name."""
    value, limit = check.observed, check.limit
    if value is None:
        return f"{check.expectation} of {_output(check.table)}: failed"
    fate = check.expectation.removesuffix(_SHARE).removesuffix(_JUMP)
    if check.expectation in measures.SHARES:
        return f"{fate} rows of {_output(check.table)}: {_of_most(check)}"
    if check.expectation in measures.MULTIPLES:
        return f"{fate} rows of {_output(check.table)}: {_of_most(check)} the usual share"
    if check.expectation in measures.DELAYS:
        name, of = check.expectation.replace("_", " "), check.examples[0] if check.examples else "the run"
        return f"{name} of {of}: {_of_most(check)}"
    bound = "" if limit is None else f", limit {limit:,.15g}"
    return f"{check.expectation} of {check.table}: {value:,.15g}{bound}"


def _output(table: str) -> str:
    return "the run" if table == "batches" else table.removeprefix("events/")


def _of_most(check: Check) -> str:
    """Return `6.25 % of at most 2 %`, with as many digits as both need to differ."""
    name, value, limit = check.expectation, check.observed, check.limit
    if value is None or limit is None:
        return str(measures.measured(name, value))
    seen, bound = apart(value, limit, partial(measures.measured, name), 3)
    return f"{seen} of at most {bound}"
