"""Computes the progress of steps with session windows when a run ends; results of looking at rows are recorded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from tidemark.core.stream_output import Due
from tidemark.core.streams import StreamState
from tidemark.core.times import MAX_TIME
from tidemark.core.watermarks import latest
from tidemark.core.windows import Passed, needed


class Looked(Protocol):
    """Questions about the rows of session windows, which Spark answers."""

    def earliest(self, due: Due) -> int | None:
        """The start of the earliest window that the run leaves open; None if no window is open."""
        ...

    def idle(self, due: Due, limit: int) -> tuple[int | None, int | None]:
        """Times when windows that were open before the run end or close: the latest time up to `limit`, and the first
        time after it; None for a missing one."""
        ...


@dataclass(frozen=True)
class Looking:
    """One step with session windows at the end of a run. `due` gives what is due in a state. `strangers`: the run
    brought partitions whose rows may be behind the step. `of_windows`: rows may arrive even in runs that bring none
    to sources."""

    due: Callable[[StreamState], Due]
    looked: Callable[[], Looked]
    strangers: bool
    of_windows: bool

    def state(self, state: StreamState, limit: int | None) -> StreamState:
        """The state after the run, from `state` (the progress of the inputs). Idleness closes windows up to
        `limit`."""
        return self._pulled_back(self._rested(self._behind(state), limit))

    def _behind(self, state: StreamState) -> StreamState:
        due = self.due(state)
        passed = due.before.reached
        if not self.strangers or passed is None or due.step.partition_by is not None:
            return state
        return replace(state, bounds=(*state.bounds, Passed(due.first_batch, passed)))

    def _rested(self, state: StreamState, limit: int | None) -> StreamState:
        """Add the progress that idleness makes. Rows are not looked at again before the next window may end."""
        if limit is None or state.complete:
            return replace(state, idle_until=None)
        if not self.of_windows and state.idle_until is not None and limit < state.idle_until:
            return state
        due = self.due(state)
        bound, following = self.looked().idle(due, limit)
        state = replace(state, idle_until=MAX_TIME if following is None else min(following, MAX_TIME))
        if bound is None or (state.idle_bound is not None and bound <= state.idle_bound):
            return state
        bounds = (*state.bounds, Passed(due.last_batch + 1, bound))
        return replace(state, reached=latest(state.reached, bound), idle_bound=bound, bounds=bounds)

    def _pulled_back(self, state: StreamState) -> StreamState:
        """Pull the watermark back to the start of the earliest open window, or to the time up to which windows are
        final, since one may still begin there. The watermark does not move until the step has moved on."""
        due = self.due(state)
        if not due.closes or (state.idle_bound is None and any(part.after is None for part in due.parts)):
            return state
        _, after = due.settled
        earliest = None if after is None else self.looked().earliest(due)
        back = after if after is None or earliest is None else min(after, earliest)
        watermark = latest(state.watermark, back)
        behind = _behind(due, watermark, back)
        bounds = needed(due.data_driven, state.bounds, watermark)
        return replace(state, watermark=watermark, bounds=bounds, open_since=behind)


def _behind(due: Due, watermark: int | None, back: int | None) -> int | None:
    """The time that the slowest part of a step is pulled back to, if that is before the watermark; else None."""
    if due.step.partition_by is None or due.after.complete:
        return None
    least = due.data_driven.settled(due.least_passed())
    known = [time for time in (least, back) if time is not None]
    return min((time for time in known if watermark is not None and time < watermark), default=None)


def as_recorded(state: StreamState, known: StreamState) -> StreamState:
    """The state with the recorded results of looking at rows, from the first execution of the run."""
    return replace(
        state,
        watermark=known.watermark,
        reached=latest(state.reached, known.idle_bound),
        idle_bound=known.idle_bound,
        idle_until=known.idle_until,
        bounds=known.bounds,
        open_since=known.open_since,
    )
