"""Takes back what batches from some one on have brought to Spark's tables of a version that nobody reads yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.core.advance import States
from tidemark.core.progress import UNKNOWN
from tidemark.places import Place
from tidemark.spark import substreams
from tidemark.spark.tables import exists

KINDS = ("events", "streams", "dead_letters", "before_start")


def truncate(
    spark: SparkSession,
    root: Place,
    tables: Sequence[str],
    sources: Mapping[str, SourceSpec],
    states: States,
    first: int,
) -> None:
    """Delete what batches from `first` on have in `tables`, and have of substreams what the batches before it left;
    `states` are those that they left."""
    for table in tables:
        if table.partition("/")[0] in KINDS:
            DeltaTable.forPath(spark, str(root / table)).delete(F.col("_batch_id") >= first)
    place = str(root / "substreams")
    if not exists(place):
        return
    left = [_left(spark, root, source, states, first) for source in sources.values()]
    known = spark.read.format("delta").load(place)
    whole = known.limit(0)
    for rows in left:
        whole = whole if rows is None else whole.unionByName(rows.select(*known.columns))
    whole.write.format("delta").mode("overwrite").save(place)


def _left(spark: SparkSession, root: Place, source: SourceSpec, states: States, first: int) -> DataFrame | None:
    """The watermark of each substream of a source above its partition's floor, from the rows that set it."""
    place = str(root / f"events/{source.name}")
    if not source.over or source.timestamp_by is None or not exists(place):
        return None
    floors = {name: state.floor for (of, name), state in states.items() if of == source.name and name != UNKNOWN}
    events = spark.read.format("delta").load(place)
    return substreams.left(events, source.name, first, source.policy.disorder, floors)
