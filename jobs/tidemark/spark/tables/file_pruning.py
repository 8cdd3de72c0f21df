"""Reads the rows of a time span from the few files that may have any, chosen by the table's log.

To choose files, Spark runs two jobs with newly compiled code, since Delta reads the state of the whole table: that
costs more than the rows of a small run. Reading the log itself takes milliseconds.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from tidemark.spark.tables.delta import files_of, whole
from tidemark.spark.tables.time_range import Span
from tidemark.storage import delta_table, location_of

if TYPE_CHECKING:
    from deltalake import DeltaTable

MOST = 16
"""Most files that are named one by one: Spark looks each of them up, one after the other."""
_ROUNDED = 1_000
"""Microseconds by which a time's bound in the log may be below the time: the log has milliseconds."""
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
"""The least and the greatest whole number that Arrow knows."""
_PLAIN = 1
"""The version of Delta's reader protocol in which files are read as they are: no deleted rows, no renamed columns."""


@dataclass(frozen=True)
class SelectedFiles:
    """Files of the table at `location`: their paths in its log, their bytes in total, and its schema as JSON."""

    location: str
    paths: tuple[str, ...]
    size: int
    schema: str

    @property
    def base(self) -> str:
        """Folder of the table, as Spark takes it."""
        return str(location_of(self.location))

    @property
    def whole(self) -> list[str]:
        """Paths of the files, as Spark takes them."""
        return whole(location_of(self.location), self.paths)

    def read(self, spark: SparkSession) -> DataFrame:
        """Read the rows of the files. Partition columns come last."""
        return files_of(spark, location_of(self.location), self.paths, StructType.fromJson(json.loads(self.schema)))


def rows_of(
    spark: SparkSession, location: str, start: str, begin: int, length: int, span: Span, last: int
) -> DataFrame:
    """Rows of the table at `location`, including all rows of batches up to `last` that `time_range.needed` selects
    for the span. `start` is the column of a row's start in the table; its start in the span is `begin` later. A row
    lives for at most `length` microseconds."""
    found = few_of(location, start, begin, length, span, last)
    return spark.read.format("delta").load(location) if found is None else found.read(spark)


def few_of(location: str, start: str, begin: int, length: int, span: Span, last: int) -> SelectedFiles | None:
    """Files that have the rows of `rows_of`. None: there are no such files, too many, or they cannot be read as they
    are."""
    table = delta_table(location)
    if table.protocol().min_reader_version != _PLAIN:
        return None
    log = _files(table, start, begin, length, span, last)
    if not 0 < log.num_rows <= MOST:
        return None
    paths, sizes = (log[name].to_pylist() for name in ("path", "size_bytes"))
    return SelectedFiles(location, tuple(map(str, paths)), sum(size or 0 for size in sizes), table.schema().to_json())


def _files(table: DeltaTable, start: str, begin: int, length: int, span: Span, last: int) -> pa.Table:
    """Log entries of the files that may have rows of `rows_of`; a file without bounds in the log may have any."""
    log = pa.table(table.get_add_actions(flatten=True))
    wanted = pa.array([not span.only] * log.num_rows, pa.bool_())
    if span.after is not None:
        after = span.after - begin - length - _ROUNDED
        wanted = pc.and_(wanted, _may("greater", log, f"max.{start}", after))
    if span.before is not None:
        wanted = pc.and_(wanted, _may("less", log, f"min.{start}", span.before - begin))
    if span.since is not None:
        wanted = pc.or_(wanted, _may("greater_equal", log, "max._batch_id", span.since))
    wanted = pc.and_(wanted, _may("less_equal", log, "min._batch_id", last))
    return log.filter(wanted)


def _may(compare: str, log: pa.Table, bound: str, value: int) -> Any:  # noqa: ANN401 # of Arrow
    """By file, True if a comparison may hold for one of its rows."""
    if bound not in log.column_names:
        return pa.array([True] * log.num_rows, pa.bool_())
    known = log[bound].cast(pa.int64()).combine_chunks()
    return pc.fill_null(pc.call_function(compare, [known, pa.scalar(max(_LEAST, min(value, _MOST)))]), True)
