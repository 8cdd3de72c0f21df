"""The three steps of a tolerance policy as columns (time rules: judging a row)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidemark.core.policy import Policy, Tolerance
from tidemark.core.watermarks import MIN_TIME
from tidemark.spark.columns import ARRIVAL, BAD, END, EVENT, FATE, STAGED
from tidemark.spark.jvm_functions import invoked, java_class, or_none

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject


def bounded(policy: Policy, intervals: bool = False) -> Column:
    """Time of a row after the early and late steps; null if one of them drops it or it has no time. With `intervals`,
    also null if it is not before `END`."""
    times = [F.col(name) for name in (ARRIVAL, EVENT, *([END] if intervals else []))]
    return invoked("rows.TolerancePolicy", *times, settings=(_in_java(policy),))


def fate(policy: Policy, group: Sequence[Column], before: Column, high: Column, end: Column) -> Column:
    """Fate of staged rows, sorted by group: a struct of `stamp`, `fate`, `reasons` and `watermark`.

    `group` has two columns that name a row's group, as in `greatest_before`, or three: the number of a run of rows,
    and two texts that are not null; then groups may come mixed within a run. `before` is the watermark known before a
    group's rows, `high` the greatest time of earlier rows. `end` is a row's end, null for points.
    """
    times = [or_none(column) for column in (F.col(ARRIVAL), F.col(EVENT), F.col(STAGED), end)]
    settings = (_in_java(policy), policy.disorder, MIN_TIME)
    return invoked("rows.RowJudge", *group, F.col(BAD), *times, or_none(before), or_none(high), settings=settings)


def verdict() -> dict[str, Column]:
    """Columns `_system_timestamp`, `_disposition`, `_reasons` and `_watermark` of a row, from its `FATE`."""
    result = F.col(FATE)
    return {
        "_system_timestamp": result["stamp"],
        "_disposition": result["fate"],
        "_reasons": result["reasons"],
        "_watermark": result["watermark"],
    }


def _in_java(policy: Policy) -> JavaObject:
    early, late = _micros_and_action(policy.early), _micros_and_action(policy.late)
    made: JavaObject = java_class("rows.TolerancePolicy")(*early, *late, policy.out_of_order.action.value)
    return made


def _micros_and_action(tolerance: Tolerance | None) -> tuple[int | None, str | None]:
    return (None, None) if tolerance is None else (tolerance.micros, tolerance.action.value)
