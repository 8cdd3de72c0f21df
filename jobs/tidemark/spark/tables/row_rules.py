"""Rules that hold for each row of the events table; `jvm/…/rows/RowRules.java` checks them where rows are counted."""

from __future__ import annotations

from py4j.java_gateway import JavaObject
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.core.policy import Action, Tolerance
from tidemark.spark.expressions import value_of
from tidemark.spark.jvm_functions import java_class

_UNLIMITED = 1 << 61
"""Microseconds, more than any two times lie apart."""


def rules_of(source: SourceSpec) -> JavaObject:
    """Rules that event rows of a source keep, numbered as in `RowRule`."""
    kept = source.policy.out_of_order.action is Action.KEEP
    early, late = _limit(source.policy.early), _limit(source.policy.late)
    return java_class("rows.RowRules")(early, late, kept)


def ends(source: SourceSpec) -> Column | None:
    """Condition that a row ends a lifetime; its system timestamp is then the start of that lifetime. None if no row
    can."""
    return F.col("_end_time").isNotNull() if source.lifetimes.edges else None


def marks_progress(rows: DataFrame, source: SourceSpec) -> Column | None:
    """Condition that a row is a punctuation (null: it is not), which gives streams no row. None if no row can be
    one."""
    punctuation = source.punctuated
    if punctuation is None or punctuation.row is None:
        return None
    return value_of(rows, punctuation.row, "punctuation.row")[0].cast("boolean")


def _limit(tolerance: Tolerance | None) -> int:
    return _UNLIMITED if tolerance is None else tolerance.micros
