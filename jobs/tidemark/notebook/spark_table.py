"""Tables as Spark DataFrames, in a session of the caller."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tidemark.ledger.lost_commits import ensure_whole
from tidemark.ledger.tables.schemas import batch_column
from tidemark.storage import is_table

if TYPE_CHECKING:
    from tidemark.pipeline import Pipeline


def spark_table(pipeline: Pipeline, name: str, spark: Any) -> Any:  # noqa: ANN401 # SparkSession, DataFrame
    """A table up to the last committed batch, as a DataFrame of a session with Delta. Raises UsageError if there is
    no such table."""
    reader = pipeline.reader
    location = reader.folder_of(name)
    ensure_whole(reader.ledger, [name])
    if not is_table(location):
        return spark.createDataFrame(pa.Table.from_pylist([], reader.table(name).schema))
    whole = spark.read.format("delta").load(re.sub("^s3://", "s3a://", str(location)))
    return whole.where(f"{batch_column(whole.columns)} <= {reader.ledger.last().committed_through}")
