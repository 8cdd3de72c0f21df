"""Findings of a micro-batch and of the end of a run, in words (time rules: what is reported)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from tidemark.core.batch_result import Diagnostic, Finding, FindingSample, Occurrence, Outcome
from tidemark.core.times import format_time, recorded_duration
from tidemark.core.watermarks import UNKNOWN, PartitionState, not_progressing

if TYPE_CHECKING:
    from tidemark.core.advance import BatchPosition, SourceRules, States

_NEVER_SEEN = "no row of it has been seen"
_SENTENCES = {
    Diagnostic.EARLY: "rows whose event time is more than {tolerance} after their arrival",
    Diagnostic.LATE: "rows whose event time is more than {tolerance} before their arrival",
    Diagnostic.OUT_OF_ORDER: "rows behind the watermark that earlier rows had set ({setting} {tolerance})",
    Diagnostic.INVALID_TIME: "rows whose event or arrival time is missing or cannot be",
    Diagnostic.INVALID_ROW: "rows that do not parse, do not fit the schema, or have no partition",
}


def _in_effect(rules: SourceRules, diagnostic: Diagnostic) -> int | None:
    """The tolerance that a finding is about, microseconds; for out of order, how far watermarks trail."""
    if diagnostic is Diagnostic.OUT_OF_ORDER:
        return rules.policy.disorder
    tolerance = {Diagnostic.EARLY: rules.policy.early, Diagnostic.LATE: rules.policy.late}.get(diagnostic)
    return None if tolerance is None else tolerance.micros


def _sentence(rules: SourceRules, diagnostic: Diagnostic, micros: int | None) -> str:
    smaller = rules.policy.disorder < rules.policy.out_of_order.micros
    setting = "late_arrival, which is smaller than out_of_order," if smaller else "out_of_order"
    return _SENTENCES[diagnostic].format(setting=setting, tolerance=recorded_duration(micros or 0))


def as_before(rules: SourceRules, finding: Finding) -> Finding:
    """The finding as earlier releases worded it: a replay of old batches is compared with what they recorded."""
    order, moved = rules.policy.out_of_order.micros, format_time(finding.first_time or 0)
    if finding.type is Diagnostic.OUT_OF_ORDER:
        message = f"rows behind the watermark that earlier rows had set (out_of_order {recorded_duration(order)})"
        return replace(finding, tolerance=order, message=message)
    if finding.type is Diagnostic.EDGE_LEFT_OPEN:
        open_ = "the lifetimes that they would have ended stay open"
        return replace(finding, message=f"end edges behind the punctuation were dropped: {open_}")
    if finding.type is Diagnostic.NOT_PROGRESSING and finding.message.startswith(_NEVER_SEEN):
        return replace(finding, message=f"declared, but no row of it has been seen since the run of {moved}")
    return finding


def row_findings(rules: SourceRules, outcome: Outcome) -> Iterator[Finding]:
    """Findings about the rows of one source's part of a micro-batch."""
    for partition, report in sorted(outcome.partitions.items()):
        for diagnostic, found in report.occurrences.items():
            micros = _in_effect(rules, diagnostic)
            sentence = _sentence(rules, diagnostic, micros)
            yield _of_rows(rules, partition, diagnostic, found, micros, sentence)
    for partition, found in sorted(outcome.left_open.items()):
        sentence = "end edges behind the punctuation were dropped: each left its lifetime open for a later end edge"
        yield _of_rows(rules, partition, Diagnostic.EDGE_LEFT_OPEN, found, None, sentence)
    for partition, found in sorted(outcome.landed_too_late.items()):
        delay = rules.landing_delay
        sentence = (
            "rows that arrived before an arrival already estimated for their partition: "
            f"landing_delay ({recorded_duration(delay)}) is too small"
        )
        yield _of_rows(rules, partition, Diagnostic.LANDED_TOO_LATE, found, delay, sentence)


def _of_rows(
    rules: SourceRules, partition: str, kind: Diagnostic, found: Occurrence, tolerance: int | None, sentence: str
) -> Finding:
    """The finding about rows of one kind in a partition."""
    return Finding(
        rules.name, partition, kind, found.count, found.first, found.last, found.sample, tolerance, sentence
    )


def standing_still(rules: SourceRules, before: States, ended: States, step: BatchPosition) -> Iterator[Finding]:
    if rules.punctuation is not None:
        return
    for (name, partition), state in sorted(ended.items()):
        if partition == UNKNOWN:
            continue
        earlier = before.get((name, partition))
        if not_progressing(state, rules.policy, step.as_of, earlier is not None and earlier.idle):
            yield Finding(
                name,
                partition,
                Diagnostic.NOT_PROGRESSING,
                1,
                state.since if state.last_seen is None else state.last_seen,
                step.as_of,
                FindingSample(arrival_time=state.last_arrival),
                rules.policy.late.micros if rules.policy.late else None,
                _stillness(state),
            )


def _stillness(state: PartitionState) -> str:
    if state.last_seen is None:
        return f"{_NEVER_SEEN} since the run of {format_time(state.since or 0)}, which waited for it first"
    arrived = "an unknown time" if state.last_arrival is None else format_time(state.last_arrival)
    return f"no row since the run of {format_time(state.last_seen)}; its last row arrived at {arrived}"
