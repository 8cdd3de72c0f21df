"""The time rules for punctuated sources, row by row, in literal Python: what every other engine must equal.

Built on `oracle` for what all sources share and for tolerance sources that are imported. Sources of the rules:
semantics sections 4 (punctuated sources), 1 (the log, quarantine), 3 (combined watermarks, close) and, for streams
and windows right over such sources, 5. All times are int microseconds, UTC; a punctuation is None (none yet), a time,
or `COMPLETE`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import oracle
from oracle import MAX_TIME, UNKNOWN, Obj, Run, in_log_order, latest, readable

COMPLETE = math.inf
Watermark = float | None


@dataclass(frozen=True)
class Source:
    """Settings of a punctuated source: `shape` is point, interval or edge; `count` and `period` are `every`, `rows`
    says whether rows with kind `cti` are punctuations."""

    violations: str = "drop"
    shape: str = "point"
    count: int | None = None
    period: int | None = None
    delay: int = 0
    import_from: str | tuple[str, ...] | None = None
    rows: bool = False
    final: bool = False
    arrival_column: bool = True
    clock_skew: int = 0
    partitions: tuple[str, ...] = ()
    single: bool = False
    start: int | None = None
    require: bool = False
    by: tuple[str, ...] = ()
    within: int = 0

    @property
    def followed(self) -> tuple[str, ...]:
        """The sources that are imported; the least of their watermarks counts."""
        names = self.import_from
        return (names,) if isinstance(names, str) else names or ()

    def declared(self) -> dict[str, Any]:
        """The settings as keys of the configuration."""
        every = self.count if self.count is not None else f"{self.period}us"
        punctuation: dict[str, Any] = {"violations": self.violations, "final": self.final}
        if self.count is not None or self.period is not None:
            punctuation |= {"every": every, "delay": f"{self.delay}us"}
        if self.import_from is not None:
            names = self.import_from
            punctuation["import_from"] = names if isinstance(names, str) else list(names)
        if self.rows:
            punctuation["row"] = "t = 'cti'"
        edge = {"kind": "t", "start": "start", "end": "end", "end_time": "v", "match": ["k"]}
        shapes: dict[str, Any] = {
            "point": "point",
            "interval": {"interval": {"end_time": "v"}},
            "edge": {"edge": edge},
        }
        keys = {
            "format": "json",
            "schema": "p STRING, e TIMESTAMP, a TIMESTAMP, k STRING, n INT, t STRING, v TIMESTAMP",
            "clock_skew": f"{self.clock_skew}us",
            "timestamp_by": "e",
            "punctuation": punctuation,
            "shape": shapes[self.shape],
        }
        if not self.single:
            keys |= {"partition": {"column": "p"}, "partitions": list(self.partitions)}
        return (
            keys
            | oracle.admission(self)
            | ({"arrival_time": "a", "landing_delay": "0s"} if self.arrival_column else {})
        )


@dataclass(frozen=True)
class Row(oracle.Row):
    """An input row; `kind` is cti, start, end or nothing known, `end` the end time. Edges match by `substream`."""

    kind: str | None = None
    end: int | None = None


@dataclass(frozen=True)
class Verdict:
    """The fate of one row, columns as in the events table. `after`: its partition's punctuation once it was judged;
    `pair`: of an end edge, the offset of the start edge that it closes."""

    partition: str
    offset: int
    arrival: int | None
    event: int | None
    end: int | None
    system_timestamp: int | None
    disposition: str
    reasons: tuple[str, ...]
    watermark: int | None
    mark: str
    after: Watermark
    pair: int | None
    run: int
    uri: str
    position: int
    substream: str | None = None


@dataclass(frozen=True)
class State:
    watermark: int | None
    complete: bool
    high: int | None
    last_arrival: int | None
    last_seen: int | None
    idle: bool
    next_offset: int
    counted: int
    period: int | None
    open_lifetimes: int


@dataclass(frozen=True)
class RunEnd:
    """What a run leaves. `combined` is the last finite one; `complete`: the source is past everything."""

    as_of: int
    states: dict[str, State]
    combined: int | None
    complete: bool
    diagnostics: dict[tuple[str, str], int]


@dataclass(frozen=True)
class Outcome:
    verdicts: tuple[Verdict, ...]
    ends: tuple[RunEnd, ...]


Log = tuple[Source | oracle.Source, Sequence[Run]]
Outcomes = dict[str, Outcome | oracle.Outcome]


def judge(logs: Mapping[str, Log]) -> Outcomes:
    """All sources, each after the one that it imports from; they have as many runs, with the same as_of."""
    done: Outcomes = {}

    def of(name: str) -> None:
        source, runs = logs[name]
        if name in done:
            return
        if isinstance(source, oracle.Source):
            done[name] = oracle.judge(source, runs)
            return
        for below in source.followed:
            of(below)
        done[name] = _Oracle(source, Followed(logs, done)).judge(runs)

    for name in logs:
        of(name)
    return {name: done[name] for name in logs}


@dataclass
class Followed:
    """What importers see of the sources judged so far."""

    logs: Mapping[str, Log]
    done: Outcomes

    def at_end(self, name: str, run: int) -> Watermark:
        """A source's combined watermark when a run had ended; none before the first."""
        if run < 0:
            return None
        end = self.done[name].ends[run]
        return COMPLETE if end.complete else end.combined

    def least_at(self, names: Sequence[str], run: int, arrival: int) -> Watermark:
        """The least of several sources at an arrival: none while one has none."""
        return fewest([self.at(name, run, arrival) for name in names])

    def least_at_end(self, names: Sequence[str], run: int) -> Watermark:
        """The least of several sources when a run had ended."""
        return fewest([self.at_end(name, run) for name in names])

    def at(self, name: str, run: int, arrival: int) -> Watermark:
        """What the rows of a run that arrived by then, and all earlier runs, had set: it never goes back."""
        found = self.at_end(name, run - 1)
        for moment in sorted({each for each in self._moments(name, run) if each <= arrival}):
            marks = self._marks(name, run, moment)
            if marks and None not in marks.values():
                found = most(found, min(mark for mark in marks.values() if mark is not None))
            found = most(found, self._below(name, run, moment))
        return found

    def _below(self, name: str, run: int, moment: int) -> Watermark:
        source = self.logs[name][0]
        below = source.followed if isinstance(source, Source) else ()
        return self.least_at(below, run, moment) if below else None

    def _moments(self, name: str, run: int) -> set[int]:
        """When something may move in a run: its rows' arrivals, and those of what it imports."""
        own = {v.arrival for v in self.done[name].verdicts if v.run == run and v.arrival is not None}
        source = self.logs[name][0]
        for below in source.followed if isinstance(source, Source) else ():
            own |= self._moments(below, run)
        return own

    def _marks(self, name: str, run: int, moment: int) -> dict[str, Watermark]:
        """Each partition's watermark at a moment of a run, of those declared or seen by then."""
        source, outcome = self.logs[name][0], self.done[name]
        names = ("0",) if source.single else source.partitions
        marks: dict[str, Watermark] = dict.fromkeys(names)
        if run > 0:
            marks |= {p: state.watermark for p, state in outcome.ends[run - 1].states.items()}
        late = isinstance(source, oracle.Source)
        over = isinstance(source, oracle.Source) and source.over and source.timestamp_by
        for verdict in outcome.verdicts:
            if verdict.run != run or verdict.arrival is None or verdict.arrival > moment:
                continue
            if verdict.partition not in marks:
                marks[verdict.partition] = self.at_end(name, run - 1) if late else None
            after = verdict.after if isinstance(verdict, Verdict) else verdict.watermark_after
            if not over:
                marks[verdict.partition] = most(marks[verdict.partition], after)
        below = self._below(name, run, moment)
        return {p: most(mark, below) for p, mark in marks.items() if p != UNKNOWN}


