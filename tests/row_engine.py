"""An engine without Spark: judges JSON lines row by row and keeps the rows in memory.

It is all that the runner needs of an engine, so that a run's steps (plan, judge, record, commit, recover) can be
tested in milliseconds. It judges sources with tolerance policies, an event time, and no substreams.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import pytest

import plain_checks
from product import micros
from tidemark.context import RunContext
from tidemark.core.advance import Opening
from tidemark.core.batch import LandedObject, ObjectState
from tidemark.core.batch_result import FINDINGS, Account, FindingSample, Occurrence, Outcome, PartitionReport
from tidemark.core.policy import Action, Fate, Reason
from tidemark.core.times import MIN_TIME
from tidemark.core.watermarks import UNKNOWN, PartitionState, Seen, latest
from tidemark.runner import planner
from tidemark.spark.micro_batch import MicroBatch
from tidemark.spark.session import session

READ, QUARANTINED = ObjectState.READ, ObjectState.QUARANTINED


@dataclass
class Event:
    """One judged row; times are microseconds."""

    partition: str
    offset: int
    arrival: int | None
    own: int | None
    event: int | None
    stamp: int | None
    fate: Fate
    reasons: tuple[Reason, ...]
    file: str


def without_spark(patch: pytest.MonkeyPatch) -> None:
    """Checks in plain Python, no analysis of the configuration by Spark, and no session."""
    plain_checks.use(patch.setattr)
    patch.setattr(planner, "analyse", lambda *_: None)
    patch.setattr(session, "open_session", None)


class NoRows:
    """A writer of streams that writes nothing: only their progress matters."""

    not_due: dict[str, int] = {}  # noqa: RUF012 - a constant

    def write(self, *_: Any) -> tuple[()]:
        return ()

    def making(self, _: Any) -> dict[str, Any]:
        return {}

    def outside(self, *_: Any) -> int:
        return 0

    def earliest(self, _: Any) -> None:
        return None

    def idle(self, *_: Any) -> tuple[None, None]:
        return None, None

    behind = outside


def without_streams(patch: pytest.MonkeyPatch) -> None:
    """No rows of streams, and an engine of rows for all commands until the patch ends."""
    engine = RowEngine()
    without_spark(patch)
    patch.setattr(RunContext, "engine", property(lambda _: engine))
    patch.setattr(RunContext, "outputs", lambda *_, **__: NoRows())


@dataclass
class RowEngine:
    """Implements `tidemark.runner.executor.JudgingEngine`."""

    checkpoint: Callable[[str], None] = lambda _: None
    rows: dict[tuple[str, int], list[Event]] = field(default_factory=dict)
    """Events by source and batch."""
    timings: dict[str, float] = field(default_factory=dict)
    calls: Counter[str] = field(default_factory=Counter)

    def judge(self, batch: MicroBatch, recovering: bool) -> Outcome:
        key = (batch.source.name, batch.number)
        self.calls["judged"] += 1
        judging = _Judging(batch)
        for item in batch.objects:
            if item.refusal is None:
                judging.read(item)
        if not (recovering and key in self.rows):
            assert key not in self.rows, f"{key} is appended twice"
            self.rows[key] = judging.events
            self.checkpoint("events")
        return judging.outcome(self.rows[key])

    def judged(self, table: str, first: int, last: int) -> Any:
        raise AssertionError(f"no stream is declared, and batches {first} to {last} of {table} are asked for")


class _Judging:
    def __init__(self, batch: MicroBatch) -> None:
        self.batch, self.source, self.opening = batch, batch.source, batch.opening
        self.states = dict(self.opening.states)
        self.events: list[Event] = []
        self.skipped: dict[str, list[int | None]] = defaultdict(list)
        self.per_object: Counter[str] = Counter()

    def read(self, item: LandedObject) -> None:
        with open(item.path, encoding="utf-8") as lines:  # noqa: PTH123
            for line in lines:
                self.row(item, json.loads(line))

    def row(self, item: LandedObject, row: dict[str, Any]) -> None:
        name = row["p"] if self.source.partition else "0"
        name = UNKNOWN if name is None else name
        state = self.states.get(name) or (PartitionState() if name == UNKNOWN else self.opening.unseen)
        own = self.own_arrival(item, row)
        arrival = latest(state.last_arrival, own)
        offset, state = state.next_offset, replace(state, next_offset=state.next_offset + 1, last_arrival=arrival)
        self.states[name] = state
        self.per_object[item.uri] += 1
        if arrival is not None and self.opening.read_from is not None and arrival < self.opening.read_from:
            self.skipped[name].append(own)
            return
        event = readable(row.get("e"))
        bad = name == UNKNOWN or isinstance(row.get("n"), str)
        if bad or own is None or event is None:
            stamp, fate, reasons = None, Fate.QUARANTINED, (Reason.INVALID_ROW if bad else Reason.INVALID_TIME,)
        else:
            assert arrival is not None
            stamp, fate, reasons = self.steps(event, arrival, state)
        if stamp is not None:
            self.states[name] = self.moved(state, stamp)
        self.events.append(Event(name, offset, arrival, own, event, stamp, fate, reasons, item.uri))

    def own_arrival(self, item: LandedObject, row: dict[str, Any]) -> int | None:
        if self.source.arrival_time is None:
            return item.modified
        own = readable(row.get("a"))
        if own is None or own > item.modified + self.source.clock_skew:
            return None
        return min(own, item.modified)

    def steps(self, event: int, arrival: int, state: PartitionState) -> tuple[int | None, Fate, tuple[Reason, ...]]:
        """The early, late and out-of-order steps, in this order."""
        policy, stamp, reasons = self.source.policy, event, []
        marks = (
            (Reason.EARLY, policy.early, policy.early and arrival + policy.early.micros, 1),
            (Reason.LATE, policy.late, policy.late and arrival - policy.late.micros, -1),
        )
        for reason, tolerance, limit, sign in marks:
            if tolerance is not None and sign * (event - limit) > 0:
                reasons.append(reason)
                if tolerance.action is Action.DROP:
                    return None, Fate.DROPPED, tuple(reasons)
                stamp = limit
        order = policy.out_of_order
        if order.action is not Action.KEEP and state.watermark is not None and stamp < state.watermark:
            reasons.append(Reason.OUT_OF_ORDER)
            if order.action is Action.DROP:
                return None, Fate.DROPPED, tuple(reasons)
            stamp = state.watermark
        return stamp, Fate.ADJUSTED if reasons else Fate.ON_TIME, tuple(reasons)

    def moved(self, state: PartitionState, stamp: int) -> PartitionState:
        policy = self.source.policy
        trails = policy.out_of_order.micros
        if policy.late is not None and policy.out_of_order.action is not Action.KEEP:
            trails = min(trails, policy.late.micros)
        high = stamp if state.high is None else max(state.high, stamp)
        return replace(state, high=high, watermark=latest(state.watermark, max(MIN_TIME, high - trails)))

    def outcome(self, events: list[Event]) -> Outcome:
        names = dict.fromkeys(event.partition for event in events)
        partitions = {name: self.report(name, [e for e in events if e.partition == name]) for name in names}
        late = {}
        for name in partitions:
            limit = opening_state(self.opening, name).estimated_high
            below = [
                e for e in events if e.partition == name and e.own is not None and limit is not None and e.own < limit
            ]
            if below and self.source.policy.late is not None:
                late[name] = occurrence(below, lambda e: e.own)
        objects = tuple(
            replace(item, state=READ if item.refusal is None else QUARANTINED, rows=self.per_object[item.uri])
            for item in self.batch.objects
        )
        skipped = {name: Seen(len(own), latest(*own), None) for name, own in self.skipped.items()}
        return Outcome((), partitions, objects, skipped, late)

    def report(self, name: str, events: list[Event]) -> PartitionReport:
        fates = {fate: sum(e.fate is fate for e in events) for fate in Fate}
        reasons = Counter(reason for e in events for reason in e.reasons)
        account = Account(self.source.name, name, fates, reasons)
        seen = Seen(len(events), latest(*[e.own for e in events]), latest(*[e.stamp for e in events]))
        found = {
            FINDINGS[reason]: occurrence([e for e in events if reason in e.reasons], lambda e: e.arrival)
            for reason in reasons
        }
        return PartitionReport(account, seen, found)


def opening_state(opening: Opening, name: str) -> PartitionState:
    return opening.states.get(name) or (PartitionState() if name == UNKNOWN else opening.unseen)


def occurrence(events: list[Event], time: Callable[[Event], int | None]) -> Occurrence:
    times = [each for each in map(time, events) if each is not None]
    one = min(events, key=lambda event: event.offset)
    sample = FindingSample(one.offset, one.event, one.arrival, one.file)
    return Occurrence(len(events), min(times, default=None), max(times, default=None), sample)


def readable(value: str | int | None) -> int | None:
    """A time as the tests write it, in microseconds; None if no calendar has it."""
    if not isinstance(value, str):
        return None
    return micros(datetime.fromisoformat(value))
