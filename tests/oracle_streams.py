"""Streams and windows over judged rows, run by run, in literal Python: what every other engine must equal.

Built on `oracle`, which judges the rows. Sources of the rules: semantics section 5 (streams and windows) and what
section 3 says of `partition_by` and of combined watermarks. All times are int microseconds, UTC; a watermark is
None (none yet), a time, or `COMPLETE`. Windows whose bounds come from rows are in `oracle_measured`, what a pair of a
join is in `oracle_joins`. Sources may be punctuated, but for edges.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import oracle
import oracle_measured
import oracle_punctuation
from oracle import UNKNOWN, Row, Run, Source, Verdict, in_log_order, latest

COMPLETE = math.inf
Watermark = float | None
Part = tuple[str | None, ...]
Payload = Mapping[str, Any]
_LIVING = ("point", "interval")
"""Rows of punctuated sources that are rows of their stream."""


@dataclass(frozen=True)
class Item:
    """One row of a stream, alive in [start, end). `order` ends the total order that `start` begins; `watermark`
    is that of its key before it, and a row that is not `judged` (of a window) has none and is never late. Its end is
    known from the run `known` on: a later row may give it. Until its stream has passed its start, one that is
    `tentative` may turn out to be none; an end that only such rows give is `strict`: known when it is passed."""

    start: int
    end: int
    order: tuple[Any, ...]
    payload: Payload
    source: str
    partition: str | None
    substream: str | None
    offset: int | None
    event: int | None = None
    watermark: int | None = None
    judged: bool = True
    paired: bool = False
    known: int = 0
    tentative: bool = False
    strict: bool = False

    def over(self, reached: Watermark, number: int) -> bool:
        """True if the row has ended at a watermark, by what the runs up to `number` have brought."""
        passed = reached is not None and (self.end < reached if self.strict else self.end <= reached)
        return passed and self.known <= number

    @property
    def sort_key(self) -> tuple[Any, ...]:
        return (self.start, *self.order)


@dataclass(frozen=True)
class Step:
    """One stream: its inputs (several: a union or, with `join`, the two sides), what it does to their rows, and
    whether it is published; a join always is. `unnest`: each row becomes one for each element of this column, before
    all else. `until`: the end of each row (None: it has none), no later than `at_most` after its start.
    `preceding`: each row gets values of the rows of its stream before it, before all else. `following`: what a row is
    that ends with the next one, among all that ever come, each with its run; None where another replaces it."""

    inputs: tuple[str, ...]
    where: Callable[[Item], bool | None] | None = None
    select: Callable[[Item], Payload] | None = None
    shift: int = 0
    lifetime: int | None = None
    window: Window | None = None
    publish: bool = False
    measured: oracle_measured.Measured | None = None
    join: Pairing | None = None
    unnest: str | None = None
    until: Callable[[Item], int | None] | None = None
    at_most: int = 0
    preceding: Callable[[Item, Sequence[Item]], Item] | None = None
    following: Callable[[Item, Sequence[tuple[int, Item]]], Item | None] | None = None

    @property
    def windowed(self) -> bool:
        return self.window is not None or self.measured is not None


class Pairing(Protocol):
    """What makes a pair of two rows; None where they are no pair. `gaps` are the times in which a left row has no
    pair among all right rows that ever come, each with the run that brings it."""

    @property
    def how(self) -> str: ...

    def __call__(self, left: Item, right: Item) -> Item | None: ...

    def gaps(self, left: Item, rights: Sequence[tuple[int, Item]]) -> list[Item]: ...


@dataclass(frozen=True)
class Window:
    """Tumbling (hop = size) and hopping windows; `group_by` names columns of the payload or of what `computed`
    gives for a row, `aggregate` sees the rows of one window and group in sort-key order, ended at its end."""

    size: int
    hop: int
    offset: int = 0
    group_by: tuple[str, ...] = ()
    aggregate: Callable[[Sequence[Item]], Payload] = lambda items: {"n": len(items)}
    allowed_lateness: int = 0
    idle_timeout: int | None = None
    partition_by: str | None = None
    computed: Callable[[Item], Payload] = lambda _: {}

    def over(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The windows that [start, end) overlaps."""
        number = (start - self.offset - self.size) // self.hop + 1
        while self.offset + number * self.hop < end:
            begin = self.offset + number * self.hop
            yield begin, begin + self.size
            number += 1

    def earliest_open(self, watermark: float) -> int:
        """Start of the earliest window, with rows or not, that is not closed."""
        number = (math.floor(watermark) - self.allowed_lateness - self.size - self.offset) // self.hop + 1
        return self.offset + number * self.hop

    def last_end(self, limit: int) -> int:
        """The latest end of a window up to a time."""
        return (limit - self.offset - self.size) // self.hop * self.hop + self.offset + self.size


