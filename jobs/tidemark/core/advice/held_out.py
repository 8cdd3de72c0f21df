"""Advice put to the test on rows that it did not see: each newest week, with the tolerances advised before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

from tidemark.core.advice.costs import FateCounts, Targets, ToleranceCost, cells, fates_under, recommended
from tidemark.core.advice.grid import Grid, GridCounts
from tidemark.core.advice.history import RepeatedRuns
from tidemark.core.policy import Policy
from tidemark.core.times import DAY

PERIOD = 7 * DAY
"""Length of a held-out period, microseconds; periods end at the latest arrival."""
MOST = 4
"""Most held-out periods."""


@dataclass(frozen=True)
class HeldOut:
    """A held-out period: its rows arrived after `start`, up to `end` (microseconds). `advised` is the candidate that
    the rows before it recommend (None: no candidate met the targets), `fates` those of its rows under that candidate,
    and `met` says whether they meet the targets."""

    start: int
    end: int
    advised: ToleranceCost | None
    fates: FateCounts | None
    met: bool


def held_out(
    grid: Grid,
    periods: Mapping[int, GridCounts],
    policy: Policy,
    seen: RepeatedRuns,
    targets: Targets,
    newest: int,
) -> list[HeldOut]:
    """The held-out periods, newest first: those with rows, and with rows before them. Number 0 of `periods` ends at
    the `newest` arrival; number `MOST` holds all rows before the others.

    Candidates are ranked by the output delay of all runs, which follows from tolerances, not from the fates of rows.
    """
    found = []
    for number in range(MOST):
        earlier = [counts for each, counts in periods.items() if each > number]
        if number not in periods or not earlier:
            continue
        known = reduce(GridCounts.plus, earlier)
        best = recommended(cells(grid, {"": known}, policy, seen), targets)
        fates = None if best is None else fates_under(best, periods[number], policy)
        end = newest - number * PERIOD
        found.append(HeldOut(end - PERIOD, end, best, fates, fates is not None and targets.met(fates)))
    return found
