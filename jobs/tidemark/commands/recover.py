"""Recovery: finishes, releases or abandons runs that a crash or a failed check left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from tidemark.commands.abandon import Abandonment, stuck
from tidemark.commands.names.follow import follow
from tidemark.commands.replay import located
from tidemark.config import PipelineSpec
from tidemark.context import RunContext
from tidemark.core.batch_result import BatchRecord
from tidemark.errors import TidemarkError
from tidemark.ledger.lost_commits import ensure_whole
from tidemark.ledger.tail import ABANDONING
from tidemark.quality.suites import of_run
from tidemark.records.runs import AbandonRecord
from tidemark.runner.checks import Audit, Unchecked, blocked_run, ensure_not_blocked
from tidemark.runner.executor import Run
from tidemark.runner.recorded import spec_of
from tidemark.storage.object_errors import known_fault


def recover(context: RunContext) -> list[str]:
    """Recover a crashed run from its recorded plan and configuration. Returns its id in a list; empty if no run
    crashed."""
    pending = context.ledger.last().pending
    if not pending:
        return []
    if pending[0].status == ABANDONING:
        Abandonment(context).finish(pending)
        return []
    then = located(spec_of(pending[0].configuration, context.spec, context.ledger.root), context.spec)
    execute(context, then, pending, recovering=True)
    return [pending[0].run_id]


def execute(
    context: RunContext, spec: PipelineSpec, records: Sequence[BatchRecord], *, recovering: bool
) -> list[BatchRecord]:
    """Execute a planned run under `spec`. Errors that would occur again with this plan name `abandon`."""
    audit = Audit if context.checked else Unchecked
    run = Run(
        spec,
        context.ledger,
        lambda: context.engine,
        context.outputs,
        replace(context.planning, spec=spec).locate,
        context.checkpoint,
        context.progress,
        audit(spec, context.ledger, of_run(records[-1].suites, context.spec)),
    )
    try:
        return run.execute(records, recovering)
    except TidemarkError:
        raise
    except Exception as error:
        raise known_fault(error) or stuck(error, records, str(context.spec.path)) from error


def release(context: RunContext, run_id: str, reason: str) -> BatchRecord:
    """Publish a run that quality blocked, and record why; the caller holds the lock. Raises UsageError if no such run
    is blocked."""
    record = blocked_run(context.ledger, run_id)
    ensure_whole(context.ledger)
    context.ledger.release(record, reason)
    context.checkpoint("released")
    recover(context)
    return record


def abandon(context: RunContext, run_id: str, reason: str, wait: bool, published: bool) -> AbandonRecord:
    """Abandon a planned run that cannot be finished, and record why. Raises UsageError if no such run is planned, or
    if it has published to streams and `published` is false."""
    with context.hold(wait):
        return Abandonment(context).abandon(run_id, reason, published)


@contextmanager
def held_and_recovered(context: RunContext, wait: bool) -> Iterator[None]:
    """Hold the pipeline's lock and recover a crashed run first. Raises Blocked while quality blocks a run."""
    with context.hold(wait):
        ensure_whole(context.ledger)
        ensure_not_blocked(context.ledger)
        recover(context)
        follow(context)
        yield
