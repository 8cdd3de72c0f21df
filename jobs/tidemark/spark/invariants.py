"""What holds for each row of the events table, as a column that tells which rules a row breaks."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.core.policy import Action, Fate
from tidemark.core.quality import RowRule
from tidemark.spark.sql import value_of

_STAMP, _ARRIVAL, _WATERMARK = "_system_timestamp", "_arrival_time", "_watermark"


def broken(rows: DataFrame, source: SourceSpec) -> Column:
    """The rules that an event row breaks, one a bit; null where it breaks none."""
    found = [F.when(wrong, 1 << rule).otherwise(0) for rule, wrong in _wrong(rows, source).items()]
    bits = reduce(lambda one, other: one.bitwiseOR(other), found)
    return F.when(bits != 0, bits)


def _wrong(rows: DataFrame, source: SourceSpec) -> dict[RowRule, Column]:
    stamp, event = F.unix_micros(_STAMP), F.unix_micros("_event_time")
    fate = F.col("_disposition")
    judged = fate.isin(Fate.ON_TIME.value, Fate.ADJUSTED.value)
    moved_once = (fate == Fate.ADJUSTED.value) & (F.size("_reasons") == 1)
    return {
        RowRule.EVENT_TIME: (fate == Fate.ON_TIME.value) & ~_ends(source) & ~stamp.eqNullSafe(event),
        RowRule.MOVED: moved_once & stamp.eqNullSafe(event),
        RowRule.JUDGED: judged != stamp.isNotNull(),
        RowRule.WITHIN: _outside(source),
        RowRule.NOT_BEHIND: _behind(rows, source),
    }


def _outside(source: SourceSpec) -> Column:
    """Outside the tolerances around arrival, and not at a watermark that is later than they reach."""
    stamp, arrival = F.unix_micros(_STAMP), F.unix_micros(_ARRIVAL)
    early, late = source.policy.early, source.policy.late
    below = F.lit(False) if late is None else stamp < arrival - late.micros
    above = F.lit(False) if early is None else stamp > arrival + early.micros
    return F.coalesce(below | (above & ~stamp.eqNullSafe(F.unix_micros(_WATERMARK))), F.lit(False))


def _behind(rows: DataFrame, source: SourceSpec) -> Column:
    """Before the watermark in force. Punctuations and ends of lifetimes may be: they stand for no new row."""
    if source.policy.out_of_order.action is Action.KEEP:
        return F.lit(False)
    behind = F.coalesce(F.unix_micros(_STAMP) < F.unix_micros(_WATERMARK), F.lit(False)) & ~_ends(source)
    punctuation = source.punctuated
    if punctuation is None or punctuation.row is None:
        return behind
    told = value_of(rows, punctuation.row, "punctuation.row")[0].cast("boolean")
    return F.when(behind, ~F.coalesce(told, F.lit(False))).otherwise(F.lit(False))


def _ends(source: SourceSpec) -> Column:
    """Whether a row ends a lifetime: its system timestamp is the start of that."""
    return F.col("_end_time").isNotNull() if source.lifetimes.edges else F.lit(False)
