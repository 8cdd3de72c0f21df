"""Replays recorded batches: computes them again under their recorded configuration and compares digests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from tidemark.commands import versions
from tidemark.config import PipelineSpec
from tidemark.context import RunContext
from tidemark.core.advance import SourceRules, advance
from tidemark.core.batch import LandedObject, ObjectState
from tidemark.core.batch_result import LISTED, BatchRecord, Finding, Outcome, TableDigest, versions_of
from tidemark.core.findings import as_before
from tidemark.errors import UsageError
from tidemark.ledger.digest import differing_tables, digest_findings, digest_states
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.lost_commits import ensure_whole
from tidemark.records.runs import ReplayRecord
from tidemark.runner.deleted_rows import DeletedRows
from tidemark.runner.executor import Before, changed_states, step_of
from tidemark.runner.kept_rows import KeptRows
from tidemark.runner.recorded import spec_of
from tidemark.runner.source_rules import rules_of
from tidemark.runner.stream_progress import StreamProgress, Writing, measured

if TYPE_CHECKING:
    from tidemark.spark.micro_batch import MicroBatch
    from tidemark.spark.rebuild.replay import Recomputed

INPUTS = ("landing", "events")
STORED = "stored"
"""Input of a verdict on a batch that a backfill made: its tables were compared with the recorded digests."""


@dataclass(frozen=True)
class Verdict:
    """Result of replaying one batch: the input that was read, and the differences in words. `not_compared` are
    reasons why tables could not be compared. `digest_version` is the lowest version under which rows of a table were
    compared (None: the batch has no rows)."""

    batch_id: int
    input: str
    differences: tuple[str, ...]
    engine_changes: tuple[str, ...]
    digest_version: int | None = None
    not_compared: tuple[str, ...] = ()

    @property
    def identical(self) -> bool | None:
        """True if every table is as recorded; None if some could not be compared, and the others are."""
        return False if self.differences else None if self.not_compared else True


@dataclass(frozen=True)
class Replay:
    """Replays batches of the live version; `backfilled` ones are compared with what is recorded."""

    context: RunContext
    backfilled: versions.Backfilled = versions.NONE

    @property
    def spec(self) -> PipelineSpec:
        """Today's configuration, which gives the present landing."""
        return self.context.spec

    @property
    def ledger(self) -> Ledger:
        """The ledger of the live version."""
        return self.context.ledger

    @cached_property
    def _kept(self) -> KeptRows:
        return KeptRows(self.ledger, self.ledger.last().next_batch_id, self.spec)

    def located(self, record: BatchRecord, objects: Sequence[LandedObject]) -> tuple[LandedObject, ...]:
        """Objects of a batch with their present paths."""
        return tuple(map(replace(self.context.planning, spec=self._then(record)).locate, objects))

    def verdicts(
        self, records: Sequence[BatchRecord], wanted: str | None, progress: Callable[[str, int, int], None]
    ) -> list[Verdict]:
        """Compute batches again, in order."""
        found = []
        for done, record in enumerate(records):
            progress("replay", done, len(records))
            found.append(self.verify(record, wanted))
        progress("replay", len(records), len(records))
        return found

    def verify(self, record: BatchRecord, wanted: str | None = None) -> Verdict:
        """Compute one committed batch again from input `wanted`; None: from landing if its objects are still
        there."""
        from tidemark.spark.session.settings import changed

        if wanted is not None and wanted not in INPUTS:
            raise UsageError(f"input {wanted!r} does not exist", hint="use landing or events")
        if self.backfilled.has(record.batch_id):
            return self._standing(record)
        objects = self.located(record, self.ledger.objects_of(record))
        with ExitStack() as kept:
            parts = self.recomputed(record, objects, wanted, kept)
            digests = self._digests(record, {name: part.outcome() for name, part in parts.items()}, kept)
            differing = differing_tables(record.digests, digests)
            from_events = [name for name, part in parts.items() if not part.from_landing]
            deleted = DeletedRows(self.ledger, self._kept, self._then(record), record, from_events, differing)
            reasons = {table: reason for table in differing if (reason := deleted.reason(table)) is not None}
            differences = [sentence for table, sentence in differing.items() if table not in reasons]
            for name, part in parts.items():
                if f"events/{name}" in differing.keys() - reasons.keys():
                    differences += [f"{name}: {sentence}" for sentence in part.differences()]
        used, changes = "events" if from_events else "landing", tuple(changed(record.engine))
        left = tuple(reasons.values())
        return Verdict(record.batch_id, used, tuple(differences), changes, _version(record), left)

    def _standing(self, record: BatchRecord) -> Verdict:
        """Compare the stored tables of a batch that a backfill made with their recorded digests."""
        from tidemark.spark.rebuild.batch_digests import KINDS, standing

        made = [digest for digest in record.digests if digest.table.partition("/")[0] in KINDS]
        then = self._then(record).model_copy(update={"sources": self.spec.sources})
        found = standing(self.context.engine.spark, self.ledger.folder, then, record.batch_id, versions_of(made))
        small = self.ledger.digests(record.batch_id)
        made += [digest for digest in record.digests if digest.table in small]
        differing = differing_tables(made, [*found, *small.values()])
        deleted = DeletedRows(self.ledger, self._kept, then, record)
        reasons = {table: reason for table in differing if (reason := deleted.stored(table)) is not None}
        differences = tuple(sentence for table, sentence in differing.items() if table not in reasons)
        return Verdict(record.batch_id, STORED, differences, (), _version(record), tuple(reasons.values()))

    def recomputed(
        self, record: BatchRecord, objects: Sequence[LandedObject], wanted: str | None, kept: ExitStack
    ) -> dict[str, Recomputed]:
        """Compute a batch's objects again, by source; results are valid until `kept` is closed.

        Raises UsageError if `wanted` is landing and an object is no longer there as it was.
        """
        if not any(item.state is not ObjectState.VANISHED for item in objects):
            return {}
        from tidemark.spark.micro_batch import MicroBatch
        from tidemark.spark.rebuild.replay import Recomputed, RecordedBatch  # starts a JVM: only with rows

        self._follow(record, kept)
        then = self._then(record)
        before = Before.run(self.ledger, record.run_first)
        states, after = self.ledger.states(record.batch_id), self.ledger.states(record.batch_id + 1)
        parts = {}
        for name, source in then.sources.items():
            mine = [item for item in objects if item.source == name]
            if not any(item.state is not ObjectState.VANISHED for item in mine):
                continue
            opening = before.opening(rules_of(then), name, states, record, StreamProgress(then).read_from)
            left = {partition: state for (owner, partition), state in after.items() if owner == name}
            batch = MicroBatch(source, record.batch_id, mine, opening)
            part = RecordedBatch(batch, left, versions_of(record.digests))
            parts[name] = Recomputed(self.context.engine, part, _reads_landing(batch, wanted))
            kept.callback(parts[name].close)
        return parts

    def _follow(self, record: BatchRecord, kept: ExitStack) -> None:
        """Make Spark compute numbers by the rule that the batch was judged by, until `kept` is closed."""
        from tidemark.spark.session.settings import ARITHMETIC, EXACT, arithmetic_of

        conf = self.context.engine.spark.conf
        conf.set(ARITHMETIC, arithmetic_of(record.engine))
        kept.callback(conf.set, ARITHMETIC, EXACT)

    def _digests(self, record: BatchRecord, outcomes: dict[str, Outcome], kept: ExitStack) -> list[TableDigest]:
        then = self._then(record)
        before = Before.run(self.ledger, record.run_first)
        states = self.ledger.states(record.batch_id)
        result = advance(rules_of(then), states, before.combined, outcomes, step_of(record, before.brought(states)))
        recorded = self.ledger.findings(record.batch_id)
        listed = [finding for finding in recorded if finding.type in LISTED]
        digests = [digest for outcome in outcomes.values() for digest in outcome.digests]
        changed = changed_states(states, result.states, record.batch_id)
        digests.append(digest_states(record.batch_id, changed))
        found = [_as_recorded(each, recorded, rules_of(then)) for each in result.findings]
        digests.append(digest_findings(record.batch_id, [*listed, *found]))
        if record.ends_run:

            def outputs() -> Writing:
                self._follow(record, kept)
                return self.context.outputs(then, recompute=True)

            ending, versions = before.ending(record, result), versions_of(record.digests)
            digests += measured(StreamProgress(then), ending, outputs, versions)
        return digests

    def _then(self, record: BatchRecord) -> PipelineSpec:
        from tidemark.spark.session.settings import reading_of

        then = located(spec_of(record.configuration, self.spec, self.ledger.root), self.spec)
        rules = reading_of(record.engine)
        return then.model_copy(update={"sources": {name: each.read_as(rules) for name, each in then.sources.items()}})


