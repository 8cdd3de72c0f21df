"""Progress of each partition of a source, with rows and without them (time rules: progress).

Progress is a value: None means that nothing is known yet, a number is microseconds UTC, and `complete` is a flag
beside it. Every function here is pure; the only clock is the recorded as_of it is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tidemark.core.policy import Policy
from tidemark.core.punctuation import Marks

SINGLE = "0"
UNKNOWN = "_unknown"
MIN_TIME = -62_135_596_800_000_000
UNSEEN_MARGIN = 5_000_000
"""Microseconds by which a declared partition that was never seen counts as behind as_of."""


@dataclass(frozen=True)
class PartitionState:
    """Recorded state of one partition. With substreams `watermark` is the floor of them all.

    `estimated_high` is the largest estimated arrival that an idle run has used so far: an arrival before it came too
    late for `landing_delay`. `since` is the as_of of the run that first recorded the partition. In a punctuated
    source `watermark` is the punctuation; `every` goes by the `counted` rows and the last `period` entered;
    `open_lifetimes` is the number of those that wait for their end edge.
    """

    watermark: int | None = None
    complete: bool = False
    high: int | None = None
    last_arrival: int | None = None
    last_seen: int | None = None
    estimated_arrival: int | None = None
    estimated_high: int | None = None
    floor: int | None = None
    idle: bool = False
    next_offset: int = 0
    since: int | None = None
    counted: int = 0
    period: int | None = None
    open_lifetimes: int = 0


@dataclass(frozen=True)
class Combined:
    """A source's combined watermark when a run ended; when complete it keeps the last finite value. A source that is
    `closed` takes no more objects. A punctuated source may be closed and not complete, or complete and not closed."""

    watermark: int | None
    complete: bool = False
    closed: bool = False


@dataclass(frozen=True)
class Seen:
    """Rows that one micro-batch brought to a partition: the number of log `rows` (skipped ones too), the latest
    readable arrival and the highest `_system_timestamp` among the survivors; in a punctuated source also its
    `marks`."""

    rows: int
    last_arrival: int | None
    high: int | None
    marks: Marks | None = None


def latest(*times: int | None) -> int | None:
    """The greatest of the known times; None when none is known."""
    known = [time for time in times if time is not None]
    return max(known) if known else None


def least_of(imported: Sequence[Combined]) -> Combined:
    """The least of several sources' combined watermarks, as a source that imports from them follows it.

    Complete sources hold nothing back: all complete are complete, and their last finite value is the latest one.
    Of no sources: none.
    """
    if imported and all(each.complete for each in imported):
        return Combined(latest(*[each.watermark for each in imported]), complete=True)
    return Combined(combine([each.watermark for each in imported if not each.complete], None))


def idle_limit(timeout: int | None, as_of: int, last_row: int | None) -> int | None:
    """Time up to which idleness alone closes the windows of a step; None: the step is not idle, or idleness never
    closes any. `last_row`: the as_of of the last run that brought a row to a source below."""
    if timeout is None or last_row is None or as_of - last_row < timeout:
        return None
    return as_of - timeout


def clamp(time: int | None) -> int | None:
    """A watermark, but not before year 1: an earlier one bounds nothing more."""
    return None if time is None else max(time, MIN_TIME)


def late_start(combined: int | None) -> PartitionState:
    """The state of an undeclared partition before its first row: it starts late, at the source's recorded combined
    watermark (time rules: late start)."""
    return PartitionState(watermark=combined, floor=combined)


def after_batch(state: PartitionState, seen: Seen, policy: Policy, as_of: int, substreams: bool) -> PartitionState:
    """The state once a micro-batch has been judged; floors move only at the end of the run."""
    reached = None if seen.high is None else clamp(seen.high - policy.disorder)
    if seen.marks is not None:
        reached, state = None if state.complete else clamp(seen.marks.watermark), marked(state, seen.marks)
    return replace(
        state,
        watermark=state.floor if substreams else latest(state.watermark, reached),
        high=latest(state.high, seen.high),
        last_arrival=latest(state.last_arrival, seen.last_arrival),
        last_seen=as_of,
        idle=False,
        next_offset=state.next_offset + seen.rows,
    )


def marked(state: PartitionState, marks: Marks) -> PartitionState:
    """The state with a micro-batch's counts for punctuations added."""
    return replace(
        state,
        counted=state.counted + marks.counted,
        period=latest(state.period, marks.period),
        open_lifetimes=state.open_lifetimes + marks.opened,
    )


def end_punctuated(state: PartitionState, imported: int | None, as_of: int, brought: bool) -> PartitionState:
    """The state of a punctuated partition when a run ends; its watermark is at least the imported one."""
    since = as_of if state.since is None else state.since
    return replace(state, watermark=latest(state.watermark, imported), idle=not brought, since=since)


def estimate(state: PartitionState, as_of: int, landing_delay: int, declared: bool) -> int | None:
    """The partition's estimated arrival at as_of; None if nothing can be estimated."""
    if state.last_seen is None:
        return as_of - UNSEEN_MARGIN - landing_delay if declared else None
    if state.last_arrival is None:
        return None
    return max(state.last_arrival, state.last_arrival + (as_of - state.last_seen) - landing_delay)


def end_run(
    state: PartitionState, policy: Policy, as_of: int, landing_delay: int, declared: bool, brought: bool
) -> PartitionState:
    """The state when a run ends: every key is at least at A - late, where A is the estimated arrival. That is the
    last arrival if the run has brought a row. With late off nothing moves."""
    estimated = estimate(state, as_of, landing_delay, declared)
    floor = state.floor
    if policy.late is not None and estimated is not None:
        floor = latest(floor, clamp(estimated - policy.late.micros))
    return replace(
        state,
        watermark=latest(state.watermark, floor),
        floor=floor,
        estimated_arrival=estimated,
        estimated_high=state.estimated_high if brought else latest(state.estimated_high, estimated),
        idle=not brought,
        since=as_of if state.since is None else state.since,
    )


def combine(watermarks: Iterable[int | None], recorded: int | None) -> int | None:
    """The combined watermark: the minimum, which never goes back; unchanged while a partition has none."""
    known = list(watermarks)
    if not known or any(watermark is None for watermark in known):
        return recorded
    return latest(min(w for w in known if w is not None), recorded)


def not_progressing(state: PartitionState, policy: Policy, as_of: int, was_idle: bool) -> bool:
    """True if an idle partition has brought no row for longer than late (late off: for longer than one run, so that
    it `was_idle` in the run before, too). For one never seen, this counts from the run that first recorded it."""
    last = state.since if state.last_seen is None else state.last_seen
    if not state.idle or last is None:
        return False
    if policy.late is not None:
        return as_of - last > policy.late.micros
    return was_idle
