"""Collects facts about a pipeline whose run failed: its state, failing values, causes, and commands to use next."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tidemark.commands.explain.why import UNSEEN, why
from tidemark.commands.read import Reader
from tidemark.commands.state import PipelineState, blocking_checks, standing
from tidemark.config.secrets import hidden
from tidemark.context import RunContext
from tidemark.core.shell import command
from tidemark.errors import TidemarkError
from tidemark.records.status import StandingRecord
from tidemark.report.alerts.measured import measured
from tidemark.verbs import explained

_MOST_CAUSES = 3


@dataclass(frozen=True)
class Trouble:
    """Facts about a pipeline whose run failed. `sentence` is its state; `run_id` the run in the way (None: no run
    is); `failed` the checks that block it, each with its limit; `causes` sentences on the heaviest causes."""

    sentence: str | None
    run_id: str | None
    failed: tuple[str, ...]
    causes: tuple[str, ...]
    commands: tuple[str, ...]


@explained
def trouble(context: RunContext, with_causes: bool) -> Trouble:
    """Return the facts as they are now; writes nothing. Causes are looked for only if quality blocks a run."""
    config = str(context.spec.path)
    found = standing(context.ledger, config)
    blocked = found["state"] == PipelineState.BLOCKED
    return Trouble(
        found["sentence"],
        found["run_id"],
        tuple(measured(check) for check in blocking_checks(context.ledger)) if blocked else (),
        tuple(_causes(context, found["run_id"])) if blocked and with_causes else (),
        tuple(_commands(found, config)),
    )


def _causes(context: RunContext, run: str | None) -> list[str]:
    """Sentences on the heaviest causes. If the events cannot be read, one sentence says so: the message must still be
    sent."""
    try:
        found = why(Reader(context.spec, context.ledger, context.clock), None, None, run)["causes"]
    except (TidemarkError, *UNSEEN) as error:
        return [hidden(f"the events could not be looked at: {error}")]
    return [each["sentence"] for each in found[:_MOST_CAUSES]]


def _commands(found: StandingRecord, config: str) -> Iterator[str]:
    yield command("status", config)
    if found["state"] == PipelineState.BLOCKED:
        yield command("why", config, options=("--run", str(found["run_id"])))
        yield command("advise", config)
    yield from found["commands"]
