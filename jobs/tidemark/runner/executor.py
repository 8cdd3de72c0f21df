"""Executes planned runs batch by batch: judge, record, commit.

The order of writes makes a crash harmless: planned -> events, state, diagnostics -> committed. A recovery can repeat
every step before the last without effect, from the recorded plan alone. While the ledger records one batch, Spark
judges the next. So a crash may leave events of the first uncommitted batch and of the next one; recovery finds both.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Protocol

from tidemark.config import PipelineSpec
from tidemark.core.advance import (
    Advance,
    BatchPosition,
    Key,
    Opening,
    SourceRules,
    States,
    advance,
    in_import_order,
    open_source,
)
from tidemark.core.batch import LandedObject
from tidemark.core.batch_result import Account, BatchRecord, Outcome
from tidemark.core.imported import with_imported
from tidemark.core.streams import StreamEnd
from tidemark.core.watermarks import Combined, PartitionState
from tidemark.ledger.full_states import records_all
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.plans import Noticed
from tidemark.ledger.tail import COMMITTED
from tidemark.runner.background import Behind
from tidemark.runner.checks import Audit, blocked, blocks
from tidemark.runner.kept_rows import KeptRows
from tidemark.runner.source_rules import rules_of
from tidemark.runner.stream_progress import Ending, Published, StreamProgress, Writing, staged, take_on

if TYPE_CHECKING:
    from tidemark.spark.micro_batch import MicroBatch


class JudgingEngine(Protocol):
    """Methods of the Spark engine that a run needs."""

    @property
    def timings(self) -> dict[str, float]:
        """Seconds by phase, summed since they were last cleared."""
        ...

    def judge(self, batch: MicroBatch, recovering: bool) -> Outcome:
        """Append the judged rows of one source's objects; returns the outcome."""
        ...

    def judged(self, table: str, first: int, last: int) -> Any:  # noqa: ANN401 # a data frame
        """The rows of an events table from batches first..last that streams may take; None if there is no table."""
        ...


@dataclass(frozen=True)
class Before:
    """State before a run: the states and combined watermarks that the run before it left."""

    states: States
    combined: Mapping[str, Combined]
    streams: Mapping[str, StreamEnd] = field(default_factory=dict)

    @classmethod
    def run(cls, ledger: Ledger, first: int) -> Before:
        """The recorded state before the run whose first batch is `first`."""
        prior, states = ledger.before(first), ledger.states(first)
        return cls(states, prior.combined, prior.streams) if prior else cls(states, {})

    def opening(
        self,
        rules: Mapping[str, SourceRules],
        name: str,
        states: States,
        record: BatchRecord,
        read_from: int | None,
    ) -> Opening:
        """The state from which judging a source's rows of a batch starts; `states` are the partitions' states before
        the batch."""
        opening = open_source(rules[name], states, self.combined, read_from)
        batches = record.run_first, record.batch_id
        return with_imported(opening, rules, name, self.states, self.combined, batches)

    def ending(self, record: BatchRecord, result: Advance, kept: KeptRows | None = None) -> Ending:
        """The end of the run whose last batch has this result. Give `kept` if the end is not recorded yet."""
        return Ending(
            record,
            self.states,
            result.states,
            self.combined,
            result.combined,
            self.streams,
            result.brought,
            {} if kept is None else kept.rows_since(self.combined, self.streams),
        )

    def brought(self, states: States) -> frozenset[Key]:
        """Partitions that have received rows since then, skipped rows included."""
        earlier = {key: state.next_offset for key, state in self.states.items()}
        return frozenset(key for key, state in states.items() if state.next_offset != earlier.get(key, 0))


