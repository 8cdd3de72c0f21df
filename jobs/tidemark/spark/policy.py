"""The three steps of a tolerance policy as columns (time rules: judging a row)."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidemark.core.policy import Action, Policy, Reason, Tolerance
from tidemark.spark.names import ARRIVAL, BAD, EVENT, STAGED, WATERMARK


def bounded(policy: Policy) -> Column:
    """The time that the early and late steps leave a row; null if one of them drops it."""
    early, late = _beyond(policy)
    arrival = F.col(ARRIVAL)

    def bound(tolerance: Tolerance | None, limit: Column) -> Column:
        adjusts = tolerance is not None and tolerance.action is Action.ADJUST
        return limit if adjusts else F.lit(None).cast("long")

    above = bound(policy.early, arrival + (policy.early.micros if policy.early else 0))
    below = bound(policy.late, arrival - (policy.late.micros if policy.late else 0))
    return F.when(early, above).when(late, below).otherwise(F.col(EVENT))


def verdict(policy: Policy) -> dict[str, Column]:
    """The four columns that say what became of a judged row."""
    staged, watermark = F.col(STAGED), F.col(WATERMARK)
    action = policy.out_of_order.action
    behind = F.coalesce(staged < watermark, F.lit(False)) if action is not Action.KEEP else F.lit(False)
    moved = F.when(behind, watermark).otherwise(staged) if action is Action.ADJUST else F.when(~behind, staged)
    early, late = _beyond(policy)
    first = F.when(early, Reason.EARLY.value).when(late, Reason.LATE.value)
    acted = early | late | behind
    disposition = (
        F.when(F.col(BAD).isNotNull(), "quarantined")
        .when(moved.isNull(), "dropped")
        .when(acted, "adjusted")
        .otherwise("on_time")
    )
    return {
        "_system_timestamp": F.timestamp_micros(moved),
        "_disposition": disposition,
        "_reasons": _reasons(first, behind),
        "_watermark": F.timestamp_micros(F.when(F.col(BAD).isNull(), watermark)),
    }


def _reasons(first: Column, behind: Column) -> Column:
    """Literal arrays: building them per row would cost more than the judging."""
    found = F.when(F.col(BAD).isNotNull(), F.array(F.col(BAD)))
    for reason in (Reason.EARLY, Reason.LATE):
        both = F.array(F.lit(reason.value), F.lit(Reason.OUT_OF_ORDER.value))
        found = found.when((first == reason.value) & behind, both).when(
            first == reason.value, F.array(F.lit(reason.value))
        )
    found = found.when(behind, F.array(F.lit(Reason.OUT_OF_ORDER.value)))
    return found.otherwise(F.array().cast("array<string>"))


def _beyond(policy: Policy) -> tuple[Column, Column]:
    """Whether a row is beyond the early, and beyond the late tolerance."""
    event, arrival, sound = F.col(EVENT), F.col(ARRIVAL), F.col(BAD).isNull()
    never = F.lit(False)
    early = never if policy.early is None else sound & (event > arrival + policy.early.micros)
    late = never if policy.late is None else sound & (event < arrival - policy.late.micros)
    return early, late