def fewest(marks: Sequence[Watermark]) -> Watermark:
    return None if None in marks else min(mark for mark in marks if mark is not None)


def most(*marks: Watermark) -> Watermark:
    return max((mark for mark in marks if mark is not None), default=None)


@dataclass
class _Open:
    """An open start edge."""

    offset: int
    match: str | None
    original: int
    start: int


@dataclass
class _Partition:
    next_offset: int = 0
    last_arrival: int | None = None
    last_seen: int | None = None
    idle: bool = True
    high: int | None = None
    mark: Watermark = None
    finite: int | None = None
    counted: int = 0
    period: int | None = None
    open: list[_Open] = field(default_factory=list)
    before: list[tuple[oracle.Identity, int]] = field(default_factory=list)


class _Oracle:
    def __init__(self, source: Source, followed: Followed) -> None:
        self.source, self.followed = source, followed
        names = ("0",) if source.single else source.partitions
        self.known = {name: _Partition() for name in names}
        self.combined: Watermark = None
        self.finite: int | None = None
        self.closed = False
        self.as_of: int | None = None
        self.found: Counter[tuple[str, str]] = Counter()

    def judge(self, runs: Sequence[Run]) -> Outcome:
        verdicts: list[Verdict] = []
        ends: list[RunEnd] = []
        for number, run in enumerate(runs):
            self.as_of = run.as_of if self.as_of is None else max(self.as_of, run.as_of)
            self.found = Counter()
            for partition in self.known.values():
                partition.idle = True
            if not self.closed:
                for obj in in_log_order(run.objects):
                    verdicts += [self._row(number, obj, place, row) for place, row in enumerate(obj.rows)]
            self._end_run(number, run.close)
            ends.append(self._record())
        return Outcome(tuple(verdicts), tuple(ends))

    # -- one row

    def _row(self, number: int, obj: Obj, position: int, given: oracle.Row) -> Verdict:
        row = given if isinstance(given, Row) else Row(**vars(given))
        name = "0" if self.source.single else UNKNOWN if row.partition is None else row.partition
        partition = self.known.setdefault(name, _Partition())
        own = self._own_arrival(obj, row)
        offset = partition.next_offset
        partition.next_offset += 1
        partition.last_seen, partition.idle = self.as_of, False
        partition.last_arrival = latest(partition.last_arrival, own)
        event = row.event if readable(row.event) else None
        end = row.end if readable(row.end) else None
        mark, wrong = self._mark(name, row, own, event, end)
        end = end if mark in ("interval", "end") else None
        verdict = Verdict(
            name, offset, partition.last_arrival, event, end, None, "quarantined", (), None, mark, None, None,
            number, obj.uri, position,
        )  # fmt: skip
        if wrong is not None:
            self.found[name, oracle._FINDING[wrong]] += 1
            return replace(verdict, reasons=(wrong,))
        if self.source.require and oracle.unmet(row):
            return replace(verdict, reasons=oracle.unmet(row))
        assert event is not None
        assert partition.last_arrival is not None
        if self.source.followed:
            seen = self.followed.least_at(self.source.followed, number, partition.last_arrival)
            partition.mark = most(partition.mark, seen)
        before = partition.mark
        if oracle.repeats(partition.before, self.source.by, self.source.within, row, partition.last_arrival):
            dropped = replace(verdict, disposition="dropped", reasons=("duplicate",), watermark=_held(before))
            return replace(dropped, after=partition.mark)
        verdict = self._judged(partition, replace(verdict, watermark=_held(before)), row, before)
        self._issue(partition, mark, event)
        if verdict.system_timestamp is not None:
            partition.high = latest(partition.high, verdict.system_timestamp)
        return replace(verdict, after=partition.mark)

    def _own_arrival(self, obj: Obj, row: Row) -> int | None:
        if not self.source.arrival_column:
            return obj.modified
        if row.arrival is None or not readable(row.arrival):
            return None
        if row.arrival > obj.modified + self.source.clock_skew:
            return None
        return min(row.arrival, obj.modified)

    def _mark(
        self, name: str, row: Row, own: int | None, event: int | None, end: int | None
    ) -> tuple[str, str | None]:
        """What a row is, and the reason for which it is quarantined."""
        shape = self.source.shape
        if self.source.rows and row.kind == "cti" and not row.broken:
            mark = "punctuation"
        elif shape == "edge":
            mark = row.kind if row.kind in ("start", "end") and not row.broken else "nothing"
        else:
            mark = shape
        if name == UNKNOWN or row.broken or mark == "nothing":
            return mark, "invalid_row"
        if own is None or event is None:
            return mark, "invalid_time"
        if mark in ("interval", "end") and (end is None or end <= event):
            return mark, "invalid_time"
        return mark, None

    def _judged(self, partition: _Partition, verdict: Verdict, row: Row, c: Watermark) -> Verdict:
        event, end, mark = verdict.event, verdict.end, verdict.mark
        assert event is not None
        on_time = replace(verdict, disposition="on_time", system_timestamp=event)
        dropped = replace(verdict, disposition="dropped", reasons=("violation",))
        if mark == "punctuation":
            return on_time
        if mark == "end":
            return self._ended(partition, verdict, row, c)
        fated = on_time
        if c is not None and event < c:
            fated = dropped
            reaches = mark == "start" or (mark == "interval" and end is not None and end > c)
            if self.source.violations == "adjust" and reaches and c != COMPLETE:
                fated = replace(dropped, disposition="adjusted", system_timestamp=int(c))
            self.found[verdict.partition, "violation"] += 1
        if mark == "start" and fated.system_timestamp is not None:
            partition.open.append(_Open(verdict.offset, row.substream, event, fated.system_timestamp))
        return fated

    def _ended(self, partition: _Partition, verdict: Verdict, row: Row, c: Watermark) -> Verdict:
        assert verdict.end is not None
        alike = [each for each in partition.open if (each.match, each.original) == (row.substream, verdict.event)]
        if c is not None and verdict.end < c:
            if alike:
                self.found[verdict.partition, "EdgeLeftOpen"] += 1
            self.found[verdict.partition, "violation"] += 1
            return replace(verdict, disposition="dropped", reasons=("violation",))
        if not alike:
            self.found[verdict.partition, "unmatched"] += 1
            return replace(verdict, disposition="dropped", reasons=("unmatched",))
        partition.open.remove(alike[0])
        return replace(verdict, disposition="on_time", system_timestamp=alike[0].start, pair=alike[0].offset)

    def _issue(self, partition: _Partition, mark: str, event: int) -> None:
        """What a row that was received does to its partition's punctuation."""
        if mark == "punctuation":
            partition.mark = most(partition.mark, event)
        if mark in ("punctuation", "end"):
            return
        partition.counted += 1
        issued = self.source.count is not None and partition.counted % self.source.count == 0
        if self.source.period is not None:
            period = event // self.source.period
            issued = partition.period is None or period > partition.period
            partition.period = latest(partition.period, period)
        if issued:
            partition.mark = most(partition.mark, min(max(event - self.source.delay, oracle.MIN_TIME), MAX_TIME))

    # -- the end of a run

    def _end_run(self, number: int, close: bool) -> None:
        self.closed = self.closed or close
        followed: Watermark = None
        finite: int | None = None
        if self.source.followed:
            followed = self.followed.least_at_end(self.source.followed, number)
            finite = self._finite(number, followed)
        for name, partition in self.known.items():
            if name != UNKNOWN and partition.mark != COMPLETE:
                own = None if partition.mark is None else int(partition.mark)
                partition.finite = latest(own, finite)
                partition.mark = most(partition.mark, followed)
        if self.combined != COMPLETE:
            own_marks = [partition.finite for name, partition in self.known.items() if name != UNKNOWN]
            if own_marks and None not in own_marks:
                self.finite = latest(self.finite, min(mark for mark in own_marks if mark is not None))
            self.finite = latest(self.finite, finite)
        marks = [partition.mark for name, partition in self.known.items() if name != UNKNOWN]
        if marks and None not in marks:
            self.combined = most(self.combined, min(mark for mark in marks if mark is not None))
        self.combined = most(self.combined, followed)
        if close and self.source.final:
            self.combined = COMPLETE
        if self.combined == COMPLETE:
            for partition in self.known.values():
                partition.mark = COMPLETE

    def _finite(self, number: int, followed: Watermark) -> int | None:
        """The last finite time of what is imported: of complete sources the latest."""
        if followed != COMPLETE:
            return None if followed is None else int(followed)
        return latest(*[self.followed.done[name].ends[number].combined for name in self.source.followed])

    def _record(self) -> RunEnd:
        assert self.as_of is not None
        complete = self.combined == COMPLETE
        states = {}
        for name, partition in self.known.items():
            states[name] = State(
                watermark=partition.finite,
                complete=complete,
                high=partition.high,
                last_arrival=partition.last_arrival,
                last_seen=partition.last_seen,
                idle=partition.idle,
                next_offset=partition.next_offset,
                counted=partition.counted,
                period=partition.period,
                open_lifetimes=len(partition.open),
            )
        return RunEnd(self.as_of, states, self.finite, complete, dict(self.found))


