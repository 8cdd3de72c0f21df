"""Advice on tolerances gives what runs with these tolerances would have given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from runs_judged import NOWHERE, cuts, judged, rules_of, run_of

import oracle
from oracle import SECOND, Source, Verdict
from strategies import Log, logs, sources
from tidemark.core.advance import Advance
from tidemark.core.advice.costs import FateCounts, ToleranceCost, cells
from tidemark.core.advice.grid import Grid, GridCounts, nothing
from tidemark.core.advice.history import NONE, RecordedStates, RepeatedRuns, arrivals_before, repeat_runs
from tidemark.core.policy import Action, Policy, Tolerance
from tidemark.core.watermarks import UNKNOWN, PartitionState

LAW = settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
DROP, ADJUST, KEEP = Action.DROP, Action.ADJUST, Action.KEEP


@dataclass
class Recorded:
    """What the batches of a log recorded, with the highest time that the early step left to the rows of each."""

    history: list[RecordedStates]
    highs: dict[tuple[str, int], int]


def recorded(data: st.DataObject, log: Log) -> Recorded:
    """The log as the product would have recorded it, in one to three micro-batches a run."""
    source, wanted = log.source, oracle.judge(log.source, log.runs)
    rules, state, made = {"s": rules_of("s", source)}, NOWHERE, Recorded([], {})
    declared = frozenset(rules["s"].partitions)
    for number, (run, end) in enumerate(zip(log.runs, wanted.ends, strict=True)):
        parts = list(cuts(data.draw, [verdict for verdict in wanted.verdicts if verdict.run == number]))
        closing = frozenset({"s"} if run.close else ())
        done = run_of(rules, state, [{"s": judged(rows)} for rows in parts], end, closing=closing)
        state = done[-1]
        for rows, after in zip(parts, done, strict=True):
            batch = len(made.history) + 1
            made.history.append(RecordedStates(batch, False, declared, states_of(after)))
            made.highs |= highs_of(source, rows, batch)
        made.history[-1] = replace(made.history[-1], ends_run=True)
    return made


def states_of(state: Advance) -> dict[str, Any]:
    return {partition: each for (_, partition), each in state.states.items() if partition != UNKNOWN}


def highs_of(source: Source, rows: Sequence[Verdict], batch: int) -> dict[tuple[str, int], int]:
    """The highest time by partition: rows that were readable, moved or dropped by the early step alone."""
    found: dict[tuple[str, int], int] = {}
    for row in rows:
        if row.disposition == "quarantined" or "duplicate" in row.reasons:
            continue
        if source.early and source.early[1] == "drop" and "early" in row.reasons:
            continue
        time = row.event if source.early is None else min(row.event, row.arrival + source.early[0])
        found[row.partition, batch] = max(found.get((row.partition, batch), time), time)
    return found


@LAW
@given(st.data())
def test_delays_and_late_starts_are_those_of_runs_with_each_pair_of_tolerances(data: st.DataObject) -> None:
    source = data.draw(sources(intervals=True).filter(lambda each: each.timestamp_by))
    source = replace(source, single=False, partitions=data.draw(st.sampled_from(((), ("0",), source.partitions))))
    log: Log = data.draw(logs(source, rows=(25, 40), runs=(3, 5)))  # partitions begin late
    made = recorded(data, log)
    grid = Grid.of([0, 3 * SECOND, 6 * SECOND] + [None] * (not source.over), [0, 4 * SECOND])
    action = Action(source.out_of_order[1])
    found = repeat_runs(made.history, grid, grid.behind(action), made.highs, source.over)
    for i, late in enumerate(grid.lates):
        for j, disorder in enumerate(grid.disorders):
            other = replace(source, late=None if late is None else (late, "adjust"), out_of_order=(disorder, action))
            again = oracle.judge(other, log.runs)
            assert sorted(found.delays[i][j]) == sorted(delays_of(again))
            starts = {name: cell[i][j] for name, cell in found.starts.items() if cell[i][j] != NONE}
            assert starts == starts_of(other, again)


def delays_of(outcome: oracle.Outcome) -> list[int]:
    """At the end of each run that brought rows: the latest arrival less the combined watermark, if there is one."""
    found = []
    for number, end in enumerate(outcome.ends):
        brought = [v for v in outcome.verdicts if v.run == number and v.partition != UNKNOWN]
        known = [s.last_arrival for name, s in end.states.items() if name != UNKNOWN and s.last_arrival is not None]
        if brought and end.combined is not None and known:
            found.append(max(0, max(known) - end.combined))
    return found


def starts_of(source: Source, outcome: oracle.Outcome) -> dict[str, int]:
    """The combined watermark before the run in which an undeclared partition was first seen."""
    found: dict[str, int] = {}
    met = {"0"} if source.single else set(source.partitions)
    combined = None
    for end in outcome.ends:
        new = end.states.keys() - met - {UNKNOWN}
        found |= dict.fromkeys(new, combined) if combined is not None else {}
        met |= new
        combined = end.combined
    return found


@LAW
@given(st.data())
def test_floors_follow_from_the_arrivals_that_earlier_runs_left(data: st.DataObject) -> None:
    source = data.draw(sources(intervals=True).filter(lambda each: each.timestamp_by))
    source = replace(source, late=(0, "adjust"), partitions=("0", "1", "2", "silent"))
    log: Log = data.draw(logs(source, close=False))
    floors, wanted = {}, []
    history = recorded(data, log).history
    ends = iter(oracle.judge(source, log.runs).ends)
    for each in history:
        wanted += [(name, each.batch_id, floors.get(name)) for name in each.states]
        if each.ends_run:
            floors = {name: state.floor for name, state in next(ends).states.items()}
    assert list(arrivals_before(history)) == wanted


def test_a_run_in_which_a_partition_is_declared_has_brought_no_row() -> None:
    seen, never = PartitionState(last_arrival=50, next_offset=1), PartitionState(idle=True, estimated_arrival=10)
    idle = replace(seen, idle=True, estimated_arrival=50)
    history = [
        RecordedStates(1, True, frozenset({"p"}), {"p": seen}),
        RecordedStates(2, True, frozenset({"p", "q"}), {"p": idle, "q": never}),
    ]
    grid = Grid.of([20], [20])
    assert repeat_runs(history, grid, grid.behind(), {("p", 1): 45}, False) == RepeatedRuns({}, (((20,),),))


def run(batch: int, *, declared: Sequence[str] = (), **arrivals: int | None) -> RecordedStates:
    """A run of one micro-batch that brings one row to each partition, arriving then (None: unreadable)."""
    states = {
        name: PartitionState(last_arrival=time, estimated_arrival=time, next_offset=batch)
        for name, time in arrivals.items()
    }
    return RecordedStates(batch, True, frozenset(declared), states)


HISTORIES: dict[str, tuple[list[RecordedStates], dict[tuple[str, int], int], tuple[int, ...]]] = {
    "before 1970": ([run(1, p=-50)], {("p", 1): -45}, (15,)),
    "the first run brings nothing": ([RecordedStates(1, True, frozenset(), {}), run(2, p=50)], {("p", 2): 45}, (25,)),
    "a partition without a readable row has no watermark": (
        [run(1, p=50, q=None), run(2, p=70, q=60)],
        {("p", 1): 50, ("p", 2): 70, ("q", 2): 60},
        (30,),
    ),
    "each has the lower time of one kind": ([run(1, p=10, q=20)], {("p", 1): 30, ("q", 1): 15}, (25,)),
    "never back": ([run(1, p=100), run(2, p=101, q=30)], {("p", 1): 100, ("p", 2): 101, ("q", 2): 30}, (20, 21)),
}


@pytest.mark.parametrize(("history", "highs", "wanted"), HISTORIES.values(), ids=HISTORIES)
def test_delays_of_histories_worked_out_by_hand(
    history: list[RecordedStates], highs: dict[tuple[str, int], int], wanted: tuple[int, ...]
) -> None:
    grid = Grid.of([40, None], [20])
    assert repeat_runs(history, grid, grid.behind(), highs, False).delays == ((wanted,), (wanted,))


def test_an_undeclared_partition_starts_where_the_source_was() -> None:
    grid = Grid.of([40, None], [20])
    history = [run(1, p=100), run(2, q=30), run(3, declared=("r",), r=30)]
    found = repeat_runs(history, grid, grid.behind(), {("p", 1): 100, ("q", 2): 30, ("r", 3): 30}, False)
    assert found.starts == {"q": ((80,), (80,))}


def test_a_partition_without_an_arrival_has_no_floor_to_follow() -> None:
    history = [RecordedStates(n, True, frozenset({"p"}), {"p": PartitionState(idle=True)}) for n in (1, 2)]
    assert list(arrivals_before(history)) == [("p", 1, None), ("p", 2, None)]


@dataclass(frozen=True)
class Counted:
    """One row: quarantined, dropped or moved by the early step, late under the first `late` tolerances, and out of
    order under the first `order[lane][late]`. An interval is moved to its end if it is late under the first `short`,
    or out of order under the first `over[lane][late]`."""

    quarantined: bool
    early: str | None
    late: int
    order: tuple[tuple[int, ...], ...]
    short: int = 0
    over: tuple[tuple[int, ...], ...] = ((0, 0, 0), (0, 0, 0))

    def left(self, i: int) -> bool:
        """Whether the late step leaves a row that it may adjust some time."""
        return i >= min(self.short, self.late)

    def ended(self, lane: int, i: int) -> int:
        return min(self.over[lane][i], self.order[lane][i])

    def fate(self, i: int, j: int, actions: tuple[Action, Action]) -> str:
        """The fate under the tolerances at two places of a grid."""
        if self.quarantined:
            return "quarantined"
        late, lane = i < self.late, int(actions[0] is DROP)
        if self.early == "drop" or (late and actions[0] is DROP):
            return "dropped"
        if not lane and not self.left(i):
            return "empty"
        behind = j < self.order[lane][i] and actions[1] is not KEEP
        if behind and actions[1] is DROP:
            return "dropped"
        if behind and j < self.ended(lane, i):
            return "empty"
        return "adjusted" if self.early or late or behind else "on_time"


GRID = Grid((1, 2, None), (3, 4))
ORDERS = st.tuples(*[st.tuples(*[st.integers(0, len(GRID.disorders))] * len(GRID.lates))] * 2)
ROWS = st.lists(
    st.builds(
        Counted,
        st.sampled_from((False,) * 4 + (True,)),
        st.sampled_from((None, None, "drop", "adjust")),
        st.integers(0, 2),
        ORDERS,
        st.integers(0, 2),
        ORDERS,
    )
)


def counted(rows: Sequence[Counted]) -> GridCounts:
    """The counts of rows, in the order that `GridCounts` names."""
    judged = [row for row in rows if not row.quarantined and row.early != "drop"]
    numbers = []
    for lane in range(2):
        for i in range(len(GRID.lates)):
            living = [row for row in judged if (row.left(i) if lane == 0 else i >= row.late)]
            for moved in (False, True):
                mine = [row for row in living if bool(row.early or i < row.late) == moved]
                numbers += [sum(row.order[lane][i] == n for row in mine) for n in range(len(GRID.disorders) + 1)]
    numbers += [sum(i < row.late for row in judged) for i in range(len(GRID.lates))]
    numbers += [sum(not row.left(i) for row in judged) for i in range(len(GRID.lates))]
    for lane in range(2):
        for i in range(len(GRID.lates)):
            living = [row for row in judged if (row.left(i) if lane == 0 else i >= row.late)]
            numbers += [sum(row.ended(lane, i) == n for row in living) for n in range(len(GRID.disorders) + 1)]
    numbers.append(sum(row.early == "drop" and not row.quarantined for row in rows))
    return GridCounts(GRID, [*numbers, sum(row.quarantined for row in rows)])


@LAW
@given(ROWS, ROWS)
def test_counts_of_a_grid_give_the_fates_of_rows_under_each_cell(rows: list[Counted], more: list[Counted]) -> None:
    found = nothing(GRID).plus(counted(rows)).plus(counted(more))
    assert found.rows == len(rows) + len(more)
    for i in range(len(GRID.lates)):
        for j in range(len(GRID.disorders)):
            for actions in [(late, order) for late in (DROP, ADJUST) for order in Action]:
                fates = Counter(row.fate(i, j, actions) for row in rows + more)
                assert found.fates(i, j, actions) == (fates["adjusted"], fates["dropped"] + fates["empty"])
                assert actions != (ADJUST, ADJUST) or found.emptied(i, j) == fates["empty"]


def test_each_cell_has_its_costs_in_all_and_by_partition() -> None:
    late, order = ((2, 2, 2), (2, 2, 2)), ((1, 1, 1), (1, 1, 1))
    rows = {"q": [Counted(False, None, 1, late), Counted(True, None, 0, late)], "p": [Counted(False, None, 0, order)]}
    delays = (((5, 1, 9, 7, 6), (4,)), ((), (3, 2)), ((8,), (8,)))
    policy = Policy(None, Tolerance(0, ADJUST), Tolerance(0, DROP))
    found = cells(GRID, {name: counted(each) for name, each in rows.items()}, policy, RepeatedRuns({}, delays))
    p, q = FateCounts(1, 1, 1, 0, 1), FateCounts(2, 1, 1, 0, 1)
    assert found[0] == ToleranceCost(1, 3, FateCounts(3, 2, 2, 0, 2), {"p": p, "q": q}, 6, 9)
    assert list(found[0].partitions) == ["p", "q"]
    assert found[1] == ToleranceCost(1, 4, FateCounts(3, 1, 1, 0, 1), {"p": FateCounts(1, 0, 0, 0, 0), "q": q}, 4, 4)
    assert [(each.late, each.out_of_order, each.delay, each.longest_delay) for each in found[2:]] == [
        (2, 3, None, None),
        (2, 4, 2, 3),
        (None, 3, 8, 8),
        (None, 4, 8, 8),
    ]
