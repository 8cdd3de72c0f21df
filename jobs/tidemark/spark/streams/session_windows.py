"""Puts rows into session windows: sessions and snapshots (time rules: windows).

A row takes part in [`FROM`, `UNTIL`): its lifetime after the time that its own watermark had settled. The part before
`FROM` is late. Each group is sorted in one task and passed once by a JVM function that keeps state.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StructField, StructType

from tidemark.core.times import TICK
from tidemark.core.windows import DataDrivenWindows, Passed, SessionWindows
from tidemark.spark.columns import JUDGED, TENTATIVE, WINDOW
from tidemark.spark.digests import key_hash
from tidemark.spark.maxima import bounds_of_snapshots, start_of_session
from tidemark.spark.streams.equal_values import alike
from tidemark.spark.tables.delta import quoted
from tidemark.spark.times import came

FROM, UNTIL = f"{WINDOW}_from", f"{WINDOW}_until"
_AT, _ROW, _BOUNDS = f"{WINDOW}_at", f"{WINDOW}_row", f"{WINDOW}_bounds"
ENDED = f"{WINDOW}_ended"
"""End of the last closed window of a row's group, microseconds."""
_FOREVER = 1 << 60
"""End of a lifetime that has none, microseconds: later than any time and far from overflow."""


Time = int | str | None
"""Microseconds for all rows, the name of a column of them, or None."""


def taking_part(rows: DataFrame, lateness: int, bounds: Sequence[Passed] = ()) -> DataFrame:
    """Rows with the lifetime in which they take part (`FROM`, `UNTIL`), without rows that are late for all of it.

    `bounds` are times that the step had passed beyond the watermarks of rows.
    """
    own = F.greatest(F.unix_micros("_system_timestamp"), *_settled(rows, lateness, bounds))
    return rows.withColumns({FROM: own, UNTIL: _end()}).where(F.col(FROM) < F.col(UNTIL))


def late(rows: DataFrame, lateness: int, bounds: Sequence[Passed] = ()) -> DataFrame:
    """Rows that came late, with the late part of their lifetime as their window.

    The late part goes from the row's start to the time that its own watermark, or the step, had settled, or to its
    end if that is earlier. Rows of windows and joins are never late.
    """
    start = F.unix_micros("_system_timestamp")
    passed = _settled(rows, lateness, bounds)
    settled = passed[0] if len(passed) == 1 else F.greatest(*passed)
    found = rows.where(F.col(JUDGED) & (settled > start))
    times = {"_window_start": start, "_window_end": F.least(_end(), settled)}
    return found.withColumns({name: F.timestamp_micros(time) for name, time in times.items()})


def unclosed(rows: DataFrame, closed: DataFrame | None, groups: Sequence[str]) -> DataFrame:
    """Rows of sessions that are not `closed`: rows from the end of their group's last closed session on."""
    known = with_ended(rows, closed, groups)
    passed = F.col(ENDED)
    return known.where(passed.isNull() | (F.col(FROM) >= passed)).drop(ENDED)


def with_ended(rows: DataFrame, closed: DataFrame | None, groups: Sequence[str]) -> DataFrame:
    """Rows with the end of their group's last `closed` window (`ENDED`); null if there is none."""
    if closed is None:
        return rows.withColumn(ENDED, F.lit(None).cast("long"))
    named = [quoted(name).alias(f"{ENDED}_{number}") for number, name in enumerate(groups)]
    ended = closed.groupBy(*named).agg(F.max(F.unix_micros("_window_end")).alias(ENDED))
    if groups:
        equal = [quoted(name).eqNullSafe(ended[f"{ENDED}_{number}"]) for number, name in enumerate(groups)]
        joined = rows.join(ended, equal, "left")
    else:
        joined = rows.crossJoin(F.broadcast(ended))
    return joined.select(*map(quoted, rows.columns), ENDED)


def closing(
    rows: DataFrame, windows: DataDrivenWindows, groups: Sequence[str], begun: int | None, after: Time, until: Time
) -> DataFrame:
    """Rows in windows that are not closed yet and end at or before `until`.

    A window may end exactly at `after`, which was passed before, if a row has come or ended since. It is still open
    if it begins at its group's `ENDED` or later. No open window begins before `begun`.
    """
    assigned = in_windows(rows, windows, groups, after, until, TICK)
    if after is None or isinstance(windows, SessionWindows):
        return assigned
    last = F.greatest(ENDED, F.lit(begun).cast("long"))
    open_ = last.isNull() | (F.col(WINDOW) >= last)
    later = F.unix_micros("_window_end") > _time(after)
    return assigned.where(F.coalesce(later, F.lit(True)) | open_)


def certain(rows: DataFrame, lateness: int, until: Time) -> DataFrame:
    """Leave out `TENTATIVE` rows whose start the step has not passed yet: they may still turn out to end there.

    They bound no snapshot until then.
    """
    if TENTATIVE not in rows.columns or until is None:
        return rows
    moved = F.unix_micros(TENTATIVE) - lateness
    return rows.where(F.coalesce(moved < _time(until), F.lit(True)))


def in_windows(
    rows: DataFrame, windows: DataDrivenWindows, groups: Sequence[str], after: Time, until: Time, sooner: int = 0
) -> DataFrame:
    """Rows that take part, once for each of their windows that ends after `after` less `sooner`, and at or before
    `until`.

    Adds the window's bounds and its start, `WINDOW`, in microseconds. None is no bound. Null in the column `after` is
    no bound either; with null in the column `until`, the row is in no window.
    """
    if isinstance(windows, SessionWindows):
        assigned = _in_sessions(rows, windows, groups)
    else:
        assigned = _in_snapshots(rows, groups, after, until, sooner)
    end = F.unix_micros("_window_end")
    if after is not None:
        bound = _time(after) - sooner
        assigned = assigned.where(bound.isNull() | (end > bound))
    return assigned if until is None else assigned.where(end <= _time(until))


