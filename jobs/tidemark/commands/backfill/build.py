"""The command `backfill`: builds a version beside the live one."""

from __future__ import annotations

from dataclasses import dataclass

from tidemark.commands import exclude
from tidemark.commands.backfill.from_events import Backfill
from tidemark.commands.backfill.from_landing import Rereading
from tidemark.commands.recover import held_and_recovered
from tidemark.commands.returned_streams import returned_streams
from tidemark.commands.versions import in_force
from tidemark.config import PipelineSpec, load_pipeline
from tidemark.context import RunContext
from tidemark.core.backfill.ranges import Range
from tidemark.core.times import format_time
from tidemark.errors import UsageError
from tidemark.ledger.lost_commits import ensure_events
from tidemark.records.versions import BackfillRecord
from tidemark.runner.planner import analyse
from tidemark.runner.recorded import content_of


@dataclass(frozen=True)
class BackfillRequest:
    """One requested version: outputs in [begin, end), microseconds UTC, are rebuilt (`end` None: up to the last run),
    under `settings` (KEY=VALUE each), which override the file."""

    begin: int
    end: int | None
    settings: tuple[str, ...] = ()
    from_landing: bool = False
    label: str | None = None


def build(context: RunContext, request: BackfillRequest, wait: bool) -> BackfillRecord:
    """Recover a crashed run, then build the version. Raises UsageError for a rebuild from landing with an end."""
    if request.from_landing and request.end is not None:
        raise UsageError(
            "a version from landing goes to the last run: rows after one that is new have other numbers",
            hint="leave out --to",
        )
    spec = context.spec
    if request.settings:
        spec = load_pipeline(spec.path, context.environ, request.settings).spec
    with held_and_recovered(context, wait):
        recorded = content_of(in_force(context.ledger), spec, context.ledger.root)
        returned = returned_streams(context.ledger, recorded, spec)
        analyse(spec, kept=None if request.from_landing else context.ledger.folder, returned=returned)
        taken = exclude.excluded(context.ledger, spec.sources)
        if request.from_landing:
            return Rereading(context, spec, request.begin, taken, request.label).build(context.clock())
        backfill = Backfill(context, spec, _checked(request, spec), taken, request.label)
        ensure_events(context.ledger, backfill.first or backfill.through + 1)
        return backfill.build(context.clock())


def _checked(request: BackfillRequest, spec: PipelineSpec) -> Range:
    """The range of the request. Raises UsageError for one that is empty, or that begins before `start`."""
    begin, end = request.begin, request.end
    if end is not None and end <= begin:
        raise UsageError(f"--to {format_time(end)} is not after --from {format_time(begin)}")
    if spec.start is not None and begin < spec.start:
        raise UsageError(
            f"--from {format_time(begin)} is before the pipeline's start",
            hint=f"it has no outputs before {format_time(spec.start)}: begin there, or later",
        )
    return Range(begin, end)
