"""Costs of each candidate of a grid of tolerances for a source, and the smallest candidate that meets the targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median_low

from tidemark.core.advice.grid import Grid, GridCounts, nothing
from tidemark.core.advice.history import RepeatedRuns
from tidemark.core.policy import Action, Policy
from tidemark.core.quality import within

DEFAULT_TARGET = 0.01
"""Share of rows that may be moved or lost if no target is given."""


@dataclass(frozen=True)
class FateCounts:
    """Numbers of rows: `adjusted` if late and out-of-order rows were adjusted, intervals that end where they are
    moved to as well, `dropped` if they were dropped, and both under the source's own two actions. All of them include
    the rows of the early step; `rows` is the number of all rows."""

    rows: int
    adjusted: int
    dropped: int
    own_adjusted: int
    own_dropped: int


@dataclass(frozen=True)
class ToleranceCost:
    """Two tolerances, microseconds (late None: off), and their costs, in all and by partition. `delay` is how far the
    combined watermark was behind the latest arrival when a run ended: the median over runs that brought rows. None:
    no such run had one."""

    late: int | None
    out_of_order: int
    fates: FateCounts
    partitions: Mapping[str, FateCounts]
    delay: int | None
    longest_delay: int | None


@dataclass(frozen=True)
class Targets:
    """The largest shares of all rows that may be dropped, and adjusted; None: any share."""

    dropped: float | None = None
    adjusted: float | None = None

    def met(self, fates: FateCounts) -> bool:
        """True if the counts are within the targets."""
        dropped = self.dropped is None or within(fates.dropped, fates.rows, self.dropped)
        return dropped and (self.adjusted is None or within(fates.adjusted, fates.rows, self.adjusted))


def own_actions(policy: Policy) -> tuple[Action, Action]:
    """Actions of a source on late and on out-of-order rows; `off` counts as adjust."""
    late = Action.ADJUST if policy.late is None else policy.late.action
    return late, policy.out_of_order.action


def targets_for(given: Targets, limits: Targets, policy: Policy) -> Targets:
    """The targets that are `given`. If none are, those of the `limits` that concern the source's own actions; if none
    do, one per cent for each of these actions."""
    if given != Targets():
        return given
    actions = own_actions(policy)
    dropping, adjusting = Action.DROP in actions, Action.ADJUST in actions
    found = Targets(limits.dropped if dropping else None, limits.adjusted if adjusting else None)
    if found != Targets():
        return found
    return Targets(DEFAULT_TARGET if dropping else None, DEFAULT_TARGET if adjusting else None)


def cells(grid: Grid, tallies: Mapping[str, GridCounts], policy: Policy, seen: RepeatedRuns) -> list[ToleranceCost]:
    """Cost of every cell of a grid, by late and then by out-of-order tolerance; `tallies` by partition."""
    whole = nothing(grid)
    for tally in tallies.values():
        whole = whole.plus(tally)
    found = []
    for i, late in enumerate(grid.lates):
        for j, disorder in enumerate(grid.disorders):
            parts = {name: _fates(tallies[name], (i, j), policy) for name in sorted(tallies)}
            delays = seen.delays[i][j]
            middle, longest = (median_low(delays), max(delays)) if delays else (None, None)
            found.append(ToleranceCost(late, disorder, _fates(whole, (i, j), policy), parts, middle, longest))
    return found


def fates_under(cost: ToleranceCost, tally: GridCounts, policy: Policy) -> FateCounts:
    """Numbers of the counted rows under the tolerances of a cell."""
    grid = tally.grid
    return _fates(tally, (grid.lates.index(cost.late), grid.disorders.index(cost.out_of_order)), policy)


def recommended(found: Sequence[ToleranceCost], targets: Targets) -> ToleranceCost | None:
    """The cell with the smallest output delay among those that meet the targets; of several, the one with the
    smallest late tolerance, then with the smallest out-of-order tolerance. None if no cell meets them."""
    return min((cell for cell in found if targets.met(cell.fates)), key=_smallness, default=None)


def _smallness(cell: ToleranceCost) -> tuple[float, float, int]:
    endless = float("inf")
    delay = endless if cell.delay is None else cell.delay
    return delay, endless if cell.late is None else cell.late, cell.out_of_order


def _fates(tally: GridCounts, position: tuple[int, int], policy: Policy) -> FateCounts:
    adjusted, _ = tally.fates(*position, (Action.ADJUST, Action.ADJUST))
    _, dropped = tally.fates(*position, (Action.DROP, Action.DROP))
    adjusted += tally.emptied(*position)
    return FateCounts(tally.rows, adjusted, dropped, *tally.fates(*position, own_actions(policy)))
