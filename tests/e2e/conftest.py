"""What tests of whole runs share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Compiling code for a few rows takes longer than judging them; results do not depend on it."""


@pytest.fixture(scope="module")
def quick(spark: SparkSession) -> Iterator[SparkSession]:
    """The session, for tests of many small runs."""
    for key, value in INTERPRETED.items():
        spark.conf.set(key, value)
    yield spark
    for key in INTERPRETED:
        spark.conf.unset(key)