@dataclass
class Run:
    """One run of a pipeline, or the rest of one that crashed. `locate` gives a planned object its present path;
    `checkpoint` is called with the name of each step that a crash may follow."""

    spec: PipelineSpec
    ledger: Ledger
    engine: Callable[[], JudgingEngine]
    outputs: Callable[[PipelineSpec, Mapping[str, Any]], Writing]
    locate: Callable[[LandedObject], LandedObject]
    checkpoint: Callable[[str], None]
    progress: Callable[[str, int, int], None]
    audit: Audit
    rules: dict[str, SourceRules] = field(init=False)
    streams: StreamProgress = field(init=False)

    def __post_init__(self) -> None:
        self.rules = rules_of(self.spec)
        self.streams = StreamProgress(self.spec)

    def execute(self, records: Sequence[BatchRecord], recovering: bool) -> list[BatchRecord]:
        """Execute the planned batches of one run in order; returns them as committed."""
        first, count = records[0].run_first, records[0].run_last - records[0].run_first + 1
        before = Before.run(self.ledger, first)
        states = before.states if records[0].batch_id == first else self.ledger.states(records[0].batch_id)
        brought = before.brought(states)
        with Behind[BatchRecord]() as behind:
            for record in records:
                self.progress("judge", record.batch_id - first, count)
                started = time.perf_counter()
                objects = tuple(self.locate(item) for item in self.ledger.objects_of(record))
                noticed = self.ledger.noticed(record)
                outcomes = self._judge(record, objects, states, before, recovering)
                result = advance(self.rules, states, before.combined, outcomes, step_of(record, brought))
                timed = replace(record, timings=self._timings(outcomes, started))
                given = timed, objects, noticed, outcomes, before, states, result, recovering
                (behind.do if record.ends_run else behind.begin)(partial(self._record, *given))
                states, brought = result.states, result.brought
        self.progress("judge", count, count)
        return behind.done

    def _judge(
        self,
        record: BatchRecord,
        objects: Sequence[LandedObject],
        states: States,
        before: Before,
        recovering: bool,
    ) -> dict[str, Outcome]:
        from tidemark.spark.micro_batch import MicroBatch
        from tidemark.spark.session.settings import reading_of

        outcomes = {}
        for name in (rules.name for rules in in_import_order(self.rules)):
            mine = [item for item in objects if item.source == name]
            source = self.spec.sources[name].read_as(reading_of(record.engine))
            if mine:
                opening = before.opening(self.rules, name, states, record, self.streams.read_from)
                engine = self.engine()
                self.audit.begin()
                outcomes[name] = engine.judge(MicroBatch(source, record.batch_id, mine, opening), recovering)
        return outcomes

    def _timings(self, outcomes: Mapping[str, Outcome], started: float) -> dict[str, float]:
        phases = dict(self.engine().timings) if outcomes else {}
        if outcomes:
            self.engine().timings.clear()
        return phases | {"judging": time.perf_counter() - started}

    def _record(
        self,
        record: BatchRecord,
        objects: Sequence[LandedObject],
        noticed: Noticed,
        outcomes: Mapping[str, Outcome],
        before: Before,
        states: States,
        result: Advance,
        recovering: bool,
    ) -> BatchRecord:
        batch_id = record.batch_id
        content = [finding for outcome in outcomes.values() for finding in outcome.content]
        findings = [*noticed.findings, *content, *result.findings]
        known = {(item.source, item.uri): item for outcome in outcomes.values() for item in outcome.objects}
        final = [known.get((item.source, item.uri), item) for item in objects] + list(noticed.reported)
        changed = changed_states(states, result.states, batch_id)
        recorded = self.ledger.record(batch_id, changed, findings, () if record.ends_run else final)
        digests = [digest for outcome in outcomes.values() for digest in outcome.digests] + recorded
        self.checkpoint("watermarks")
        self.checkpoint("diagnostics")
        self.audit.add(outcomes, states, result.states)
        judged = replace(record, accounts=accounts_of(outcomes), digests=tuple(digests))
        committed = self._committed(judged, before, result, recovering)
        done = self.ledger.commit(committed, final)
        self.checkpoint("committed")
        return done

    def _committed(self, judged: BatchRecord, before: Before, result: Advance, recovering: bool) -> BatchRecord:
        """The record to commit for a judged batch. For a run's last batch, the run is checked and its streams are
        written first; the record then has the end's watermarks and streams."""
        committed = replace(judged, status=COMMITTED)
        if not judged.ends_run:
            return committed
        kept = KeptRows(self.ledger, judged.run_first, self.spec)
        ended = self._end(before.ending(judged, result, kept), recovering)
        digests = (*judged.digests, *ended.digests)
        return replace(committed, digests=digests, combined=result.combined, streams=ended.ends)

    def judged(self, table: str, first: int, last: int) -> Any:  # noqa: ANN401 # a data frame
        """The rows of an events table from batches first..last that streams may take."""
        return self.engine().judged(table, first, last)

    def stage(self, ending: Ending, made: dict[str, Any]) -> dict[str, int]:
        """Compute the rows that the run's end adds to streams, before any of them is written."""
        return staged(self.streams, ending, lambda ahead: self.outputs(self.spec, ahead), made)

    def _end(self, ending: Ending, recovering: bool) -> Published:
        """Check the run, then advance its streams; both in parallel if the check cannot block."""
        try:
            if self.audit.apart:
                with ThreadPoolExecutor(1) as pool:
                    checking = pool.submit(self._check, ending.record, ending)
                    published = self._advance(ending, recovering)
                checking.result()
            else:
                self._check(ending.record, ending)
                published = self._advance(ending, recovering)
            self.audit.of_streams(ending.record, published.not_due)
            return published
        finally:
            self.audit.let_go()

    def _check(self, record: BatchRecord, ending: Ending) -> None:
        """Check the run before it publishes anything. Raises Blocked."""
        checks = self.audit.of_run(record, ending, self)
        self.checkpoint("quality")
        if blocks(self.ledger, checks, record):
            self.ledger.block(record)
            self.checkpoint("blocked")
            raise blocked(record, checks)

    def _advance(self, ending: Ending, recovering: bool) -> Published:
        self.progress("streams", 0, 1)
        writing = cache(lambda: self.outputs(self.spec, self.audit.made))
        found = take_on(self.streams, ending, writing, recovering, self.checkpoint)
        self.progress("streams", 1, 1)
        return found


def accounts_of(outcomes: Mapping[str, Outcome]) -> tuple[Account, ...]:
    """The accounts of all sources and partitions, in a fixed order."""
    found = [report.account for outcome in outcomes.values() for report in outcome.partitions.values()]
    return tuple(sorted(found, key=lambda account: (account.source, account.partition)))


def step_of(record: BatchRecord, brought: frozenset[Key]) -> BatchPosition:
    """Position of a recorded batch in its run."""
    return BatchPosition(record.as_of, record.ends_run, frozenset(record.closing), brought)


def changed_states(before: States, after: States, batch_id: int) -> dict[Key, PartitionState]:
    """States that a batch records: those that changed, or all of them for a batch that must record all."""
    every = records_all(batch_id)
    return {key: state for key, state in after.items() if every or before.get(key) != state}
