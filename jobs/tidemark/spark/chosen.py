"""The rows of a span, read from the few files that may have any, as the table's log tells them.

Asking Spark for the files costs two jobs and code compiled anew for each question, since Delta puts the table's whole
state together for it: more than reading the rows of a small run does. The log itself tells the same in milliseconds.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from tidemark.places import delta_table, place_of
from tidemark.spark.spans import Span
from tidemark.spark.tables import files_as

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


def rows_of(spark: SparkSession, place: str, start: str, begin: int, length: int, span: Span, last: int) -> DataFrame:
    """Rows of the table at `place`, with all of those that batches up to `last` brought and that `spans.needed` tells
    to be in the span; `start` names the column of their starts, which is `begin` before that in the span, and each
    lives for `length` microseconds at most."""
    table = delta_table(place)
    if table.protocol().min_reader_version == _PLAIN:
        files = _files(table, start, begin, length, span, last)
        if 0 < len(files) <= MOST:
            schema = StructType.fromJson(json.loads(table.schema().to_json()))
            return files_as(spark, place_of(place), files, schema)
    return spark.read.format("delta").load(place)


def _files(table: DeltaTable, start: str, begin: int, length: int, span: Span, last: int) -> list[str]:
    """Paths of the files that may have such rows: one whose bounds the log does not tell may have any."""
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
    return [str(path) for path in log["path"].filter(wanted).to_pylist()]


def _may(compare: str, log: pa.Table, bound: str, value: int) -> Any:  # noqa: ANN401 # of Arrow
    """By file, whether a comparison may hold for one of its rows."""
    if bound not in log.column_names:
        return pa.array([True] * log.num_rows, pa.bool_())
    known = log[bound].cast(pa.int64()).combine_chunks()
    return pc.fill_null(pc.call_function(compare, [known, pa.scalar(max(_LEAST, min(value, _MOST)))]), True)