@dataclass(frozen=True)
class Dead:
    """A row that was late for a window, and the window."""

    item: Item
    window: tuple[int, int]


@dataclass(frozen=True)
class StepRun:
    """What one run did to one stream: rows it wrote, counts, and the watermark that it left. `reached` is a
    window step's own watermark, before it is pulled back (of its slowest part)."""

    written: tuple[Item, ...]
    watermark: Watermark
    reached: Watermark = None
    outside: int = 0
    dead_letters: tuple[Dead, ...] = ()


@dataclass
class _Flow:
    """A stream while runs go by: what the last run brought, how far each part has come, and as a whole."""

    brought: list[Item] = field(default_factory=list)
    earlier: list[Item] = field(default_factory=list)
    parts: dict[Part, Watermark] = field(default_factory=dict)
    watermark: Watermark = None


@dataclass
class _Stepping:
    """A window step between runs: rows by (part, window), how far each part's windows are closed, and the latest
    that idleness has closed: of the step, so also of parts that no row has come to yet; pairs in no window that it
    has not passed yet; pairs without a lifetime (`gone`) whose end it has not passed."""

    counted: dict[tuple[Part, tuple[int, int]], list[Item]] = field(default_factory=dict)
    reached: dict[Part, Watermark] = field(default_factory=dict)
    idle: int | None = None
    kept: dict[Part, oracle_measured.Kept] = field(default_factory=dict)
    adrift: list[Item] = field(default_factory=list)
    gone: list[Item] = field(default_factory=list)


def flow(
    sources: Mapping[str, tuple[Source, Sequence[Run]]],
    steps: Mapping[str, Step],
    payload: Callable[[str, Row], Payload] = lambda _name, _row: {},
    start: int | None = None,
) -> list[dict[str, StepRun]]:
    """By run, what it did to each stream. All sources have as many runs, with the same as_of.

    Gaps of joins, and ends that the next row gives, are made from all rows that ever come, as a flow without them, or
    with those further below, has brought them: the flow is repeated until it brings the same rows again.
    """
    rows: dict[str, list[tuple[int, Item]]] = {}
    later = any((step.join and step.join.how != "inner") or step.following for step in steps.values())
    while True:
        streams = _Streams(sources, steps, payload, start, rows)
        runs = streams.run()
        if streams.rows == rows or not later:
            return runs
        rows = streams.rows


def minimum(watermarks: Sequence[Watermark], recorded: Watermark = None) -> Watermark:
    """The combined watermark: held back by one that has none; it never goes back."""
    known = [watermark for watermark in watermarks if watermark is not None]
    if not watermarks or len(known) < len(watermarks):
        return recorded
    return min(known) if recorded is None else max(recorded, min(known))


