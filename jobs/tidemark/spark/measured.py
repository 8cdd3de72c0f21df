"""Rows in windows whose bounds come from rows: sessions and snapshots (time rules: windows).

A row takes part in [`FROM`, `UNTIL`), its lifetime from what its own watermark had settled on; what lies before that
is late. Each group is sorted in one task and passed once by a function with a memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from tidemark.core.measured import Measured, Session
from tidemark.spark.maxima import bounds_of_snapshots, start_of_session
from tidemark.spark.names import JUDGED, WINDOW
from tidemark.spark.tables import quoted

FROM, UNTIL = f"{WINDOW}_from", f"{WINDOW}_until"
_AT, _ROW, _BOUNDS, _ENDED = f"{WINDOW}_at", f"{WINDOW}_row", f"{WINDOW}_bounds", f"{WINDOW}_ended"
_FOREVER = 1 << 60
"""End of a lifetime that has none, microseconds: later than any time and far from overflow."""


def taking_part(rows: DataFrame, lateness: int) -> DataFrame:
    """Rows with the lifetime in which they take part; without those that are late for all of theirs."""
    own = F.greatest(F.unix_micros("_system_timestamp"), _settled(lateness))
    return rows.withColumns({FROM: own, UNTIL: _end()}).where(F.col(FROM) < F.col(UNTIL))


def late(rows: DataFrame, lateness: int) -> DataFrame:
    """Rows of which a part came late, with the window that it is: from their start to what their own watermark had
    settled on, or to their end."""
    start, settled = F.unix_micros("_system_timestamp"), _settled(lateness)
    found = rows.where(settled > start)
    bounds = {"_window_start": start, "_window_end": F.least(_end(), settled)}
    return found.withColumns({name: F.timestamp_micros(bound) for name, bound in bounds.items()})


def unclosed(rows: DataFrame, closed: DataFrame | None, groups: Sequence[str]) -> DataFrame:
    """Rows of sessions that are not `closed`: those from the end of their group's last closed one on."""
    if closed is None:
        return rows
    named = [quoted(name).alias(f"{_ENDED}_{number}") for number, name in enumerate(groups)]
    ended = closed.groupBy(*named).agg(F.max(F.unix_micros("_window_end")).alias(_ENDED))
    if groups:
        equal = [quoted(name).eqNullSafe(ended[f"{_ENDED}_{number}"]) for number, name in enumerate(groups)]
        joined = rows.join(ended, equal, "left")
    else:
        joined = rows.crossJoin(F.broadcast(ended))
    passed = F.col(_ENDED)
    return joined.where(passed.isNull() | (F.col(FROM) >= passed)).select(*map(quoted, rows.columns))


def in_windows(
    rows: DataFrame, measured: Measured, groups: Sequence[str], after: int | None, until: int | None
) -> DataFrame:
    """Rows that take part, each in its windows that end after a time and at the latest at another (None: without that
    bound); `WINDOW` and the window's bounds are added."""
    if isinstance(measured, Session):
        placed = _in_sessions(rows, measured, groups)
    else:
        placed = _in_snapshots(rows, groups, after, until)
    end = F.unix_micros("_window_end")
    placed = placed if after is None else placed.where(end > after)
    return placed if until is None else placed.where(end <= until)


def earliest(rows: DataFrame, measured: Measured, groups: Sequence[str], settled: int) -> int | None:
    """The start of the earliest window that ends after a time; None: no row begins by then that is alive after it. A
    row that begins just then bounds the window before it."""
    begun = rows.where(F.col(FROM) <= settled)
    if isinstance(measured, Session):
        found = in_windows(begun, measured, groups, settled, None).agg(F.min(WINDOW))
    else:
        found = _bounded(begun, groups, settled, None).agg(F.min(F.get(_BOUNDS, F.lit(0))))
    start: int | None = found.collect()[0][0]
    return start


def _in_sessions(rows: DataFrame, session: Session, groups: Sequence[str]) -> DataFrame:
    told = start_of_session(rows.sparkSession, _group(groups), F.col(FROM), F.col(UNTIL), session)
    placed = _together(rows, groups).sortWithinPartitions(*map(quoted, groups), FROM).withColumn(WINDOW, told)
    whole = Window.partitionBy(*map(quoted, groups), F.col(WINDOW))
    end = F.least(F.max(UNTIL).over(whole) - 1 + session.gap, F.col(WINDOW) + session.max_duration)
    bounds = {"_window_start": F.timestamp_micros(WINDOW), "_window_end": F.timestamp_micros(end)}
    return placed.withColumns(bounds)


def _in_snapshots(rows: DataFrame, groups: Sequence[str], after: int | None, until: int | None) -> DataFrame:
    found = _bounded(rows, groups, after, until)
    pairs = F.expr(f"sequence(0, size({_BOUNDS}) - 2)")
    placed = found.select(f"{_ROW}.*", _BOUNDS, F.explode(pairs).alias(WINDOW))
    start, end = (F.timestamp_micros(F.get(_BOUNDS, F.col(WINDOW) + step)) for step in (0, 1))
    placed = placed.withColumns({"_window_start": start, "_window_end": end})
    return placed.withColumn(WINDOW, F.unix_micros("_window_start")).drop(_BOUNDS)


def _bounded(rows: DataFrame, groups: Sequence[str], after: int | None, until: int | None) -> DataFrame:
    """Rows, each packed, and the bounds of the windows that it is alive in. Ends stand beside rows, since both bound
    windows; all go latest first."""
    named = [quoted(name).alias(name) for name in groups]
    whole = F.struct(*map(quoted, rows.columns))
    at_start = F.struct(F.col(FROM).alias(_AT), *named, whole.alias(_ROW))
    at_end = F.struct(F.col(UNTIL).alias(_AT), *named, F.when(F.lit(False), whole).alias(_ROW))
    times = rows.select(F.explode(F.array(at_start, at_end)).alias(_BOUNDS)).select(f"{_BOUNDS}.*")
    ordered = _together(times, groups).sortWithinPartitions(*map(quoted, groups), F.col(_AT).desc())
    asked = (F.lit(after).cast("long"), F.lit(until).cast("long"))
    told = bounds_of_snapshots(rows.sparkSession, _group(groups), F.col(_AT), F.col(_ROW)[UNTIL], *asked)
    return ordered.withColumn(_BOUNDS, told).where(F.col(_BOUNDS).isNotNull())


def _together(rows: DataFrame, groups: Sequence[str]) -> DataFrame:
    return rows.repartition(*map(quoted, groups)) if groups else rows.repartition(1)


def _group(groups: Sequence[str]) -> Column:
    return F.struct(*map(quoted, groups)) if groups else F.lit(None).cast("long")


def _settled(lateness: int) -> Column:
    return F.when(F.col(JUDGED), F.unix_micros("_watermark")) - lateness


def _end() -> Column:
    return F.coalesce(F.unix_micros("_end_time"), F.lit(_FOREVER))