def _held(mark: Watermark) -> int | None:
    """A punctuation as the events table has it: one past everything stands at the last microsecond there is."""
    return None if mark is None else MAX_TIME if mark == COMPLETE else int(mark)


# -- streams and windows right over such a source


@dataclass(frozen=True)
class Item:
    """One row of the stream, alive in [start, end); `end` is COMPLETE while it is open. `run` brought it, `closed`
    its end."""

    start: int
    end: float
    partition: str
    offset: int
    run: int
    closed: int
    watermark: int | None
    event: int

    @property
    def sort_key(self) -> tuple[Any, ...]:
        return (self.start, self.partition.encode(), self.offset)


def items(outcome: Outcome, run: int) -> list[Item]:
    """The rows of a source's stream as they are known when a run has ended."""
    ended = {(v.partition, v.pair): v for v in outcome.verdicts if v.pair is not None and v.run <= run}
    found = []
    for v in outcome.verdicts:
        if v.run > run or v.system_timestamp is None or v.mark not in ("point", "interval", "start"):
            continue
        end: float = v.system_timestamp + 1
        closing = ended.get((v.partition, v.offset)) if v.mark == "start" else None
        if v.mark == "interval":
            assert v.end is not None
            end = v.end
        elif v.mark == "start":
            end = COMPLETE if closing is None or closing.end is None else closing.end
        closed = v.run if closing is None else closing.run
        if end > v.system_timestamp:
            found.append(Item(v.system_timestamp, end, v.partition, v.offset, v.run, closed, v.watermark, v.event))
    return found


