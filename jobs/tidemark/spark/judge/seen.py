"""Keys that `deduplicate` remembers: in `seen/<source>`, the last arrival of each key.

The table is appended to, never updated: recovery after a crash must see the state from before its batch. The latest
row of a key counts if it arrived less than `within` before its partition's last arrival. Compaction keeps only such
rows. A replay computes them from the events and does not read the table.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.core.advance import Opening
from tidemark.core.batch_result import APPLICATION, PartitionReport, TableDigest
from tidemark.core.policy import Reason
from tidemark.core.times import DAY
from tidemark.core.watermarks import PartitionState
from tidemark.spark.admission import identity, quarantined_before, unmet
from tidemark.spark.columns import ARRIVAL, BAD, IDENTITY, OWN, PARTITION, SEED, WATERMARK
from tidemark.spark.digests import measured
from tidemark.spark.jvm_functions import invoked, or_none
from tidemark.spark.local_frames import Columns, local_frame, small_frame
from tidemark.spark.tables.delta import append_measured, exists, holds

_REPEATED, _LEAST = "__tidemark_repeated", "__tidemark_least"
_STATISTICS = "partition,last_arrival,batch_id"


def table_of(source: str) -> str:
    """The name of the table of a source's keys."""
    return f"seen/{source}"


def with_duplicates(sent: DataFrame, source: SourceSpec, opening: Opening, arrival: Column) -> DataFrame:
    """Set `BAD` in duplicates. Rows come in log order, after the remembered keys of earlier batches.

    `arrival` is a row's arrival, microseconds; remembered keys have theirs in `OWN`. Rows that are quarantined, or
    that `start` skips, are no duplicates and make no other row a duplicate.
    """
    remembered = F.col(SEED).isNotNull()
    came = F.when(remembered, F.col(OWN)).otherwise(arrival)
    counts = F.col(BAD).isNull() if opening.read_from is None else F.col(BAD).isNull() & (came >= opening.read_from)
    key = F.when(remembered | counts, F.col(IDENTITY))
    repeated = invoked("rows.RecentKeys", F.col(PARTITION), key, or_none(came), settings=(_within(source),))
    reason = F.when(F.col(_REPEATED), F.lit(Reason.DUPLICATE.value)).otherwise(F.col(BAD))
    return sent.withColumn(_REPEATED, repeated).withColumn(BAD, reason).drop(_REPEATED)


def changed(
    events: DataFrame, source: SourceSpec, batch_id: int, partitions: Mapping[str, PartitionReport]
) -> DataFrame:
    """Rows that a batch adds to the table, computed from its events. Keys that arrived `within` or more before the
    last arrival of their partition (in `partitions`) need not be remembered."""
    arrived = {name: report.seen.last_arrival for name, report in partitions.items()}
    bounds = {name: last - _within(source) for name, last in arrived.items() if last is not None}
    return _as_table(_latest(_keyed(events, source, F.lit(batch_id)), bounds), source)


def recorded(spark: SparkSession, location: str, source: SourceSpec, before: int, opening: Opening) -> DataFrame:
    """Keys (`PARTITION`, `IDENTITY`, `OWN`) of batches before `before` that may still be repeated, with the watermark
    of their partition, from the table at `location`."""
    if not exists(location):
        return _nothing(spark)
    rows = spark.read.format("delta").load(location).where(F.col("batch_id") < before)
    known = {PARTITION: F.col("partition"), IDENTITY: F.col("key"), ARRIVAL: F.unix_micros("last_arrival")}
    rows = rows.where(F.col("last_arrival") > _time(_lowest(source, opening.states)))
    return _left(rows.select(*[column.alias(name) for name, column in known.items()]), source, opening)


def recomputed(spark: SparkSession, location: str, source: SourceSpec, before: int, opening: Opening) -> DataFrame:
    """Keys as in `recorded`, computed from the events table at `location`."""
    if not exists(location):
        return _nothing(spark)
    rows = spark.read.format("delta").load(location).where(F.col("_batch_id") < before)
    keyed = _keyed(_since(rows, _lowest(source, opening.states)), source, F.col("_batch_id"))
    return _left(keyed, source, opening)


def left(events: DataFrame, source: SourceSpec, before: int, states: Mapping[str, PartitionState]) -> DataFrame:
    """The rows of the table as batches before `before` left them, computed from the events."""
    bounds = _bounds(source, states)
    rows = _since(events.where(F.col("_batch_id") < before), _lowest(source, states))
    return _as_table(_latest(_keyed(rows, source, F.col("_batch_id")), bounds), source)


