"""Progress of streams and windows when a run ends (time rules: streams and windows).

A stream follows the slowest of its inputs. A window closes once its step has passed its end and the allowed lateness.
All is computed from recorded watermarks and as_of alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from tidemark.core.times import MAX_TIME
from tidemark.core.watermarks import Combined, combine, idle_limit, latest
from tidemark.core.windows import DataDrivenWindows, NumberedWindows, Passed, SessionWindows, Windows


@dataclass(frozen=True)
class StepRules:
    """Parts of a stream's declaration that its progress depends on. `sources` are all that lie below it. `lifetime`
    is the longest that the step gives. `endless`: rows or sessions of the stream, or of one below, live without a
    bound. `until`: each row has an end of its own, which may leave it no lifetime. `gapped`: the gaps of a join's
    left rows are rows. `within`: how far before a row the rows lie that it looks at."""

    name: str
    inputs: tuple[str, ...]
    sources: tuple[str, ...]
    shift: int = 0
    lifetime: int | None = None
    windows: Windows | None = None
    endless: bool = False
    gapped: bool = False
    until: bool = False
    within: int = 0

    @property
    def fixed(self) -> NumberedWindows | None:
        """The step's windows if their bounds do not depend on rows."""
        return self.windows if isinstance(self.windows, NumberedWindows) else None

    @property
    def data_driven(self) -> DataDrivenWindows | None:
        """The step's windows if their bounds come from rows."""
        return self.windows if isinstance(self.windows, DataDrivenWindows) else None

    @property
    def reaches_back_forever(self) -> bool:
        """True if an output may depend on a row of any age, by a session or a lifetime without a bound."""
        sessions = isinstance(self.windows, SessionWindows) and self.windows.max_duration is None
        return sessions or (self.until and self.lifetime is None)

    @property
    def windowed(self) -> bool:
        """True if the step has windows of any kind."""
        return self.windows is not None

    @property
    def partition_by(self) -> str | None:
        """Parts that have windows of their own: `partition`, `substream`, or None."""
        return None if self.windows is None else self.windows.partition_by


@dataclass(frozen=True)
class StreamState:
    """State of a stream when a run has ended. Streams over it see `watermark`; when complete, that keeps its last
    finite value. `reached` is a window step's own progress, `idle_bound` the latest that idleness has set; `begins`
    is the first output time of a stream that was added later.

    For session windows: before `idle_until` idleness closes no more windows of the present rows (None: not known,
    since rows came). `bounds` are times that the step had passed beyond the watermarks of rows. `open_since` is a
    time before the watermark, if a part lies behind it: the part's open windows begin then or later.
    """

    watermark: int | None = None
    complete: bool = False
    reached: int | None = None
    idle_bound: int | None = None
    begins: int | None = None
    idle_until: int | None = None
    bounds: tuple[Passed, ...] = ()
    open_since: int | None = None

    @property
    def back(self) -> int | None:
        """The time that the slowest part is pulled back to. Unlike it, the watermark that later streams see never
        goes back."""
        return self.watermark if self.open_since is None else self.open_since

    @property
    def passed(self) -> int | None:
        """The time that the step itself has passed: by it windows close and rows are committed."""
        return self.watermark if self.reached is None else self.reached


@dataclass(frozen=True)
class StreamEnd:
    """Results of a run for a stream: rows written, rows in no window, rows late for a window (counted once a
    window)."""

    state: StreamState
    rows: int = 0
    outside: int = 0
    dead_letters: int = 0


Found = Callable[[StepRules, StreamState, int | None], StreamState]
"""A function that adds to a step's state, when a run ends, what follows from the rows of its session windows: what
idleness closes up to a time (None: it is not idle), and the start of the earliest open window, to which the step is
pulled back."""


def advance_streams(
    steps: Sequence[StepRules],
    combined: Mapping[str, Combined],
    last_rows: Mapping[str, int | None],
    before: Mapping[str, StreamState],
    as_of: int,
    found: Found = lambda _, state, __: state,
) -> Iterator[tuple[StepRules, StreamState]]:
    """The states when a run ends, one after the other; `steps` must have inputs first. `last_rows` is, by source, the
    as_of of the last run that brought a row."""
    after: dict[str, StreamState] = {}
    for step in steps:
        below = [_seen(name, combined, after) for name in step.inputs]
        state = _advanced(step, below, last_rows, before.get(step.name, StreamState()), as_of)
        if step.data_driven is not None:
            last = latest(*[last_rows.get(source) for source in step.sources])
            state = found(step, state, idle_limit(step.data_driven.idle_timeout, as_of, last))
        after[step.name] = state
        yield step, state