def watermarks(outcome: Outcome) -> list[Watermark]:
    """What the stream has passed when each run has ended; the last one there was where there is none now."""
    return [COMPLETE if end.complete else end.combined for end in outcome.ends]


def published(outcome: Outcome) -> list[list[Item]]:
    """By run, the rows that it publishes: those whose end the watermark has passed, each once."""
    seen: set[tuple[str, int]] = set()
    found = []
    for run, reached in enumerate(watermarks(outcome)):
        done = [
            item
            for item in items(outcome, run)
            if reached is not None and item.end <= reached and (item.partition, item.offset) not in seen
        ]
        seen |= {(item.partition, item.offset) for item in done}
        found.append(sorted(done, key=lambda item: item.sort_key))
    return found


@dataclass(frozen=True)
class Windowed:
    """By run: the rows of each window that closes, and rows that came late for one, with it."""

    closed: Mapping[tuple[int, float], list[Item]]
    late: Sequence[tuple[Item, tuple[int, float]]]


def windows(outcome: Outcome, size: int, hop: int, offset: int = 0) -> list[Windowed]:
    """Windows [n * hop + offset, n * hop + offset + size) over the stream."""
    found = []
    before: Watermark = None
    for run, reached in enumerate(watermarks(outcome)):
        known = items(outcome, run)
        bound = _last_finite(known, outcome.ends[run].combined)
        closed: dict[tuple[int, int], list[Item]] = {}
        late: list[tuple[Item, tuple[int, int]]] = []
        for item in sorted(known, key=lambda item: item.sort_key):
            for window in _over(item, size, hop, offset, bound):
                gone = _passed(before, window) or _passed(item.watermark, window)
                if gone and item.run == run:
                    late.append((item, window))
                elif _passed(reached, window) and not gone:
                    closed.setdefault(window, []).append(item)
        before = reached
        found.append(Windowed(closed, late))
    return found


def _passed(mark: Watermark, window: tuple[int, int]) -> bool:
    return mark is not None and mark >= window[1]


def _last_finite(known: Sequence[Item], combined: int | None) -> int | None:
    """The last finite start, end or punctuation of a stream."""
    ends = [int(item.end) for item in known if item.end != COMPLETE]
    return latest(combined, *[item.start for item in known], *ends)


def _over(item: Item, size: int, hop: int, offset: int, bound: int | None) -> Iterator[tuple[int, int]]:
    number = (item.start - offset - size) // hop + 1
    while True:
        begin = number * hop + offset
        if begin >= item.end or (bound is not None and begin > bound):
            return
        yield begin, begin + size
        number += 1