class _Streams:
    def __init__(
        self,
        sources: Mapping[str, tuple[Source, Sequence[Run]]],
        steps: Mapping[str, Step],
        payload: Callable[[str, Row], Payload],
        start: int | None,
        ever: Mapping[str, list[tuple[int, Item]]],
    ) -> None:
        self.sources, self.steps, self.payload, self.start = sources, steps, payload, start
        self.ever, self.rows = ever, {name: list[tuple[int, Item]]() for name in [*sources, *steps]}
        self.judged: dict[str, Any] = oracle_punctuation.judge(sources)
        self.flows = {name: _Flow() for name in [*sources, *steps]}
        self.windows = {name: _Stepping() for name in steps}
        self.waiting: dict[str, list[Item]] = {name: [] for name in steps}
        self.ahead: dict[str, list[Item]] = {name: [] for name in steps}
        self.last_row: dict[str, int | None] = dict.fromkeys(sources)
        self.runs = len(next(iter(sources.values()))[1])

    def run(self) -> list[dict[str, StepRun]]:
        return [self._run(number) for number in range(self.runs)]

    def _run(self, number: int) -> dict[str, StepRun]:
        for flow_ in self.flows.values():
            flow_.earlier += flow_.brought
            flow_.brought = []
        for name in self.sources:
            self._bring(name, number)
        done = {name: self._step(name, self.steps[name], number) for name in self._in_order()}
        for name, flow_ in self.flows.items():
            self.rows[name] += [(number, item) for item in flow_.brought]
        return done

    def _in_order(self) -> list[str]:
        placed: list[str] = []
        while len(placed) < len(self.steps):
            for name, step in self.steps.items():
                ready = all(below in self.sources or below in placed for below in step.inputs)
                if name not in placed and ready:
                    placed.append(name)
        return placed

    # -- a source

    def _bring(self, name: str, number: int) -> None:
        outcome, flow_, source = self.judged[name], self.flows[name], self.sources[name][0]
        end = outcome.ends[number]
        mine = [verdict for verdict in outcome.verdicts if verdict.run == number]
        if mine:
            self.last_row[name] = end.as_of
        living = [verdict for verdict in mine if verdict.system_timestamp is not None]
        flow_.brought = [self._item(name, each) for each in living if getattr(each, "mark", "point") in _LIVING]
        flow_.watermark = COMPLETE if end.complete else end.combined
        for partition, state in end.states.items():
            if partition == UNKNOWN:
                continue
            flow_.parts[(partition,)] = COMPLETE if end.complete else state.watermark
            if isinstance(source, oracle_punctuation.Source):
                continue
            for substream in self._substreams(name, partition, number):
                own = end.substreams.get((partition, substream))
                reached = latest(None if own is None else own[0], state.floor)
                keyed = reached if source.over and source.timestamp_by else state.watermark
                flow_.parts[partition, substream] = COMPLETE if end.complete else keyed

    def _substreams(self, name: str, partition: str, number: int) -> set[str | None]:
        """Those seen so far; without `over` all rows are in one."""
        rows = [v for v in self.judged[name].verdicts if v.partition == partition and v.run <= number]
        return {v.substream for v in rows}

    def _item(self, name: str, verdict: Any) -> Item:
        assert verdict.system_timestamp is not None
        ends = verdict.end if getattr(verdict, "mark", "") == "interval" else getattr(verdict, "end_time", None)
        return Item(
            start=verdict.system_timestamp,
            end=verdict.system_timestamp + 1 if ends is None else ends,
            order=(verdict.partition.encode(), verdict.offset),
            payload=self.payload(name, self._row(name, verdict)),
            source=name,
            partition=verdict.partition,
            substream=verdict.substream,
            offset=verdict.offset,
            event=verdict.event,
            watermark=verdict.watermark,
        )

    def _row(self, name: str, verdict: Verdict) -> Row:
        run = self.sources[name][1][verdict.run]
        found = [obj for obj in in_log_order(run.objects) if obj.uri == verdict.uri]
        return found[0].rows[verdict.position]

    # -- a stream

    def _step(self, name: str, step: Step, number: int) -> StepRun:
        below = [self.flows[each] for each in step.inputs]
        if step.join is not None:
            items = self._joined(step, step.join)
        elif step.preceding is not None:
            items = self._passed_rows(name, step, below[0])
        else:
            items = [self._placed(item, index, step) for index, each in enumerate(below) for item in each.brought]
        if step.unnest is not None:
            items = [element for item in items for element in _elements(item, step.unnest)]
        if step.where is not None:
            items = [item for item in items if step.where(item)]
        items, lost = self._ended(step, items)
        flow_ = self.flows[name]
        if step.window is not None:
            return self._windows(name, step, step.window, items, number)
        if step.measured is not None:
            return self._measured(name, step, step.measured, items, number)
        if step.select is not None:
            items = [replace(item, payload=step.select(item)) for item in items]
        left = items if step.until is None else [item for item in items if (_until(step, item) > item.start)]
        gone = [*lost, *[item for item in items if item not in left]]
        flow_.brought = [_moved(item, step) for item in left]
        flow_.parts = {} if len(below) > 1 else {part: _plus(w, step.shift) for part, w in below[0].parts.items()}
        flow_.watermark = minimum([_plus(each.watermark, step.shift) for each in below], flow_.watermark)
        outside = self._without_lifetime(self.windows[name], gone, flow_.watermark)
        return StepRun(self._committed(name, step, flow_, number), flow_.watermark, outside=outside)

    @staticmethod
    def _without_lifetime(state: _Stepping, gone: list[Item], reached: Watermark) -> int:
        """Rows that end where they start, or before; pairs of them count when the step has passed their own end."""
        waiting = state.gone + [item for item in gone if item.paired]
        state.gone = [item for item in waiting if reached is None or item.end > reached]
        return len(waiting) - len(state.gone) + sum(not item.paired for item in gone)

    def _joined(self, step: Step, join: Pairing) -> list[Item]:
        left, right = (self.flows[each] for each in step.inputs)
        pairs = [] if join.how == "anti" else _pairs(join, left, right)
        if join.how == "inner":
            return pairs
        return pairs + [gap for item in left.brought for gap in join.gaps(item, self.ever.get(step.inputs[1], []))]

    def _ended(self, step: Step, items: list[Item]) -> tuple[list[Item], list[Item]]:
        """The rows that end with the next one, and those that another replaces, a tick long."""
        if step.following is None:
            return items, []
        rows = [each for each in self.ever.get(step.inputs[0], []) if step.where is None or step.where(each[1])]
        ended = [(item, step.following(item, rows)) for item in items]
        lost = [replace(item, end=item.start + 1, paired=True) for item, life in ended if life is None]
        return [life for _, life in ended if life is not None], lost

    def _passed_rows(self, name: str, step: Step, below: _Flow) -> list[Item]:
        """The rows whose start the stream below has passed by now: all that come before them are known."""
        reached = -math.inf if below.watermark is None else below.watermark
        waiting, rows = self.ahead[name] + below.brought, below.earlier + below.brought
        self.ahead[name] = [item for item in waiting if item.start >= reached]
        return [step.preceding(item, rows) for item in waiting if step.preceding and item.start < reached]

    @staticmethod
    def _placed(item: Item, index: int, step: Step) -> Item:
        return replace(item, order=(index, *item.order)) if len(step.inputs) > 1 else item

    def _committed(self, name: str, step: Step, flow_: _Flow, number: int) -> tuple[Item, ...]:
        if not step.publish and step.join is None:
            return ()
        waiting = self.waiting[name] + flow_.brought
        done = [item for item in waiting if item.over(flow_.watermark, number)]
        self.waiting[name] = [item for item in waiting if item not in done]
        shown = done if self.start is None else [item for item in done if item.end > self.start]
        return tuple(sorted(shown, key=lambda item: item.sort_key))

    # -- windows

    def _windows(self, name: str, step: Step, window: Window, items: list[Item], number: int) -> StepRun:
        flow_, state = self.flows[name], self.windows[name]
        below = self.flows[step.inputs[0]]
        dead, outside = self._count(window, state, items)
        state.idle = latest(state.idle, self._idle_bound(name, window, number))
        parts = _parts_of(window, below)
        closed: list[Item] = []
        for part in parts.keys() | state.reached.keys() | {part for part, _ in state.counted}:
            after = latest(state.reached.get(part), parts.get(part), state.idle)
            state.reached[part] = after
            closed += self._close(name, window, state, part, after)
        outside += self._passed(state, number)
        flow_.brought = closed
        flow_.parts = {part: _pulled_back(window, reached) for part, reached in state.reached.items()}
        seen = list(flow_.parts.values())
        if window.partition_by == "substream":
            floors = {part: latest(reached, state.idle) for part, reached in below.parts.items() if len(part) == 1}
            flow_.parts |= {part: _pulled_back(window, reached) for part, reached in floors.items()}
            seen = [flow_.parts[part] for part in floors]
        flow_.watermark = minimum(seen, flow_.watermark)
        written = [item for item in closed if self.start is None or item.end > self.start]
        written = sorted(written, key=lambda item: item.sort_key)
        reached = minimum(list(state.reached.values()))
        return StepRun(tuple(written), flow_.watermark, reached, outside, tuple(dead))

    # -- windows whose bounds come from rows

    def _measured(
        self, name: str, step: Step, measured: oracle_measured.Measured, items: list[Item], number: int
    ) -> StepRun:
        flow_, state, below = self.flows[name], self.windows[name], self.flows[step.inputs[0]]
        dead = self._take_part(measured, state, items)
        state.idle = latest(state.idle, self._idle_end(name, measured, state, number))
        parts = _parts_of(measured, below)
        flow_.brought = []
        for part in parts.keys() | state.reached.keys() | state.kept.keys():
            reached = latest(state.reached.get(part), parts.get(part), state.idle)
            state.reached[part] = reached
            if reached is not None:
                flow_.brought += self._closed(name, measured, part, reached)
        seen = [flow_.parts.get(part) for part in state.reached]
        if measured.partition_by == "substream":
            seen = self._floors(measured, state, below, flow_)
        flow_.watermark = minimum(seen, flow_.watermark)
        written = [item for item in flow_.brought if self.start is None or item.end > self.start]
        written = sorted(written, key=lambda item: item.sort_key)
        return StepRun(tuple(written), flow_.watermark, minimum(list(state.reached.values())), 0, tuple(dead))

    @staticmethod
    def _take_part(measured: oracle_measured.Measured, state: _Stepping, items: list[Item]) -> list[Dead]:
        """Rows take part from what was settled when they came; those of windows and joins are never late."""
        dead = []
        for item in items:
            part = _part_of(measured, item)
            passed = latest(state.reached.get(part), state.idle, item.watermark if item.judged else None)
            settled = _plus(passed, -measured.allowed_lateness)
            late, life = oracle_measured.divided(item, measured.end_of(item), settled)
            if late is not None and item.judged:
                dead.append(Dead(item, late))
            if life is not None:
                group = tuple(item.payload[column] for column in measured.group_by)
                state.kept[part] = state.kept.get(part, oracle_measured.NOTHING).taking(group, life)
        return dead

    def _idle_end(self, name: str, measured: oracle_measured.Measured, state: _Stepping, number: int) -> int | None:
        """The latest time that idleness has reached at which a window of the rows at hand ends or closes."""
        limit = self._idle_limit(name, measured.idle_timeout, number)
        ends = {end for kept in state.kept.values() for end in kept.ends(measured)}
        return None if limit is None else max((end for end in ends if end <= limit), default=None)

    def _closed(self, name: str, measured: oracle_measured.Measured, part: Part, reached: float) -> list[Item]:
        state, settled = self.windows[name], reached - measured.allowed_lateness
        kept, closed, left = state.kept.get(part, oracle_measured.NOTHING).closing(measured, settled)
        state.kept[part] = kept
        parts = self.flows[name].parts
        parts[part] = COMPLETE if reached == COMPLETE else latest(parts.get(part), min([settled, *left]))
        rows = []
        for group, span, members in closed:
            ordered = sorted(members, key=lambda item: item.sort_key)
            payload = dict(zip(measured.group_by, group, strict=True)) | dict(measured.aggregate(ordered))
            rows.append(_window_row(name, part, span, group, payload))
        return rows

    @staticmethod
    def _floors(measured: oracle_measured.Measured, state: _Stepping, below: _Flow, flow_: _Flow) -> list[Watermark]:
        """What follows sees the floors of partitions, no further than the open windows of their substreams."""
        for part, floor in [each for each in below.parts.items() if len(each[0]) == 1]:
            reached = _plus(latest(floor, state.idle), -measured.allowed_lateness)
            own = [flow_.parts[each] for each in state.reached if each[0] == part[0] and each in flow_.parts]
            back = None if reached is None else min([reached, *[each for each in own if each is not None]])
            flow_.parts[part] = back
        return [reached for part, reached in flow_.parts.items() if len(part) == 1]

    # -- windows of a size

    @staticmethod
    def _count(window: Window, state: _Stepping, items: list[Item]) -> tuple[list[Dead], int]:
        dead: list[Dead] = []
        outside = 0
        for item in items:
            part = _part_of(window, item)
            found = list(window.over(item.start, item.end))
            outside += not found and not item.paired
            state.adrift += [item] if not found and item.paired else []
            for start, end in found:
                bound = end + window.allowed_lateness
                step, own = latest(state.reached.get(part), state.idle), item.watermark
                late = (own is not None and own >= bound) or (step is not None and step >= bound)
                if late:
                    dead += [Dead(item, (start, end))] if item.judged else []
                else:
                    state.counted.setdefault((part, (start, end)), []).append(item)
        return dead, outside

    @staticmethod
    def _passed(state: _Stepping, number: int) -> int:
        """Pairs in no window count as outside when the step has passed their end."""
        reached = state.reached.get(())
        passed = [item for item in state.adrift if item.over(reached, number)]
        state.adrift = [item for item in state.adrift if item not in passed]
        return len(passed)

    def _idle_bound(self, name: str, window: Window, number: int) -> int | None:
        """The latest window end that an idle step takes as reached; None where nothing is idle."""
        limit = self._idle_limit(name, window.idle_timeout, number)
        return None if limit is None else window.last_end(limit)

    def _idle_limit(self, name: str, timeout: int | None, number: int) -> int | None:
        """Up to when an idle step is taken as passed; None where it is not idle."""
        last = latest(*[self.last_row[source] for source in self._below(name)])
        as_of = next(iter(self.judged.values())).ends[number].as_of
        return None if timeout is None or last is None or as_of - last < timeout else as_of - timeout

    def _below(self, name: str) -> set[str]:
        if name in self.sources:
            return {name}
        return {source for each in self.steps[name].inputs for source in self._below(each)}

    @staticmethod
    def _close(name: str, window: Window, state: _Stepping, part: Part, reached: Watermark) -> list[Item]:
        if reached is None:
            return []
        ready = [
            (owner, span)
            for owner, span in state.counted
            if owner == part and span[1] + window.allowed_lateness <= reached
        ]
        rows = []
        for key in ready:
            groups: dict[tuple[Any, ...], list[Item]] = {}
            for item in (replace(each, end=min(each.end, key[1][1])) for each in state.counted.pop(key)):
                values = {**item.payload, **window.computed(item)}
                groups.setdefault(tuple(values[column] for column in window.group_by), []).append(item)
            for group, members in groups.items():
                ordered = sorted(members, key=lambda item: item.sort_key)
                payload = dict(zip(window.group_by, group, strict=True)) | dict(window.aggregate(ordered))
                rows.append(_window_row(name, part, key[1], group, payload))
        return rows


