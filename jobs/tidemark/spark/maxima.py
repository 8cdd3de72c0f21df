"""Running values over the rows of a task, group after group, in one pass that holds no rows.

Window functions could compute them, but keep all rows of a group until the last has come. These functions, from
`jvm/`, have a memory: rows must be sorted, with a group's seed before its rows, and stay in that order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidemark.core.windows import SessionWindows
from tidemark.spark.compat.jvm import java_longs
from tidemark.spark.jvm_functions import call, invoked, java_class, or_none

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

_FOREVER = (1 << 63) - 1
"""The longest duration of a session that has none, microseconds."""


def unseen(watermark: int | None) -> JavaObject:
    """Watermark of groups without a seed, microseconds. Its method `set` changes it for jobs that begin later."""
    start = java_class("plans.PlanNumber")()
    start.set(watermark)
    return start


def running_state(chunk: Column, partition: Column, own: Column, seed: Column, start: JavaObject) -> Column:
    """By each row: `group` (its number in the task), `number` of rows so far, latest `arrival`, and the `watermark`
    and `high` of the group's seed. Without a seed the watermark is that of `start`. `chunk` and `partition` are not
    null."""
    numbers = [or_none(seed[name]) for name in ("rows", "watermark", "high")]
    return invoked("rows.RunningState", chunk, partition, or_none(own), *numbers, settings=(start,))


def greatest_before(group: Column, part: Column, value: Column) -> Column:
    """The greatest value of a group's rows before each row; null if there is none. `group` (a number that is never
    null, or bytes) and `part` (bytes or null) name a row's group together."""
    return invoked("rows.PrecedingMaximum", group, part, or_none(value))


def latest_in_cell(partition: Column, cell: Column, own: Column) -> Column:
    """The latest arrival so far of a partition's rows in their cell, by each row, in the order in which files give
    rows."""
    return call("rows.LatestArrival", partition.cast("binary"), cell, own)


def start_of_session(group: Column, start: Column, end: Column, session: SessionWindows) -> Column:
    """The start of each row's session, microseconds. Rows are in the order of their starts."""
    most = _FOREVER if session.max_duration is None else session.max_duration
    return call("rows.SessionStarts", group, start, end, settings=(session.gap, most))


def bounds_of_snapshots(group: Column, time: Column, end: Column, after: Column, until: Column) -> Column:
    """By each row, the bounds of the windows that it is alive in, if they end after `after` and by `until`; either
    may be null. Rows and ends (rows without an `end` of their own) come latest first."""
    return call("rows.SnapshotBounds", group, time, end, after, until)


def punctuated(group: Column, part: Column, seed: Column, *columns: Column) -> Column:
    """`before` and `after`: the punctuation before each row of a group and after it. `seed`, read in a group's first
    row, is null or has the watermark, counted rows and period that the group begins with. The last columns are, of
    each row: whether it counts, the number of rows for a punctuation or null, its period or null, the punctuation
    that it would set, and the one that it sets in any case. Groups of several parts may come in turns."""
    return call("rows.PunctuationState", group, part, seed, *columns)


def paired(*columns: Column) -> Column:
    """`offset` and `start` of the oldest open start edge among earlier rows of a row's group. The first three columns
    name the group (partition and match as bytes, original start); then come the row's role, offset and start in
    force."""
    return call("rows.EdgePairing", *columns)


def least(partition: Column, mark: Column) -> Column:
    """The least of the partitions' latest marks so far; null while a partition has none."""
    return call("rows.LowestWatermark", partition.cast("binary"), mark)


def range_of(
    time: Column,
    starts: Sequence[int],
    crowded: Sequence[int] = (),
    many: int = 1,
    apart: Column | None = None,
) -> Column:
    """Number of the range that a time is in; all but the first range begin at `starts`. If `apart` is given, a time
    that is `crowded` or null gets one of `many` numbers, chosen by `apart`."""
    number = F.lit(None).cast("long") if apart is None else apart
    return call("rows.RangeIndex", time, number, settings=(java_longs(starts), java_longs(crowded), many))
