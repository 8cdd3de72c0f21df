"""Chooses between private parts of Spark and Delta and slower public ways with equal results.

TIDEMARK_PLAIN=1 chooses all public ways. Without it, a public way is chosen only if a class of its private way is
missing. Nothing here imports Spark, so that a run without rows can record the choice without a JVM.
"""

from __future__ import annotations

import os
from enum import Enum
from functools import cache

ASKED = "TIDEMARK_PLAIN"
"""Environment variable that chooses all public ways, unless it is empty or 0."""


class Way(Enum):
    """A private way with a public alternative. Its value lists the classes of `jvm/`, Spark and Delta that the
    private way needs. Classes of `jvm/` are missing if they did not compile."""

    CALLS = (
        "tidemark.plans.CompiledCall",
        "org.apache.spark.sql.catalyst.expressions.objects.Invoke",
        "org.apache.spark.sql.catalyst.expressions.Literal$",
        "org.apache.spark.sql.classic.ExpressionUtils",
    )
    """Functions of `jvm/` called from compiled code; else through a catalog of functions."""
    PLANS = (
        "tidemark.plans.PlanBinding",
        "tidemark.plans.SimplifiedPlan",
        "org.apache.spark.sql.catalyst.plans.logical.LocalRelation",
        "org.apache.spark.sql.execution.datasources.HadoopFsRelation",
        "org.apache.spark.sql.execution.datasources.InMemoryFileIndex",
        "org.apache.spark.sql.execution.datasources.LogicalRelation",
        "org.apache.spark.sql.execution.datasources.NoopCache$",
        "org.apache.spark.sql.classic.Dataset",
        "org.apache.spark.sql.classic.SparkSession",
        "org.apache.spark.sql.internal.SQLConf",
    )
    """Plans that are built once and bound to later files; else each is built for its run."""
    APPEND = (
        "tidemark.plans.TableAppend",
        "org.apache.spark.sql.delta.commands.WriteIntoDelta",
        "org.apache.spark.sql.delta.VersionChecksum",
        "org.apache.spark.sql.delta.DeltaOperations$Write",
        "org.apache.spark.sql.delta.actions.SetTransaction",
    )
    """Appends that look up in the checksum of a table's version if they were made before; else Delta's own append."""
    JSON = (
        "tidemark.text.JsonLineParser",
        "org.apache.spark.sql.catalyst.expressions.json.JsonToStructsEvaluator",
        "org.apache.spark.sql.catalyst.json.JSONOptions",
        "org.apache.spark.sql.catalyst.json.JacksonParser",
        "org.apache.spark.sql.catalyst.util.FailureSafeParser",
    )
    """Lines of JSON parsed from their bytes; else by Spark's `from_json`."""


def is_asked_for() -> bool:
    """True if the environment chooses all public ways."""
    return os.environ.get(ASKED, "") not in ("", "0")


def plain(way: Way) -> bool:
    """True if the public way must be taken. Unless TIDEMARK_PLAIN is set, the first call for a way looks for its
    classes, and raises RuntimeError without an open Spark session."""
    return is_asked_for() or _lacks_class(way)


@cache
def _lacks_class(way: Way) -> bool:
    from py4j.protocol import Py4JJavaError  # a run without rows never imports it

    from tidemark.spark.compat.jvm import running

    loader = running().java.lang.Thread.currentThread().getContextClassLoader()
    try:
        for name in way.value:
            loader.loadClass(name)
    except Py4JJavaError:
        return True
    return False
