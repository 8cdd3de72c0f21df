"""Random tolerance sources and their logs, made so that rows often meet the bounds of the time rules.

Times are whole seconds near BASE, a tick off now and then, so that equal and neighbouring times are common;
the years 1 and 9999 come rarely. A row is drawn as one code, expanded by `_Dice` when its object and its
partition's past are known: logs stay cheap to draw and shrink row by row. A `Log` is one source and its runs.
A *lawful* log is a flat list of objects that may be cut into runs in any way, by `recuts`, under the
premises of Law 1 (split invariance).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, TypeVar

from hypothesis import strategies as st

from oracle import MAX_TIME, MIN_TIME, SECOND, UNKNOWN, Obj, Policy, Row, Run, Source, in_log_order, readable

TICK = 1
BASE = 1_767_225_600 * SECOND  # 2026-01-01T00:00:00Z


def at(seconds: float) -> int:
    return BASE + round(seconds * SECOND)


def objects(uri: str, start: int, late: int = 0) -> list[Obj]:
    """Twenty rows, one a second, the last so many of them too late."""
    moments = [at(start + number) for number in range(20)]
    events = [time - 9 * SECOND if number >= 20 - late else time for number, time in enumerate(moments)]
    rows = tuple(Row("0", event, time, None) for event, time in zip(events, moments, strict=True))
    return [Obj(uri, at(start + 20), rows)]


NAMES = ("0", "1", "2")
SUBSTREAMS: tuple[str | None, ...] = ("a", "b", None, "null")
TOLERANCES = tuple(n * SECOND for n in (2, 0, 1, 5, 10))
DELAYS = tuple(n * SECOND for n in (0, 2, 5, 20))
# (first, last) object, by number, in which a partition has rows: steady, gone idle, started late, seen once.
SPANS = ((0, 99), (0, 99), (0, 99), (0, 0), (1, 99), (2, 99), (3, 99), (1, 1))
LATE_ACTIONS = ("drop", "adjust")
ORDER_ACTIONS = ("drop", "adjust", "keep")
# "a-" comes before "a/" by bytes, after it by path components; numbers of fixed width end the name.
FOLDERS = ("", "a/", "a-", "B/", "a.b/")

CODES = st.tuples(st.integers(0, 2**24 - 1), st.integers(0, 2**24 - 1)).map(lambda t: t[0] | t[1] << 24)
T = TypeVar("T")


@dataclass(frozen=True)
class Log:
    source: Source
    runs: tuple[Run, ...]


@dataclass(frozen=True)
class LawfulLog:
    """Objects in log order, to be cut into runs by `recuts` or `runs_of`."""

    source: Source
    objects: tuple[Obj, ...]


def wide_names(count: int) -> tuple[str, ...]:
    return tuple(f"p{n:03d}" for n in range(count))


def every_policy(**settings: Any) -> list[tuple[str, Source]]:
    """(id, source) for each legal combination of the policies' actions and `off`, with and without `over`."""
    found: list[tuple[str, Source]] = []
    gated: tuple[str | None, ...] = (None, *LATE_ACTIONS)
    for early, late, order, over in itertools.product(gated, gated, ORDER_ACTIONS, (False, True)):
        if over and late is None:
            continue
        source = Source(
            early=None if early is None else (5 * SECOND, early),
            late=None if late is None else (3 * SECOND, late),
            out_of_order=(2 * SECOND, order),
            over=over,
            **settings,
        )
        found.append((f"early {early or 'off'}, late {late or 'off'}, {order}{', over' if over else ''}", source))
    return found


# -- sources


def policies(actions: Sequence[str]) -> st.SearchStrategy[Policy]:
    return st.tuples(st.sampled_from(TOLERANCES), st.sampled_from(actions))


@st.composite
def sources(draw: st.DrawFn, names: Sequence[str] = NAMES, *, law4: bool = False, intervals: bool = False) -> Source:
    """Any legal source that declares some of `names` (now and then one that no row has). `law4`: early, late
    on, event time, every partition declared: the premises of start invariance. `intervals`: in a third of those
    with event time, rows last from a start to an end."""
    over = draw(st.booleans())
    timestamp_by = law4 or draw(st.sampled_from((True,) * 5 + (False,)))
    arrival_column = draw(st.sampled_from((True,) * 4 + (False,)))
    single = draw(st.sampled_from((False,) * 7 + (True,)))
    early, late = policies(LATE_ACTIONS), policies(LATE_ACTIONS)
    declared = st.sampled_from((tuple(names), tuple(names), (*names, "silent"), (), tuple(names[:1])))
    source = Source(
        early=draw(early if law4 else st.none() | early),
        late=draw(late if law4 or over else st.none() | late),
        out_of_order=draw(policies(ORDER_ACTIONS)),
        timestamp_by=timestamp_by,
        over=over,
        arrival_column=arrival_column,
        landing_delay=draw(st.sampled_from(DELAYS)) if arrival_column else 0,
        clock_skew=draw(st.sampled_from((0, SECOND, 5 * SECOND))),
        partitions=() if single else tuple(names) if law4 else draw(declared),
        single=single,
    )
    found = admitting(source)
    lasting = intervals and timestamp_by and draw(st.sampled_from((False, False, True)))
    return replace(found, interval=True) if lasting else found


