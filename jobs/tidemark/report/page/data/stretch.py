"""A stretch of one source's log, row by row, for the chart of the watermark."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow.compute as pc

from tidemark.core.policy import Action, Fate, Policy
from tidemark.core.watermarks import clamp, latest
from tidemark.report.causes.causes import Cause
from tidemark.report.explain.history import outcome
from tidemark.report.page.data.fates import FatesOverTime
from tidemark.report.page.data.tables import Query, Row, Scope, SourceTable, ask, in_scope, registered
from tidemark.report.scan import UNREPEATED, Condition, between, both

WHOLE = 300
"""Most rows of a log that is drawn whole."""
BEFORE, AFTER = 150, 50
"""Rows shown of a longer log: up to the row around which its stretch is drawn, and after that row."""
INTO = 110
"""Offsets from a cause's first row to the row around which its stretch is drawn."""
MOST_KEYS = 6
"""Most watermarks in one chart; a log with more is not shown whole."""

Key = tuple[str, str | None]
Mark = tuple[int, int]

_COLUMNS = [
    "_reasons",
    "_partition",
    "_substream",
    "_offset",
    "_arrival_time",
    "_event_time",
    "_end_time",
    "_system_timestamp",
    "_disposition",
    "_watermark",
]


@dataclass(frozen=True)
class Point:
    """One row; times in microseconds UTC, None if it lacks the time. `watermark` was in force before the row; `end`:
    end of an interval."""

    key: Key
    offset: int
    fate: Fate
    arrival: int | None
    event: int | None
    system: int | None
    watermark: int | None
    end: int | None = None

    @property
    def drawable(self) -> bool:
        """True if it has both an arrival and an event time."""
        return self.arrival is not None and self.event is not None


@dataclass(frozen=True)
class Stretch:
    """Rows in the order of the log. `whole`: they are the scope's whole log. `mixed`:
    several policies judged them."""

    points: tuple[Point, ...]
    whole: bool
    policy: Policy
    punctuated: bool = False
    mixed: bool = False

    @property
    def keys(self) -> tuple[Key, ...]:
        """The partitions, or substreams, with a watermark of their own in this stretch."""
        return tuple(dict.fromkeys(point.key for point in self.points))

    def line(self, key: Key) -> list[Mark]:
        """Return the watermark of a key as marks (arrival, watermark): each watermark holds from the previous mark up
        to its arrival. The first mark is the row that set the first watermark, if the stretch contains it; the last
        one is the watermark after the last row."""
        mine = [(p.arrival, p) for p in self.points if p.key == key and p.arrival is not None]
        marks = [(arrival, point.watermark) for arrival, point in mine if point.watermark is not None]
        if mine and (left := self._left(mine[-1][1])) is not None:
            marks.append((mine[-1][0], left))
        unset = [arrival for arrival, point in mine if point.watermark is None and point.fate is not Fate.QUARANTINED]
        return [(unset[-1], marks[0][1]), *marks] if unset and marks else marks

    def _left(self, point: Point) -> int | None:
        """Return the watermark after a row (time rules: judging a row, step 4)."""
        if point.system is None or self.punctuated or self.mixed:
            return point.watermark
        return clamp(latest(point.watermark, point.system - self.policy.disorder))

    @property
    def order_acts(self) -> bool:
        """True if a row behind the watermark is dropped or adjusted."""
        return not self.punctuated and not self.mixed and self.policy.out_of_order.action is not Action.KEEP


def named(key: Key) -> str:
    """Return a partition, or one of its substreams, as a title names it."""
    partition, substream = key
    return f"partition {partition}" if substream is None else f"partition {partition}, substream {substream}"