def _pairs(join: Pairing, left: _Flow, right: _Flow) -> list[Item]:
    """The pairs of which this run brings a row, or both."""
    found = [join(one, other) for one in left.brought for other in [*right.earlier, *right.brought]]
    found += [join(one, other) for one in left.earlier for other in right.brought]
    return [pair for pair in found if pair is not None]


def _elements(item: Item, column: str) -> Iterator[Item]:
    """The rows of a row's array, in its order; none of an empty array or null."""
    for index, value in enumerate(item.payload[column] or ()):
        yield replace(item, order=(*item.order, index), payload={**item.payload, column: value, "_index": index})


def held(time: int) -> int:
    """A time as tables hold it: one beyond the years 1 to 9999 stands at their bound."""
    return min(max(time, oracle.MIN_TIME), oracle.MAX_TIME)


def _window_row(name: str, part: Part, span: tuple[int, int], group: tuple[Any, ...], payload: Payload) -> Item:
    start, end = span
    partition = part[0] if part else None
    substream = part[1] if len(part) > 1 else None
    order = (end, *[_nulls_first(value) for value in (partition, substream, *group)])
    return Item(held(start), held(end), order, payload, name, partition, substream, None, judged=False)


def _parts_of(window: Window | oracle_measured.Measured, below: _Flow) -> dict[Part, Watermark]:
    if window.partition_by is None:
        return {(): below.watermark}
    depth = 1 if window.partition_by == "partition" else 2
    return {part: reached for part, reached in below.parts.items() if len(part) == depth}


def _part_of(window: Window | oracle_measured.Measured, item: Item) -> Part:
    if window.partition_by is None:
        return ()
    assert item.partition is not None
    if window.partition_by == "partition":
        return (item.partition,)
    return (item.partition, item.substream)


def _pulled_back(window: Window, reached: Watermark) -> Watermark:
    if reached is None or reached == COMPLETE:
        return reached
    return min(reached, window.earliest_open(reached))


def _moved(item: Item, step: Step) -> Item:
    end = item.end if step.lifetime is None else item.start + step.lifetime
    end = end if step.until is None else _until(step, item)
    own = None if item.watermark is None else item.watermark + step.shift
    item = item if step.lifetime is None else replace(item, known=0, strict=False)
    return replace(item, start=item.start + step.shift, end=end + step.shift, watermark=own)


def _until(step: Step, item: Item) -> int:
    end, most = None if step.until is None else step.until(item), item.start + step.at_most
    return most if end is None else min(end, most)


def _plus(watermark: Watermark, shift: int) -> Watermark:
    return None if watermark is None else watermark + shift


def _nulls_first(value: Any) -> tuple[bool, Any]:
    return value is not None, value.encode() if isinstance(value, str) else value