def admitting(source: T) -> T:
    """The source, in half of the cases with requirements, or with duplicates, or with both. Which follows from its
    settings, so that no draw depends on it."""
    dice = Random(repr(source))  # noqa: S311 - the same choice each time
    changed: dict[str, Any] = {"require": True} if dice.random() < 0.25 else {}
    if dice.random() < 0.35:
        by = dice.choice((("k",), ("e",), ("k", "e"), ("k", "decade")))
        changed |= {"by": by, "within": dice.choice((TICK, 2 * SECOND, 6 * SECOND, 40 * SECOND))}
    return replace(source, **changed)  # type: ignore[type-var] # a source of either kind


@st.composite
def started(draw: st.DrawFn, source: Source, objects: Iterable[Obj] = ()) -> Source:
    """The source with a `start` on or next to a whole second, an event time of `objects`, or a bound of one's
    arrival: what is before it is not read.
    """
    early = 0 if source.early is None else source.early[0]
    rows = [row for obj in objects for row in obj.rows]
    near = [row.event for row in rows if row.event is not None and readable(row.event)]
    near += [row.arrival + early for row in rows if row.arrival is not None and readable(row.arrival)]
    second = st.integers(0, 40).map(lambda n: BASE + n * SECOND)
    start = draw(st.sampled_from(near) | second if near else second) + draw(st.sampled_from((0, TICK, -TICK)))
    return replace(source, start=min(max(start, MIN_TIME), MAX_TIME))


# -- rows


@dataclass
class _Dice:
    """Reads one choice after the other from a code; the first option is the simplest."""

    code: int

    def pick(self, options: Sequence[T]) -> T:
        self.code, index = divmod(self.code, len(options))
        return options[index]

    def one_in(self, n: int) -> bool:
        return self.pick(range(n)) == n - 1


@dataclass
class _Writer:
    """Expands codes to rows, in log order; `spans[i]` are the first and last object in which `names[i]` has
    rows, `peaks` the greatest event times of keys so far.
    """

    source: Source
    names: Sequence[str]
    lawful: bool
    impossible: bool
    spans: Sequence[tuple[int, int]]
    peaks: dict[tuple[str | None, str | None], int] = field(default_factory=dict)
    last: Row | None = None

    def row(self, dice: _Dice, number: int, obj: Obj) -> Row:
        if dice.one_in(10) and self.last is not None and not self.lawful:
            return self.last
        alive = [n for n, (first, last) in zip(self.names, self.spans, strict=True) if first <= number <= last]
        partition = None if self.source.single else dice.pick(alive or self.names[:1])
        if dice.one_in(20) and not self.source.single:
            partition = dice.pick((None, UNKNOWN))
        substream = dice.pick(SUBSTREAMS)
        arrival = self._arrival(dice, obj.modified) if self.source.arrival_column else None
        event = self._event(dice, (partition, substream), obj.modified if arrival is None else arrival)
        row = self._spoil(dice, Row(partition, event, arrival, substream))
        self.last = replace(row, end=self._end(dice, row.event)) if self.source.interval else row
        return self.last

    def _end(self, dice: _Dice, event: int | None) -> int | None:
        """Mostly some seconds after the start; now and then nowhere, at the start or before it."""
        lasts = dice.pick((1, 2, 3, 4, 6, 9, 15, 40, 0, -1, None)) if not dice.one_in(6) else TICK / SECOND
        if lasts is None or event is None:
            return None
        return min(max(event + round(lasts * SECOND), MIN_TIME), MAX_TIME)

    def _arrival(self, dice: _Dice, modified: int) -> int:
        """Mostly somewhat before the object landed, in no order; sometimes at the bounds of clock skew."""
        lag = dice.pick((0, 1, 2, 3, 4, 6, 9, 14)) * SECOND
        if self.lawful:
            lag = min(lag, self.source.landing_delay)
        arrival = modified - lag
        if dice.one_in(8):
            bound = dice.pick((modified, modified + self.source.clock_skew))
            arrival = bound + dice.pick((0, TICK, -TICK if not self.lawful else TICK))
        if dice.one_in(30) and not self.lawful:
            arrival = dice.pick((MIN_TIME, MIN_TIME + SECOND, MAX_TIME))
        return arrival

    def _event(self, dice: _Dice, key: tuple[str | None, str | None], arrival: int) -> int:
        early = 0 if self.source.early is None else self.source.early[0]
        late = 0 if self.source.late is None else self.source.late[0]
        order = self.source.out_of_order[0]
        peak = self.peaks.get(key, arrival)
        kind = dice.pick(("near",) * 5 + ("early", "late", "late", "order", "effective", "wild", "grid"))
        if kind == "wild":
            event = dice.pick((arrival + 3600 * SECOND, arrival - 3600 * SECOND, arrival + 30 * SECOND))
            if dice.one_in(6):
                return dice.pick((MIN_TIME, MAX_TIME, MIN_TIME + 2 * SECOND, MAX_TIME - SECOND))
        elif kind == "near":
            event = arrival + (dice.pick(range(12)) - 6) * SECOND
        else:
            event = {
                "early": arrival + early,
                "late": arrival - late,
                "order": peak - order,
                "effective": peak - min(order, late),
                "grid": BASE + dice.pick(range(40)) * SECOND,
            }[kind]
        event = min(max(event + dice.pick((0, 0, TICK, -TICK)), MIN_TIME), MAX_TIME)
        if abs(event - arrival) < 60 * SECOND:
            self.peaks[key] = max(self.peaks.get(key, event), event)
        return event

    def _spoil(self, dice: _Dice, row: Row) -> Row:
        """Now and then a row that does not parse, or lacks a time, or has one that cannot be."""
        if not dice.one_in(10):
            return row
        flaw = dice.pick(("event", "arrival", "broken", "broken without arrival", "both", "year"))
        if flaw.startswith("broken"):
            return replace(
                row,
                broken=True,
                event=None,
                substream=None,
                arrival=row.arrival if flaw == "broken" else None,
            )
        if flaw == "year" and self.impossible:
            wrong = dice.pick((MAX_TIME + 1, MIN_TIME - 1, BASE * 1000))
            in_event = not self.source.arrival_column or dice.one_in(2)
            return replace(row, event=wrong) if in_event else replace(row, arrival=wrong)
        return replace(
            row,
            event=row.event if flaw == "arrival" else None,
            arrival=row.arrival if flaw == "event" else None,
        )