def opening_states(
    steps: Sequence[StepRules],
    recorded: Mapping[str, StreamState],
    combined: Mapping[str, Combined],
    first_run: bool,
    rows_since: Mapping[str, int] = MappingProxyType({}),
) -> dict[str, StreamState]:
    """States that a run starts from. On the `first_run` all streams begin without a watermark. A stream that was
    added since the last run begins at its sources' present watermark, or later: with the first output for which no
    row is missing, neither of windows below that were added, too, nor of sources: of those in `rows_since`, rows that
    end at that time (microseconds) or before may be in no table."""
    if first_run:
        return {step.name: StreamState() for step in steps}
    lives = longest_lives(steps)

    def found(step: StepRules, state: StreamState, _: int | None) -> StreamState:
        if step.name in recorded or step.data_driven is None or step.endless:
            return state
        life = max(lives.get(name, 1) for name in step.inputs)
        return replace(state, watermark=latest(state.watermark, step.data_driven.begun(state.reached, life)))

    fresh = {step.name: state for step, state in advance_streams(steps, combined, {}, recorded, 0, found)}
    opened: dict[str, StreamState] = {}
    whole: dict[str, int | None] = dict(rows_since)
    for step in steps:
        since, state = _since(step, whole, lives), fresh[step.name]
        opened[step.name] = recorded.get(step.name) or replace(state, begins=latest(state.passed, since))
        whole[step.name] = opened[step.name].begins if step.windowed else since
    return opened


def _since(step: StepRules, whole: Mapping[str, int | None], lives: Mapping[str, int]) -> int | None:
    """The time after which outputs of a step end that lack no row; `MAX_TIME` if there is none. `whole` has, by
    input, the time after which its rows are all there; None: always. Only rows of sources and windows are stored;
    others are computed from those."""
    ends = [
        time + back - (step.fixed is not None)
        for time, back in zip(map(whole.get, step.inputs), _reach(step, lives), strict=True)
        if time is not None
    ]
    return MAX_TIME if ends and step.reaches_back_forever else max(ends, default=None)


def lineage(steps: Sequence[StepRules], name: str) -> Iterator[StepRules]:
    """The steps on the way from the only source below a stream up to the stream."""
    step = next(step for step in steps if step.name == name)
    if step.inputs[0] not in step.sources:
        yield from lineage(steps, step.inputs[0])
    yield step


def part_watermark(path: Sequence[StepRules], states: Mapping[str, StreamState], watermark: int | None) -> int | None:
    """The time that the last step of a lineage has passed for one part with this `watermark`. No step below may have
    session windows: what they are pulled back to depends on rows."""
    reached = watermark
    for number, step in enumerate(path, 1):
        reached = None if reached is None else reached + step.shift
        if step.windowed:
            reached = latest(reached, states[step.name].idle_bound)
        if step.fixed is not None and number < len(path):
            reached = step.fixed.pulled_back(reached)
    return reached


def reach(steps: Sequence[StepRules]) -> int:
    """Microseconds before an output time in which input may lie: windows, lifetimes, shifts and what `preceding`
    looks at, summed along the longest path. At least 0, as the rows of sources are outputs, too."""
    longest: dict[str, int] = {}
    lives = longest_lives(steps)
    for step in steps:
        below = zip(step.inputs, _reach(step, lives), strict=True)
        longest[step.name] = max(longest.get(name, 0) + back for name, back in below)
    return max([0, *longest.values()])


def _reach(step: StepRules, lives: Mapping[str, int]) -> list[int]:
    """The reach of one step into each of its inputs.

    A gap begins where a pair ended: the right side of its join is needed from the start of the left row on.
    """
    own = step.shift + (step.lifetime or 0) + step.within
    if step.windows is not None:
        own += step.windows.reach(max(lives.get(name, 1) for name in step.inputs))
    found = [own] * len(step.inputs)
    if step.gapped:
        found[1] += lives.get(step.inputs[0], 1) - 1
    return found


def longest_lives(steps: Sequence[StepRules]) -> dict[str, int]:
    """By stream, the longest lifetime of a row, in microseconds; a row of a source lives for one tick."""
    lives: dict[str, int] = {}
    for step in steps:
        life = step.lifetime or max(lives.get(name, 1) for name in step.inputs)
        lives[step.name] = life if step.windows is None else step.windows.lives(life)
    return lives


def _seen(name: str, combined: Mapping[str, Combined], after: Mapping[str, StreamState]) -> Combined:
    if name in after:
        return Combined(after[name].watermark, after[name].complete)
    return combined.get(name, Combined(None))


def _advanced(
    step: StepRules,
    below: Sequence[Combined],
    last_rows: Mapping[str, int | None],
    before: StreamState,
    as_of: int,
) -> StreamState:
    complete = all(each.complete for each in below)
    held = [each for each in below if complete or not each.complete]
    moved = [None if each.watermark is None else each.watermark + step.shift for each in held]
    if step.windows is None:
        return replace(before, watermark=combine(moved, before.watermark), complete=complete)
    if not isinstance(step.windows, NumberedWindows):
        return replace(before, complete=complete, reached=combine(moved, before.reached))
    idle = step.windows.idle_bound(as_of, latest(*[last_rows.get(source) for source in step.sources]))
    bound = latest(before.idle_bound, idle)
    reached = latest(combine(moved, before.reached), bound)
    watermark = latest(before.watermark, step.windows.pulled_back(reached))
    return replace(before, watermark=watermark, complete=complete, reached=reached, idle_bound=bound)
