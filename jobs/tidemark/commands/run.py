"""The commands `run` and `close`: take landed objects, judge them, publish the results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tidemark.arguments import reason_for
from tidemark.commands import recover, replay, versions
from tidemark.commands.names.follow import follow
from tidemark.commands.summaries import plan_summary, run_summary
from tidemark.config import with_on_failure
from tidemark.context import RunContext
from tidemark.core.batch import Batch, RunPlan
from tidemark.core.batch_result import BatchRecord, Finding
from tidemark.core.times import format_time
from tidemark.errors import Held, UsageError
from tidemark.ledger import versions as recorded_versions
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.lost_commits import ensure_whole, left_notes
from tidemark.ledger.tail import Tail
from tidemark.quality.suites import of_users, record_of
from tidemark.records import LONGEST_LIST
from tidemark.records.runs import PlanRecord, ReleaseRecord, RunRecord, RunSummary
from tidemark.runner.checks import ensure_not_blocked
from tidemark.runner.kept_rows import ensure_rows
from tidemark.runner.maintenance import Maintenance
from tidemark.runner.planner import Discovered


@dataclass(frozen=True)
class RunRequest:
    """One requested run. `as_of` is microseconds UTC (None: now). `closing` names the sources to close; `quality`
    (block, warn, record) replaces the configuration's `on_failure`."""

    as_of: int | None
    run_id: str | None = None
    max_files: int | None = None
    closing: Sequence[str] = ()
    quality: str | None = None


class ObjectsToTake(NamedTuple):
    """Objects that a run after `tail` takes, as of a time in microseconds UTC, and its micro-batches."""

    tail: Tail
    as_of: int
    landed: Discovered
    batches: tuple[Batch, ...]


def run(context: RunContext, request: RunRequest, wait: bool) -> RunRecord:
    """Recover a crashed run, then take what landed by `as_of` and judge it."""
    with context.hold(wait):
        now = context.clock()
        given = _opened(context, request, now)
        recorded_versions.first(context.root, now)
        notes, suites = _checked(context)
        recovered = recover.recover(context)
        if (batches := _committed(context, request)) is not None:
            record = _repeated(context, batches, request.run_id in recovered)
        else:
            taken = _discovered(context, request, given)
            record = _taken(context, request, taken, suites, [*notes, *_moved(given, taken.as_of)], recovered)
        record["names"] = follow(context)
        return record


def dry_run(context: RunContext, request: RunRequest) -> PlanRecord:
    """Find the objects that a run would take, without a lock and without a JVM. A recorded run takes no more objects;
    a note says if it would be verified or finished."""
    given = _opened(context, request, context.clock())
    _checked(context)
    if (batches := _committed(context, request)) is not None:
        return _plan_of_recorded(context.ledger, batches[-1])
    found = _discovered(context, request, given)
    return plan_summary(
        found.landed.objects, found.as_of, len(found.batches), found.landed.findings, found.landed.notes
    )


def summary(context: RunContext, run_id: str) -> RunSummary:
    """The record of a committed run, as it was when the run ended."""
    return finished(context, replay.chosen(context.ledger, run_id, None, None, False), [])


def finished(context: RunContext, records: Sequence[BatchRecord], notes: Sequence[str]) -> RunSummary:
    """The record of a run; `records` are some or all of its batches."""
    findings: list[Finding] = []
    for record in records[:LONGEST_LIST]:
        findings += context.ledger.findings(record.batch_id)
    first, last = records[-1].run_first, records[-1].run_last
    whole = records if len(records) == last - first + 1 else context.ledger.batches(first, last)
    return run_summary(whole, context.ledger.states(last + 1), findings, notes, context.ledger.checks(last))


def release(context: RunContext, run_id: str, reason: str, wait: bool) -> ReleaseRecord:
    """Publish a run that quality blocked, and record why. Raises UsageError if no such run is blocked."""
    reason = reason_for("a release", reason, "say with --reason why the run may be published")
    with context.hold(wait):
        record = recover.release(context, run_id, reason)
        follow(context)
        found = finished(context, context.ledger.batches(record.batch_id, record.batch_id), [])
        return {**found, "released": True}


def _opened(context: RunContext, request: RunRequest, now: int) -> int:
    """Open the ledger; returns the `as_of` of the request. Raises UsageError if it is in the future."""
    given = now if request.as_of is None else request.as_of
    if given > now:
        raise UsageError(f"as_of {format_time(given)} is later than the clock, {format_time(now)}")
    context.ledger.open()
    ensure_whole(context.ledger)
    return given