@st.composite
def _writers(draw: st.DrawFn, source: Source, names: Sequence[str], lawful: bool, impossible: bool) -> _Writer:
    spans = draw(st.lists(st.sampled_from(SPANS), min_size=len(names), max_size=len(names)))
    return _Writer(source, names, lawful, impossible, spans)


@st.composite
def _codes(draw: st.DrawFn, rows: tuple[int, int]) -> list[int]:
    """Codes of as many rows as `rows` says, least and most; without a least, often many even so."""
    least, most = rows
    least = least or min(most, draw(st.sampled_from((0, 6, 15, 25))))
    return draw(st.lists(CODES, min_size=least, max_size=most))


def _fill(writer: _Writer, empty: Sequence[Obj], codes: Iterable[int]) -> dict[str, Obj]:
    """The objects (given in log order), each with the rows whose code falls to it, by URI."""
    rows: dict[str, list[_Dice]] = {obj.uri: [] for obj in empty}
    for code in codes:
        dice = _Dice(code)
        rows[dice.pick(empty).uri].append(dice)
    return {
        obj.uri: replace(obj, rows=tuple(writer.row(dice, number, obj) for dice in rows[obj.uri]))
        for number, obj in enumerate(empty)
    }


# -- logs


@st.composite
def logs(
    draw: st.DrawFn,
    source: Source | None = None,
    names: Sequence[str] = NAMES,
    *,
    rows: tuple[int, int] = (0, 40),
    runs: tuple[int, int] = (1, 5),
    impossible: bool = True,
    close: bool = True,
) -> Log:
    """Any log: runs without objects, several objects with equal last-modified, as_of that goes back, objects
    that are listed late, a close. `impossible`: also times outside the years 1 to 9999. `rows`, `runs`: least
    and most.
    """
    source = draw(sources(names)) if source is None else source
    as_of, numbers = BASE + 5 * SECOND, itertools.count()
    made: list[Run] = []
    for _ in range(draw(st.integers(*runs))):
        given_as_of = as_of + draw(st.sampled_from((5, 1, 0, 2, 10, 30, -3))) * SECOND
        given_as_of += draw(st.sampled_from((0, 0, TICK)))
        given_as_of = given_as_of if made else max(given_as_of, as_of)  # nothing was recorded to go back from
        as_of = max(as_of, given_as_of)
        ages = draw(st.lists(st.sampled_from((0, 1, 1, 2, 4, 8)), max_size=3))
        uris = [f"{draw(st.sampled_from(FOLDERS))}{next(numbers):03d}" for _ in ages]
        empty = (Obj(uri, as_of - age * SECOND) for uri, age in zip(uris, ages, strict=True))
        made.append(Run(given_as_of, tuple(empty)))
    if not any(run.objects for run in made):
        made[-1] = replace(made[-1], objects=(Obj("only", as_of),))
    if close and draw(st.sampled_from((False, False, False, True))):
        at = draw(st.integers(0, len(made) - 1))
        made[at] = replace(made[at], close=True)
    order = [obj for run in made for obj in in_log_order(run.objects)]
    full = _fill(draw(_writers(source, names, False, impossible)), order, draw(_codes(rows)))
    return Log(source, tuple(replace(run, objects=tuple(full[o.uri] for o in run.objects)) for run in made))


