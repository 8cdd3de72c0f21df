"""Runs that a scheduler asks for, each with its own id and as_of, in any order and as often as it likes.

A run covers the objects that landed since the as_of of the run before. If an earlier run has covered them already,
that run is verified: it is replayed and must not differ. So a schedule that is caught up, cleared, filled backwards
or run twice gives the tables of a schedule that ran in order.

    its id is committed                        verify that run
    a later or equal as_of was covered         verify the first run that covered it
    objects landed, or a stream may go on      run
    else                                       nothing: no JVM has to start
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from tidemark.commands import run as runs
from tidemark.commands.filters import instant
from tidemark.commands.run import RunRequest
from tidemark.context import RunContext
from tidemark.core.advance import advance
from tidemark.core.batch import RunPlan
from tidemark.core.batch_result import BatchRecord
from tidemark.core.shell import about
from tidemark.errors import CheckFailed
from tidemark.ledger.ledger import Ledger
from tidemark.records.runs import RunRecord
from tidemark.runner.checks import standing_in_the_way
from tidemark.runner.executor import Before, step_of
from tidemark.runner.kept_rows import KeptRows
from tidemark.runner.source_rules import rules_of
from tidemark.runner.stream_progress import StreamProgress, Writing
from tidemark.verbs import explained


class ScheduledWork(StrEnum):
    """Kinds of work that a scheduled run may have."""

    RUN = "run"
    VERIFY = "verify"
    NOTHING = "nothing"


@dataclass(frozen=True)
class Foreseen:
    """The work of a scheduled run, and why, in words; `run_id` is the run that does the work or is verified."""

    need: ScheduledWork
    run_id: str
    why: str


class _NeedsSpark(Exception):
    """Raised if the answer needs rows, which only Spark can read."""


@explained
def foresee(context: RunContext, as_of: str | int, run_id: str) -> Foreseen:
    """Foresee the work of a scheduled run, without a JVM; writes nothing.

    Raises ConfigError for a change of the configuration that is refused, UsageError for an `as_of` in the future,
    Blocked if quality blocks the last run.
    """
    ledger, time = context.ledger, instant(as_of, context.clock())
    tail = ledger.last()
    if (obstacle := standing_in_the_way(ledger, tail.pending)) is not None:
        raise obstacle
    if tail.pending:
        return Foreseen(ScheduledWork.RUN, run_id, f"run {tail.pending[0].run_id} did not end: it is finished first")
    if (answered := _answered(ledger, time, run_id)) is not None:
        return Foreseen(ScheduledWork.VERIFY, answered.run_id, f"run {answered.run_id} has answered for it")
    found = runs.dry_run(context, RunRequest(time, run_id))
    if found["objects"] or found["diagnostics"]:
        landed = f"new objects in landing: {found['objects']}"
        what = landed if found["objects"] else "there is something to report of objects"
        return Foreseen(ScheduledWork.RUN, run_id, what)
    if tail.committed_through and _may_go_on(context, time or 0, run_id):
        return Foreseen(ScheduledWork.RUN, run_id, "nothing has landed, but streams may go on as time passes")
    return Foreseen(ScheduledWork.NOTHING, run_id, "nothing has landed, and no stream can go on")


def answer(context: RunContext, as_of: str | int, run_id: str) -> RunRecord:
    """Do the work of a scheduled run. Returns the record of the run, with `verified` if an earlier run did the work.

    Raises CheckFailed if verifying that run gives another result.
    """
    time = instant(as_of, context.clock())
    answered = _answered(context.ledger, time, run_id)
    if answered is None:
        return runs.run(context, RunRequest(time, run_id), wait=True)
    record = runs.run(context, RunRequest(answered.as_of, answered.run_id), wait=True)
    verified = record.get("verified")
    if verified is not None and verified["identical"] is False:
        differences = [text for batch in verified["batches"] for text in batch["differences"]]
        raise CheckFailed(f"run {answered.run_id} comes out differently now: {'; '.join(differences)}")
    return record


def _answered(ledger: Ledger, as_of: int | None, run_id: str) -> BatchRecord | None:
    """The last batch of the committed run with this id, or else of the first committed run whose as_of is `as_of` or
    later. A run whose rest was abandoned does not count; the run that ended its batches does."""
    tail = ledger.last()
    last, known = tail.committed_through, ledger.run(run_id)
    batch = last + 1
    if known is None and as_of is not None and tail.as_of is not None and tail.as_of >= as_of:
        batch = ledger.first_since(as_of)
    while known is None and batch <= last:
        known = next(filter(None, (ledger.run(each.run_id) for each in ledger.batches(batch, batch))), None)
        batch += 1
    return None if known is None or known.last > last else ledger.batches(known.last, known.last)[0]


def _may_go_on(context: RunContext, as_of: int, run_id: str) -> bool:
    """True if a run without rows may have something to write for a stream."""
    spec, ledger = context.spec, context.ledger
    tail = ledger.last()
    batches = context.planning.cut((), tail.next_batch_id, None)
    record = context.planning.records(RunPlan(run_id, as_of, batches), spec, unended=tail.unended)[0]
    before, states = Before.run(ledger, record.run_first), ledger.states(record.batch_id)
    result = advance(rules_of(spec), states, before.combined, {}, step_of(record, before.brought(states)))
    ending = before.ending(record, result, KeptRows(ledger, record.run_first, spec))
    writing: Callable[[], Writing] = _no_spark
    try:
        dues = [due for _, _, due in StreamProgress(spec).due(ending, writing)]
    except _NeedsSpark:
        return True
    return any(due is not None and due.anything for due in dues)


def _no_spark() -> Writing:
    raise _NeedsSpark


@explained
def blocking(context: RunContext) -> str | None:
    """The reason why every run is blocked, and what to do; None if quality does not block the last run."""
    obstacle = standing_in_the_way(context.ledger, context.ledger.last().pending)
    return None if obstacle is None else f"{obstacle.message}: {about(obstacle.hint, str(context.spec.path))}"
