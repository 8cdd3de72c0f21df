"""Streams, joins and windows over punctuated sources, edges among them, in literal Python, as whole recomputations.

A lifetime between edges has no end until its end edge comes, so what a stream holds depends on the run that asks. A
stream is a function from a run to all its rows here, and everything over it is found anew from them. Sources of the
rules: semantics sections 4 and 5, and the decisions on late rows, on joins and on punctuations. All times are int
microseconds, UTC; a watermark is None (none yet), a time, or `COMPLETE`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from oracle import UNKNOWN
from oracle_measured import Measured
from oracle_punctuation import COMPLETE, Log, Outcome, Watermark, items, most, watermarks
from oracle_streams import Window

Bounds = tuple[int, float]


@dataclass(frozen=True)
class Life:
    """One row of a stream, alive in [start, end); `end` is COMPLETE while it is open. `order` ends the total order
    that `start` begins, `came` is the run that brought it. One that is not `judged` (a pair) is never late. One that
    is open, and whose start was moved, is `tentative` there: it was never alive if it ends at once."""

    start: int
    end: float
    order: tuple[Any, ...]
    came: int
    key: str | None
    source: str
    partition: str | None = None
    offset: int | None = None
    watermark: int | None = None
    judged: bool = True
    tentative: int | None = None

    @property
    def sort_key(self) -> tuple[Any, ...]:
        return (self.start, *self.order)


@dataclass(frozen=True)
class Stream:
    """`lives` are its rows as they are known when a run has ended. By run: the watermark, the last finite one, and
    the watermark of each partition (none: they are not told)."""

    lives: Callable[[int], list[Life]]
    marks: Sequence[Watermark]
    finite: Sequence[int | None]
    parts: Sequence[Mapping[str, Watermark]] = ()


def source(name: str, log: Log, outcome: Outcome) -> Stream:
    """The rows of a punctuated source."""
    rows = {(obj.uri, place): row for run in log[1] for obj in run.objects for place, row in enumerate(obj.rows)}
    keys = {(v.partition, v.offset): rows[v.uri, v.position].substream for v in outcome.verdicts}

    def lives(run: int) -> list[Life]:
        return [
            Life(
                start=item.start,
                end=item.end,
                order=(item.partition.encode(), item.offset),
                came=item.run,
                key=keys[item.partition, item.offset],
                source=name,
                partition=item.partition,
                offset=item.offset,
                watermark=item.watermark,
                tentative=item.start if item.end == COMPLETE and item.start > item.event else None,
            )
            for item in items(outcome, run)
        ]

    parts = [
        {p: COMPLETE if end.complete else state.watermark for p, state in end.states.items() if p != UNKNOWN}
        for end in outcome.ends
    ]
    return Stream(lives, watermarks(outcome), [end.combined for end in outcome.ends], parts)


def shifted(stream: Stream, by: int) -> Stream:
    def moved(life: Life) -> Life:
        return replace(
            life,
            start=life.start + by,
            end=life.end + by,
            watermark=None if life.watermark is None else life.watermark + by,
            tentative=None if life.tentative is None else life.tentative + by,
        )

    return Stream(
        lambda run: [moved(life) for life in stream.lives(run)],
        [_plus(mark, by) for mark in stream.marks],
        [None if mark is None else mark + by for mark in stream.finite],
        [{part: _plus(mark, by) for part, mark in marks.items()} for marks in stream.parts],
    )


def lasting(stream: Stream, lifetime: int) -> Stream:
    return replace(stream, lives=lambda run: [replace(life, end=life.start + lifetime) for life in stream.lives(run)])


def until(stream: Stream, end_of: Callable[[Life], int | None], at_most: int | None = None) -> Stream:
    """Every row ends when `end_of` says (None: never), `at_most` after its start; one that has no time to live is
    gone."""

    def ended(life: Life) -> Life:
        end = end_of(life)
        most = COMPLETE if at_most is None else life.start + at_most
        return replace(life, end=most if end is None else min(end, most))

    def lives(run: int) -> list[Life]:
        return [life for life in map(ended, stream.lives(run)) if life.end > life.start]

    return replace(stream, lives=lives)


def until_next(stream: Stream, by: Callable[[Life], Any], at_most: int | None = None) -> Stream:
    """Every row ends where the next one of equal `by` starts, `at_most` after its own start at the latest; one whose
    next starts with it is gone. Until that moment is passed, a row may be so. One that may turn out to be none ends
    no other before."""

    def lives(run: int) -> list[Life]:
        rows, mark = stream.lives(run), stream.marks[run]
        sure = [life for life in rows if life.tentative is None or (mark is not None and life.tentative < mark)]
        found = []
        for life in rows:
            later = [each.start for each in sure if each.sort_key > life.sort_key and by(each) == by(life)]
            most = COMPLETE if at_most is None else life.start + at_most
            ended = replace(life, end=min([most, *later]), tentative=life.start)
            found += [ended] if ended.end > life.start else []
        return found

    return replace(stream, lives=lives)


def where(stream: Stream, wanted: Callable[[Life], bool]) -> Stream:
    return replace(stream, lives=lambda run: [life for life in stream.lives(run) if wanted(life)])


def union(*streams: Stream) -> Stream:
    def lives(run: int) -> list[Life]:
        return [
            replace(life, order=(place, *life.order))
            for place, stream in enumerate(streams)
            for life in stream.lives(run)
        ]

    return _combined(lives, streams)


def joined(left: Stream, right: Stream) -> Stream:
    """Rows with equal keys while both are alive. A pair comes with the later of its rows."""

    def lives(run: int) -> list[Life]:
        return [
            Life(
                start=max(one.start, other.start),
                end=min(one.end, other.end),
                order=(*one.sort_key, *other.sort_key),
                came=max(one.came, other.came),
                key=one.key,
                source="",
                judged=False,
                tentative=_finite(most(one.tentative, other.tentative)),
            )
            for one in left.lives(run)
            for other in right.lives(run)
            if one.key is not None and one.key == other.key and max(one.start, other.start) < min(one.end, other.end)
        ]

    return _combined(lives, (left, right))


def _combined(lives: Callable[[int], list[Life]], streams: Sequence[Stream]) -> Stream:
    """The watermark is the minimum; one without holds it back, and it never goes back."""
    marks: list[Watermark] = []
    finite: list[int | None] = []
    for run in range(len(streams[0].marks)):
        now = [stream.marks[run] for stream in streams]
        least = None if None in now else min(mark for mark in now if mark is not None)
        marks.append(most(least, *marks[-1:]))
        ends = [stream.finite[run] for stream in streams if least == COMPLETE or stream.marks[run] != COMPLETE]
        bound = None if None in ends else min((each for each in ends if each is not None), default=None)
        finite.append(_finite(most(bound, *finite[-1:])))
    return Stream(lives, marks, finite)


# -- what is written


def published(stream: Stream, start: int | None = None) -> list[list[Life]]:
    """By run, the rows that it publishes: those whose end the watermark has passed, each once."""
    seen: set[tuple[Any, ...]] = set()
    found = []
    for run, reached in enumerate(stream.marks):
        lives = [life for life in stream.lives(run) if life.order not in seen]
        done = [life for life in lives if reached is not None and life.end <= reached]
        seen |= {life.order for life in done}
        found.append([life for life in done if start is None or life.end > start])
    return found


@dataclass(frozen=True)
class Late:
    """A row that came late for a window."""

    life: Life
    window: Bounds


Closed = dict[tuple[Any, ...], list[Life]]


@dataclass(frozen=True)
class Written:
    """What a run writes: rows in sort order by (part, bounds, group), and what came late. `watermark` is what follows
    sees, of steps without parts."""

    closed: Closed
    late: Sequence[Late]
    watermark: Watermark = None


@dataclass(frozen=True)
class Quiet:
    """What a step of windows knows of idleness: its timeout, and by run as_of and that of the last run that brought a
    row to it."""

    timeout: int
    runs: Sequence[tuple[int, int | None]]

    def limit(self, run: int) -> int | None:
        as_of, last = self.runs[run]
        return None if last is None or as_of - last < self.timeout else as_of - self.timeout


def windows(stream: Stream, window: Window, start: int | None = None, quiet: Quiet | None = None) -> list[Written]:
    """Windows of a size; by partition if they are so."""
    if window.partition_by is None:
        return _sized(stream, stream, window, start, quiet)
    return _by_part(stream, lambda part: _sized(part, stream, window, start, quiet))


def _sized(stream: Stream, whole: Stream, window: Window, start: int | None, quiet: Quiet | None) -> list[Written]:
    found: list[Written] = []
    before: Watermark = None
    watermark: Watermark = None
    for run, mark in enumerate(stream.marks):
        reached = most(mark, _idle(window, None if quiet is None else quiet.limit(run)), before)
        bound = _last_finite(whole.lives(run), whole.finite[run], reached)
        closed: Closed = {}
        late = []
        for life in sorted(stream.lives(run), key=lambda life: life.sort_key):
            for span in window.over(life.start, int(min(life.end, bound + 1))):
                gone = most(before, life.watermark if life.judged else None)
                if gone is not None and gone >= span[1]:
                    late += [Late(life, span)] if life.came == run and life.judged else []
                elif reached is not None and reached >= span[1] and (start is None or span[1] > start):
                    closed.setdefault((None, span, _group(window, life)), []).append(life)
        before = reached
        back = reached if reached in (None, COMPLETE) else min(reached, window.earliest_open(reached or 0))
        watermark = most(watermark, back)
        found.append(Written(closed, late, watermark))
    return found


def _idle(window: Window, limit: int | None) -> int | None:
    """The latest end of a window up to a time."""
    if limit is None:
        return None
    return max(end for _, end in window.over(limit - window.size - window.hop, limit + 1) if end <= limit)


def made(stream: Stream, measured: Measured, start: int | None = None, quiet: Quiet | None = None) -> list[Written]:
    """Windows whose bounds come from rows; by partition if they are so."""
    if measured.partition_by is None:
        return _made(stream, measured, start, quiet)
    return _by_part(stream, lambda part: _made(part, measured, start, quiet))


def _made(stream: Stream, measured: Measured, start: int | None, quiet: Quiet | None) -> list[Written]:
    found: list[Written] = []
    passed: list[Watermark] = [None]
    ended: dict[Any, float] = {}
    watermark: Watermark = None
    for run, mark in enumerate(stream.marks):
        reached = most(mark, passed[-1])
        lives, late = _taking_part(stream.lives(run), measured, passed, run)
        spans = _spans(lives, measured, ended, passed[-1])
        limit = None if quiet is None or reached == COMPLETE else quiet.limit(run)
        if limit is not None:
            reached = most(reached, *[end for _, (_, end) in spans if end <= limit])
        spans = _spans(_certain(lives, measured, reached), measured, ended, passed[-1])
        closed: Closed = {}
        for (group, span), rows in spans.items():
            if reached is not None and span[1] <= reached:
                ended[group] = max(ended.get(group, -math.inf), span[1])
                if start is None or span[1] > start:
                    closed[None, span, group] = sorted(rows, key=lambda life: life.sort_key)
        open_ = [span[0] for _, span in spans if reached is not None and span[1] > reached]
        watermark = most(
            watermark, None if reached is None else COMPLETE if reached == COMPLETE else min([reached, *open_])
        )
        found.append(Written(closed, late, watermark))
        passed.append(reached)
    return found


def _taking_part(
    known: Sequence[Life], measured: Measured, passed: Sequence[Watermark], run: int
) -> tuple[dict[Any, list[tuple[int, float, Life]]], list[Late]]:
    """By group, from when to when each row takes part: from what was settled when it came."""
    lives: dict[Any, list[tuple[int, float, Life]]] = {}
    late = []
    for life in sorted(known, key=lambda life: life.sort_key):
        end = life.end if measured.size is None else life.start + measured.size
        settled = most(passed[life.came], life.watermark if life.judged else None)
        begin = life.start if settled is None else max(life.start, settled)
        if life.came == run and life.judged and begin > life.start:
            late.append(Late(life, (life.start, min(begin, end))))
        if begin < end:
            lives.setdefault(_group(measured, life), []).append((int(begin), end, life))
    return lives, late


def _certain(
    lives: Mapping[Any, list[tuple[int, float, Life]]], measured: Measured, reached: Watermark
) -> Mapping[Any, list[tuple[int, float, Life]]]:
    """Without what may turn out never to have been alive: it bounds no snapshot yet."""
    if measured.session is not None or reached in (None, COMPLETE):
        return lives
    return {
        group: [each for each in rows if each[2].tentative is None or each[2].tentative < reached]
        for group, rows in lives.items()
    }


def _spans(
    lives: Mapping[Any, list[tuple[int, float, Life]]],
    measured: Measured,
    ended: Mapping[Any, float],
    before: Watermark,
) -> dict[tuple[Any, Bounds], list[Life]]:
    """The windows that are not written yet: none overlaps one that is, whose rows are its own for good if it is a
    session."""
    found = {}
    for group, rows in lives.items():
        bound = ended.get(group, -math.inf)
        left = [life for life in rows if measured.session is None or life[0] >= bound]
        for span, members in measured.windows(left).items():
            if span[0] >= bound and before != COMPLETE:
                found[group, span] = members
    return found


def _by_part(stream: Stream, written: Callable[[Stream], list[Written]]) -> list[Written]:
    """Each partition has windows and a watermark of its own."""
    runs = range(len(stream.marks))
    found = [Written({}, []) for _ in runs]
    for part in sorted({part for marks in stream.parts for part in marks}):

        def lives(run: int, part: str = part) -> list[Life]:
            return [life for life in stream.lives(run) if life.partition == part]

        marks = [stream.parts[run].get(part) for run in runs]
        for run, own in enumerate(written(Stream(lives, marks, stream.finite))):
            closed = {(part, *key[1:]): rows for key, rows in own.closed.items()}
            found[run] = Written({**found[run].closed, **closed}, [*found[run].late, *own.late])
    return found


def _group(windows_: Window | Measured, life: Life) -> Any:
    return life.key if windows_.group_by else None


def _last_finite(known: Sequence[Life], finite: int | None, reached: Watermark) -> float:
    """The last finite start, end or punctuation of a stream."""
    ends = [life.end for life in known if life.end != COMPLETE]
    starts = [life.start for life in known]
    return most(finite, _finite(reached), *starts, *ends) or 0


def _finite(mark: Watermark) -> int | None:
    return None if mark is None or mark == COMPLETE else int(mark)


def _plus(mark: Watermark, by: int) -> Watermark:
    return None if mark is None else mark + by
