"""Finds what a run has to write for a stream from recorded states alone, so that no rows are read if nothing is
due."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidemark.core.streams import StepRules, StreamState, part_watermark
from tidemark.core.times import MIN_TIME
from tidemark.core.windows import DataDrivenWindows

OUTPUTS = ("streams", "dead_letters", "before_start")
"""Kinds of the tables that a run writes for streams: the part of a table's name before the slash."""


@dataclass(frozen=True)
class PartitionProgress:
    """One partition of the only source below a step: its watermark before and after the run (with substreams, its
    floor)."""

    partition: str
    before: int | None
    after: int | None


@dataclass(frozen=True)
class Due:
    """One stream at the end of a run of batches `first_batch` to `last_batch`.

    `starts` is the first output time; `added`: the stream is new, no run has written for it; `kept`: rows may lie
    behind their watermark; `brought`: the run brought rows to a source below; `ending`: these may end lifetimes of
    earlier ones; `joined`: rows that no run brings reach the step (`has_pairs`); `gapped`: rows that a later one ends
    do, so that their end may become known when it has been passed (`has_open_ends`); `straggling`: a partition of a
    punctuated source lies behind what its source had passed before the run.
    `parts` are the partitions of the only source below a step with `partition_by`, and `path` leads from it to the
    step. `states` are those of the steps before and after the run.
    """

    step: StepRules
    before: StreamState
    after: StreamState
    first_batch: int
    last_batch: int
    starts: int | None = None
    added: bool = False
    kept: bool = False
    brought: bool = False
    ending: bool = False
    joined: bool = False
    gapped: bool = False
    straggling: bool = False
    parts: tuple[PartitionProgress, ...] = ()
    path: tuple[StepRules, ...] = ()
    states: tuple[Mapping[str, StreamState], Mapping[str, StreamState]] = field(default=({}, {}))

    @property
    def anything(self) -> bool:
        """True if the run may have anything to write for the step."""
        return self.closes or self.late or self.gaps if self.step.windowed else self.commits or self.leaving

    @property
    def commits(self) -> bool:
        """True if rows of a stream without windows may be committed."""
        if self.before.complete:
            return False
        moved = self.after.complete or self.after.watermark != self.before.watermark
        return moved or self.behind or (self.gapped and self.brought)

    @property
    def behind(self) -> bool:
        """True if rows that the run brought or closed may lie, or end, behind what was passed before it."""
        return self.straggling or ((self.kept or self.ending) and self.brought)

    @property
    def closes(self) -> bool:
        """True if a window may close. A session window may end where a row that the run has brought begins, in the
        very moment that was passed before."""
        if self.before.complete:
            return False
        if self.step.data_driven is not None:
            return self.after.complete or (self.brought and self.after.reached is not None) or self._moved()
        return bool(self.closing())

    @property
    def early(self) -> bool:
        """True if a window may close that ends by the time of the first output: the step, or a part of it, had not
        passed all of these before."""
        if self.starts is None or not self.closes:
            return False
        reached, windows = self.before.reached, self.step.windows
        if windows is None or windows.partition_by is not None or self.straggling or reached is None:
            return True
        return reached - windows.lateness <= self.starts

    @property
    def listed(self) -> bool:
        """True if the watermarks of partitions alone give what each part has passed."""
        return self.step.partition_by == "partition" and all(each.data_driven is None for each in self.path[:-1])

    @property
    def late(self) -> bool:
        """True if the run may have brought rows that are late for a window."""
        windows = self.step.windows
        return windows is not None and self.brought and (self.kept or windows.idle_timeout is not None)

    @property
    def gaps(self) -> bool:
        """True if the run may have brought rows, or passed pairs, that lie between windows."""
        window = self.step.fixed
        if window is None or not window.gaps:
            return False
        moved = self.before.passed != self.after.passed or self.after.complete != self.before.complete
        return self.brought or (self.joined and moved)

    @property
    def leaving(self) -> bool:
        """True if the run may have brought rows, or passed pairs, to which the step leaves no lifetime."""
        return self.step.until and (self.brought or self.before != self.after)

    @property
    def settled(self) -> tuple[int | None, int | None]:
        """Times by which session windows were final before the run, and are final after it; None: without a bound."""
        reached = None if self.after.complete else self.after.reached
        return self.data_driven.settled(self.before.reached), self.data_driven.settled(reached)

    @property
    def data_driven(self) -> DataDrivenWindows:
        """The step's windows; ValueError unless their bounds come from rows."""
        if self.step.data_driven is None:
            raise ValueError(f"{self.step.name} has no windows whose bounds come from rows")
        return self.step.data_driven

    def closing(self) -> list[tuple[int | None, int | None]]:
        """Times passed before and after the run, by the step or by each part with a window that may close."""
        window = self.step.fixed
        if window is None:
            return []
        passed = [(self.before.reached, self.after.reached)]
        if window.partition_by is not None and not self.listed:
            return passed if self.after.complete or self._moved() else []
        if window.partition_by is not None:
            passed = [(part.before, part.after) for part in self.passed_by_part()]
        return [each for each in passed if window.closes_between(*each, self.after.complete)]

    def passed_by_part(self) -> list[PartitionProgress]:
        """Times that the step has passed for each partition."""
        before, after = self.states
        return [
            PartitionProgress(
                part.partition,
                self._passed_before(part_watermark(self.path, before, part.before)),
                part_watermark(self.path, after, part.after),
            )
            for part in self.parts
        ]

    def _passed_before(self, reached: int | None) -> int | None:
        """The time that a part had passed before the run, from its watermark. Of a stream that was added, no part had
        passed more than the step: the windows of a part that is ahead are not written yet."""
        if not self.added:
            return reached
        return None if reached is None or self.before.reached is None else min(reached, self.before.reached)

    def begun(self) -> int | None:
        """A time before which no window that was open before the run, and no row of one, starts; None if it is not
        known."""
        return None if self.unbounded else self.before.back

    def certain(self, name: str) -> tuple[int, int | None]:
        """Times before which a stream below had all its rows before the run, and has them after it (None: all)."""
        before, after = (states.get(name, StreamState()) for states in self.states)
        marks = [MIN_TIME if state.watermark is None else state.watermark for state in (before, after)]
        return marks[0], None if after.complete else marks[1]

    @property
    def unbounded(self) -> bool:
        """True if a part of the step may lie behind it without a known bound."""
        return self.straggling and any(part.before is None for part in self.parts)

    def least_before(self) -> int | None:
        """The least time that the step and each of its parts had passed before the run; None if one had passed
        nothing."""
        if self.unbounded:
            return None
        known = (self.before.reached, self._least(0, [part.before for part in self.parts]))
        return min((time for time in known if time is not None), default=None)

    def least_passed(self) -> int | None:
        """The least time that a part of the step has passed: it may lie behind the step's own."""
        return self._least(1, [part.after for part in self.parts])

    def _least(self, which: int, marks: Sequence[int | None]) -> int | None:
        """Time that the slowest part, of these watermarks, has passed in the states before the run (0) or after it
        (1)."""
        known = [mark for mark in marks if mark is not None]
        reached = min(known) if known and len(known) == len(marks) else None
        for step in self.path[:-1]:
            reached = part_watermark([step], self.states[which], reached)
            reached = reached if step.fixed is None else step.fixed.pulled_back(reached)
            reached = reached if step.data_driven is None else self.states[which][step.name].back
        return part_watermark(self.path[-1:], self.states[which], reached)

    def earlier(self) -> Due:
        """The step as it was before the run, with nothing due."""
        parts = tuple(replace(part, after=part.before) for part in self.parts)
        states = (self.states[0], self.states[0])
        last = self.first_batch - 1
        return replace(self, after=self.before, last_batch=last, parts=parts, states=states)

    def below(self, number: int) -> Due:
        """The step at this place on the path, counted from the source."""
        step = self.path[number]
        before, after = (states[step.name] for states in self.states)
        return replace(self, step=step, before=before, after=after, path=self.path[: number + 1])

    def _moved(self) -> bool:
        """True if a part may have moved on."""
        if self.before.reached != self.after.reached:
            return True
        if self.step.partition_by is None:
            return False
        if self.added:
            return True
        if self.listed:
            return any(part.before != part.after for part in self.passed_by_part())
        before, after = self.states
        steps = any(before[step.name] != after[step.name] for step in self.path[:-1])
        return self.brought or steps or any(part.before != part.after for part in self.parts)
