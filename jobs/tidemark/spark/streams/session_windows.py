"""Rows in windows whose bounds come from rows: sessions and snapshots (time rules: windows).

A row takes part in [`FROM`, `UNTIL`), its lifetime from what its own watermark had settled on; what lies before that
is late. Each group is sorted in one task and passed once by a function with a memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from tidemark.core.session_windows import Measured, Passed, Session
from tidemark.core.times import TICK
from tidemark.spark.columns import JUDGED, TENTATIVE, WINDOW
from tidemark.spark.maxima import bounds_of_snapshots, start_of_session
from tidemark.spark.tables.delta import quoted
from tidemark.spark.times import came

FROM, UNTIL = f"{WINDOW}_from", f"{WINDOW}_until"
_AT, _ROW, _BOUNDS = f"{WINDOW}_at", f"{WINDOW}_row", f"{WINDOW}_bounds"
ENDED = f"{WINDOW}_ended"
"""When the last window of a row's group ended that is closed, microseconds."""
_FOREVER = 1 << 60
"""End of a lifetime that has none, microseconds: later than any time and far from overflow."""


Time = int | str | None
"""Microseconds, the same for all rows or in a column of them."""


def taking_part(rows: DataFrame, lateness: int, bounds: Sequence[Passed] = ()) -> DataFrame:
    """Rows with the lifetime in which they take part; without those that are late for all of theirs. `bounds`: what
    the step had passed beyond the watermarks of rows."""
    own = F.greatest(F.unix_micros("_system_timestamp"), *_settled(rows, lateness, bounds))
    return rows.withColumns({FROM: own, UNTIL: _end()}).where(F.col(FROM) < F.col(UNTIL))


def late(rows: DataFrame, lateness: int, bounds: Sequence[Passed] = ()) -> DataFrame:
    """Rows of which a part came late, with the window that it is: from their start to what their own watermark, or
    the step, had settled on, or to their end. Rows of windows and joins never are."""
    start = F.unix_micros("_system_timestamp")
    passed = _settled(rows, lateness, bounds)
    settled = passed[0] if len(passed) == 1 else F.greatest(*passed)
    found = rows.where(F.col(JUDGED) & (settled > start))
    times = {"_window_start": start, "_window_end": F.least(_end(), settled)}
    return found.withColumns({name: F.timestamp_micros(time) for name, time in times.items()})


def unclosed(rows: DataFrame, closed: DataFrame | None, groups: Sequence[str]) -> DataFrame:
    """Rows of sessions that are not `closed`: those from the end of their group's last closed one on."""
    known = with_ended(rows, closed, groups)
    passed = F.col(ENDED)
    return known.where(passed.isNull() | (F.col(FROM) >= passed)).drop(ENDED)


def with_ended(rows: DataFrame, closed: DataFrame | None, groups: Sequence[str]) -> DataFrame:
    """Rows with the time when the last `closed` window of their group `ENDED`; null: there is none."""
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
    rows: DataFrame, measured: Measured, groups: Sequence[str], begun: int | None, after: Time, until: Time
) -> DataFrame:
    """Rows in windows that are not closed and end at a time at the latest. One may end in the very moment `after`
    that was passed before, if a row has come, or ended, since: it is told from those that are closed by where their
    group's last one `ENDED`; none begins before `begun`."""
    placed = in_windows(rows, measured, groups, after, until, TICK)
    if after is None or isinstance(measured, Session):
        return placed
    last = F.greatest(ENDED, F.lit(begun).cast("long"))
    open_ = last.isNull() | (F.col(WINDOW) >= last)
    later = F.unix_micros("_window_end") > _time(after)
    return placed.where(F.coalesce(later, F.lit(True)) | open_)


def certain(rows: DataFrame, lateness: int, until: Time) -> DataFrame:
    """Rows without lifetimes that begin where the step stands, and may yet turn out to end there: until it has passed
    that moment they bound no snapshot."""
    if TENTATIVE not in rows.columns or until is None:
        return rows
    moved = F.unix_micros(TENTATIVE) - lateness
    return rows.where(F.coalesce(moved < _time(until), F.lit(True)))


def in_windows(
    rows: DataFrame, measured: Measured, groups: Sequence[str], after: Time, until: Time, sooner: int = 0
) -> DataFrame:
    """Rows that take part, each in its windows that end after a time, or so much `sooner`, and at the latest at
    another (None: without that bound; null in a column: nothing ended before, or nothing ends); `WINDOW`, when the
    window begins, and its bounds are added."""
    if isinstance(measured, Session):
        placed = _in_sessions(rows, measured, groups)
    else:
        placed = _in_snapshots(rows, groups, after, until, sooner)
    end = F.unix_micros("_window_end")
    if after is not None:
        bound = _time(after) - sooner
        placed = placed.where(bound.isNull() | (end > bound))
    return placed if until is None else placed.where(end <= _time(until))


