"""Judges rows of a punctuated source, once the punctuation before each is known (time rules: punctuated sources)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.core.policy import Action, Fate, Reason
from tidemark.core.punctuation import Mark, Punctuation
from tidemark.core.times import MAX_TIME
from tidemark.spark.columns import BAD, BEHIND, END, EVENT, MARK, PAIR, STAMP, WATERMARK

PAST_EVERYTHING = (1 << 63) - 1
"""The punctuation of a source whose import is complete: later than any time."""


def stamped(rows: DataFrame, punctuation: Punctuation) -> DataFrame:
    """Add `BEHIND`, true for rows behind the punctuation, and `STAMP`, the start of a row after judging
    (microseconds).

    `STAMP` is null for rows without a start after judging, and for end edges, which get the start of their pair.
    """
    start, mark, watermark = F.col(EVENT), F.col(MARK), F.col(WATERMARK)
    is_end = mark == Mark.END.value
    late = F.when(is_end, F.col(END) < watermark).otherwise((mark != Mark.PUNCTUATION.value) & (start < watermark))
    behind = F.col(BAD).isNull() & F.coalesce(late, F.lit(False))
    moved = F.lit(None).cast("long")
    if punctuation.violations is Action.ADJUST:
        interval = (mark == Mark.INTERVAL.value) & (F.col(END) > watermark)
        reaches = ((mark == Mark.START.value) | interval) & (watermark <= MAX_TIME)
        moved = F.when(reaches, watermark)
    stamp = F.when(F.col(BAD).isNull() & ~is_end, F.when(F.col(BEHIND), moved).otherwise(start))
    return rows.withColumn(BEHIND, behind).withColumn(STAMP, stamp)


def verdict(rows: DataFrame) -> dict[str, Column]:
    """Columns of a judged row's verdict: system timestamp, end, disposition, reasons and watermark."""
    stamp = F.col(STAMP)
    if PAIR in rows.columns:
        stamp = F.coalesce(stamp, F.when(~F.col(BEHIND), F.col(PAIR)["start"]))
    repeated = F.coalesce(F.col(BAD) == Reason.DUPLICATE.value, F.lit(False))
    disposition = (
        F.when(F.col(BAD).isNotNull() & ~repeated, Fate.QUARANTINED.value)
        .when(stamp.isNull(), Fate.DROPPED.value)
        .when(F.col(BEHIND), Fate.ADJUSTED.value)
        .otherwise(Fate.ON_TIME.value)
    )
    reasons = (
        F.when(F.col(BAD).isNotNull(), F.split(BAD, ","))
        .when(F.col(BEHIND), F.array(F.lit(Reason.VIOLATION.value)))
        .when(stamp.isNull(), F.array(F.lit(Reason.UNMATCHED.value)))
        .otherwise(F.array().cast("array<string>"))
    )
    judged = (F.col(BAD).isNull() | repeated) & F.col(WATERMARK).isNotNull()
    watermark = F.when(judged, F.least(F.col(WATERMARK), F.lit(MAX_TIME)))
    return {
        "_system_timestamp": F.timestamp_micros(stamp),
        "_end_time": F.timestamp_micros(F.col(END)),
        "_disposition": disposition,
        "_reasons": reasons,
        "_watermark": F.timestamp_micros(watermark),
    }
