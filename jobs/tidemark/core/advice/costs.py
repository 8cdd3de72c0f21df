"""What each cell of a grid of tolerances would have cost a source, and which is the smallest that will do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidemark.core.advice.grid import Grid, GridCounts, nothing
from tidemark.core.advice.history import Hindsight
from tidemark.core.policy import Action, Policy

DEFAULT_TARGET = 0.01
"""The share of rows that may be moved or lost where nothing else is said."""


@dataclass(frozen=True)
class FateCounts:
    """Rows that would be `adjusted` if late and out-of-order rows were adjusted, those that would be `dropped` if
    they were dropped, and both under the source's own two actions. What the early step does counts in all of them;
    `rows` are those of all fates."""

    rows: int
    adjusted: int
    dropped: int
    own_adjusted: int
    own_dropped: int


@dataclass(frozen=True)
class ToleranceCost:
    """Two tolerances, microseconds (late None: off), and what they would have cost, in all and by partition.
    `delay` is the median, over the runs that brought rows, of how far the combined watermark was behind the latest
    arrival when the run ended; None: there never was one."""

    late: int | None
    out_of_order: int
    fates: FateCounts
    partitions: Mapping[str, FateCounts]
    delay: int | None
    longest_delay: int | None


@dataclass(frozen=True)
class Targets:
    """The most that may be dropped, and adjusted, as shares of all rows; None: as much as there is."""

    dropped: float | None = None
    adjusted: float | None = None

    def met(self, fates: FateCounts) -> bool:
        """Whether so many rows are few enough."""
        dropped = self.dropped is None or fates.dropped <= self.dropped * fates.rows
        return dropped and (self.adjusted is None or fates.adjusted <= self.adjusted * fates.rows)


def own_actions(policy: Policy) -> tuple[Action, Action]:
    """What a source does with late and with out-of-order rows; `off` as if it were to adjust."""
    late = Action.ADJUST if policy.late is None else policy.late.action
    return late, policy.out_of_order.action


def targets_for(given: Targets, limits: Targets, policy: Policy) -> Targets:
    """The targets that are `given`; without any, the `limits` on what the source's own actions do to rows; without
    these, one per cent of it."""
    if given != Targets():
        return given
    actions = own_actions(policy)
    dropping, adjusting = Action.DROP in actions, Action.ADJUST in actions
    found = Targets(limits.dropped if dropping else None, limits.adjusted if adjusting else None)
    if found != Targets():
        return found
    return Targets(DEFAULT_TARGET if dropping else None, DEFAULT_TARGET if adjusting else None)


def cells(grid: Grid, tallies: Mapping[str, GridCounts], policy: Policy, seen: Hindsight) -> list[ToleranceCost]:
    """Every cell of a grid, by late and then by out-of-order tolerance; `tallies` by partition."""
    whole = nothing(grid)
    for tally in tallies.values():
        whole = whole.plus(tally)
    found = []
    for i, late in enumerate(grid.lates):
        for j, disorder in enumerate(grid.disorders):
            parts = {name: _fates(tallies[name], (i, j), policy) for name in sorted(tallies)}
            delays = sorted(seen.delays[i][j])
            middle, longest = (delays[(len(delays) - 1) // 2], delays[-1]) if delays else (None, None)
            found.append(ToleranceCost(late, disorder, _fates(whole, (i, j), policy), parts, middle, longest))
    return found


def recommended(found: Sequence[ToleranceCost], targets: Targets) -> ToleranceCost | None:
    """Of the cells that meet the targets, the one with the smallest output delay; of several such the one with the
    smallest late tolerance, then with the smallest out-of-order tolerance. None: no cell does."""
    return min((cell for cell in found if targets.met(cell.fates)), key=_smallness, default=None)


def _smallness(cell: ToleranceCost) -> tuple[float, float, int]:
    endless = float("inf")
    delay = endless if cell.delay is None else cell.delay
    return delay, endless if cell.late is None else cell.late, cell.out_of_order


def _fates(tally: GridCounts, place: tuple[int, int], policy: Policy) -> FateCounts:
    adjusted, _ = tally.fates(*place, (Action.ADJUST, Action.ADJUST))
    _, dropped = tally.fates(*place, (Action.DROP, Action.DROP))
    return FateCounts(tally.rows, adjusted, dropped, *tally.fates(*place, own_actions(policy)))