def _checked(context: RunContext) -> tuple[list[str], str]:
    """Changes of the pipeline's file since the last run, and the users' suites. Raises ConfigError for a change that
    is refused, Blocked while quality blocks a run."""
    notes = [*versions.differing(context.ledger, context.spec), *left_notes(context.ledger)]
    ensure_rows(context.ledger, context.spec)
    suites = record_of(of_users(context.spec), context.spec)
    ensure_not_blocked(context.ledger)
    return notes, suites


def _moved(given: int, as_of: int) -> list[str]:
    """A note if the run's as_of is later than the given one."""
    if as_of == given:
        return []
    return [f"as_of {format_time(given)} is before that of the last run: this run is as of {format_time(as_of)}, too"]


def _committed(context: RunContext, request: RunRequest) -> range | None:
    """Batches of the requested run; None unless its id is recorded."""
    known = None if request.run_id is None else context.ledger.run(request.run_id)
    return None if known is None else range(known.first, known.last + 1)


def _discovered(context: RunContext, request: RunRequest, given: int) -> ObjectsToTake:
    """Objects that have landed by `given`, or by the last run's as_of if that is later."""
    tail, planning = context.ledger.last(), context.planning
    as_of = given if tail.as_of is None else max(given, tail.as_of)
    landed = planning.discover(as_of, tail, context.clock())
    planning.ensure_few_partitions(landed, tail)
    return ObjectsToTake(tail, as_of, landed, planning.cut(landed.objects, tail.next_batch_id, request.max_files))


def _taken(
    context: RunContext,
    request: RunRequest,
    found: ObjectsToTake,
    suites: str,
    notes: Sequence[str],
    recovered: list[str],
) -> RunRecord:
    """Plan and execute the run; returns its record."""
    planning, tail, spec = context.planning, found.tail, context.spec
    ensure_none_pending(tail, context.ledger)
    planning.prove(found.landed, tail)
    run_id = request.run_id or f"{format_time(found.as_of)}-{tail.next_batch_id}"
    plan = RunPlan(run_id, found.as_of, found.batches, tuple(request.closing))
    spec = spec if request.quality is None else with_on_failure(spec, request.quality)
    records = planning.records(plan, spec, suites, tail.unended)
    context.ledger.plan(plan, records, found.landed.noticed)
    context.checkpoint("planned")
    done = recover.execute(context, spec, records, recovering=False)
    record = _with_repaired(finished(context, done, [*notes, *found.landed.notes]), recovered)
    record["compacted_seconds"] = _maintain(context, done)
    return record


def ensure_none_pending(tail: Tail, ledger: Ledger) -> None:
    """Raise Held if another process has planned a run since the last check: that run must be finished first."""
    if tail.pending:
        raise Held(
            f"run {tail.pending[0].run_id} was planned at the same moment",
            where=str(ledger.folder),
            hint="run again: it is finished first",
        )


def _repeated(context: RunContext, batches: range, recovered: bool) -> RunRecord:
    """The record of a run that is already committed. It is replayed first, unless it has only just been recovered."""
    found = finished(context, context.ledger.batches(batches[0], batches[-1]), [])
    record = _with_repaired(found, [found["run_id"]] if recovered else [])
    if not recovered:
        record["verified"] = replay.replay(context, found["run_id"])
    return record


def _plan_of_recorded(ledger: Ledger, last: int) -> PlanRecord:
    """What a run would do under the id of a recorded run that ends with batch `last`."""
    (record,) = ledger.batches(last, last)
    committed = last <= ledger.last().committed_through
    done = "is committed already: it would be verified, and nothing changed" if committed else "would be finished"
    return plan_summary((), record.as_of, 0, (), [f"run {record.run_id} {done}"])


def _with_repaired(found: RunSummary, repaired: list[str]) -> RunRecord:
    return {**found, "repaired": repaired}  # type: ignore[typeddict-item] # a summary has no optional keys


def _maintain(context: RunContext, records: Sequence[BatchRecord]) -> float | None:
    """Maintain tables after a commit, without starting a JVM. Returns the seconds of compaction; None if none was
    due."""
    return Maintenance(context.spec, context.ledger, context.tables if context.has_engine() else None).after(records)