def stretch_of(source: SourceTable, scope: Scope, fates: FatesOverTime, cause: Cause | None = None) -> Stretch | None:
    """Read the whole log if it is short. Else read one partition or substream: around the beginning of `cause` or,
    without a cause, around the newest row that a policy acted on. None: there is no row, or the source has no event
    time of its own."""
    if source.events is None or not source.timed or not fates.rows:
        return None
    if fates.rows <= WHOLE:
        points = _points(source, in_scope(scope), "ORDER BY _batch_id, _partition, _offset")
        found = _judged(points, True, source)
        if len(found.keys) <= MOST_KEYS:
            return found
    anchor = (None if cause is None else _begin(source, scope, cause)) or _anchor(source, scope)
    if anchor is None:
        return None
    condition = pc.field("_partition") == anchor["_partition"]
    if source.substreams:
        name = anchor["_substream"]
        condition &= pc.field("_substream").is_null() if name is None else pc.field("_substream") == name
    before = in_scope(scope, condition, pc.field("_offset") <= anchor["_offset"])
    after = in_scope(scope, condition, pc.field("_offset") > anchor["_offset"])
    points = _points(source, before, f"ORDER BY _offset DESC LIMIT {BEFORE}")[::-1]
    points += _points(source, after, f"ORDER BY _offset LIMIT {AFTER}")
    return _judged(points, False, source)


def _judged(points: tuple[Point, ...], whole: bool, source: SourceTable) -> Stretch:
    """Return a stretch with the policy that judged its rows."""
    for policy in (source.policy, *source.others):
        if source.punctuated or all(_by(policy, point) for point in points):
            return Stretch(points, whole, policy, source.punctuated)
    return Stretch(points, whole, source.policy, mixed=True)


def _by(policy: Policy, point: Point) -> bool:
    """True if a policy may have judged a row."""
    if point.fate is Fate.QUARANTINED or point.event is None or point.arrival is None:
        return True
    fate, _, time = outcome(policy, point.event, point.arrival, point.watermark, point.end)
    return (fate, time) == (point.fate.value, point.system)


def _begin(source: SourceTable, scope: Scope, cause: Cause) -> Row | None:
    """Return the row around which a cause is drawn: up to INTO offsets after its first row, so that rows before it
    are shown, in the partition or substream with most of its rows. None: it has no rows."""
    if source.events is None:
        return None
    where = between("_arrival_time", cause.first, cause.last)
    if cause.partitions:
        where = both(where, pc.field("_partition").isin(list(cause.partitions)))
    if cause.fate:
        where = both(where, pc.field("_disposition") == cause.fate)
    key = "_partition, _substream" if source.substreams else "_partition, NULL AS _substream"
    found = ask(
        source.events,
        ["_partition", "_substream", "_offset", "_batch_id"],
        f"SELECT {key}, least(max(_offset), min(_offset) + {INTO}) AS _offset FROM t "  # noqa: S608
        "GROUP BY 1, 2 ORDER BY count(*) DESC, 1, 2 LIMIT 1",
        where=in_scope(scope, where),
    )
    return found[0] if found else None


def _anchor(source: SourceTable, scope: Scope) -> Row | None:
    """Return the newest dropped or adjusted row; if there is none, the newest row on time."""
    if source.events is None:
        return None
    for fates in (["adjusted", "dropped"], ["on_time"]):
        found = ask(
            source.events,
            ["_partition", "_substream", "_offset", "_batch_id", "_arrival_time"],
            "SELECT _partition, _substream, _offset FROM t "
            "ORDER BY _batch_id DESC, _arrival_time DESC, _partition, _offset DESC LIMIT 1",
            where=in_scope(scope, pc.field("_disposition").isin(fates)),
        )
        if found:
            return found[0]
    return None


def _points(source: SourceTable, where: Condition, order: str) -> tuple[Point, ...]:
    if source.events is None:
        return ()
    with registered(source.events, [*_COLUMNS, "_batch_id"], where) as query:
        return tuple(_point(row, source.substreams) for row in _rows(query, order))


def _rows(query: Query, order: str) -> list[Row]:
    times = ("_arrival_time", "_event_time", "_end_time", "_system_timestamp", "_watermark")
    columns = ", ".join(f"epoch_us({name}) AS {name}" for name in times)
    found = f"SELECT _partition, _substream, _offset, _disposition, {columns} FROM t"  # noqa: S608
    return query.rows(f"{found} WHERE {UNREPEATED} {order}")


def _point(row: Row, substreams: bool) -> Point:
    return Point(
        key=(row["_partition"], row["_substream"] if substreams else None),
        offset=row["_offset"],
        fate=Fate(row["_disposition"]),
        arrival=row["_arrival_time"],
        event=row["_event_time"],
        system=row["_system_timestamp"],
        watermark=row["_watermark"],
        end=row["_end_time"],
    )
