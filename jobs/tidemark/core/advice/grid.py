"""A grid of tolerances to try on a source's rows: the choice of its values, and counts of fates under each cell."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from tidemark.core.policy import Action
from tidemark.core.times import DAY, HOUR, MILLISECOND, MINUTE, SECOND

RUNGS = (
    0,
    *[n * MILLISECOND for n in (1, 2, 5, 10, 20, 50, 100, 200, 500)],
    *[n * SECOND for n in (1, 2, 3, 5, 10, 15, 20, 30, 45)],
    *[n * MINUTE for n in (1, 2, 3, 5, 10, 15, 20, 30, 45)],
    *[n * HOUR for n in (1, 2, 3, 4, 5, 6, 8, 10, 12, 18)],
    *[n * DAY for n in (1, 2, 3, 5, 7, 10, 14, 20, 30, 60, 90, 180, 365)],
)
"""Durations that people read at a glance, microseconds; tolerances are rounded up to them."""
QUANTILES = (1.0, 0.99, 0.5, 0.9, 0.999, 0.95, 0.75, 0.98, 0.25, 0.995, 0.9999)
"""Shares of rows that a tolerance may let pass, the most informative first."""
MOST_CHOSEN = 7
"""Most tolerances of one kind that are chosen from the rows, besides zero and the present one."""
LATE_ADJUSTED, LATE_DROPPED = 0, 1
"""The lanes of `GridCounts`: late rows adjusted, or dropped. This decides with which times later rows are
compared."""


@dataclass(frozen=True)
class Grid:
    """Tolerances in microseconds, ascending and each once; a late tolerance of None is `off`, and last."""

    lates: tuple[int | None, ...]
    disorders: tuple[int, ...]

    @classmethod
    def of(cls, lates: Iterable[int | None], disorders: Iterable[int]) -> Grid:
        """The grid of tolerances in any order."""
        given = set(lates)
        off = (None,) if None in given else ()
        return cls((*sorted(late for late in given if late is not None), *off), tuple(sorted(set(disorders))))

    def behind(self, action: Action = Action.ADJUST) -> tuple[tuple[int, ...], ...]:
        """Microseconds by which a watermark trails the highest time, by late and by out-of-order tolerance: the
        lesser of the two, or the latter alone with late off or the action `keep`."""
        whole = [None if action is Action.KEEP else late for late in self.lates]
        return tuple(tuple(d if late is None else min(d, late) for d in self.disorders) for late in whole)


@dataclass(frozen=True)
class GridCounts:
    """Counts of some rows under each cell of a grid; `numbers` holds one after the other.

    First come rows out of order: for each lane, each late tolerance, rows that no earlier step has moved and rows
    that one has, and each n from 0 to the number of out-of-order tolerances: the rows that are out of order under the
    first n of these and under no other. Then, by late tolerance, the late rows, and the intervals that the late step
    moves to their end if it adjusts. Then, for each lane, late tolerance and n, the intervals that the out-of-order
    step moves to their end under the first n tolerances. Then the rows that the early step drops, and last the
    quarantined ones.
    """

    grid: Grid
    numbers: Sequence[int]

    @property
    def rows(self) -> int:
        """Number of all rows, quarantined ones too."""
        judged = sum(self._ordered(LATE_ADJUSTED, 0, 0)) + sum(self._ordered(LATE_ADJUSTED, 0, 1))
        return judged + self._emptied_late(0) + self._early_dropped + self.numbers[-1]

    def fates(self, late: int, disorder: int, actions: tuple[Action, Action]) -> tuple[int, int]:
        """(adjusted, dropped): numbers of rows in the cell at these two positions, under the actions of the late and
        out-of-order steps."""
        dropping = actions[0] is Action.DROP
        lane = LATE_DROPPED if dropping else LATE_ADJUSTED
        still, moved = self._ordered(lane, late, 0), self._ordered(lane, late, 1)
        gone = self._early_dropped
        gone += self.numbers[self._after_lanes + late] if dropping else self._emptied_late(late)
        behind = disorder + 1
        if actions[1] is Action.KEEP:
            return sum(moved), gone
        if actions[1] is Action.ADJUST:
            emptied = self._emptied_behind(lane, late, behind)
            return sum(moved) + sum(still[behind:]) - emptied, gone + emptied
        return sum(moved[:behind]), gone + sum(still[behind:]) + sum(moved[behind:])

    def emptied(self, late: int, disorder: int) -> int:
        """Number of intervals that are moved to their end in the cell of these positions, if both steps adjust."""
        return self._emptied_late(late) + self._emptied_behind(LATE_ADJUSTED, late, disorder + 1)

    def plus(self, other: GridCounts) -> GridCounts:
        """The counts of both's rows."""
        return GridCounts(self.grid, [one + two for one, two in zip(self.numbers, other.numbers, strict=True)])

    @property
    def _after_lanes(self) -> int:
        return 2 * len(self.grid.lates) * 2 * (len(self.grid.disorders) + 1)

    @property
    def _early_dropped(self) -> int:
        return self.numbers[-2]

    def _emptied_late(self, late: int) -> int:
        return self.numbers[self._after_lanes + len(self.grid.lates) + late]

    def _emptied_behind(self, lane: int, late: int, behind: int) -> int:
        lates, size = len(self.grid.lates), len(self.grid.disorders) + 1
        first = self._after_lanes + 2 * lates + (lane * lates + late) * size
        return sum(self.numbers[first + behind : first + size])

    def _ordered(self, lane: int, late: int, moved: int) -> Sequence[int]:
        size = len(self.grid.disorders) + 1
        first = ((lane * len(self.grid.lates) + late) * 2 + moved) * size
        return self.numbers[first : first + size]


def nothing(grid: Grid) -> GridCounts:
    """The counts of no rows."""
    lates = len(grid.lates)
    return GridCounts(grid, [0] * (6 * lates * (len(grid.disorders) + 1) + 2 * lates + 2))


def rungs(known: Collection[int | None], most: int | None = None) -> tuple[int, ...]:
    """The readable durations up to `most`, and the `known` ones, ascending."""
    readable = [rung for rung in RUNGS if most is None or rung <= most]
    return tuple(sorted({*readable, *(micros for micros in known if micros is not None)}))


def chosen(counts: Mapping[int, int], of: Sequence[int]) -> set[int]:
    """Tolerances worth trying: zero, and quantiles of how late (or out of order) rows are, rounded up to a rung.
    `counts` maps a number of rungs to the number of rows that are beyond exactly so many."""
    within = list(accumulate(counts.get(index, 0) for index in range(len(of) + 1)))
    found = {0}
    for share in QUANTILES:
        index = bisect_left(within, share * within[-1])
        found.add(of[min(index, len(of) - 1)])
        if len(found) > MOST_CHOSEN:
            break
    return found