def _reads_landing(batch: MicroBatch, wanted: str | None) -> bool:
    """True if a batch is computed from landing: if its objects are there as they were, and events are not `wanted`.
    Raises UsageError if landing is wanted and they are not."""
    from tidemark.spark.rebuild.replay import in_landing

    there = wanted != "events" and in_landing(batch.objects)
    if wanted == "landing" and not there:
        raise UsageError(
            f"batch {batch.number}: objects of {batch.source.name} are no longer in landing as they were",
            hint="use --input events",
        )
    return there


def _as_recorded(finding: Finding, recorded: Collection[Finding], rules: Mapping[str, SourceRules]) -> Finding:
    """A finding in the wording of the release that recorded the batch."""
    before = as_before(rules[finding.source], finding)
    return before if finding not in recorded and before in recorded else finding


def replay(
    context: RunContext,
    run: str | None,
    batches: tuple[int | None, int | None] = (None, None),
    every: bool = False,
    input_: str | None = None,
) -> ReplayRecord:
    """Compute batches again and compare: those of a run, those from the first to the last of `batches`, `every` one,
    or by default those of the last run. Writes nothing."""
    ensure_whole(context.ledger)
    records = chosen(context.ledger, run, *batches, every)
    made = versions.backfilled(context.ledger, str(context.spec.path))
    return replayed(Replay(context, made).verdicts(records, input_, context.progress), made.proof)