def open_starts(rows: DataFrame, windows: DataDrivenWindows, groups: Sequence[str], settled: int | str) -> DataFrame:
    """Rows with the start (`WINDOW`) of the earliest window that they leave open at `settled`, and their groups."""
    begun = rows.where(F.col(FROM) <= _time(settled))
    if isinstance(windows, SessionWindows):
        return in_windows(begun, windows, groups, settled, None)
    return _bounded(begun, groups, settled, None).withColumn(WINDOW, F.get(_BOUNDS, F.lit(0)))


def ends_about(assigned: DataFrame, lateness: int, limit: int) -> tuple[int | None, int | None]:
    """Latest time up to `limit`, and first time after it, at which one of the windows ends or closes.

    Times are microseconds, None if there is none; a window closes `lateness` after its end.
    """
    end = F.unix_micros("_window_end")
    times = [end, end + lateness] if lateness else [end]
    moments = assigned.select(F.explode(F.array(*times)).alias(_AT))
    at = F.col(_AT)
    bound, following = moments.agg(F.max(F.when(at <= limit, at)), F.min(F.when(at > limit, at))).collect()[0]
    return bound, following


def _in_sessions(rows: DataFrame, session: SessionWindows, groups: Sequence[str]) -> DataFrame:
    begin = start_of_session(_group(rows, groups), F.col(FROM), F.col(UNTIL), session)
    assigned = _together(rows, groups).sortWithinPartitions(*map(quoted, groups), FROM).withColumn(WINDOW, begin)
    whole = Window.partitionBy(*map(quoted, groups), F.col(WINDOW))
    most = F.lit(session.max_duration).cast("long")
    end = F.least(F.max(UNTIL).over(whole) - 1 + session.gap, F.col(WINDOW) + most)
    bounds = {"_window_start": F.timestamp_micros(WINDOW), "_window_end": F.timestamp_micros(end)}
    return assigned.withColumns(bounds)


def _in_snapshots(rows: DataFrame, groups: Sequence[str], after: Time, until: Time, sooner: int) -> DataFrame:
    found = _bounded(rows, groups, after, until, sooner)
    pairs = F.expr(f"sequence(0, size({_BOUNDS}) - 2)")
    assigned = found.select(f"{_ROW}.*", _BOUNDS, F.explode(pairs).alias(WINDOW))
    start, end = (F.timestamp_micros(F.get(_BOUNDS, F.col(WINDOW) + step)) for step in (0, 1))
    assigned = assigned.withColumns({"_window_start": start, "_window_end": end})
    return assigned.withColumn(WINDOW, F.unix_micros("_window_start")).drop(_BOUNDS)


def _bounded(rows: DataFrame, groups: Sequence[str], after: Time, until: Time, sooner: int = 0) -> DataFrame:
    """Rows, each packed, and the bounds of the windows that they are alive in.

    The ends of rows are sorted among their starts, since both bound windows; the latest come first.
    """
    asked = [name for name in (after, until) if isinstance(name, str)]
    named = [quoted(name).alias(name) for name in (*groups, *asked)]
    whole = F.struct(*map(quoted, rows.columns))
    at_start = F.struct(F.col(FROM).alias(_AT), *named, whole.alias(_ROW))
    at_end = F.struct(F.col(UNTIL).alias(_AT), *named, F.when(F.lit(False), whole).alias(_ROW))
    times = rows.select(F.explode(F.array(at_start, at_end)).alias(_BOUNDS)).select(f"{_BOUNDS}.*")
    ordered = _together(times, groups).sortWithinPartitions(*map(quoted, groups), F.col(_AT).desc())
    bounds = (_time(after) - sooner, _time(until))
    found = bounds_of_snapshots(_group(rows, groups), F.col(_AT), F.col(_ROW)[UNTIL], *bounds)
    return ordered.withColumn(_BOUNDS, found).where(F.col(_BOUNDS).isNotNull())


def _together(rows: DataFrame, groups: Sequence[str]) -> DataFrame:
    return rows.repartition(*map(quoted, groups)) if groups else rows.repartition(1)


def _group(rows: DataFrame, groups: Sequence[str]) -> Column:
    """A value that names a row's group. Nested values are replaced by hashes: the JVM functions would distinguish
    equal NaN and equal bytes inside them."""
    fields = rows.select(*map(quoted, groups)).schema
    return F.struct(*map(_named, fields)) if groups else F.lit(None).cast("long")


def _named(field: StructField) -> Column:
    value, kind = quoted(field.name), field.dataType
    return key_hash([alike(kind, value)], [kind]) if isinstance(kind, ArrayType | StructType) else value


def _settled(rows: DataFrame, lateness: int, bounds: Sequence[Passed]) -> list[Column]:
    """Times that a row's own watermark had settled, and that the step had when the row came; each may be null."""
    found = [F.when(F.col(JUDGED), F.unix_micros("_watermark")) - lateness]
    brought = came(rows.columns)
    return found + [F.when(brought >= each.batch_id, F.lit(each.time - lateness)) for each in bounds]


def _time(time: Time) -> Column:
    return F.col(time) if isinstance(time, str) else F.lit(time).cast("long")


def _end() -> Column:
    return F.coalesce(F.unix_micros("_end_time"), F.lit(_FOREVER))
