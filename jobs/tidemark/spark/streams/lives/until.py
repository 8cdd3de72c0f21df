"""Rows whose end an expression gives (time rules: more operators on streams)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.config.models.lifetimes import UntilSpec
from tidemark.spark.times import micros_of

ENDS = "__tidemark_ends"
"""The end that a step gives to a row, microseconds; null: none."""


def living(rows: DataFrame, until: UntilSpec, key: str) -> DataFrame:
    """Rows with the end of their lifetime (`ENDS`), without rows that would end at their start or before."""
    end, lives = _end(rows, until, key)
    return rows.where(lives).withColumn(ENDS, end)


def outlived(rows: DataFrame, until: UntilSpec, key: str) -> DataFrame:
    """Rows that would end at their start or before, unchanged."""
    return rows.where(~_end(rows, until, key)[1])


def _end(rows: DataFrame, until: UntilSpec, key: str) -> tuple[Column, Column]:
    """The end of a row, and True if it has no end or an end after its start."""
    start = F.unix_micros("_system_timestamp")
    end = micros_of(rows, until.until, key)
    if until.at_most is not None:
        end = F.least(end, start + until.at_most)
    return end, F.coalesce(end > start, F.lit(True))
