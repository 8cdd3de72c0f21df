"""Advances streams and windows when a run ends: their progress, and their due rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

from tidemark.config import PipelineSpec, SourceSpec
from tidemark.config.models.stream_graph import (
    has_long_sessions,
    has_open_ends,
    has_pairs,
    has_windows,
    in_order,
    sources_below,
    unbounded,
)
from tidemark.config.models.streams import StreamSpec
from tidemark.core.advance import Key, States
from tidemark.core.batch_result import BatchRecord, TableDigest
from tidemark.core.policy import Action
from tidemark.core.stream_output import Due, PartitionProgress
from tidemark.core.streams import (
    StepRules,
    StreamEnd,
    StreamState,
    advance_streams,
    lineage,
    opening_states,
    reach,
)
from tidemark.core.watermarks import UNKNOWN, Combined, latest
from tidemark.runner.session_progress import Looked, Looking, as_recorded


class Writing(Looked, Protocol):
    """Methods of the Spark writer that streams need."""

    @property
    def not_due(self) -> Mapping[str, int]:
        """Number of written rows that are not due, by table."""
        ...

    def write(self, due: Due, recovering: bool) -> tuple[TableDigest, ...]:
        """Append the due rows of a stream; returns a digest for each written table."""
        ...

    def measure(self, due: Due, versions: Mapping[str, int]) -> tuple[TableDigest, ...]:
        """Compute the digests of the due rows without writing them; `versions` are the digest versions, by table."""
        ...

    def outside(self, due: Due) -> int:
        """Number of the run's rows at a step that are in no window."""
        ...

    def making(self, due: Due) -> dict[str, Any]:
        """The run's rows for a stream, by table, as cached data frames; nothing is written."""
        ...

    def behind(self, due: Due) -> int:
        """Number of rows made for a stream that are not due."""
        ...


class Published(NamedTuple):
    """Results of a run's end: the end of each stream, and the digests of written tables. `not_due`: for each stream
    with written rows, the number of its rows that are not due."""

    ends: dict[str, StreamEnd]
    digests: list[TableDigest]
    not_due: dict[str, int]


@dataclass(frozen=True)
class Ending:
    """The last batch of a run: states of partitions before and after the run, combined watermarks before and after
    it, and the partitions that received rows. `rows_since`: see `core.streams.opening_states`."""

    record: BatchRecord
    before: States
    after: States
    combined_before: Mapping[str, Combined]
    combined: Mapping[str, Combined]
    recorded: Mapping[str, StreamEnd]
    brought: frozenset[Key]
    rows_since: Mapping[str, int] = field(default_factory=dict)

    @property
    def first(self) -> bool:
        """True if this is the first run; batches with lower numbers may have been abandoned."""
        return not self.combined_before


@dataclass(frozen=True)
class StreamProgress:
    """The streams of one configuration."""

    spec: PipelineSpec
    steps: tuple[StepRules, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", rules_of_streams(self.spec))

    @property
    def read_from(self) -> int | None:
        """The earliest time that outputs from the pipeline's `start` on depend on; None: no lower bound. A punctuated
        source has none, since its rows may reach back any time, nor do lifetimes or sessions without a bound."""
        punctuated = any(source.punctuation is not None for source in self.spec.sources.values())
        unbounded = punctuated or any(step.endless for step in self.steps)
        return None if self.spec.start is None or unbounded else self.spec.start - reach(self.steps)

    def due(self, ending: Ending, writing: Callable[[], Writing]) -> Iterator[tuple[str, StreamState, Due | None]]:
        """Yield each stream, inputs first: its state after the run, and its due rows if it is published or has
        `until` (else None). Write them before the next step, since session windows are looked up in the tables."""
        recorded = {name: end.state for name, end in ending.recorded.items()}
        before = opening_states(self.steps, recorded, ending.combined_before, ending.first, ending.rows_since)
        ended = ending.record.streams.items()
        before |= {name: replace(before[name], begins=end.state.begins) for name, end in ended if name in before}
        last_rows = {name: _last_row(name, ending.after) for name in self.spec.sources}
        after: dict[str, StreamState] = {}

        def found(step: StepRules, state: StreamState, limit: int | None) -> StreamState:
            known = ending.record.streams.get(step.name)
            if known is not None:
                return as_recorded(state, known.state)

            def due(reached: StreamState) -> Due:
                return self._due(step, ending, before, after | {step.name: reached})

            looking = Looking(due, writing, self._strangers(step, ending), has_windows(self.spec.streams, step.name))
            return looking.state(state, limit)

        for step, state in advance_streams(
            self.steps, ending.combined, last_rows, before, ending.record.as_of, found
        ):
            after[step.name] = state
            seen = self.spec.streams[step.name].published or step.until
            yield step.name, state, self._due(step, ending, before, after) if seen else None

    def _strangers(self, step: StepRules, ending: Ending) -> bool:
        """True if the run brought new partitions of punctuated sources: no watermark of theirs shows what the step
        has passed."""
        new = {name for name, _ in ending.after.keys() - ending.before.keys()}
        return any(self.spec.sources[name].punctuation and name in new for name in step.sources)

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
            added=not ending.first and step.name not in ending.recorded,
            kept=any(_keeps(source) for source in below),
            brought=any(source in step.sources for source, _ in ending.brought),
            ending=any(source.lifetimes.edges for source in below),
            joined=has_pairs(self.spec.streams, step.name),
            gapped=has_open_ends(self.spec.streams, step.name),
            straggling=any(_straggles(source, ending) for source in below),
            states=(before, after),
        )
        if step.partition_by is None:
            return due
        parts = tuple(_parts(step.sources[0], ending))
        return replace(due, parts=parts, path=tuple(lineage(self.steps, step.name)))


