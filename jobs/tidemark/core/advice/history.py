"""Progress that a source's partitions would have made, run by run, with the tolerances of a grid.

Runs are taken as recorded: as_of, last and estimated arrivals depend on no tolerance. Floors (an arrival less the
late tolerance) and watermarks do, and with them the time at which an undeclared partition starts late.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tidemark.core.advice.grid import Grid
from tidemark.core.watermarks import MIN_TIME, PartitionState

NONE = -(1 << 62)
"""A time before all times, for no watermark. Subtracting from it leaves it as it is."""
Cells = tuple[tuple[int, ...], ...]
"""A time or duration by late and out-of-order tolerance."""


@dataclass(frozen=True)
class RecordedStates:
    """States that a micro-batch recorded for one source, without `_unknown`; whether it ended its run; and the
    partitions that were declared then."""

    batch_id: int
    ends_run: bool
    declared: frozenset[str]
    states: Mapping[str, PartitionState]


@dataclass(frozen=True)
class RepeatedRuns:
    """Results of `repeat_runs`. `starts`: the watermarks at which partitions that were first seen late began.
    `delays`: by cell, how far the combined watermark was behind the latest arrival at the end of each run that
    brought rows; microseconds, in no order."""

    starts: Mapping[str, Cells]
    delays: tuple[tuple[tuple[int, ...], ...], ...]


def arrivals_before(history: Iterable[RecordedStates]) -> Iterator[tuple[str, int, int | None]]:
    """(partition, batch, arrival) for each batch that recorded something for the partition: the arrival that the
    partition's floor followed from while the batch was judged. None: no run had ended with an arrival."""
    known: dict[str, int] = {}
    for batch in history:
        yield from ((name, batch.batch_id, known.get(name)) for name in batch.states)
        if batch.ends_run:
            for name, state in batch.states.items():
                arrived = _arrived(state)
                if arrived is not None:
                    known[name] = max(known.get(name, arrived), arrived)


def newest_arrival(history: Iterable[RecordedStates]) -> int:
    """The latest arrival of all partitions; `NONE` without one."""
    return max((state.last_arrival or NONE for batch in history for state in batch.states.values()), default=NONE)


def repeat_runs(
    history: Iterable[RecordedStates],
    grid: Grid,
    behind: Cells,
    highs: Mapping[tuple[str, int], int],
    substreams: bool,
) -> RepeatedRuns:
    """Repeat recorded runs with the tolerances of a grid. Watermarks trail the highest time by `behind`; `highs` has
    the highest time that the early step left to rows of a (partition, batch).

    Adjusting or dropping a late row makes no difference when a run ends: it is behind the floor either way.
    """
    source = _Source(grid, behind, substreams)
    for batch in history:
        source.take(batch, highs)
    return RepeatedRuns(source.starts, source.delays())


@dataclass
class _Partition:
    arrival: int = NONE
    high: int = NONE
    offset: int = 0


@dataclass
class _Source:
    """State of a source after some batches, by cell."""

    grid: Grid
    behind: Cells
    substreams: bool
    known: dict[str, _Partition] = field(default_factory=dict)
    starts: dict[str, Cells] = field(default_factory=dict)
    combined: Cells | None = None
    latest: int = NONE
    brought: bool = False
    found: list[Cells] = field(default_factory=list)

    def take(self, batch: RecordedStates, highs: Mapping[tuple[str, int], int]) -> None:
        """Apply the rows of a batch and, with a run's last batch, the end of the run."""
        for name, state in batch.states.items():
            if name not in self.known:
                self._meet(name, name in batch.declared)
            mine = self.known[name]
            self.brought |= state.next_offset != mine.offset
            mine.offset = state.next_offset
            mine.high = NONE if self.substreams else max(mine.high, highs.get((name, batch.batch_id), NONE))
            if state.last_arrival is not None:
                self.latest = max(self.latest, state.last_arrival)
        if batch.ends_run:
            self._end(batch.states)

    def delays(self) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """Delays by cell; runs without a combined watermark are left out."""
        lines = range(len(self.grid.lates))
        indexes = range(len(self.grid.disorders))
        return tuple(tuple(tuple(d for each in self.found if (d := each[i][j]) >= 0) for j in indexes) for i in lines)

    def _meet(self, name: str, declared: bool) -> None:
        self.known[name] = _Partition()
        if not declared and self.combined is not None:
            self.starts[name] = self.combined

    def _end(self, states: Mapping[str, PartitionState]) -> None:
        """End a run. Where a partition began needs no look: the combined watermark was there, and never goes back."""
        for name, state in states.items():
            arrived = _arrived(state)
            if arrived is not None:
                self.known[name].arrival = max(self.known[name].arrival, arrived)
        if not self.known:
            return
        least = self._least_of(_lowest(self.known.values()))
        self.combined = least if self.combined is None else _latest(self.combined, least)
        if self.brought:
            self.found.append(tuple(tuple(_delay(self.latest, w) for w in line) for line in self.combined))
        self.brought = False

    def _least_of(self, parts: Sequence[tuple[int, int]]) -> Cells:
        """The least watermark of partitions with these (arrival, high), by cell; `NONE` if one has none."""
        return tuple(
            tuple(
                min(max(NONE if late is None else _less(arrival, late), _less(high, d)) for arrival, high in parts)
                for d in line
            )
            for late, line in zip(self.grid.lates, self.behind, strict=True)
        )


def _arrived(state: PartitionState) -> int | None:
    """The arrival from which a partition's floor follows at the end of a run."""
    return state.estimated_arrival if state.idle else state.last_arrival


def _lowest(parts: Iterable[_Partition]) -> list[tuple[int, int]]:
    """(arrival, high) of the partitions of which no other is behind in both."""
    found: list[tuple[int, int]] = []
    for arrival, high in sorted({(part.arrival, part.high) for part in parts}):
        if not found or high < found[-1][1]:
            found.append((arrival, high))
    return found


def _less(time: int, micros: int) -> int:
    return NONE if time == NONE else max(time - micros, MIN_TIME)


def _delay(latest: int, watermark: int) -> int:
    return -1 if NONE in (latest, watermark) else max(0, latest - watermark)


def _latest(one: Cells, other: Cells) -> Cells:
    return tuple(tuple(map(max, *lines)) for lines in zip(one, other, strict=True))
