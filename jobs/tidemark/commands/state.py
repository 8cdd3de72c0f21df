"""State of a pipeline: ready, running, interrupted or blocked, with the commands to use next."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import asdict
from enum import StrEnum

from tidemark.core.batch_result import BatchRecord
from tidemark.core.quality import Check
from tidemark.core.shell import command
from tidemark.core.times import format_time
from tidemark.errors import TidemarkError
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.lock import holder
from tidemark.ledger.tail import BLOCKED, RunRange
from tidemark.records.status import StandingRecord
from tidemark.report.page.measures import failed, once
from tidemark.runner.checks import failure_text, released, standing_in_the_way
from tidemark.storage.damaged_files import UNREADABLE


class PipelineState(StrEnum):
    """States of a pipeline. `ready`: the last run is committed. `released`: it was blocked, and the next command
    publishes it. `interrupted`: its process ended before the run was finished."""

    NEW = "new"
    READY = "ready"
    RUNNING = "running"
    INTERRUPTED = "interrupted"
    BLOCKED = "blocked"
    RELEASED = "released"


def standing(ledger: Ledger, config: str) -> StandingRecord:
    """The state with its run, the failed checks, a sentence, and the commands to use next."""
    tail = ledger.last()
    if not tail.pending:
        state = PipelineState.READY if tail.committed_through else PipelineState.NEW
        return {"state": state.value, "run_id": None, "as_of": None, "failed": [], "sentence": None, "commands": []}
    record, holding = tail.pending[-1], holder(ledger.root)
    state = _state(ledger, record, holding)
    blocking = blocking_checks(ledger) if state is PipelineState.BLOCKED else []
    return {
        "state": state.value,
        "run_id": record.run_id,
        "as_of": format_time(record.as_of),
        "failed": list(map(failure_text, blocking)),
        "sentence": _sentence(state, tail.pending[0], record, holding),
        "commands": list(_commands(state, record, config)),
    }


def blocking_checks(ledger: Ledger) -> list[Check]:
    """The checks of the last run that fail and block a run, whether it is released or not; none if nothing is
    pending."""
    pending = ledger.last().pending
    return [check for check in ledger.checks(pending[-1].batch_id) if check.blocks] if pending else []


def failed_checks(ledger: Ledger, run: RunRange | None, told: Collection[Check] = ()) -> list[str]:
    """One sentence on each failed check of a run, without the given ones; if the checks cannot be read, one that says
    so."""
    if run is None:
        return []
    try:
        found = [check for check in ledger.checks(run.last) if not check.success and check not in told]
    except (TidemarkError, *UNREADABLE) as error:
        return [f"The checks of run {run.run_id} could not be read: {error}"]
    return [f"{failed(check)}, in run {run.run_id}." for check in once(list(map(asdict, found)))]


def _state(ledger: Ledger, record: BatchRecord, holding: str | None) -> PipelineState:
    if standing_in_the_way(ledger, [record]) is not None:
        return PipelineState.BLOCKED
    if holding is not None:
        return PipelineState.RUNNING
    return (
        PipelineState.RELEASED if record.status == BLOCKED and released(ledger, record) else PipelineState.INTERRUPTED
    )


def _sentence(state: PipelineState, first: BatchRecord, last: BatchRecord, holding: str | None) -> str:
    batches = f"batch {first.batch_id}" if first is last else f"batches {first.batch_id} to {last.batch_id}"
    run = f"Run {last.run_id}, as of {format_time(last.as_of)}"
    return {
        PipelineState.BLOCKED: f"{run}, is blocked by quality: it has published nothing, and no run goes on.",
        PipelineState.RUNNING: f"{run}, is under way ({holding}): {batches} not committed yet.",
        PipelineState.RELEASED: f"{run}, is released but not published yet: the next run does it first.",
        PipelineState.INTERRUPTED: f"{run}, was interrupted: {batches} not committed. The next run finishes it.",
    }[state]


def _commands(state: PipelineState, record: BatchRecord, config: str) -> Iterator[str]:
    reason = ("--reason", "...")
    if state is PipelineState.BLOCKED:
        yield command("rows", config, options=("--batch", str(record.batch_id)))
        yield command("release", config, record.run_id, options=reason)
        yield command("abandon", config, record.run_id, options=reason)
    elif state is not PipelineState.RUNNING:
        yield command("run", config)
        if state is PipelineState.INTERRUPTED:
            yield command("abandon", config, record.run_id, options=reason)
