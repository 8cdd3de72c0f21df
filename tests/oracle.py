"""The time rules for tolerance sources, row by row, in literal Python: what every other engine must equal.

Law: the outcome is a function of the source's settings, the objects and the as_of values, of nothing else.
All times are int microseconds since the epoch, UTC; durations are int microseconds. Nothing of the product is
imported here. Sources of the rules: semantics sections 1 (the log), 2 (judging a row), 3 (progress),
6 (`start`, with reach 0), 7 (diagnostics) and 8 (requirements, duplicates), and for intervals: their start is judged;
a row whose start is moved to its end or past it is dropped (`empty`). Punctuation, streams and windows are outside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

SECOND = 1_000_000
MIN_TIME = -62_135_596_800 * SECOND  # 0001-01-01T00:00:00Z
MAX_TIME = 253_402_300_800 * SECOND - 1  # 9999-12-31T23:59:59.999999Z
UNKNOWN = "_unknown"
NEVER_SEEN_LAG = 5 * SECOND

Policy = tuple[int, str]
Identity = tuple[int | str | None, ...]


@dataclass(frozen=True)
class Source:
    """Settings of a source; `None` as early or late is `off`, `single` means the one partition "0". With `require` a
    row needs a substream, and one that is not "b". Rows with equal `by` (names of `PARTS`) are duplicates for
    `within`; without `by` none are. With `interval` a row lives up to its `end`, which must be after its start."""

    early: Policy | None = (300 * SECOND, "drop")
    late: Policy | None = (5 * SECOND, "adjust")
    out_of_order: Policy = (0, "adjust")
    timestamp_by: bool = True
    over: bool = False
    arrival_column: bool = True
    landing_delay: int = 0
    clock_skew: int = 0
    partitions: tuple[str, ...] = ()
    single: bool = False
    start: int | None = None
    require: bool = False
    by: tuple[str, ...] = ()
    within: int = 0
    interval: bool = field(default=False, repr=False)


@dataclass(frozen=True)
class Row:
    """One input row; a value that cannot be read is `None` or a time outside the years 1 to 9999."""

    partition: str | None = None
    event: int | None = None
    arrival: int | None = None
    substream: str | None = None
    broken: bool = False
    end: int | None = None


@dataclass(frozen=True)
class Obj:
    uri: str
    modified: int
    rows: tuple[Row, ...] = ()


@dataclass(frozen=True)
class Run:
    as_of: int
    objects: tuple[Obj, ...] = ()
    close: bool = False


@dataclass(frozen=True)
class Verdict:
    """The fate of one row, columns as in the events table; `watermark_after` is its key's after the row, `end_time`
    the end of an interval, None for points."""

    partition: str
    offset: int
    arrival: int | None
    event: int | None
    system_timestamp: int | None
    disposition: str
    reasons: tuple[str, ...]
    watermark: int | None
    watermark_after: int | None
    substream: str | None
    run: int
    uri: str
    position: int
    end_time: int | None = None


@dataclass(frozen=True)
class State:
    """A partition when a run has ended, columns as in the watermarks table."""

    watermark: int | None
    complete: bool
    high: int | None
    last_arrival: int | None
    last_seen: int | None
    estimated_arrival: int | None
    floor: int | None
    idle: bool
    next_offset: int


@dataclass(frozen=True)
class RunEnd:
    """What a run leaves: `as_of` in effect, every known partition, the combined watermark (the last finite
    one when `complete`), findings counted by (partition, type), and (watermark, high) of each substream above
    its floor.
    """

    as_of: int
    states: dict[str, State]
    combined: int | None
    complete: bool
    diagnostics: dict[tuple[str, str], int]
    substreams: dict[tuple[str, str | None], tuple[int, int]]


@dataclass(frozen=True)
class Outcome:
    verdicts: tuple[Verdict, ...]
    ends: tuple[RunEnd, ...]


@dataclass
class _Key:
    watermark: int
    high: int


@dataclass
class _Partition:
    next_offset: int = 0
    last_arrival: int | None = None
    last_seen: int | None = None
    runs_without_row: int = 0
    idle: bool = True
    estimated_arrival: int | None = None
    largest_estimate: int | None = None  # of all runs
    largest_used: int | None = None  # of the runs in which it brought no row and the floor followed
    floor: int | None = None
    high: int | None = None
    keys: dict[str | None, _Key] = field(default_factory=dict)
    before: list[tuple[Identity, int]] = field(default_factory=list)  # each row that is not quarantined


def judge(source: Source, runs: Iterable[Run], *, forget: bool = True) -> Outcome:
    """Judge `runs` in order. `forget` drops substreams that are not above their floor when a run ends;
    no result may depend on it."""
    return _Oracle(source, forget).judge(runs)


def in_log_order(objects: Iterable[Obj]) -> list[Obj]:
    """Objects of one run by (last-modified, URI bytes)."""
    return sorted(objects, key=lambda o: (o.modified, o.uri.encode()))


def readable(time: int | None) -> bool:
    return time is not None and MIN_TIME <= time <= MAX_TIME


def latest(*times: int | None) -> int | None:
    """The greatest of the times there are; `None` if there is none."""
    return max((t for t in times if t is not None), default=None)


PARTS: dict[str, Callable[[Row], int | str | None]] = {
    "k": lambda row: row.substream,
    "e": lambda row: row.event,
    "decade": lambda row: None if row.event is None else row.event // (10 * SECOND),
}
"""Values of a row by which duplicates are found."""


SQL = {"k": "k", "e": "e", "decade": "floor(unix_seconds(e) / 10)"}
"""The same values in a configuration."""


def admission(source: Any) -> dict[str, Any]:
    """What is required of rows, and when they are duplicates, as keys of the configuration."""
    keys: dict[str, Any] = {}
    if source.require:
        keys["require"] = {"known": "k IS NOT NULL", "plain": "k <> 'b'"}
    if source.by:
        keys["deduplicate"] = {"by": [SQL[name] for name in source.by], "within": f"{source.within}us"}
    return keys


def unmet(row: Row) -> tuple[str, ...]:
    """Requirements that a row does not meet, in their order (section 8): a predicate over null is not true."""
    known, plain = row.substream is not None, row.substream not in (None, "b")
    return tuple(f"require.{name}" for name, met in (("known", known), ("plain", plain)) if not met)


def repeats(before: list[tuple[Identity, int]], by: tuple[str, ...], within: int, row: Row, arrival: int) -> bool:
    """Whether a row that is not quarantined is a duplicate (section 8); it is added to the rows of its partition."""
    identity = tuple(PARTS[name](row) for name in by)
    if not by or None in identity:
        return False
    found = any(earlier == identity and came > arrival - within for earlier, came in before)
    before.append((identity, arrival))
    return found


class _Oracle:
    def __init__(self, source: Source, forget: bool) -> None:
        self.source = source
        self.forget = forget
        self.early, self.late = source.early, source.late
        self.out_of_order, self.over = source.out_of_order, source.over
        if not source.timestamp_by:
            self.early, self.late, self.out_of_order, self.over = None, (0, "adjust"), (0, "adjust"), False
        self.declared = {"0"} if source.single else set(source.partitions)
        self.known = {name: _Partition() for name in sorted(self.declared)}
        self.combined: int | None = None
        self.complete = False
        self.as_of: int | None = None
        self.first_as_of: int | None = None
        self.found: Counter[tuple[str, str]] = Counter()

    def judge(self, runs: Iterable[Run]) -> Outcome:
        verdicts: list[Verdict] = []
        ends: list[RunEnd] = []
        for index, run in enumerate(runs):
            verdicts.extend(self._run(index, run))
            ends.append(self._record())
        return Outcome(tuple(verdicts), tuple(ends))

    def _run(self, index: int, run: Run) -> Iterator[Verdict]:
        self.as_of = run.as_of if self.as_of is None else max(self.as_of, run.as_of)
        self.first_as_of = self.as_of if self.first_as_of is None else self.first_as_of
        self.found = Counter()
        if self.complete:
            return
        for partition in self.known.values():
            partition.idle = True
        for obj in in_log_order(run.objects):
            for position, row in enumerate(obj.rows):
                verdict = self._row(index, obj, position, row)
                if verdict is not None:
                    yield verdict
        self._end_run()
        self.complete = run.close

    # -- one row

    def _row(self, index: int, obj: Obj, position: int, row: Row) -> Verdict | None:
        name = self._name(row)
        partition = self._see(name)
        own = self._own_arrival(obj, row)
        offset = partition.next_offset
        partition.next_offset += 1
        partition.last_seen = self.as_of
        partition.runs_without_row = 0
        partition.idle = False
        partition.last_arrival = latest(partition.last_arrival, own)
        if not self.source.timestamp_by:
            partition.last_arrival = latest(partition.last_arrival, partition.largest_estimate)
        arrival = partition.last_arrival
        if self._is_skipped(arrival):
            return None
        if own is not None and partition.largest_used is not None and own < partition.largest_used:
            self.found[name, "LandedTooLate"] += 1

        event = row.event if readable(row.event) else None
        end = row.end if self.source.interval and readable(row.end) else None
        if not self.source.timestamp_by:
            event = arrival
        before = after = stamp = None
        reasons: tuple[str, ...]
        wrong = self._what_is_wrong(name, row, own)
        if wrong:
            disposition, reasons = "quarantined", wrong
        else:
            assert event is not None
            assert arrival is not None
            key = row.substream if self.over else None
            before = self._watermark(partition, key)
            if repeats(partition.before, self.source.by, self.source.within, row, arrival):
                disposition, reasons = "dropped", ("duplicate",)
            else:
                stamp, disposition, reasons = self._steps(event, arrival, before, end)
            if stamp is not None:
                self._move(partition, key, stamp)
            after = self._watermark(partition, key)
        for reason in reasons:
            if reason in _FINDING:
                self.found[name, _FINDING[reason]] += 1
        return Verdict(
            partition=name,
            offset=offset,
            arrival=arrival,
            event=event,
            system_timestamp=stamp,
            disposition=disposition,
            reasons=reasons,
            watermark=before,
            watermark_after=after,
            substream=row.substream if self.over else None,
            run=index,
            uri=obj.uri,
            position=position,
            end_time=end,
        )

    def _name(self, row: Row) -> str:
        if self.source.single:
            return "0"
        return UNKNOWN if row.partition is None else row.partition

    def _see(self, name: str) -> _Partition:
        """The partition of a row; late start: an unknown one starts at the source's combined watermark."""
        if name not in self.known:
            self.known[name] = _Partition(floor=None if name == UNKNOWN else self.combined)
        return self.known[name]

    def _own_arrival(self, obj: Obj, row: Row) -> int | None:
        if not self.source.arrival_column:
            return obj.modified
        if row.arrival is None or not readable(row.arrival):
            return None
        if row.arrival > obj.modified + self.source.clock_skew:
            return None
        return min(row.arrival, obj.modified)

    def _is_skipped(self, arrival: int | None) -> bool:
        """Whether a row is before what `start` needs: start - early. Without `timestamp_by` arrival is the event
        time and early counts as 0; with early off there is no bound."""
        if self.source.start is None or arrival is None:
            return False
        if not self.source.timestamp_by:
            return arrival < self.source.start - self._remembered()
        return self.early is not None and arrival < self.source.start - self.early[0] - self._remembered()

    def _remembered(self) -> int:
        """How much further back `start` reads for the sake of duplicates."""
        return self.source.within if self.source.by else 0

    def _what_is_wrong(self, name: str, row: Row, own: int | None) -> tuple[str, ...]:
        if name == UNKNOWN or row.broken or self._has_unfit_payload(row):
            return ("invalid_row",)
        if own is None:
            return ("invalid_time",)
        if self.source.timestamp_by and not readable(row.event):
            return ("invalid_time",)
        if self.source.interval and not self._lasts(row):
            return ("invalid_time",)
        return unmet(row) if self.source.require else ()

    def _lasts(self, row: Row) -> bool:
        """Whether an interval ends, and after its event time."""
        return row.end is not None and readable(row.end) and row.event is not None and row.end > row.event

    def _has_unfit_payload(self, row: Row) -> bool:
        """Whether a time that nothing asks for lies outside the years 1 to 9999, as no value of the schema does."""
        asked = ((row.event, self.source.timestamp_by), (row.arrival, self.source.arrival_column))
        return any(not needed and time is not None and not readable(time) for time, needed in asked)

    def _steps(
        self, event: int, arrival: int, watermark: int | None, end: int | None
    ) -> tuple[int | None, str, tuple[str, ...]]:
        """The three steps of section 2: (system timestamp, disposition, reasons). A row that a step drops, or whose
        start it moves to its end, meets no later one."""
        stamp = event
        reasons: tuple[str, ...] = ()
        if self.early is not None and event > arrival + self.early[0]:
            reasons += ("early",)
            if self.early[1] == "drop":
                return None, "dropped", reasons
            stamp = arrival + self.early[0]
        if self.late is not None and event < arrival - self.late[0]:
            reasons += ("late",)
            if self.late[1] == "drop":
                return None, "dropped", reasons
            stamp = arrival - self.late[0]
            if end is not None and stamp >= end:
                return None, "dropped", (*reasons, "empty")
        if self.out_of_order[1] != "keep" and watermark is not None and stamp < watermark:
            reasons += ("out_of_order",)
            if self.out_of_order[1] == "drop":
                return None, "dropped", reasons
            stamp = watermark
            if end is not None and stamp >= end:
                return None, "dropped", (*reasons, "empty")
        return stamp, "adjusted" if reasons else "on_time", reasons

    def _move(self, partition: _Partition, name: str | None, stamp: int) -> None:
        """A surviving row moves its key: high = max(high, s), W = max(W, high - ooo)."""
        tolerance, action = self.out_of_order
        if self.late is not None and action != "keep":
            tolerance = min(tolerance, self.late[0])
        partition.high = stamp if partition.high is None else max(partition.high, stamp)
        key = partition.keys.get(name)
        high = stamp if key is None else max(key.high, stamp)
        watermark = max(MIN_TIME, high - tolerance)
        before = self._watermark(partition, name)
        partition.keys[name] = _Key(watermark if before is None else max(before, watermark), high)

    def _watermark(self, partition: _Partition, name: str | None) -> int | None:
        """The watermark in force for a key: its own or its partition's floor, whichever is later."""
        key = partition.keys.get(name)
        return latest(None if key is None else key.watermark, partition.floor)

    # -- the end of a run

    def _end_run(self) -> None:
        for name, partition in self.known.items():
            if partition.idle:
                partition.runs_without_row += 1
            self._estimate(name, partition)
            self._raise_floor(name, partition)
            if name != UNKNOWN and self._is_stuck(partition):
                self.found[name, "InputPartitionNotProgressing"] += 1
            if self.forget and self.over:
                partition.keys = {k: v for k, v in partition.keys.items() if _above(v, partition.floor)}
        progress = [self._progress(p) for name, p in self.known.items() if name != UNKNOWN]
        finite = [w for w in progress if w is not None]
        if finite and len(finite) == len(progress):
            self.combined = latest(self.combined, min(finite))

    def _estimate(self, name: str, partition: _Partition) -> None:
        """A of section 3: the last arrival, or the estimate when the run brought no row."""
        assert self.as_of is not None
        delay = self.source.landing_delay
        estimate = partition.last_arrival
        if partition.last_seen is None:
            estimate = max(MIN_TIME, self.as_of - NEVER_SEEN_LAG - delay)
        elif partition.idle and partition.last_arrival is not None:
            guess = partition.last_arrival + (self.as_of - partition.last_seen) - delay
            estimate = max(partition.last_arrival, guess)
        partition.estimated_arrival = estimate
        partition.largest_estimate = latest(partition.largest_estimate, estimate)
        if partition.idle and self.late is not None and name != UNKNOWN:
            partition.largest_used = latest(partition.largest_used, estimate)

    def _raise_floor(self, name: str, partition: _Partition) -> None:
        if self.late is None or partition.estimated_arrival is None or name == UNKNOWN:
            return
        floor = max(MIN_TIME, partition.estimated_arrival - self.late[0])
        partition.floor = floor if partition.floor is None else max(partition.floor, floor)

    def _is_stuck(self, partition: _Partition) -> bool:
        """Idle for longer than late; late off: than one run. One never seen is idle since the first run."""
        assert self.as_of is not None
        assert self.first_as_of is not None
        if self.late is None:
            return partition.runs_without_row >= 2
        since = self.first_as_of if partition.last_seen is None else partition.last_seen
        return partition.idle and self.as_of - since > self.late[0]

    def _progress(self, partition: _Partition) -> int | None:
        """A partition's watermark as others see it: with substreams its floor."""
        return partition.floor if self.over else self._watermark(partition, None)

    def _record(self) -> RunEnd:
        assert self.as_of is not None
        states: dict[str, State] = {}
        substreams: dict[tuple[str, str | None], tuple[int, int]] = {}
        for name, p in self.known.items():
            states[name] = State(
                watermark=self._progress(p),
                complete=self.complete,
                high=p.high,
                last_arrival=p.last_arrival,
                last_seen=p.last_seen,
                estimated_arrival=p.estimated_arrival,
                floor=p.floor,
                idle=p.idle,
                next_offset=p.next_offset,
            )
            if self.over:
                alive = {k: v for k, v in p.keys.items() if _above(v, p.floor)}
                substreams |= {(name, k): (v.watermark, v.high) for k, v in alive.items()}
        return RunEnd(self.as_of, states, self.combined, self.complete, dict(self.found), substreams)


_FINDING = {
    "early": "EarlyInputEvent",
    "late": "LateInputEvent",
    "out_of_order": "OutOfOrderEvent",
    "invalid_time": "InvalidInputTimeStamp",
    "invalid_row": "InputDeserializationError",
}


def _above(key: _Key, floor: int | None) -> bool:
    return floor is None or key.watermark > floor
