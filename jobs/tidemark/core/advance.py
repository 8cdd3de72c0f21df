"""Computes the recorded state of sources after a micro-batch (time rules: progress, what is reported).

The first run, recovery of a crashed one and a replay all call `advance` with the outcome of judging. It is pure, so
their results cannot differ.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from tidemark.core.batch_result import Finding, Outcome
from tidemark.core.findings import row_findings, standing_still
from tidemark.core.policy import Policy
from tidemark.core.punctuation import POINT, Punctuation, Shape, imports_first
from tidemark.core.watermarks import (
    UNKNOWN,
    Combined,
    PartitionState,
    Seen,
    after_batch,
    combine,
    end_punctuated,
    end_run,
    estimate,
    late_start,
    latest,
    least_of,
)

Key = tuple[str, str]
States = dict[Key, PartitionState]


@dataclass(frozen=True)
class SourceRules:
    """Parts of a source's declaration that its progress depends on; durations in microseconds. `own_time`: events
    carry a time of their own (`timestamp_by`); else arrival is their time. A `punctuation` replaces the
    tolerances. `remembers`: how long a row makes later rows duplicates, which are read so much further back."""

    name: str
    policy: Policy
    partitions: tuple[str, ...]
    landing_delay: int
    substreams: bool
    own_time: bool = True
    punctuation: Punctuation | None = None
    shape: Shape = POINT
    remembers: int = 0

    @property
    def import_from(self) -> tuple[str, ...]:
        """The sources whose least watermark this one follows."""
        return () if self.punctuation is None else self.punctuation.import_from

    @property
    def ahead(self) -> int | None:
        """The most that a surviving row's `_system_timestamp` is after its arrival; None: there is no bound."""
        if self.punctuation is not None:
            return None
        if not self.own_time:
            return 0
        return None if self.policy.early is None else self.policy.early.micros


@dataclass(frozen=True)
class BatchPosition:
    """Position of a micro-batch in its run. `closing` names the sources that the run closes, `brought` the partitions
    to which earlier micro-batches of the run have brought rows."""

    as_of: int
    ends_run: bool
    closing: frozenset[str] = frozenset()
    brought: frozenset[Key] = frozenset()


@dataclass(frozen=True)
class Advance:
    """States after a micro-batch, its findings, and, when it ends a run, the combined watermarks."""

    states: States
    findings: tuple[Finding, ...]
    combined: dict[str, Combined]
    brought: frozenset[Key]


@dataclass(frozen=True)
class Opening:
    """State from which judging a source's part of a micro-batch starts: that of its known partitions, that of any
    other one, and the arrival from which on rows are read (`start`; None: all)."""

    states: Mapping[str, PartitionState]
    unseen: PartitionState
    read_from: int | None = None
    imported: tuple[Imported, ...] = ()


@dataclass(frozen=True)
class Imported:
    """State of a source that another one imports from, while rows of a micro-batch are judged. `watermark` is the
    one when the run began (`complete`: past everything), `opening` the state then; batches `first_batch` to
    `last_batch` have brought it rows since."""

    rules: SourceRules
    watermark: int | None
    complete: bool
    opening: Opening
    first_batch: int
    last_batch: int


def open_source(
    rules: SourceRules, states: Mapping[Key, PartitionState], combined: Mapping[str, Combined], start: int | None
) -> Opening:
    """The opening of one source, read from `start` on (see `read_from`)."""
    return Opening(opening_states(rules, states), unseen_state(rules, combined), read_from(rules, start))


def read_from(rules: SourceRules, start: int | None) -> int | None:
    """Arrival (microseconds) before which rows of a source are not read: start - early, with `deduplicate` so much
    earlier as `within` says (time rules: start); None: everything is read."""
    ahead = rules.ahead
    return None if start is None or ahead is None else start - ahead - rules.remembers


def opening_states(rules: SourceRules, states: Mapping[Key, PartitionState]) -> dict[str, PartitionState]:
    """A source's recorded states, and empty ones of declared partitions that have none yet."""
    known = {partition: state for (source, partition), state in states.items() if source == rules.name}
    return dict.fromkeys(rules.partitions, PartitionState()) | known


