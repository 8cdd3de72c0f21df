"""Reads landed objects into rows that are ready to be judged (time rules: the log)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.core.batch import LandedObject, stored_uri
from tidemark.core.policy import Reason
from tidemark.core.watermarks import SINGLE, UNKNOWN
from tidemark.spark.admission import identity, quarantined_before, unmet
from tidemark.spark.columns import (
    BAD,
    BEYOND,
    BLOCK,
    CORRUPT,
    END,
    EVENT,
    MARK,
    MATCH,
    MODIFIED,
    OBJECT,
    ORDER,
    OWN,
    PARTITION,
    PATH,
    RAW,
    ROW,
    SUBSTREAM,
    TEXT,
)
from tidemark.spark.expressions import text_of
from tidemark.spark.local_frames import Columns, small_frame
from tidemark.spark.partitioning.layout import POSITION_BITS
from tidemark.spark.punctuation.state import WITH_END, mark_columns
from tidemark.spark.read import formats
from tidemark.spark.read.format import Sight, row_text
from tidemark.spark.read.formats import look_at
from tidemark.spark.read.object_columns import Objects, location_of
from tidemark.spark.tables.delta import quoted
from tidemark.spark.times import micros_of

_PATH_PARTITION = "__tidemark_path_partition"
_KNOWN = "__tidemark_known"


def read_rows(
    spark: SparkSession,
    source: SourceSpec,
    objects: Sequence[LandedObject],
    damaged: Mapping[str, str] | None = None,
    share: float = 1.0,
    sights: Mapping[str, Sight] | None = None,
    known: Objects | None = None,
) -> DataFrame:
    """Rows of `objects`, which are in log order, with their payload columns and the columns that judging needs.

    These are `OBJECT`, `BLOCK` and `ROW` (row order), `PARTITION` (`_unknown` if it cannot be read), `OWN` and
    `EVENT` (arrival and event time, microseconds UTC, null if they cannot be read), `SUBSTREAM`, `BAD` (reasons of
    quarantine or null) and `RAW` (text of a quarantined row or null).

    `damaged` maps a URI to the reason why its object cannot be read: the object becomes one quarantined row with that
    reason. So does an object whose `Sight` refuses it. A `share` below 1 reads a sample, drawn before rows are
    parsed. `sights` is the result of `look_at`, which is called if it is None. Metadata of objects come from `known`,
    if given; a caller may later set it to the objects of another batch.
    """
    unread = [item for item in objects if item.uri not in (damaged or {})]
    sights = look_at(source, unread) if sights is None else sights
    refused = {uri: sight.refusal for uri, sight in sights.items() if sight.refusal is not None}
    damaged = {**refused, **(damaged or {})}
    parsed = _parsed(spark, source, objects, damaged, sights, share)
    return _judgeable(source, _with_object(parsed, known or Objects(source, objects, 0)))


def _parsed(
    spark: SparkSession,
    source: SourceSpec,
    objects: Sequence[LandedObject],
    damaged: Mapping[str, str],
    sights: Mapping[str, Sight],
    share: float,
) -> DataFrame:
    """Rows of sound objects as their format parses them, and one row for each damaged object."""
    sound = [item for item in objects if item.uri not in damaged]
    notes = [(location_of(item), damaged[item.uri]) for item in objects if item.uri in damaged]
    frames = [formats.read(spark, source, sound, sights, share)] if sound else []
    if notes:
        frames.append(formats.unreadable(spark, source, notes))
    return frames[0] if len(frames) == 1 else frames[0].unionByName(frames[1])


def judgeable(source: SourceSpec, parsed: DataFrame) -> DataFrame:
    """Rows in the form of `read_rows`, from parsed rows that belong to no object."""
    rows = parsed.withColumn(BEYOND, F.lit(None).cast("string")) if source.counts_unknown else parsed
    return _judgeable(source, _with_object(rows, Objects(source, [], 0)))


def rows_of_events(
    spark: SparkSession, source: SourceSpec, events: DataFrame, objects: Sequence[LandedObject]
) -> DataFrame:
    """Input rows that a batch's events were made from, in the form of `read_rows`.

    Quarantined rows stay quarantined, except for requirements, which are evaluated again. Times are computed again
    from the payload.
    """
    rows = _with_marks(source, _of_events(spark, events, objects))
    payload = [quoted(column.name) for column in source.columns]
    bad = F.coalesce(quarantined_before(), unmet(rows, source))
    text = F.when(bad.isNotNull(), F.coalesce("_raw", row_text(payload)))
    return rows.select(
        OBJECT,
        F.shiftright("_offset", POSITION_BITS).alias(BLOCK),
        F.col("_offset").alias(ROW),
        F.col("_partition").alias(PARTITION),
        _own_arrival(source, rows).alias(OWN),
        _event_time(source, rows).alias(EVENT),
        _substream(source, rows).alias(SUBSTREAM),
        bad.alias(BAD),
        text.alias(RAW),
        *[column.alias(name) for name, column in identity(rows, source).items()],
        *([F.lit(None).cast("string").alias(BEYOND)] if source.counts_unknown else []),
        *_marks(source),
        *payload,
    )


def with_own_arrival(
    spark: SparkSession, source: SourceSpec, events: DataFrame, objects: Sequence[LandedObject]
) -> DataFrame:
    """Event rows with `OWN`, their arrival before it was raised to the arrival of earlier rows."""
    rows = _of_events(spark, events, objects)
    return rows.withColumn(OWN, _own_arrival(source, rows))


def with_object(spark: SparkSession, events: DataFrame, objects: Sequence[LandedObject]) -> DataFrame:
    """Event rows with the number of their object."""
    return _of_events(spark, events, objects).select(*map(quoted, events.columns), OBJECT)


def _of_events(spark: SparkSession, events: DataFrame, objects: Sequence[LandedObject]) -> DataFrame:
    known = [(stored_uri(item.uri), rank, item.modified) for rank, item in enumerate(objects)]
    columns: Columns = [("_file", pa.string()), (OBJECT, pa.int32()), (MODIFIED, pa.int64())]
    return events.join(small_frame(spark, known, columns), "_file")


def _with_object(parsed: DataFrame, objects: Objects) -> DataFrame:
    """Rows with the number and landing time of their object, and the partition in its name."""
    known = F.col(_KNOWN)
    metadata = {OBJECT: known["object"], MODIFIED: known["modified"], _PATH_PARTITION: known["partition"]}
    return parsed.withColumn(_KNOWN, objects.at(F.col(PATH))).withColumns(metadata)


def _judgeable(source: SourceSpec, parsed: DataFrame) -> DataFrame:
    """Rows with their partition, times, substream and quarantine."""
    partition = _partition(source, parsed)
    own = _own_arrival(source, parsed)
    timeless = F.col(OWN).isNull() | (F.col(EVENT).isNull() if source.timestamp_by else F.lit(False))
    broken = F.col(CORRUPT) | (F.col(PARTITION) == UNKNOWN)
    if source.punctuation is not None:
        broken = broken | F.col(MARK).isNull()
    timeless = timeless | _endless(source)
    reason = F.when(broken, Reason.INVALID_ROW.value).when(timeless, Reason.INVALID_TIME.value)
    reason = reason.otherwise(unmet(parsed, source))
    timed = (
        _with_marks(source, parsed)
        .withColumns(
            {
                PARTITION: F.coalesce(partition, F.lit(UNKNOWN)),
                OWN: own,
                EVENT: _event_time(source, parsed),
                SUBSTREAM: _substream(source, parsed),
                **identity(parsed, source),
            }
        )
        .withColumn(BAD, reason)
    )
    payload = [quoted(column.name) for column in source.columns]
    text = F.coalesce(F.make_valid_utf8(TEXT), row_text(payload))
    raw = F.when(F.col(BAD).isNotNull(), text).alias(RAW)
    beyond = [BEYOND] if source.counts_unknown else []
    more = [*beyond, *identity(parsed, source), *_marks(source)]
    return timed.select(*ORDER, PARTITION, OWN, EVENT, SUBSTREAM, BAD, raw, *more, *payload)


def _with_marks(source: SourceSpec, rows: DataFrame) -> DataFrame:
    """Rows of a punctuated source with `MARK`, `END` and `MATCH`, intervals of others with `END`."""
    if source.punctuated is not None:
        return rows.withColumns(mark_columns(rows, source.punctuated, source.lifetimes))
    if source.interval_end is not None:
        return rows.withColumn(END, micros_of(rows, source.interval_end, "shape.end_time"))
    return rows


def _endless(source: SourceSpec) -> Column:
    """Condition that a row must have an end, but has none after its start."""
    if source.lifetimes.end_time is None:
        return F.lit(False)
    wrong = F.col(END).isNull() | (F.col(END) <= F.col(EVENT))
    return wrong if source.punctuation is None else F.col(MARK).isin(*WITH_END) & wrong


def _marks(source: SourceSpec) -> tuple[str, ...]:
    if source.punctuation is None:
        return () if source.interval_end is None else (END,)
    return MARK, END, MATCH


def _partition(source: SourceSpec, parsed: DataFrame) -> Column:
    if source.partition is None:
        return F.lit(SINGLE)
    if source.partition.column is not None:
        return text_of(parsed, source.partition.column, "partition.column")
    return F.col(_PATH_PARTITION)


def _own_arrival(source: SourceSpec, parsed: DataFrame) -> Column:
    """The arrival column, at most the landing time; null if it is more than `clock_skew` after the landing time."""
    modified = F.col(MODIFIED)
    if source.arrival_time is None:
        return modified
    arrival = micros_of(parsed, source.arrival_time, "arrival_time")
    return F.when(arrival <= modified + source.clock_skew, F.least(arrival, modified))


def _event_time(source: SourceSpec, rows: DataFrame) -> Column:
    if source.timestamp_by is None:
        return F.lit(None).cast("long")
    return micros_of(rows, source.timestamp_by, "timestamp_by")


def _substream(source: SourceSpec, rows: DataFrame) -> Column:
    """The value of `over` as text; several values as one JSON array, nulls included."""
    if not source.over or source.timestamp_by is None:
        return F.lit(None).cast("string")
    parts = [text_of(rows, part, "over") for part in source.over]
    return parts[0] if len(parts) == 1 else F.to_json(F.array(*parts), {"ignoreNullFields": "false"})
