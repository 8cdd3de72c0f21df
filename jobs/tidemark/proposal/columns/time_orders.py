"""Pairs of time columns, one never before the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

from tidemark.proposal.columns.times import OLD, Candidate, Times, may_arrive
from tidemark.proposal.columns.words import AGAINST, weight

_MOST = 12
_FEWEST = 5
_NEVER = 3
"""Weight from which a word in a name means that a time is a plan or a limit."""


@dataclass(frozen=True)
class TimeOrder:
    """`later` is never before `earlier` in the `rows` sampled rows that have both. `median` and `largest`: difference
    of the two in microseconds."""

    later: Candidate
    earlier: Candidate
    rows: int
    median: int
    largest: int


def time_orders(times: Times) -> list[TimeOrder]:
    """Return all pairs in order among the best candidates, the closest first. Columns of days without times of day,
    and of one single time, are left out."""
    few = [each for each in times.candidates if not each.reading.dated and not each.constant][:_MOST]
    found = [order for later, earlier in permutations(few, 2) if (order := _order(later, earlier)) is not None]
    return sorted(found, key=lambda order: (order.median, order.largest))


def other_arrivals(times: Times, orders: Sequence[TimeOrder]) -> Iterator[TimeOrder]:
    """Yield the pairs that suggest another arrival: a time that is never before the event. If no arrival was chosen,
    also pairs in which the event is never before another time."""
    for order in orders:
        follows = order.earlier is times.event and order.later is not times.arrival
        leads = order.later is times.event and times.arrival is None
        planned = weight(order.later.name, AGAINST) >= _NEVER
        if (follows or leads) and may_arrive(order.later) and not planned and order.median <= OLD:
            yield order


def _order(later: Candidate, earlier: Candidate) -> TimeOrder | None:
    """Return the order of two columns; None if there is none, if too few rows have both, or if all are equal."""
    gaps: list[int] = []
    for after, before in zip(later.micros, earlier.micros, strict=True):
        if after is not None and before is not None:
            if after < before:
                return None
            gaps.append(after - before)
    gaps.sort()
    if len(gaps) < _FEWEST or not gaps[-1]:
        return None
    return TimeOrder(later, earlier, len(gaps), gaps[len(gaps) // 2], gaps[-1])