def unseen_state(rules: SourceRules, combined: Mapping[str, Combined]) -> PartitionState:
    """The state in which an undeclared partition starts (time rules: late start; a punctuated one has none)."""
    if rules.punctuation is not None:
        return late_start(None)
    recorded = combined.get(rules.name)
    return late_start(recorded.watermark if recorded else None)


def advance(
    sources: Mapping[str, SourceRules],
    states: Mapping[Key, PartitionState],
    combined: Mapping[str, Combined],
    outcomes: Mapping[str, Outcome],
    step: BatchPosition,
) -> Advance:
    """Apply one judged micro-batch to the recorded states."""
    after: States = dict(states)
    findings: list[Finding] = []
    brought = set(step.brought)
    for name, outcome in outcomes.items():
        rules = sources[name]
        opening = opening_states(rules, states)
        for partition, seen in _seen(outcome).items():
            unseen = PartitionState() if partition == UNKNOWN else unseen_state(rules, combined)
            before = opening.get(partition, unseen)
            after[name, partition] = after_batch(before, seen, rules.policy, step.as_of, rules.substreams)
            brought.add((name, partition))
        findings += row_findings(rules, outcome)
    judged = Advance(after, tuple(findings), dict(combined), frozenset(brought))
    return _after_run(judged, sources, step) if step.ends_run else judged


def _after_run(judged: Advance, sources: Mapping[str, SourceRules], step: BatchPosition) -> Advance:
    """The result of a run's last micro-batch with the end of the run: states, findings and combined watermarks."""
    after, findings, combined = dict(judged.states), list(judged.findings), dict(judged.combined)
    for rules in in_import_order(sources):
        recorded = judged.combined.get(rules.name, Combined(None))
        if recorded.closed and (recorded.complete or not rules.import_from):
            continue
        below = least_of([combined.get(name, Combined(None)) for name in rules.import_from])
        complete = recorded.complete or below.complete or completes(rules, step)
        ended = _ended(rules, after, judged.brought, step, below.watermark)
        ended = {key: replace(state, complete=complete) for key, state in ended.items()}
        findings += standing_still(rules, after, ended, step)
        after |= ended
        watermark = latest(_combined(rules, after, recorded.watermark), below.watermark)
        combined[rules.name] = Combined(watermark, complete, recorded.closed or rules.name in step.closing)
    return Advance(after, tuple(findings), combined, judged.brought)


def completes(rules: SourceRules, step: BatchPosition) -> bool:
    """True if the run completes a source: closing does, but a punctuated source also needs `final`."""
    return rules.name in step.closing and (rules.punctuation is None or rules.punctuation.final)


def in_import_order(sources: Mapping[str, SourceRules]) -> list[SourceRules]:
    """The sources, each after those it imports from; there are no cycles."""
    return [sources[name] for name in imports_first({name: rules.import_from for name, rules in sources.items()})]


def _seen(outcome: Outcome) -> dict[str, Seen]:
    """Rows and progress by partition, including rows before `start`."""
    seen = {partition: report.seen for partition, report in outcome.partitions.items()}
    for partition, skipped in outcome.skipped.items():
        there = seen.get(partition, Seen(0, None, None))
        arrival = latest(there.last_arrival, skipped.last_arrival)
        seen[partition] = replace(there, rows=there.rows + skipped.rows, last_arrival=arrival)
    return seen


def _ended(
    rules: SourceRules,
    states: Mapping[Key, PartitionState],
    brought: Collection[Key],
    step: BatchPosition,
    imported: int | None,
) -> States:
    ended: States = {}
    for partition, state in opening_states(rules, states).items():
        key = rules.name, partition
        if rules.punctuation is not None:
            mark = None if partition == UNKNOWN else imported
            ended[key] = end_punctuated(state, mark, step.as_of, key in brought)
        elif partition == UNKNOWN:
            estimated = estimate(state, step.as_of, rules.landing_delay, declared=False)
            ended[key] = replace(state, idle=key not in brought, estimated_arrival=estimated)
        else:
            declared = partition in rules.partitions
            ended[key] = end_run(state, rules.policy, step.as_of, rules.landing_delay, declared, key in brought)
    return ended


def _combined(rules: SourceRules, states: Mapping[Key, PartitionState], recorded: int | None) -> int | None:
    known = [state.watermark for (name, part), state in states.items() if name == rules.name and part != UNKNOWN]
    return combine(known, recorded)
