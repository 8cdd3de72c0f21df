"""Adds the imported watermark to rows, along their arrivals (time rules: punctuated sources, imported).

A row that arrives at y gets the other source's watermark after all earlier runs and after its rows that arrived at or
before y. Of several other sources, the least watermark counts, without complete ones. The other sources are judged
first: their rows are in events tables. The rows of all are divided by ranges of arrivals. The state before each range
(latest mark of each partition, greatest step) is computed first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from tidemark.core.advance import Imported, SourceRules
from tidemark.core.times import MIN_TIME
from tidemark.core.watermarks import UNKNOWN, latest
from tidemark.spark.columns import ARRIVAL, IMPORTED, OFFSET, OWN, PARTITION, PUNCTUATED
from tidemark.spark.local_frames import Columns, local_frame
from tidemark.spark.maxima import greatest_before, least, range_of
from tidemark.spark.partitioning.by_task import send
from tidemark.spark.partitioning.layout import Layout
from tidemark.spark.partitioning.ranges import Points, Ranges, points
from tidemark.spark.punctuation.state import issued_by_events
from tidemark.spark.punctuation.verdict import PAST_EVERYTHING
from tidemark.spark.tables.delta import exists

_IS_ROW = "__tidemark_is_row"
_SET = "__tidemark_set"
_POSITION = "__tidemark_position"
_RANGE = "__tidemark_range"
_NEVER = -(1 << 62)
"""Arrival of marks that earlier runs have set: before all other arrivals."""
_STEPS: Columns = [(ARRIVAL, pa.int64()), (_SET, pa.int64())]


def ranges_of(rows: DataFrame, share: float, imported: Sequence[Imported], root: str, tasks: int) -> Ranges:
    """Ranges of arrivals that divide the work of importing; a single one if there is nothing to divide.

    They are found from a source's rows, or a `share` of them, and from the rows of the sources that it imports from.
    """
    if tasks == 1 or not _open(imported):
        return Ranges()
    found = [*points(rows, F.col(OWN), tasks, share), *_points(rows.sparkSession, imported, root, tasks)]
    return Ranges.cut(found, tasks)


def _points(spark: SparkSession, imported: Sequence[Imported], root: str, tasks: int) -> Points:
    for each in _open(imported):
        events = _events(spark, each, root)
        if events is not None:
            yield from points(events, F.unix_micros("_arrival_time"), tasks)
        yield from _points(spark, each.opening.imported, root, tasks)


def _open(imported: Sequence[Imported]) -> list[Imported]:
    """The imported sources that are not complete: only these hold the importing source back."""
    return [each for each in imported if not each.complete]


def with_imported(rows: DataFrame, imported: Sequence[Imported], root: str, layout: Layout) -> DataFrame:
    """Rows with the watermark that is imported when they arrive (`IMPORTED`)."""
    if not _open(imported):
        return rows.withColumn(IMPORTED, F.lit(PAST_EVERYTHING))
    spark, ranges = rows.sparkSession, layout.ranges
    set_ = steps(spark, imported, root, layout)
    apart = F.xxhash64(PARTITION, OFFSET)
    marked = rows.select(
        "*",
        F.lit(None).cast("long").alias(_SET),
        F.lit(1).alias(_IS_ROW),
        ranges.shared_range(F.col(ARRIVAL), apart).alias(_RANGE),
    )
    ranged = set_.withColumn(_RANGE, ranges.range_of(F.col(ARRIVAL)))
    if ranges.tasks > 1:
        ranged = ranged.unionByName(_known_steps(set_, ranges))
    types = {field.name: field.dataType for field in rows.schema}
    filled = [
        (F.col(name) if name == ARRIVAL else F.lit(None).cast(kind)).alias(name) for name, kind in types.items()
    ]
    whole = marked.unionByName(ranged.select(*filled, _SET, F.lit(0).alias(_IS_ROW), _RANGE))
    whole = send(whole, ranges.tasks, F.col(_RANGE)).sortWithinPartitions(F.col(ARRIVAL).asc_nulls_last(), _IS_ROW)
    one = F.lit(0).cast("long"), F.lit(None).cast("binary")
    known = greatest_before(*one, F.col(_SET))
    return whole.withColumn(IMPORTED, known).where(F.col(_IS_ROW) == 1).drop(_SET, _IS_ROW, _RANGE)


def _known_steps(set_: DataFrame, ranges: Ranges) -> DataFrame:
    """Steps that each task begins with: the values in force where its range begins and at crowded times.

    Every task gets the crowded times, since their rows may be in any task.
    """
    spark = set_.sparkSession
    number = range_of(F.col(ARRIVAL), ranges.starts)
    found = {row[0]: row[1] for row in set_.groupBy(number).agg(F.max(_SET)).collect()}
    reached: list[int | None] = [found.get(0)]
    for index in range(len(ranges.starts)):
        reached.append(latest(reached[-1], found.get(index + 1)))
    before = dict(zip(ranges.starts, reached, strict=False))
    known = [(task + 1, bound, before[bound]) for task, bound in enumerate(ranges.bounds)]
    known += [(task, time, before[time + 1]) for time in ranges.crowded for task in range(ranges.tasks)]
    return local_frame(spark, known, [(_RANGE, pa.int32()), *_STEPS]).select(ARRIVAL, _SET, _RANGE)


def steps(spark: SparkSession, imported: Sequence[Imported], root: str, layout: Layout) -> DataFrame:
    """Steps: (`ARRIVAL`, value set from then on). A row sees the greatest value of all steps up to its arrival."""
    first, held = _first(imported), _open(imported)
    if not held:
        return local_frame(spark, [(_NEVER, first)], _STEPS)
    each = {one.rules.name: _steps_of(spark, one, root, layout) for one in held}
    if len(each) == 1:
        return each[held[0].rules.name]
    named = [found.select(F.lit(name).alias(PARTITION), ARRIVAL, _SET) for name, found in each.items()]
    marks = {one.rules.name: _first_of(one) for one in held}
    moved = _least(reduce(DataFrame.unionByName, named), marks, None, layout)
    return local_frame(spark, [(_NEVER, first)], _STEPS).unionByName(moved)


def _first(imported: Sequence[Imported]) -> int | None:
    """Least watermark of several sources when the run began; None if one of them had none."""
    found = [_first_of(each) for each in _open(imported)]
    known = [mark for mark in found if mark is not None]
    return None if len(known) < len(found) else min(known, default=PAST_EVERYTHING)


def _first_of(imported: Imported) -> int | None:
    below = imported.opening.imported
    return latest(imported.watermark, _first(below) if below else None)


def _steps_of(spark: SparkSession, imported: Imported, root: str, layout: Layout) -> DataFrame:
    found = local_frame(spark, [(_NEVER, imported.watermark)], _STEPS)
    if imported.opening.imported:
        found = found.unionByName(steps(spark, imported.opening.imported, root, layout))
    events = _events(spark, imported, root)
    if events is None:
        return found
    known = {name: state.watermark for name, state in imported.opening.states.items() if name != UNKNOWN}
    marks = _marks(events, imported, layout)
    return found.unionByName(_least(marks, known, imported.opening.unseen.watermark, layout))


def _events(spark: SparkSession, imported: Imported, root: str) -> DataFrame | None:
    """The event rows that the run has brought to the imported source; None without a table."""
    location = f"{root}/events/{imported.rules.name}"
    if not exists(location):
        return None
    events = spark.read.format("delta").load(location)
    events = events.where(F.col("_batch_id").between(imported.first_batch, imported.last_batch))
    return events.where(F.col("_partition") != UNKNOWN)


def _marks(events: DataFrame, imported: Imported, layout: Layout) -> DataFrame:
    """Rows (partition, arrival, mark) of event rows.

    After a row, its partition's watermark is the greatest mark so far, or the watermark that the run began with if
    that is greater.
    """
    rules, arrival = imported.rules, F.unix_micros("_arrival_time").alias(ARRIVAL)
    if rules.punctuation is not None:
        issued = issued_by_events(events, rules.punctuation, rules.shape, imported.opening, layout)
        return issued.select(PARTITION, ARRIVAL, F.col(PUNCTUATED).alias(_SET))
    return events.select(F.col("_partition").alias(PARTITION), arrival, _watermark_after(rules).alias(_SET))


def _watermark_after(rules: SourceRules) -> Column:
    """Watermark that a row of a tolerance source leaves its partition; null with substreams: rows move no floor."""
    if rules.substreams:
        return F.lit(None).cast("long")
    stamp = F.unix_micros("_system_timestamp") - rules.policy.disorder
    reached = F.when(stamp.isNotNull(), F.greatest(stamp, F.lit(MIN_TIME)))
    return F.greatest(F.unix_micros("_watermark"), reached)


def _least(marks: DataFrame, before: Mapping[str, int | None], unseen: int | None, layout: Layout) -> DataFrame:
    """Rows (`ARRIVAL`, least watermark of all parts once all rows that arrived then have been judged).

    `marks` has rows (part, arrival, mark); a part is a partition or a source. `before` has the watermarks of parts
    before all these rows; a part that is not in it starts at `unseen`.
    """
    spark, ranges = marks.sparkSession, layout.ranges
    started = F.greatest(F.max(_SET), F.lit(unseen).cast("long"))
    each = marks.where(F.col(ARRIVAL).isNotNull()).groupBy(PARTITION, ARRIVAL).agg(started.alias(_SET))
    each = each.withColumn(_RANGE, ranges.range_of(F.col(ARRIVAL)))
    reached = each.groupBy(_RANGE, PARTITION).agg(F.max(_SET)).collect() if ranges.bounds else []
    columns: Columns = [(PARTITION, pa.string()), (_RANGE, pa.int32()), *_STEPS]
    known = local_frame(spark, _known_marks(before, reached, len(ranges.bounds)), columns)
    whole = each.unionByName(known)
    whole = send(whole, len(ranges.bounds) + 1, F.col(_RANGE)).sortWithinPartitions(ARRIVAL, PARTITION)
    steps = whole.withColumn(_SET, least(F.col(PARTITION), F.col(_SET)))
    steps = steps.withColumn(_POSITION, F.monotonically_increasing_id()).where(F.col(ARRIVAL) != _NEVER)
    return steps.groupBy(ARRIVAL).agg(F.max_by(_SET, _POSITION).alias(_SET)).select(ARRIVAL, _SET)


def _known_marks(
    before: Mapping[str, int | None], reached: Sequence[Row], last: int
) -> Iterator[tuple[str, int, int, int | None]]:
    """Rows (part, range, an arrival before all others, mark): the mark of each part before each range.

    Ranges go up to number `last`. `reached` has (range, part, mark) for the mark reached within each range.
    """
    marks = dict(before)
    within: dict[int, dict[str, int | None]] = {}
    for number, name, mark in reached:
        within.setdefault(number, {})[name] = mark
    for number in range(last + 1):
        yield from ((name, number, _NEVER, mark) for name, mark in marks.items())
        for name, mark in within.get(number, {}).items():
            marks[name] = latest(marks.get(name), mark)
