"""Finds the output that a run owes: watermarks have passed it at its as_of, and no committed run has published it.

The watermark decides, never the clock: an hour owes nothing until it is over and its tolerance has passed. Watermarks
come from committed runs and from rows that a planned run has judged since. They move on to the as_of by the floors of
the time rules. Objects that no run has read move nothing. Streams whose progress depends on rows (session, snapshot
and sliding windows, `idle_timeout`, and streams over them) owe nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tidemark.commands import run as runs
from tidemark.commands.run import RunRequest
from tidemark.config import PipelineSpec
from tidemark.config.models.stream_graph import in_order
from tidemark.context import RunContext
from tidemark.core.advance import advance
from tidemark.core.batch_result import BatchRecord
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.tail import PLANNED, Tail
from tidemark.runner.executor import Before, step_of
from tidemark.runner.kept_rows import KeptRows
from tidemark.runner.source_rules import rules_of
from tidemark.runner.stream_progress import Ending, StreamProgress, Writing
from tidemark.verbs import explained


@dataclass(frozen=True)
class OwedOutput:
    """A stream that owes output: it is `published` up to one time, and `due` up to a later one (microseconds UTC;
    None: nothing yet). `stream` is None for the events of a pipeline without streams."""

    stream: str | None
    published: int | None
    due: int | None


@explained
def owed(context: RunContext, as_of: int) -> list[OwedOutput]:
    """Return the output that a run with this as_of owes, by stream; nothing if a run with this or a later as_of is
    committed. Starts no JVM and writes nothing."""
    ledger, tail = context.ledger, context.ledger.last()
    if _published(ledger, tail, as_of):
        return []
    streams = any(step.published for step in context.spec.streams.values())
    begun = streams and (tail.last_run is not None or tail.unended is not None)
    if not begun and not _landed(context, tail, as_of):
        return []
    return list(_owed(context, tail, as_of)) if streams else [OwedOutput(None, None, None)]


def _published(ledger: Ledger, tail: Tail, as_of: int) -> bool:
    if tail.last_run is None:
        return False
    (last,) = ledger.batches(tail.last_run.last, tail.last_run.last)
    return last.as_of >= as_of


def _landed(context: RunContext, tail: Tail, as_of: int) -> bool:
    return bool(tail.pending) or bool(runs.dry_run(context, RunRequest(as_of))["objects"])


def _owed(context: RunContext, tail: Tail, as_of: int) -> Iterator[OwedOutput]:
    spec = _known(context.spec)
    ending = _ending(context.ledger, spec, tail, as_of)
    before = {name: end.state for name, end in ending.recorded.items()}
    for name, state, due in StreamProgress(spec).due(ending, _no_rows):
        if due is not None and due.anything:
            was = before.get(name)
            yield OwedOutput(name, None if was is None else was.passed, state.passed)


def _ending(ledger: Ledger, spec: PipelineSpec, tail: Tail, as_of: int) -> Ending:
    """The end of a run with this as_of that brings no new rows. Rows that a planned or half-abandoned run has judged
    count if that run's as_of is not later."""
    first = tail.pending[0].run_first if tail.pending else tail.unended or tail.next_batch_id
    before = Before.run(ledger, first)
    judged = (tail.pending or tail.unended) and (tail.as_of or as_of) <= as_of
    states = ledger.states(tail.next_batch_id) if judged else before.states
    record = BatchRecord(first, "", first, first, as_of, PLANNED, "{}", "", "{}", "")
    result = advance(rules_of(spec), states, before.combined, {}, step_of(record, before.brought(states)))
    return before.ending(record, result, KeptRows(ledger, first, spec))


def _known(spec: PipelineSpec) -> PipelineSpec:
    """The pipeline with only the streams whose progress depends on watermarks alone."""
    rules = {step.name: step for step in StreamProgress(spec).steps}
    kept: dict[str, bool] = {}
    for name in in_order(spec.streams):
        windows = rules[name].windows
        plain = rules[name].data_driven is None and (windows is None or windows.idle_timeout is None)
        kept[name] = plain and all(kept.get(below, True) for below in rules[name].inputs)
    return spec.model_copy(update={"streams": {name: step for name, step in spec.streams.items() if kept[name]}})


def _no_rows() -> Writing:
    raise AssertionError("streams whose progress needs rows were left out")
