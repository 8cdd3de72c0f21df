"""How far dropped rows were beyond the tolerance that dropped them."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow.compute as pc

from tidemark.core.policy import Action, Fate, Policy, Reason, Tolerance
from tidemark.core.times import DAY, HOUR, MINUTE, SECOND
from tidemark.report.page.data.moves import QUANTILES, Sizes, sizes_of
from tidemark.report.page.data.tables import Scope, SourceTable, ask, in_scope

BOUNDS = (
    *(n * SECOND for n in (1, 5, 15, 30)),
    *(n * MINUTE for n in (1, 2, 5, 10, 15, 30)),
    *(n * HOUR for n in (1, 2, 4, 8)),
    *(n * DAY for n in (1, 2, 7, 30)),
)
"""Upper ends of the classes, microseconds; one more class holds all larger distances."""


@dataclass(frozen=True)
class Missed:
    """Rows of one source that a reason dropped. `classes`: their numbers by distance, one class up to and including
    each of BOUNDS, and one beyond the last."""

    reason: str
    rows: int
    sizes: Sizes
    classes: tuple[int, ...]


def missed_of(source: SourceTable, scope: Scope) -> tuple[Missed, ...]:
    """Measure rows that a tolerance dropped (time rules: judging a row), most rows first. Empty if several policies
    or punctuations judged the scope: the rows then have no common limit."""
    if source.events is None or scope.empty or source.punctuated or source.others:
        return ()
    within = ", ".join(f"count(*) FILTER (missed <= {bound})" for bound in BOUNDS)
    found = ask(
        source.events,
        ["_disposition", "_reasons", "_arrival_time", "_event_time", "_end_time", "_watermark"],
        "WITH times AS (SELECT _reasons[-1] AS reason, epoch_us(_arrival_time) AS a, epoch_us(_event_time) AS e, "  # noqa: S608 - of numbers
        "epoch_us(_end_time) AS z, epoch_us(_watermark) AS w FROM t), "
        f"distances AS (SELECT reason, {_distance(source.policy)} AS missed FROM times) "
        f"SELECT reason, count(*) AS n, [{within}] AS within, {QUANTILES.format('missed')} "
        "FROM distances WHERE missed IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1",
        where=in_scope(scope, pc.field("_disposition") == Fate.DROPPED.value),
    )
    return tuple(
        Missed(row["reason"], row["n"], sizes, _apart([*row["within"], row["n"]]))
        for row in found
        if (sizes := sizes_of(row)) is not None
    )


def _distance(policy: Policy) -> str:
    """Return SQL for a dropped row's distance from its limit, by its last reason. Late and early: from the tolerance
    around arrival. Out of order and empty: from the watermark or the row's end, after the steps before."""
    time = "e"
    if policy.early is not None:
        time = f"least({time}, a + {policy.early.micros})"
    if policy.late is not None:
        time = f"greatest({time}, a - {policy.late.micros})"
    late, early = (_micros(each) for each in (policy.late, policy.early))
    return (
        f"CASE reason WHEN '{Reason.LATE}' THEN a - e - {late} WHEN '{Reason.EARLY}' THEN e - a - {early} "
        f"WHEN '{Reason.OUT_OF_ORDER}' THEN w - {time} WHEN '{Reason.EMPTY}' THEN {_start(policy, time)} - z END"
    )


def _start(policy: Policy, time: str) -> str:
    """Return SQL for the start to which the steps move an interval."""
    return time if policy.out_of_order.action is Action.KEEP else f"greatest({time}, w)"


def _micros(tolerance: Tolerance | None) -> int:
    return 0 if tolerance is None else tolerance.micros


def _apart(totals: list[int]) -> tuple[int, ...]:
    """Return the number in each class from running totals."""
    return tuple(total - before for before, total in zip([0, *totals], totals, strict=False))