def replayed(verdicts: Sequence[Verdict], rebuilt: str | None = None) -> ReplayRecord:
    """The record of a replay; `rebuilt` says how batches that a backfill made are proven."""
    stored = rebuilt if any(verdict.input == STORED for verdict in verdicts) else None
    found = {verdict.identical for verdict in verdicts}
    return {
        "rebuilt": stored,
        "identical": False if False in found else None if None in found else True,
        "batches": [
            {
                "batch_id": verdict.batch_id,
                "identical": verdict.identical,
                "input": verdict.input,
                "digest_version": verdict.digest_version,
                "differences": list(verdict.differences),
                "not_compared": list(verdict.not_compared),
            }
            for verdict in verdicts
        ],
        "engine_changed": sorted({change for verdict in verdicts for change in verdict.engine_changes}),
    }


def chosen(
    ledger: Ledger, run: str | None, from_batch: int | None, to_batch: int | None, all_batches: bool
) -> list[BatchRecord]:
    """Committed batches to replay: those of a run, of a range, all, or by default those of the last run."""
    tail = ledger.last()
    if tail.committed_through == 0:
        raise UsageError("there is nothing to replay: no run is committed", hint="use `tidemark run` first")
    if run is not None:
        known = ledger.run(run)
        if known is None or known.last > tail.committed_through:
            raise UsageError(f"run {run!r} is not committed", hint="`tidemark status` lists the last runs")
        return ledger.batches(known.first, known.last)
    if all_batches or from_batch is not None or to_batch is not None:
        first, last = from_batch or 1, min(to_batch or tail.committed_through, tail.committed_through)
        if found := ledger.batches(first, last):
            return found
        raise UsageError(
            f"there is no committed batch from {first:,} to {to_batch or last:,}",
            hint=f"the newest is {tail.committed_through:,}, and retention.ledger may have deleted old ones",
        )
    newest = tail.last_run or (ledger.run(tail.pending[0].run_id) if tail.pending else None)
    if newest is None:
        return ledger.batches(tail.unended or 1, tail.committed_through)
    return ledger.batches(newest.first, min(newest.last, tail.committed_through))


def located(then: PipelineSpec, now: PipelineSpec) -> PipelineSpec:
    """A recorded configuration with today's paths of its file and its sources' landing."""
    moved = {
        name: source.model_copy(update={"landing": now.sources[name].landing}) if name in now.sources else source
        for name, source in then.sources.items()
    }
    return then.model_copy(update={"path": now.path, "sources": moved})


def _version(record: BatchRecord) -> int | None:
    """The lowest digest version of a batch's large tables; None if there are none. Small tables, which have no slash
    in their name, have one digest in every version."""
    return min((each.version for each in record.digests if each.rows and "/" in each.table), default=None)
