"""Small tables that the driver knows, as frames: states, objects, chunks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

Columns = Sequence[tuple[str, pa.DataType]]


def small_frame(spark: SparkSession, rows: Iterable[Sequence[Any]], columns: Columns) -> DataFrame:
    """Rows as a frame that is broadcast where it is joined."""
    return F.broadcast(local_frame(spark, rows, columns))


def local_frame(spark: SparkSession, rows: Iterable[Sequence[Any]], columns: Columns) -> DataFrame:
    """Rows as a frame. Arrow makes it a local relation, which costs no job; a list of tuples would cost one."""
    listed = list(rows)
    arrays = [pa.array([row[index] for row in listed], kind) for index, (_, kind) in enumerate(columns)]
    table = pa.table(dict(zip([name for name, _ in columns], arrays, strict=True)))
    return spark.createDataFrame(table)
