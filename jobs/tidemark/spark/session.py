"""The Spark session that every job shares, and the settings that results and readers rely on."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from tidemark.errors import TidemarkError
from tidemark.spark.settings import RESULT_SETTINGS

_COST_SETTINGS = {
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.databricks.delta.stats.collect": "true",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000000",
    "spark.sql.maxConcurrentOutputFileWriters": "16",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
}

_STATIC_SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "4g",
}


def delta_jars() -> list[Path]:
    """Delta's jars as `make install` left them, so that nothing is downloaded when a job runs."""
    folder = Path(os.environ.get("TIDEMARK_JARS") or Path(sys.prefix) / "share" / "tidemark" / "jars")
    jars = sorted(folder.glob("*.jar"))
    if not jars:
        raise TidemarkError(
            "Delta's jars are not installed",
            where=str(folder),
            hint="run `make install` in the project folder",
        )
    return jars


def open_session(master: str | None = None) -> SparkSession:
    """The running session, or a new one with Delta and the settings above.

    Under spark-submit the application's own master and memory stand; results do not depend on them.
    """
    session = SparkSession.getActiveSession() or _start(master)
    for key, value in {**RESULT_SETTINGS, **_COST_SETTINGS}.items():
        session.conf.set(key, value)
    return session


def _start(master: str | None) -> SparkSession:
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.appName("tidemark")
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if not submitted:
        builder = builder.master(master or os.environ.get("TIDEMARK_MASTER", "local[*]"))
        builder = builder.config("spark.driver.extraClassPath", os.pathsep.join(map(str, delta_jars())))
        builder = builder.config("spark.log.level", "ERROR")
    for key, value in _STATIC_SETTINGS.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
