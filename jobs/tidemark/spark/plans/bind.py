"""Binds a plan that was built once to other files and frames, as a database binds a prepared statement."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyspark.sql import DataFrame

from tidemark.spark.compat.jvm import frame_of, java_list, rows_of, session_of
from tidemark.spark.jvm_functions import java_class


def simplified(rows: DataFrame) -> DataFrame:
    """A plan that Spark has simplified without regard to its leaves, so that less work is left when other leaves are
    bound."""
    return frame_of(java_class("plans.SimplifiedPlan").of(rows_of(rows)), rows.sparkSession)


def bound(
    plan: DataFrame, paths: Iterable[str], leaves: Sequence[DataFrame] = (), *, base: str | None = None
) -> DataFrame:
    """Replace the files and leaves of a plan.

    The plan must have all given leaves. Files are read as the plan reads its own; `base` is the folder of their
    table, if they are of a table. Raises RuntimeError without an open Spark session.
    """
    spark = plan.sparkSession
    given = java_list(paths), java_list(map(rows_of, leaves))
    return frame_of(java_class("plans.PlanBinding").bind(session_of(spark), rows_of(plan), base, *given), spark)
