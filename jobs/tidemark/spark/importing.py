"""What a source imports, along the arrivals of its rows (time rules: punctuated sources, imported).

A row that arrives at y is judged under what the rows of the other source that arrived at or before y had set, and all
earlier runs: the other source has been judged, and stands in its events table. Its combined watermark by arrival is
computed in one task, and so is what each row sees of it.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.core.advance import Imported, SourceRules
from tidemark.core.progress import UNKNOWN
from tidemark.core.times import MIN_TIME
from tidemark.spark.marks import punctuated_events
from tidemark.spark.maxima import greatest_before, least
from tidemark.spark.names import ARRIVAL, IMPORTED, OFFSET, PARTITION, PUNCTUATED
from tidemark.spark.punctuation import PAST_EVERYTHING
from tidemark.spark.small import Columns, local_frame
from tidemark.spark.tables import exists

_IS_ROW = "__tidemark_is_row"
_SET = "__tidemark_set"
_PLACE = "__tidemark_place"
_NEVER = -(1 << 62)
"""An arrival before all others: of what earlier runs had set."""


def with_imported(rows: DataFrame, imported: Imported, root: str) -> DataFrame:
    """Rows with what is `IMPORTED` when they arrive."""
    if imported.complete:
        return rows.withColumn(IMPORTED, F.lit(PAST_EVERYTHING))
    set_ = steps(rows.sparkSession, imported, root)
    types = {field.name: field.dataType for field in rows.schema}
    filled = [
        (F.col(name) if name == ARRIVAL else F.lit(None).cast(kind)).alias(name) for name, kind in types.items()
    ]
    marked = rows.select("*", F.lit(None).cast("long").alias(_SET), F.lit(1).alias(_IS_ROW))
    whole = marked.unionByName(set_.select(*filled, _SET, F.lit(0).alias(_IS_ROW)))
    whole = whole.coalesce(1).sortWithinPartitions(F.col(ARRIVAL).asc_nulls_last(), _IS_ROW)
    one = F.lit(0).cast("long"), F.lit(None).cast("binary")
    known = greatest_before(rows.sparkSession, *one, F.col(_SET))
    return whole.withColumn(IMPORTED, known).where(F.col(_IS_ROW) == 1).drop(_SET, _IS_ROW)


def steps(spark: SparkSession, imported: Imported, root: str) -> DataFrame:
    """(`ARRIVAL`, what is set from then on): the greatest of those so far is what a row sees."""
    columns = [(ARRIVAL, pa.int64()), (_SET, pa.int64())]
    found = local_frame(spark, [(_NEVER, imported.watermark)], columns)
    below = imported.opening.imported
    if below is not None:
        found = found.unionByName(steps(spark, below, root))
    marks = _marks(spark, imported, root)
    return found if marks is None else found.unionByName(_combined(marks, imported))


def _marks(spark: SparkSession, imported: Imported, root: str) -> DataFrame | None:
    """(partition, arrival, watermark after it) of the rows that the run has brought; None without a table."""
    rules, place = imported.rules, f"{root}/events/{imported.rules.name}"
    if not exists(place):
        return None
    events = spark.read.format("delta").load(place)
    events = events.where(F.col("_batch_id").between(imported.first_batch, imported.last_batch))
    events = events.where(F.col("_partition") != UNKNOWN)
    if rules.punctuation is not None:
        told = punctuated_events(events, rules.punctuation, rules.shape, imported.opening)
        after = F.col(PUNCTUATED)["after"]
        return told.select(PARTITION, F.unix_micros("_arrival_time").alias(ARRIVAL), after.alias(_SET))
    named = events.select(F.col("_partition").alias(PARTITION), F.col("_offset").alias(OFFSET), "*")
    return named.select(PARTITION, F.unix_micros("_arrival_time").alias(ARRIVAL), _reached(rules).alias(_SET))


def _reached(rules: SourceRules) -> Column:
    """The watermark that a row of a tolerance source leaves to its partition; with substreams rows move no floor."""
    if rules.substreams:
        return F.lit(None).cast("long")
    stamp = F.unix_micros("_system_timestamp") - rules.policy.disorder
    reached = F.when(stamp.isNotNull(), F.greatest(stamp, F.lit(MIN_TIME)))
    return F.greatest(F.unix_micros("_watermark"), reached)


def _combined(marks: DataFrame, imported: Imported) -> DataFrame:
    """(`ARRIVAL`, combined watermark once all that arrived then has been judged)."""
    opening = imported.opening
    states = [(name, _NEVER, state.watermark) for name, state in opening.states.items() if name != UNKNOWN]
    columns: Columns = [(PARTITION, pa.string()), (ARRIVAL, pa.int64()), (_SET, pa.int64())]
    known = local_frame(marks.sparkSession, states, columns)
    started = F.greatest(F.col(_SET), F.lit(opening.unseen.watermark).cast("long"))
    each = marks.where(F.col(ARRIVAL).isNotNull()).groupBy(PARTITION, ARRIVAL).agg(F.max(_SET).alias(_SET))
    whole = known.unionByName(each.withColumn(_SET, started)).coalesce(1).sortWithinPartitions(ARRIVAL, PARTITION)
    told = whole.withColumn(_SET, least(marks.sparkSession, F.col(PARTITION), F.col(_SET)))
    told = told.withColumn(_PLACE, F.monotonically_increasing_id())
    return told.groupBy(ARRIVAL).agg(F.max_by(_SET, _PLACE).alias(_SET)).select(ARRIVAL, _SET)
