"""The smallest tolerances under which a row would have been on time, all else being equal.

The out-of-order step never raises a watermark. So the watermark before a row under other tolerances follows from the
times that earlier rows have after the early and late steps. Only earlier rows with a later event time are read: no
other row can raise the watermark above the row's event time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow.compute as pc

from tidemark.core.policy import Action, Policy, Tolerance
from tidemark.core.times import format_duration
from tidemark.records.rows import NeedRecord
from tidemark.report.events import instant
from tidemark.report.explain.history import TIMED, TIMES, staged_sql
from tidemark.report.explain.origin import Past
from tidemark.report.scan import UNREPEATED, single, sql, stream
from tidemark.report.words import duration

MAX_LATE = 1_814_399_000_000
"""The largest late_arrival allowed, 20 days 23:59:59, in microseconds."""


@dataclass(frozen=True)
class LeastSetting:
    """A setting and the smallest value that suffices, in microseconds."""

    setting: str
    micros: int

    def record(self) -> NeedRecord:
        return {
            "setting": self.setting,
            "at_least": duration(self.micros),
            "micros": self.micros,
            "value": format_duration(self.micros),
            "possible": self.possible,
        }

    @property
    def possible(self) -> bool:
        return self.setting != "late_arrival" or self.micros <= MAX_LATE


def needs_of(past: Past) -> tuple[LeastSetting, ...] | None:
    """Return the settings that must all be larger for the row to be on time; empty if the row was on time.

    None if no tolerance suffices: the partition started late, with a watermark after the row's time; or the row has
    no own event time.
    """
    row, policy = past.row, past.facts.policy
    if row.disposition == "on_time":
        return ()
    event, arrival = row.event_time, row.arrival_time
    if event is None or arrival is None or past.facts.timestamp_by is None:
        return None
    if past.started_unknown:
        return None
    start = past.late_start()
    ordered = policy.out_of_order.action is not Action.KEEP
    if ordered and start is not None and start[0] > event:
        return None
    least = _bounds(past, event, arrival)
    if ordered:
        least = _ordered(past, least, event)
    return tuple(_larger(policy, least))


def _bounds(past: Past, event: int, arrival: int) -> Policy:
    """Return the policy with early and late just wide enough for the row itself and for recorded floors."""
    policy = past.facts.policy
    early, late = policy.early, policy.late
    if early is not None:
        early = replace(early, micros=max(early.micros, event - arrival))
    if late is not None:
        reached = [arrival]
        if policy.out_of_order.action is not Action.KEEP:
            reached += [a for a in _floor_arrivals(past) if a is not None]
        late = replace(late, micros=max(late.micros, max(reached) - event))
    return Policy(early, late, policy.out_of_order)


def _floor_arrivals(past: Past) -> list[int | None]:
    """Return the partition's arrivals as estimated at the ends of earlier runs."""
    return [state.estimated_arrival for _, state in past.floors()]


def _ordered(past: Past, policy: Policy, event: int) -> Policy:
    high = _high(past, policy, event)
    if high is None:
        return policy
    gap = high - event
    late, order = policy.late, policy.out_of_order
    wider = None if late is None else replace(late, micros=max(late.micros, gap))
    return Policy(policy.early, wider, replace(order, micros=max(order.micros, gap)))


def _high(past: Past, policy: Policy, event: int) -> int | None:
    """Return the latest time, if later than `event`, that the early and late steps give to an earlier row of the
    partition or substream; else None. The late step acts on none of these rows: its tolerance is wide enough for the
    row, and arrival never goes back."""
    where = past.earlier() & (pc.field("_event_time") > instant(event)) & (pc.field("_disposition") != "quarantined")
    columns = [*TIMES, "_reasons", *(["_substream"] if past.key else [])]
    key = "AND _substream IS NOT DISTINCT FROM ?" if past.key else ""
    with sql() as connection:
        connection.register("earlier", stream(past.events, columns, where))
        high = single(
            connection,
            f"SELECT max({staged_sql(policy)}) FROM {TIMED} WHERE {UNREPEATED} {key}",  # noqa: S608
            past.key or (),
        )
    return high if high is not None and high > event else None


def _larger(policy: Policy, least: Policy) -> list[LeastSetting]:
    pairs: list[tuple[str, Tolerance | None, Tolerance | None]] = [
        ("early_arrival", policy.early, least.early),
        ("late_arrival", policy.late, least.late),
        ("out_of_order", policy.out_of_order, least.out_of_order),
    ]
    return [
        LeastSetting(setting, wanted.micros)
        for setting, given, wanted in pairs
        if given is not None and wanted is not None and wanted.micros > given.micros
    ]
