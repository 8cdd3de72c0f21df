"""What every row of the bench is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from bench.data import FULL_ROWS


@dataclass(frozen=True)
class Place:
    """The session, on whose cores all is measured, folders for kept data and for targets, how many rows, how often,
    where to tell, and whether time is no matter."""

    spark: SparkSession
    cache: Path
    work: Path
    rows: int
    repeats: int
    say: Callable[[str], None]
    full: bool = False

    @property
    def cores(self) -> int:
        """How many tasks of the session run at once; peers outside of it have as many threads."""
        return self.spark.sparkContext.defaultParallelism

    def scaled(self, full: int, least: int) -> int:
        """A number that goes with the rows, when fewer than all are measured."""
        return max(least, full * min(self.rows, FULL_ROWS) // FULL_ROWS)
