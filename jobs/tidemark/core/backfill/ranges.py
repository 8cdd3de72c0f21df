"""Ranges that a bounded backfill reads, and the state it starts from (time rules: start, backfill, versions).

Outputs in [T0, T1) need only rows that arrive in [T0 - reach - early, T1 + late). Earlier rows matter to a partition
only before T0 - reach: the state that follows from arrivals alone will do, and these rows are not read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tidemark.core.advance import Key, SourceRules, States
from tidemark.core.streams import StepRules, StreamEnd, reach
from tidemark.core.watermarks import UNKNOWN, Combined, PartitionState, clamp, combine, latest

Rules = Mapping[str, SourceRules]


@dataclass(frozen=True)
class ReadRange:
    """Arrivals in [begin, end), microseconds, whose rows of a source are read; None: without a bound."""

    begin: int | None = None
    end: int | None = None


@dataclass(frozen=True)
class Range:
    """Range of outputs that are made anew: rows in [begin, end), windows that end in (begin, end]; microseconds.
    Without `end`: up to the last run."""

    begin: int
    end: int | None = None


def readings(
    asked: Range, both: Sequence[tuple[Rules, Sequence[StepRules]]], open_from: int | None
) -> dict[str, ReadRange]:
    """Ranges to read, by source: the larger bounds of `both`, the configuration before and the one now. Outputs after
    `open_from` (None: all) are not final when the recorded runs end: without an end of the range they are made anew,
    too."""
    names = both[-1][0]
    whole = dict.fromkeys(names, ReadRange())
    endless = any(step.endless for _, steps in both for step in steps)
    if endless or (asked.end is None and open_from is None):
        return whole
    back = max(reach(steps) for _, steps in both)
    ahead = max(_ahead(steps) for _, steps in both)
    begin = asked.begin
    if asked.end is None:
        begin = min(begin, (open_from or 0) - back - ahead - sum(_lateness(both[-1][1])))
    found = {}
    for name in names:
        bounds = [_bounds(rules[name]) for rules, _ in both if name in rules]
        if any(bound is None for bound in bounds):
            return whole
        early, late = (max(bound[side] for bound in bounds if bound is not None) for side in (0, 1))
        end = None if asked.end is None else asked.end + ahead + late
        found[name] = ReadRange(begin - back - early, end)
    return found


class JudgedRows(NamedTuple):
    """Rows of a source with a time in the range: first and last arrival, microseconds, and the last batch."""

    first: int
    last: int
    batch: int


def widened(reads: Mapping[str, ReadRange], judged: Mapping[str, JudgedRows]) -> dict[str, ReadRange]:
    """Ranges to read that also have these rows, which policies of before may have moved further."""
    found = dict(reads)
    for name, rows in judged.items():
        begin, end = reads[name].begin, reads[name].end
        found[name] = ReadRange(
            None if begin is None else min(begin, rows.first), None if end is None else max(end, rows.last + 1)
        )
    return found


def floors_after(states: States, rules: Rules) -> int | None:
    """The least time that partitions have surely passed, by arrivals alone; None if nothing is sure for one of
    them."""
    passed = [_floor(state, rules[name]) for (name, part), state in states.items() if part != UNKNOWN]
    return None if None in passed else min((each for each in passed if each is not None), default=None)


def rebased(states: States, rules: Rules, unchanged: Collection[str]) -> States:
    """Recorded states as they would be after other rules of judging, as far as arrivals determine them. States of
    `unchanged` sources are kept."""
    return {
        key: state if key[0] in unchanged else _rebased(state, key, rules[key[0]]) for key, state in states.items()
    }


def recombined(combined: Mapping[str, Combined], states: States, unchanged: Collection[str]) -> dict[str, Combined]:
    """Combined watermarks of rebased states."""

    def watermark(source: str) -> int | None:
        known = [state.watermark for (name, part), state in states.items() if name == source and part != UNKNOWN]
        return combine(known, None)

    return {
        name: each if name in unchanged else replace(each, watermark=watermark(name))
        for name, each in combined.items()
    }


def passed_by(
    end: int, combined: Mapping[str, Combined], streams: Mapping[str, StreamEnd], lateness: Mapping[str, int]
) -> bool:
    """True if every source and stream has passed a time when a run has ended: outputs that end by then are final."""
    sources = all(_past(end, each.watermark, each.complete) for each in combined.values())
    return sources and all(
        _past(end + lateness.get(name, 0), each.state.passed, each.state.complete) for name, each in streams.items()
    )


def kept_streams(steps: Iterable[StepRules], same: Collection[str], unchanged: Collection[str]) -> frozenset[str]:
    """Streams that keep their recorded state: their own definition and everything below them are unchanged."""
    kept: set[str] = set()
    for step in steps:
        below = [name in unchanged or name in kept for name in step.inputs]
        if step.name in same and all(below):
            kept.add(step.name)
    return frozenset(kept)


def first_batch(arrivals: Iterable[tuple[int, str, int]], reads: Mapping[str, ReadRange]) -> int | None:
    """The first batch that may hold a row in the read range, among (batch, source, last arrival); None if none
    does."""
    begins: Callable[[str], int | None] = lambda name: reads[name].begin  # noqa: E731
    found = [batch for batch, name, arrival in arrivals if name in reads and arrival >= (begins(name) or arrival)]
    return min(found, default=None)


def _past(end: int, watermark: int | None, complete: bool) -> bool:
    return complete or (watermark is not None and watermark >= end)


def _bounds(rules: SourceRules) -> tuple[int, int] | None:
    """Microseconds by which rows arrive before and after their time at most; None: without a bound. Rows that make
    others duplicates arrive so much earlier."""
    ahead, late = rules.ahead, rules.policy.late
    if ahead is None or (rules.own_time and late is None):
        return None
    return ahead + rules.remembers, late.micros if rules.own_time and late is not None else 0


def _floor(state: PartitionState, rules: SourceRules) -> int | None:
    arrived = latest(state.last_arrival, state.estimated_high)
    late = rules.policy.late
    return None if late is None or arrived is None else clamp(arrived - late.micros)


def _rebased(state: PartitionState, key: Key, rules: SourceRules) -> PartitionState:
    floor = None if key[1] == UNKNOWN else _floor(state, rules)
    return replace(state, watermark=floor, floor=floor, high=None)


def _ahead(steps: Sequence[StepRules]) -> int:
    """Microseconds by which input may lie after an output time at most: shifts back, summed along the path."""
    moved: dict[str, int] = {}
    for step in steps:
        moved[step.name] = max(moved.get(name, 0) for name in step.inputs) - step.shift
    return max([0, *moved.values()])


def _lateness(steps: Sequence[StepRules]) -> Iterable[int]:
    return (0 if step.windows is None else step.windows.lateness for step in steps)
