"""The versions of Spark that tidemark runs on (docs/versions.md): another is refused before anything is planned."""

from __future__ import annotations

import os
import sys
from importlib import metadata

from tidemark.errors import TidemarkError
from tidemark.spark.session.jars import installed_jars

SPARK_VERSIONS = ("4.0", "4.1", "4.2")
"""Minor versions that tests have run on."""


def require_spark(version: str, where: str) -> None:
    """Ensure that tidemark runs on this version of Spark, found at `where`. Raises TidemarkError that names the
    versions which work."""
    if ".".join(version.split(".")[:2]) not in SPARK_VERSIONS:
        known = f"{', '.join(SPARK_VERSIONS[:-1])} and {SPARK_VERSIONS[-1]}"
        raise TidemarkError(
            f"tidemark runs on Spark {known}; this one is {version}",
            where=where,
            hint=f"pip install 'pyspark=={SPARK_VERSIONS[-1]}.*', or a cluster of one of these versions",
        )


def require_engine() -> None:
    """Ensure, before a run is planned, that Spark can judge it: its version works and, unless a JVM runs already, the
    jars are installed. Raises TidemarkError, or ModuleNotFoundError without PySpark. PySpark is imported only if no
    installed package says its version."""
    require_spark(_installed(), "pyspark")
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return
    if "pyspark" in sys.modules:
        from tidemark.spark.compat.sessions import has_jvm

        if has_jvm():
            return
    installed_jars()


def _installed() -> str:
    """The version of PySpark. Under spark-submit, PySpark may be in Spark's folder and no installed package."""
    try:
        return metadata.version("pyspark")
    except metadata.PackageNotFoundError:
        import pyspark

        return pyspark.__version__
