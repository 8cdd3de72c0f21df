"""The rows of a span, read from the few files that may have any, as the table's log tells them.

Asking Spark for the files costs two jobs and code compiled anew for each question, since Delta puts the table's whole
state together for it: more than reading the rows of a small run does. The log itself tells the same in milliseconds.
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
from tidemark.storage import delta_table, place_of

if TYPE_CHECKING:
    from deltalake import DeltaTable

MOST = 16
"""Files that are named one by one: Spark asks for each of them, one after the other."""
_ROUNDED = 1_000
"""Microseconds by which a bound of times in the log may be less than the time itself: it has milliseconds."""
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
"""Numbers that Arrow knows."""
_PLAIN = 1
"""The version of Delta's protocol in which files are read as they are: without deletions, or columns renamed."""


@dataclass(frozen=True)
class SelectedFiles:
    """Files of the table at `place`, whose schema is told as JSON, and how many bytes they have."""

    place: str
    paths: tuple[str, ...]
    size: int
    schema: str

    @property
    def base(self) -> str:
        """The folder of the table, as Spark takes it."""
        return str(place_of(self.place))

    @property
    def whole(self) -> list[str]:
        """The paths that Spark reads."""
        return whole(place_of(self.place), self.paths)

    def read(self, spark: SparkSession) -> DataFrame:
        """Their rows, as Spark reads files: columns that the table is kept by are the last ones."""
        return files_of(spark, place_of(self.place), self.paths, StructType.fromJson(json.loads(self.schema)))


def rows_of(spark: SparkSession, place: str, start: str, begin: int, length: int, span: Span, last: int) -> DataFrame:
    """Rows of the table at `place`, with all of those that batches up to `last` brought and that `spans.needed` tells
    to be in the span; `start` names the column of their starts, which is `begin` before that in the span, and each
    lives for `length` microseconds at most."""
    found = few_of(place, start, begin, length, span, last)
    return spark.read.format("delta").load(place) if found is None else found.read(spark)


def few_of(place: str, start: str, begin: int, length: int, span: Span, last: int) -> SelectedFiles | None:
    """The files that have these rows; None: there is none, there are many, or they are not to be read as they are."""
    table = delta_table(place)
    if table.protocol().min_reader_version != _PLAIN:
        return None
    log = _files(table, start, begin, length, span, last)
    if not 0 < log.num_rows <= MOST:
        return None
    paths, sizes = (log[name].to_pylist() for name in ("path", "size_bytes"))
    return SelectedFiles(place, tuple(map(str, paths)), sum(size or 0 for size in sizes), table.schema().to_json())


def _files(table: DeltaTable, start: str, begin: int, length: int, span: Span, last: int) -> pa.Table:
    """What the log has of the files that may have such rows: one whose bounds the log does not tell may have any."""
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
    """By file, whether a comparison may hold for one of its rows."""
    if bound not in log.column_names:
        return pa.array([True] * log.num_rows, pa.bool_())
    known = log[bound].cast(pa.int64()).combine_chunks()
    return pc.fill_null(pc.call_function(compare, [known, pa.scalar(max(_LEAST, min(value, _MOST)))]), True)