def take_on(
    streams: StreamProgress,
    ending: Ending,
    writing: Callable[[], Writing],
    recovering: bool,
    checkpoint: Callable[[str], None],
) -> Published:
    """Write the rows that a run's end adds to streams and windows. Starts no JVM if nothing is due."""
    found = Published({}, [], {})
    for name, state, due in streams.due(ending, writing):
        found.ends[name] = StreamEnd(state)
        if due is None or not due.anything:
            continue
        written = writing().write(due, recovering)
        checkpoint("streams")
        found.digests.extend(written)
        rows = {digest.table.partition("/")[0]: digest.rows for digest in written}
        table = f"streams/{name}"
        if table in writing().not_due:
            found.not_due[name] = writing().not_due[table]
        found.ends[name] = StreamEnd(
            state,
            rows.get("streams", 0),
            writing().outside(due),
            rows.get("dead_letters", 0),
        )
    return found


def staged(
    streams: StreamProgress, ending: Ending, writing: Callable[[Mapping[str, Any]], Writing], made: dict[str, Any]
) -> dict[str, int]:
    """Compute the rows that a run's end adds to streams, by table in `made`, before any is written. Returns the
    number of rows that are not due, by stream. `writing` gets the rows made so far."""
    wrong = {}
    for name, _, due in streams.due(ending, lambda: writing(made)):
        if due is not None and due.anything:
            made.update(writing(made).making(due))
            wrong[name] = writing(made).behind(due)
    return wrong


def measured(
    streams: StreamProgress, ending: Ending, writing: Callable[[], Writing], versions: Mapping[str, int]
) -> list[TableDigest]:
    """Compute the digests of a run's end again; `versions` are the digest versions, by table."""
    dues = [due for _, _, due in streams.due(ending, writing) if due is not None]
    return [digest for due in dues for digest in writing().measure(due, versions)]


def rules_of_streams(spec: PipelineSpec) -> tuple[StepRules, ...]:
    """Rules that the progress of each stream depends on, inputs first."""
    return tuple(_rules(spec, spec.streams[name]) for name in in_order(spec.streams))


def _rules(spec: PipelineSpec, step: StreamSpec) -> StepRules:
    below = sources_below(spec.streams, step.name)
    endless = unbounded(spec.streams, step.name) or has_long_sessions(spec.streams, step.name)
    endless = endless or any(spec.sources[name].longest is None for name in below)
    most = step.lasts if step.sliding is None else None
    most = most if step.own_ends is None else step.own_ends.at_most
    within = 0 if step.preceding is None else step.preceding.within
    until = step.own_ends is not None
    return StepRules(
        step.name, step.inputs, below, step.shift, most, step.windows, endless, step.gapped, until, within
    )


def _keeps(source: SourceSpec) -> bool:
    """True if rows of a source may be behind the combined watermark: out-of-order rows that are kept, or rows of a
    new partition without a punctuation."""
    return source.policy.out_of_order.action is Action.KEEP or bool(source.punctuation and source.partition)


def _straggles(source: SourceSpec, ending: Ending) -> bool:
    """True if a partition of a punctuated source was behind the source's combined watermark when the run began."""
    passed = ending.combined_before.get(source.name, Combined(None)).watermark
    if source.punctuation is None or passed is None:
        return False
    known = {name: ending.before.get((source.name, name)) for of, name in ending.after if of == source.name}
    marks = [None if state is None else state.watermark for name, state in known.items() if name != UNKNOWN]
    return any(mark is None or mark < passed for mark in marks)


def _last_row(source: str, states: States) -> int | None:
    return latest(*[state.last_seen for (name, _), state in states.items() if name == source])


def _parts(source: str, ending: Ending) -> Sequence[PartitionProgress]:
    return [
        PartitionProgress(
            partition,
            None if (source, partition) not in ending.before else ending.before[source, partition].watermark,
            state.watermark,
        )
        for (name, partition), state in sorted(ending.after.items())
        if name == source and partition != UNKNOWN
    ]
