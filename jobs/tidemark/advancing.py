"""Takes streams and windows on when a run ends: how far they have come, and what is due of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from tidemark.config import PipelineSpec
from tidemark.config.streams import StreamSpec
from tidemark.config.topology import has_pairs, in_order, sources_below
from tidemark.core.account import BatchRecord, Combined, TableDigest
from tidemark.core.advance import Key, States
from tidemark.core.due import Due, Part
from tidemark.core.policy import Action
from tidemark.core.progress import UNKNOWN, latest
from tidemark.core.streams import (
    StepRules,
    StreamEnd,
    StreamState,
    advance_streams,
    lineage,
    opening_states,
    reach,
)


class Writing(Protocol):
    """What streams need of the Spark room."""

    def write(self, due: Due, repairing: bool) -> tuple[TableDigest, ...]:
        """Append what is due of a stream; returns what was written, table by table."""
        ...

    def measure(self, due: Due) -> tuple[TableDigest, ...]:
        """The same, written nowhere."""
        ...

    def outside(self, due: Due) -> int:
        """Rows that the run brought to a step and that lie in no window."""
        ...


@dataclass(frozen=True)
class Ending:
    """A run's last batch: the states of partitions before the run and after it, the combined watermarks that it
    started from and left, and the partitions to which it brought rows."""

    record: BatchRecord
    before: States
    after: States
    combined_before: Mapping[str, Combined]
    combined: Mapping[str, Combined]
    recorded: Mapping[str, StreamEnd]
    brought: frozenset[Key]


@dataclass(frozen=True)
class Streams:
    """The streams of one configuration."""

    spec: PipelineSpec
    steps: tuple[StepRules, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", rules_of_streams(self.spec))

    @property
    def read_from(self) -> int | None:
        """The first time that outputs from the pipeline's `start` on need; None: all of it."""
        return None if self.spec.start is None else self.spec.start - reach(self.steps)

    def due(self, ending: Ending) -> tuple[dict[str, StreamState], list[Due]]:
        """The states that a run leaves, and what is due of the streams that are published, inputs first."""
        recorded = {name: end.state for name, end in ending.recorded.items()}
        before = opening_states(self.steps, recorded, ending.combined_before, ending.record.run_first == 1)
        last_rows = {name: _last_row(name, ending.after) for name in self.spec.sources}
        after = advance_streams(self.steps, ending.combined, last_rows, before, ending.record.as_of)
        published = [step for step in self.steps if self.spec.streams[step.name].published]
        return after, [self._due(step, ending, before, after) for step in published]

    def _due(
        self,
        step: StepRules,
        ending: Ending,
        before: Mapping[str, StreamState],
        after: Mapping[str, StreamState],
    ) -> Due:
        below = [self.spec.sources[name] for name in step.sources]
        due = Due(
            step,
            before[step.name],
            after[step.name],
            ending.record.run_first,
            ending.record.run_last,
            starts=latest(self.spec.start, after[step.name].begins),
            kept=any(source.policy.out_of_order.action is Action.KEEP for source in below),
            brought=any(source in step.sources for source, _ in ending.brought),
            joined=has_pairs(self.spec.streams, step.name),
        )
        if step.window is None or step.window.partition_by is None:
            return due
        parts = tuple(_parts(step.sources[0], ending))
        return replace(due, parts=parts, path=tuple(lineage(self.steps, step.name)), states=(before, after))


def take_on(
    streams: Streams,
    ending: Ending,
    writing: Callable[[], Writing],
    repairing: bool,
    reached: Callable[[str], None],
) -> tuple[dict[str, StreamEnd], list[TableDigest]]:
    """Write what a run's end brings to streams and windows. Nothing is started where nothing is due."""
    states, dues = streams.due(ending)
    ends = {name: StreamEnd(state) for name, state in states.items()}
    digests: list[TableDigest] = []
    for due in dues:
        if not (due.commits if due.step.window is None else due.closes or due.late or due.gaps):
            continue
        written = writing().write(due, repairing)
        reached("streams")
        digests += written
        rows = {digest.table.partition("/")[0]: digest.rows for digest in written}
        ends[due.step.name] = StreamEnd(
            states[due.step.name],
            rows.get("streams", 0),
            writing().outside(due),
            rows.get("dead_letters", 0),
        )
    return ends, digests


def measured(streams: Streams, ending: Ending, writing: Callable[[], Writing]) -> list[TableDigest]:
    """The digests of what a run's end brought, computed again."""
    _, dues = streams.due(ending)
    return [digest for due in dues for digest in writing().measure(due)]


def rules_of_streams(spec: PipelineSpec) -> tuple[StepRules, ...]:
    """What the progress of each stream depends on, inputs first."""
    return tuple(_rules(spec, spec.streams[name]) for name in in_order(spec.streams))


def _rules(spec: PipelineSpec, step: StreamSpec) -> StepRules:
    below = sources_below(spec.streams, step.name)
    return StepRules(step.name, step.inputs, below, step.shift, step.lifetime, step.window)


def _last_row(source: str, states: States) -> int | None:
    return latest(*[state.last_seen for (name, _), state in states.items() if name == source])


def _parts(source: str, ending: Ending) -> Sequence[Part]:
    return [
        Part(
            partition,
            None if (source, partition) not in ending.before else ending.before[source, partition].watermark,
            state.watermark,
        )
        for (name, partition), state in sorted(ending.after.items())
        if name == source and partition != UNKNOWN
    ]
