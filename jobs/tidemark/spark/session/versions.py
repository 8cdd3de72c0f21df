"""The versions of Spark that tidemark runs on (docs/versions.md): another is refused before anything is planned."""

from __future__ import annotations

import os

from tidemark.errors import TidemarkError
from tidemark.spark.session.jars import installed_jars

SPARK_VERSIONS = ("4.0", "4.1", "4.2")
"""Minor versions that tests have run on."""


def require_spark(version: str, where: str) -> None:
    """Ensure that tidemark runs on this version of Spark, found at `where`. Raises TidemarkError that names those
    which work."""
    if ".".join(version.split(".")[:2]) not in SPARK_VERSIONS:
        known = f"{', '.join(SPARK_VERSIONS[:-1])} and {SPARK_VERSIONS[-1]}"
        raise TidemarkError(
            f"tidemark runs on Spark {known}; this one is {version}",
            where=where,
            hint=f"pip install 'pyspark=={SPARK_VERSIONS[-1]}.*', or a cluster of one of these versions",
        )


def require_engine() -> None:
    """Ensure, before a run is planned, that Spark can judge it: its version works and, unless a JVM runs already, the
    jars are installed. Raises TidemarkError."""
    import pyspark

    from tidemark.spark.compat.sessions import has_jvm

    require_spark(pyspark.__version__, "pyspark")
    if "PYSPARK_GATEWAY_PORT" not in os.environ and not has_jvm():
        installed_jars()