def wide_logs(
    source: Source | None = None, *, partitions: int = 20, runs: tuple[int, int] = (2, 5), **options: Any
) -> st.SearchStrategy[Log]:
    """A log of many partitions with about ten rows each: many random cases in one source, for one job."""
    rows = (8 * partitions, 12 * partitions)
    return logs(source, wide_names(partitions), rows=rows, runs=runs, **options)


@st.composite
def lawful_logs(
    draw: st.DrawFn,
    source: Source | None = None,
    names: Sequence[str] = NAMES,
    *,
    rows: tuple[int, int] = (0, 40),
    max_objects: int = 6,
    impossible: bool = True,
) -> LawfulLog:
    """A log that may be cut into runs at any as_of: no row arrives more than `landing_delay` before its
    object landed, and every partition that is not declared has a row in the first object.
    """
    source = draw(sources(names)) if source is None else source
    moments = draw(st.lists(st.sampled_from((8, 9, 10, 12, 15, 20, 40)), min_size=1, max_size=max_objects))
    empty = [Obj(f"{draw(st.sampled_from(FOLDERS))}{n:03d}", BASE + m * SECOND) for n, m in enumerate(moments)]
    order = in_log_order(empty)
    full = _fill(draw(_writers(source, names, True, impossible)), order, draw(_codes(rows)))
    first = order[0]
    late_starters = [] if source.single else [n for n in names if n not in source.partitions]
    firsts = tuple(Row(n, first.modified, first.modified if source.arrival_column else None) for n in late_starters)
    full[first.uri] = replace(full[first.uri], rows=firsts + full[first.uri].rows)
    return LawfulLog(source, tuple(full[obj.uri] for obj in order))


def wide_lawful_logs(
    source: Source | None = None, *, partitions: int = 20, **options: Any
) -> st.SearchStrategy[LawfulLog]:
    bounds = (8 * partitions, 12 * partitions)
    return lawful_logs(source, wide_names(partitions), rows=bounds, **options)


# -- cuts


def runs_of(objects: Sequence[Obj], as_ofs: Sequence[int]) -> tuple[Run, ...]:
    """The runs at `as_ofs`, each taking what had landed by the greatest as_of so far and was not taken."""
    left, runs, reached = list(objects), [], MIN_TIME
    for as_of in as_ofs:
        reached = max(reached, as_of)
        runs.append(Run(as_of, tuple(o for o in left if o.modified <= reached)))
        left = [o for o in left if o.modified > reached]
    return tuple(runs)


@st.composite
def recuts(draw: st.DrawFn, objects: Sequence[Obj], max_runs: int = 6) -> tuple[Run, ...]:
    """The same log cut into other runs, idle ones between them too; the last takes all that is left."""
    landed = sorted({o.modified for o in objects})
    near = [m + gap for m in landed for gap in (0, -TICK, TICK, 3 * SECOND, 25 * SECOND) if m + gap >= landed[0]]
    as_ofs = sorted(draw(st.lists(st.sampled_from(near), max_size=max_runs - 1)))
    last = max([landed[-1], *as_ofs]) + draw(st.sampled_from((0, TICK, 7 * SECOND)))
    if len(as_ofs) > 1 and draw(st.booleans()):
        as_ofs[-1] = as_ofs[0]  # goes back: the later one counts
    return runs_of(objects, [*as_ofs, last])


def cut_twice(source: Source) -> st.SearchStrategy[tuple[tuple[Run, ...], tuple[Run, ...]]]:
    """A log of a source's two partitions, cut into runs in two ways."""
    return lawful_logs(source, ("0", "1"), rows=(30, 50), impossible=False).flatmap(
        lambda log: st.tuples(recuts(log.objects), recuts(log.objects))
    )


@st.composite
def cuts(draw: st.DrawFn, objects: int) -> tuple[int, ...]:
    """Sizes of the micro-batches, in objects, that a run of `objects` objects is cut into."""
    ends = draw(st.sets(st.integers(1, objects - 1))) if objects > 1 else set()
    marks = [0, *sorted(ends), objects]
    return tuple(b - a for a, b in itertools.pairwise(marks) if b > a)
