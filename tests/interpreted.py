"""Settings with which Spark interprets plans, for tests of many small runs, or compiles them without fail."""

from __future__ import annotations

import sys

from tidemark.spark.session.few_rows import INTERPRETED, settings

__all__ = ["COMPILED", "INTERPRETED", "forget_tables", "settings"]

COMPILED = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "CODEGEN_ONLY",
    "spark.sql.codegen.fallback": "false",
}
"""Code that does not compile is an error. Spark would interpret such a plan, and say so in its log only."""


def forget_tables() -> None:
    """Have Delta forget all tables, if a session is there. It would keep each for an hour with the plans that read
    its log: after half an hour of tests these filled 3 GB, and the JVM did little else than to collect garbage."""
    if "pyspark" in sys.modules:
        from tidemark.spark.compat import sessions

        sessions.forget_tables()
