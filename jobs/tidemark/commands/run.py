"""The commands `run` and `close`: take landed objects, judge them, publish the results."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from tidemark.commands import recover, replay, versions
from tidemark.commands.records import LONGEST_LIST, Record, plan_summary, run_summary
from tidemark.config import with_on_failure
from tidemark.context import RunContext
from tidemark.core.batch import RunPlan
from tidemark.core.batch_result import BatchRecord, Finding
from tidemark.core.times import format_time
from tidemark.errors import UsageError
from tidemark.ledger import versions as recorded_versions
from tidemark.ledger.lost_commits import ensure_whole
from tidemark.quality.suites import of_users, record_of
from tidemark.runner.checks import ensure_not_blocked
from tidemark.runner.maintenance import Keeping


@dataclass(frozen=True)
class RunRequest:
    """One requested run. `as_of` is microseconds UTC (None: now). `closing` names the sources to close; `quality`
    (block, warn, record) replaces the configuration's `on_failure`."""

    as_of: int | None
    run_id: str | None = None
    max_files: int | None = None
    dry_run: bool = False
    closing: Sequence[str] = ()
    quality: str | None = None


def run(context: RunContext, request: RunRequest, wait: bool) -> Record:
    """Recover a crashed run, then take what landed by `as_of` and judge it. A dry run takes no lock."""
    with nullcontext() if request.dry_run else context.hold(wait):
        return _run(context, request)


def summary(context: RunContext, run_id: str) -> Record:
    """The record of a committed run, as it was when the run ended."""
    return finished(context, replay.chosen(context.ledger, run_id, None, None, False), [])


def finished(context: RunContext, records: Sequence[BatchRecord], notes: Sequence[str]) -> Record:
    """The record of a run that has these batches."""
    findings: list[Finding] = []
    for record in records[:LONGEST_LIST]:
        findings += context.ledger.findings(record.batch_id)
    first, last = records[-1].run_first, records[-1].run_last
    whole = records if len(records) == last - first + 1 else context.ledger.batches(first, last)
    return run_summary(whole, context.ledger.states(last + 1), findings, notes, context.ledger.checks(last))


def release(context: RunContext, run_id: str, reason: str, wait: bool) -> Record:
    """Publish a run that quality blocked, and record why. Raises UsageError if no such run is blocked."""
    if not reason.strip():
        raise UsageError("a release needs a reason", hint="say with --reason why the run may be published")
    with context.hold(wait):
        record = recover.release(context, run_id, reason)
        return finished(context, context.ledger.batches(record.batch_id, record.batch_id), []) | {"released": True}


def _run(context: RunContext, request: RunRequest) -> Record:
    spec, ledger, planning = context.spec, context.ledger, context.planning
    now = context.clock()
    given = now if request.as_of is None else request.as_of
    if given > now:
        raise UsageError(f"as_of {format_time(given)} is later than the clock, {format_time(now)}")
    ledger.open()
    ensure_whole(ledger)
    if not request.dry_run:
        recorded_versions.first(context.root, now)
    notes = versions.differing(ledger, spec)
    suites = record_of(of_users(spec), spec)
    ensure_not_blocked(ledger)
    recovered = [] if request.dry_run else recover.recover(context)
    if request.run_id is not None and (known := ledger.run(request.run_id)) is not None:
        return _repeated(context, request.run_id, request.run_id in recovered, range(known.first, known.last + 1))
    tail = ledger.last()
    time_ = given if tail.as_of is None else max(given, tail.as_of)
    landed = planning.discover(time_, tail)
    planning.ensure_few_partitions(landed, tail)
    batches = planning.cut(landed.objects, tail.next_batch_id, request.max_files)
    if request.dry_run:
        return plan_summary(landed.objects, time_, len(batches), landed.findings)
    planning.prove(landed, tail)
    run_id = request.run_id or f"{format_time(time_)}-{tail.next_batch_id}"
    plan = RunPlan(run_id, time_, batches, tuple(request.closing))
    spec = spec if request.quality is None else with_on_failure(spec, request.quality)
    records = planning.records(plan, spec, suites, tail.unended)
    ledger.plan(plan, records, landed.noticed)
    context.checkpoint("planned")
    done = recover.execute(context, spec, records, repairing=False)
    return finished(context, done, notes) | {"repaired": recovered, "compacted_seconds": _maintain(context, done)}


def _repeated(context: RunContext, run_id: str, recovered: bool, batches: range) -> Record:
    """The record of a run that is already committed. It is replayed first, unless it has only just been recovered."""
    record = finished(context, context.ledger.batches(batches[0], batches[-1]), [])
    if not recovered:
        record["verified"] = replay.replay(context, run_id)
    return record | {"repaired": [run_id] if recovered else []}


def _maintain(context: RunContext, records: Sequence[BatchRecord]) -> float | None:
    """Maintain tables after a commit, as far as that needs no new JVM. Returns seconds, or None if there was nothing
    to do."""
    return Keeping(context.spec, context.ledger, context.tables if context.has_engine() else None).after(records)