def open_starts(rows: DataFrame, measured: Measured, groups: Sequence[str], settled: int | str) -> DataFrame:
    """The same by row, as `WINDOW`, beside its groups."""
    begun = rows.where(F.col(FROM) <= _time(settled))
    if isinstance(measured, Session):
        return in_windows(begun, measured, groups, settled, None)
    return _bounded(begun, groups, settled, None).withColumn(WINDOW, F.get(_BOUNDS, F.lit(0)))


def ends_about(placed: DataFrame, lateness: int, limit: int) -> tuple[int | None, int | None]:
    """Of windows, the latest time up to a limit at which one ends, or closes, and the first after it."""
    end = F.unix_micros("_window_end")
    times = [end, end + lateness] if lateness else [end]
    told = placed.select(F.explode(F.array(*times)).alias(_AT))
    at = F.col(_AT)
    bound, following = told.agg(F.max(F.when(at <= limit, at)), F.min(F.when(at > limit, at))).collect()[0]
    return bound, following


def _in_sessions(rows: DataFrame, session: Session, groups: Sequence[str]) -> DataFrame:
    told = start_of_session(rows.sparkSession, _group(groups), F.col(FROM), F.col(UNTIL), session)
    placed = _together(rows, groups).sortWithinPartitions(*map(quoted, groups), FROM).withColumn(WINDOW, told)
    whole = Window.partitionBy(*map(quoted, groups), F.col(WINDOW))
    end = F.least(F.max(UNTIL).over(whole) - 1 + session.gap, F.col(WINDOW) + session.max_duration)
    bounds = {"_window_start": F.timestamp_micros(WINDOW), "_window_end": F.timestamp_micros(end)}
    return placed.withColumns(bounds)


def _in_snapshots(rows: DataFrame, groups: Sequence[str], after: Time, until: Time, sooner: int) -> DataFrame:
    found = _bounded(rows, groups, after, until, sooner)
    pairs = F.expr(f"sequence(0, size({_BOUNDS}) - 2)")
    placed = found.select(f"{_ROW}.*", _BOUNDS, F.explode(pairs).alias(WINDOW))
    start, end = (F.timestamp_micros(F.get(_BOUNDS, F.col(WINDOW) + step)) for step in (0, 1))
    placed = placed.withColumns({"_window_start": start, "_window_end": end})
    return placed.withColumn(WINDOW, F.unix_micros("_window_start")).drop(_BOUNDS)


def _bounded(rows: DataFrame, groups: Sequence[str], after: Time, until: Time, sooner: int = 0) -> DataFrame:
    """Rows, each packed, and the bounds of the windows that it is alive in. Ends stand beside rows, since both bound
    windows; all go latest first."""
    asked = [name for name in (after, until) if isinstance(name, str)]
    named = [quoted(name).alias(name) for name in (*groups, *asked)]
    whole = F.struct(*map(quoted, rows.columns))
    at_start = F.struct(F.col(FROM).alias(_AT), *named, whole.alias(_ROW))
    at_end = F.struct(F.col(UNTIL).alias(_AT), *named, F.when(F.lit(False), whole).alias(_ROW))
    times = rows.select(F.explode(F.array(at_start, at_end)).alias(_BOUNDS)).select(f"{_BOUNDS}.*")
    ordered = _together(times, groups).sortWithinPartitions(*map(quoted, groups), F.col(_AT).desc())
    bounds = (_time(after) - sooner, _time(until))
    told = bounds_of_snapshots(rows.sparkSession, _group(groups), F.col(_AT), F.col(_ROW)[UNTIL], *bounds)
    return ordered.withColumn(_BOUNDS, told).where(F.col(_BOUNDS).isNotNull())


def _together(rows: DataFrame, groups: Sequence[str]) -> DataFrame:
    return rows.repartition(*map(quoted, groups)) if groups else rows.repartition(1)


def _group(groups: Sequence[str]) -> Column:
    return F.struct(*map(quoted, groups)) if groups else F.lit(None).cast("long")


def _settled(rows: DataFrame, lateness: int, bounds: Sequence[Passed]) -> list[Column]:
    """What a row's own watermark had settled on, and what the step had when the row came; each may be null."""
    found = [F.when(F.col(JUDGED), F.unix_micros("_watermark")) - lateness]
    brought = came(rows.columns)
    return found + [F.when(brought >= each.batch_id, F.lit(each.time - lateness)) for each in bounds]


def _time(time: Time) -> Column:
    return F.col(time) if isinstance(time, str) else F.lit(time).cast("long")


def _end() -> Column:
    return F.coalesce(F.unix_micros("_end_time"), F.lit(_FOREVER))