def kept(rows: DataFrame, source: SourceSpec, states: Mapping[str, PartitionState]) -> DataFrame:
    """Rows of the table that later batches need: the latest row of each key, if it may still be repeated."""
    known = {PARTITION: F.col("partition"), IDENTITY: F.col("key"), ARRIVAL: F.unix_micros("last_arrival")}
    named = rows.select(*[column.alias(name) for name, column in known.items()], "batch_id")
    return _as_table(_latest(named, _bounds(source, states)), source)


def write(rows: DataFrame, location: str, source: str, batch_id: int, recovering: bool) -> TableDigest:
    """Append the rows that a batch adds and return their digest; `recovering`: rows already there are kept."""
    table = table_of(source)
    if not (recovering and holds(location, batch_id)):
        written = append_measured(rows, location, batch_id, table, statistics=_STATISTICS)
        if written is not None:
            return written.digest
    whole = rows.sparkSession.read.format("delta").load(location)
    return measured(table, whole.where(F.col("batch_id") == batch_id))


def replace_all(rows: DataFrame, location: str, last: int) -> None:
    """Replace all rows of the table in one commit. It records that the table has the batches up to `last`, unless the
    log knows that already."""
    once = {} if holds(location, last) else {"txnAppId": APPLICATION, "txnVersion": str(last)}
    rows.write.format("delta").mode("overwrite").options(**once).save(location)


def _within(source: SourceSpec) -> int:
    return 0 if source.deduplicate is None else source.deduplicate.within


def _bounds(source: SourceSpec, states: Mapping[str, PartitionState]) -> dict[str, int]:
    """By partition, the arrival after which a key may still be repeated."""
    within = _within(source)
    return {name: each.last_arrival - within for name, each in states.items() if each.last_arrival is not None}


def _lowest(source: SourceSpec, states: Mapping[str, PartitionState]) -> int | None:
    return min(_bounds(source, states).values(), default=None)


def _time(micros: int | None) -> Column:
    return F.timestamp_micros(F.lit(micros).cast("long"))


def _since(events: DataFrame, bound: int | None) -> DataFrame:
    """Event rows that arrived after `bound`, none without it; files of earlier days are not read."""
    if bound is None:
        return events.limit(0)
    return events.where(
        (F.col("_arrival_date") >= F.date_from_unix_date(F.lit(bound // DAY)))
        & (F.col("_arrival_time") > _time(bound))
    )


def _keyed(events: DataFrame, source: SourceSpec, batch_id: Column) -> DataFrame:
    """Partition, key, arrival and batch of the event rows that make later rows duplicates.

    Requirements are evaluated again: they may have changed since, if a backfill left a row its fate.
    """
    sound = events.where(F.coalesce(quarantined_before(), unmet(events, source)).isNull())
    known = {PARTITION: F.col("_partition"), **identity(sound, source)}
    known |= {ARRIVAL: F.unix_micros("_arrival_time"), "batch_id": batch_id.cast("long")}
    rows = sound.select(*[column.alias(name) for name, column in known.items()])
    return rows.where(F.col(IDENTITY).isNotNull())


def _latest(rows: DataFrame, bounds: Mapping[str, int]) -> DataFrame:
    """The last arrival of each key after its partition's bound, and the batch that brought it."""
    columns: Columns = [(PARTITION, pa.string()), (_LEAST, pa.int64())]
    known = rows.join(small_frame(rows.sparkSession, bounds.items(), columns), PARTITION)
    recent = known.where(F.col(ARRIVAL) > F.col(_LEAST))
    return recent.groupBy(PARTITION, IDENTITY).agg(F.max(ARRIVAL).alias(ARRIVAL), F.max("batch_id").alias("batch_id"))


def _left(rows: DataFrame, source: SourceSpec, opening: Opening) -> DataFrame:
    """Keys that may still be repeated, with the watermark of their partition."""
    states = opening.states
    known = [(name, least, states[name].watermark) for name, least in _bounds(source, states).items()]
    columns: Columns = [(PARTITION, pa.string()), (_LEAST, pa.int64()), (WATERMARK, pa.int64())]
    joined = rows.join(small_frame(rows.sparkSession, known, columns), PARTITION)
    recent = joined.where(F.col(ARRIVAL) > F.col(_LEAST))
    return recent.groupBy(PARTITION, IDENTITY, WATERMARK).agg(F.max(ARRIVAL).alias(OWN))


def _nothing(spark: SparkSession) -> DataFrame:
    columns: Columns = [(PARTITION, pa.string()), (IDENTITY, pa.binary()), (WATERMARK, pa.int64()), (OWN, pa.int64())]
    return local_frame(spark, [], columns)


def _as_table(rows: DataFrame, source: SourceSpec) -> DataFrame:
    return rows.select(
        F.lit(source.name).alias("source"),
        F.col(PARTITION).alias("partition"),
        F.col(IDENTITY).alias("key"),
        F.timestamp_micros(ARRIVAL).alias("last_arrival"),
        F.col("batch_id").cast("long").alias("batch_id"),
    )
