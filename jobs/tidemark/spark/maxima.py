"""Running values over the rows of a task, group after group, in one pass that holds no rows.

Window functions would keep all rows of a group until its last one. These functions of `jvm/` keep state from row to
row: rows must be sorted, a group's seed before its rows, and Spark must not change their order.
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
    """Plan parameter: watermark of groups without a seed, microseconds. Its `set` changes it for later jobs."""
    start = java_class("plans.PlanNumber")()
    start.set(watermark)
    return start


def running_state(chunk: Column, partition: Column, own: Column, seed: Column, start: JavaObject) -> Column:
    """Struct for each row: `group` (number of its group in the task), `number` (rows of the group so far), `arrival`
    (latest so far), `watermark` and `high` (from the group's seed). Without a seed, `watermark` is `start`. `chunk`
    and `partition` name the group and are not null."""
    numbers = [or_none(seed[name]) for name in ("rows", "watermark", "high")]
    return invoked("rows.RunningState", chunk, partition, or_none(own), *numbers, settings=(start,))


def greatest_before(group: Column, part: Column, value: Column) -> Column:
    """The greatest value of a group's rows before each row; null if there is none. `group` (a number that is never
    null, or bytes) and `part` (bytes or null) name a row's group together."""
    return invoked("rows.PrecedingMaximum", group, part, or_none(value))


def latest_in_cell(partition: Column, cell: Column, own: Column) -> Column:
    """For each row, the latest arrival so far among its partition's rows in its cell, in the order in which files
    give rows."""
    return call("rows.LatestArrival", partition.cast("binary"), cell, own)


def start_of_session(group: Column, start: Column, end: Column, session: SessionWindows) -> Column:
    """The start of each row's session, microseconds. Rows are in the order of their starts."""
    most = _FOREVER if session.max_duration is None else session.max_duration
    return call("rows.SessionStarts", group, start, end, settings=(session.gap, most))


def bounds_of_snapshots(group: Column, time: Column, end: Column, after: Column, until: Column) -> Column:
    """For each row, the bounds of its snapshot windows that end after `after` and at or before `until` (null: no
    limit). Latest times come first; the end of a row is a row of its own, with null `end`."""
    return call("rows.SnapshotBounds", group, time, end, after, until)


def punctuated(group: Column, part: Column, seed: Column, *columns: Column) -> Column:
    """Struct of `before` and `after`, the punctuations in force before and after each row. `group` and `part` name
    the row's group; groups of several parts may come in turns. `seed` is the state before the group (watermark,
    counted rows, period), read at its first row, or null. `columns` are `PunctuationColumns`, in their order."""
    return call("rows.PunctuationState", group, part, seed, *columns)


def paired(*columns: Column) -> Column:
    """Struct of `offset` and `start` of the oldest open start edge among earlier rows of a row's group. The first
    three `columns` name the group: partition and match as bytes, original start. Then come the row's role, offset and
    start in force."""
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
    """Number of a time's range, from 0; range n > 0 begins at `starts[n - 1]`. If `apart` is given, a time that is
    `crowded` or null gets one of `many` numbers, chosen by `apart`."""
    number = F.lit(None).cast("long") if apart is None else apart
    return call("rows.RangeIndex", time, number, settings=(java_longs(starts), java_longs(crowded), many))
