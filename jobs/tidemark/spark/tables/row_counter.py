"""Counts rows, and takes their digest, while they pass to where they are written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.core.batch_result import TableDigest
from tidemark.spark.columns import COUNTED, HASH
from tidemark.spark.compat.jvm import context_of, scala_columns
from tidemark.spark.digests import row_hash, table_digest
from tidemark.spark.jvm_functions import java_class

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject


class CountedRows(NamedTuple):
    """Digest of the rows that a commit wrote, and the number of rows for which a condition was true."""

    digest: TableDigest
    matching: int


@dataclass(frozen=True)
class Counting:
    """Rows that are counted as they pass, and their `columns`. Only one job at a time may write them."""

    rows: DataFrame
    columns: tuple[str, ...]
    accumulator: JavaObject

    @classmethod
    def of(cls, rows: DataFrame, matching: Column | None = None) -> Counting:
        """Set rows up to be counted: all rows, and rows for which `matching` is true."""
        accumulator = java_class("count.DigestAccumulator").registered(context_of(rows.sparkSession))
        arguments = [F.col(HASH)["high"], F.col(HASH)["low"], F.lit(False) if matching is None else matching]
        counts = Column(accumulator.function().apply(scala_columns(arguments)))
        hashed = rows.withColumn(HASH, row_hash(rows))
        counted = hashed.withColumn(COUNTED, counts).where(COUNTED).drop(HASH, COUNTED)
        return cls(counted, tuple(rows.columns), accumulator)

    @property
    def spark(self) -> SparkSession:
        return self.rows.sparkSession

    def begin(self) -> None:
        """Count the rows of another job from nothing; the one before must have ended."""
        self.accumulator.reset()

    def result(self, table: str) -> CountedRows:
        """Counts of the job that has ended."""
        rows, low, high, matching = map(int, self.accumulator.summary().split())
        return CountedRows(table_digest(table, rows, low, high), matching)
