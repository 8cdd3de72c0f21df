"""What the rows of a task have reached by each row, group after group, in one pass that holds no rows.

Window functions can say the same, but keep all rows of a group until the last has come. These are functions
with a memory, from `jvm/`: rows must have been sorted, with a group's seed before its rows, and stay so.
"""

from __future__ import annotations

from pyspark.sql import Column, SparkSession

from tidemark.core.measured import Session


def reached(spark: SparkSession, chunk: Column, partition: Column, own: Column, seed: Column) -> Column:
    """By each row: `group` (its number in the task), `number` of rows so far, latest `arrival`, and what the
    group's seed said: whether there was one (`seeded`), its `watermark` and `high`."""
    told = [seed[name] for name in ("rows", "watermark", "high")]
    return _call(spark, "Running", chunk, partition.cast("binary"), own, *told)


def greatest_before(spark: SparkSession, group: Column, part: Column, value: Column) -> Column:
    """The greatest value of a group's rows before each row; null where there is none. `group` and `part`, numbers
    or bytes, name a row's group together."""
    return _call(spark, "Before", group, part, value)


def latest_in_cell(spark: SparkSession, partition: Column, cell: Column, own: Column) -> Column:
    """The latest arrival of a partition's rows in their cell by each row, as rows come from their files."""
    return _call(spark, "Latest", partition.cast("binary"), cell, own)


def start_of_session(spark: SparkSession, group: Column, start: Column, end: Column, session: Session) -> Column:
    """The start of each row's session, of rows in the order of their starts; microseconds."""
    return _call(spark, "Sessions", group, start, end, settings=(session.gap, session.max_duration))


def bounds_of_snapshots(
    spark: SparkSession, group: Column, time: Column, end: Column, after: Column, until: Column
) -> Column:
    """By each row, the bounds of the windows that it is alive in, of rows and ends (without an `end` of their own)
    latest first: of windows that end after a time and at the latest at another, where these are not null."""
    return _call(spark, "Snapshots", group, time, end, after, until)


def punctuated(spark: SparkSession, group: Column, part: Column, seed: Column, *told: Column) -> Column:
    """`before` and `after`: the punctuation before each row of a group and after it. `told`, of each row: whether it
    counts, every so many rows or null, its period or null, what it would set, and what it sets in any case."""
    return _call(spark, "Punctuated", group, part, seed, *told)


def paired(spark: SparkSession, *told: Column) -> Column:
    """`offset` and `start` of the oldest open start edge among rows before that are equal in the first three of
    `told` (partition and match as bytes, original start); then the row's role, offset and start in force."""
    return _call(spark, "Edges", *told)


def least(spark: SparkSession, partition: Column, mark: Column) -> Column:
    """The least of the latest marks of all partitions so far; null while one has none."""
    return _call(spark, "Least", partition.cast("binary"), mark)


def _call(spark: SparkSession, name: str, *arguments: Column, settings: tuple[int, ...] = ()) -> Column:
    context = spark.sparkContext
    jvm = context._jvm
    if jvm is None:
        raise RuntimeError("no Spark session is open")
    function = getattr(jvm.tidemark, name).function(*settings)
    return Column(function.apply(jvm.PythonUtils.toSeq([argument._jc for argument in arguments])))
