"""Settings with which Spark interprets plans, for tests of many small runs, or compiles them without fail."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Compiling code for a few rows takes longer than judging them; results do not depend on it."""
COMPILED = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "CODEGEN_ONLY",
    "spark.sql.codegen.fallback": "false",
}
"""Code that does not compile is an error. Spark would interpret such a plan, and say so in its log only."""


@contextmanager
def settings(spark: SparkSession, changed: Mapping[str, str]) -> Iterator[SparkSession]:
    """The session with other settings, as long as the block lasts."""
    before = {key: spark.conf.get(key, None) for key in changed}
    for key, value in changed.items():
        spark.conf.set(key, value)
    try:
        yield spark
    finally:
        for key, value in before.items():
            spark.conf.unset(key) if value is None else spark.conf.set(key, value)


def forget_tables() -> None:
    """Have Delta forget all tables, if a session is there. It would keep each for an hour with the plans that read
    its log: after half an hour of tests these filled 3 GB, and the JVM did little else than to collect garbage."""
    if "pyspark" in sys.modules:
        from tidemark.spark.compat import sessions

        sessions.forget_tables()
