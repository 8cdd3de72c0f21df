"""The policies that judged the rows before a row, if settings have changed, and the times that policies give to rows.

Tables hold each row's event time and arrival, whatever policy judged it. The time that tolerances give a row follows
from these two, so it can also be computed for other tolerances.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow.compute as pc

from tidemark.core.policy import Action, Policy, Tolerance
from tidemark.core.times import within_years
from tidemark.core.watermarks import PartitionState, clamp, latest
from tidemark.report.events import EventRow, instant
from tidemark.report.scan import Condition

Span = tuple[int, int | None, Policy]
"""First batch, first batch after the span (None: to the end), and the policy that judged these batches."""


@dataclass(frozen=True)
class PolicyHistory:
    """The policies that moved a source's watermarks up to a row, each with its first batch, oldest first.

    Before batch `rebased` only arrivals count: a backfill continued from there under another policy. `sliced`: a
    backfill judged the row, so floors follow from its policy, not from the ledger. `apart`: the ledger lacks the
    combined watermarks of the batch that the backfill continued from.
    """

    policies: tuple[tuple[int, Policy], ...]
    rebased: int = 0
    sliced: bool = False
    apart: bool = False

    @property
    def several(self) -> bool:
        """True if settings have changed from one batch to another."""
        return len(self.policies) > 1

    def at(self, batch: int) -> Policy:
        """Return the policy that judged a batch; for a batch before `rebased`, the policy at `rebased`."""
        batch = max(batch, self.rebased)
        return next((policy for first, policy in reversed(self.policies) if first <= batch), self.policies[0][1])

    def spans(self) -> Iterator[Span]:
        """Yield the batches whose rows can set a watermark, grouped by policy, oldest first."""
        ends = [first for first, _ in self.policies[1:]]
        for (first, policy), end in zip(self.policies, [*ends, None], strict=True):
            if end is None or end > self.rebased:
                yield max(first, self.rebased), end, policy

    def floor(self, batch: int, state: PartitionState) -> int | None:
        """Return the lowest watermark that the end of a batch's run allows a partition; None if there is none."""
        if not self.sliced and batch >= self.rebased:
            return state.floor
        late = self.at(batch).late
        arrived = latest(state.estimated_arrival, state.estimated_high)
        return None if late is None or arrived is None else clamp(arrived - late.micros)


def staged(policy: Policy, event: int, arrival: int, end: int | None = None) -> int | None:
    """Return a row's time after the early and late steps; None if a step drops it, or moves it to its end or past
    it."""
    time = _bounded(policy, event, arrival)
    return None if time is not None and end is not None and time >= end else time


def _bounded(policy: Policy, event: int, arrival: int) -> int | None:
    early, late = policy.early, policy.late
    if early is not None and event > arrival + early.micros:
        return arrival + early.micros if early.action is Action.ADJUST else None
    if late is not None and event < arrival - late.micros:
        return arrival - late.micros if late.action is Action.ADJUST else None
    return event


def staged_sql(policy: Policy) -> str:
    """Return `staged` as SQL over the columns `e` (event time), `a` (arrival) and `z` (end), in microseconds."""
    cases = [
        f"WHEN e {sign} a {side} {tolerance.micros} THEN "
        + (f"a {side} {tolerance.micros}" if tolerance.action is Action.ADJUST else "NULL")
        for tolerance, sign, side in ((policy.early, ">", "+"), (policy.late, "<", "-"))
        if tolerance is not None
    ]
    time = f"CASE {' '.join(cases)} ELSE e END" if cases else "e"
    return f"CASE WHEN {time} >= z THEN NULL ELSE {time} END"


TIMES = ("_event_time", "_arrival_time", "_end_time")
TIMED = "(SELECT epoch_us(_event_time) AS e, epoch_us(_arrival_time) AS a, epoch_us(_end_time) AS z, * FROM earlier)"
"""Rows of `earlier` with the columns that `staged_sql` needs, made of those in `TIMES`."""


def may_be_staged(policy: Policy, time: int) -> Condition:
    """Return a condition to skip files: it is true for each row that has `time` after the early and late steps (and
    for some others)."""
    found = pc.field("_event_time") == instant(time)
    for tolerance, side in ((policy.early, -1), (policy.late, 1)):
        if tolerance is not None and tolerance.action is Action.ADJUST:
            found |= pc.field("_arrival_time") == instant(within_years(time + side * tolerance.micros))
    return found


def outcome(
    policy: Policy, event: int, arrival: int, watermark: int | None, end: int | None = None
) -> tuple[str, tuple[str, ...], int | None]:
    """Return the fate, reasons and time that a policy gives a row, given the `watermark` before it; `end` belongs to
    an interval."""
    time, reasons = _bounded(policy, event, arrival), list(_acted(policy, event, arrival))
    order, alive = policy.out_of_order.action, staged(policy, event, arrival, end) is not None
    if alive and time is not None and order is not Action.KEEP and watermark is not None and time < watermark:
        reasons.append("out_of_order")
        time = watermark if order is Action.ADJUST else None
    if time is not None and end is not None and time >= end:
        reasons.append("empty")
        time = None
    return "dropped" if time is None else "adjusted" if reasons else "on_time", tuple(reasons), time


def follows(policy: Policy, row: EventRow) -> bool:
    """True if the policy gives a row the fate, reasons and time that are recorded."""
    if row.event_time is None or row.arrival_time is None:
        return False
    found = outcome(policy, row.event_time, row.arrival_time, row.watermark, row.end_time)
    return found == (row.disposition, row.reasons, row.system_timestamp)


def _acted(policy: Policy, event: int, arrival: int) -> Iterator[str]:
    def beyond(tolerance: Tolerance | None, by: int) -> bool:
        return tolerance is not None and by > tolerance.micros

    if beyond(policy.early, event - arrival):
        yield "early"
    elif beyond(policy.late, arrival - event):
        yield "late"
