"""Builds the parts of records that several commands share: plain values, times as ISO 8601 UTC, ready for JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tidemark.core.advance import States
from tidemark.core.batch import LandedObject
from tidemark.core.batch_result import BatchRecord, Finding, total
from tidemark.core.quality import Check
from tidemark.core.streams import StreamEnd
from tidemark.core.times import format_time, within_years
from tidemark.core.watermarks import UNKNOWN, Combined
from tidemark.errors import Problem
from tidemark.records import LONGEST_LIST
from tidemark.records.failures import ProblemRecord, ValidateRecord
from tidemark.records.runs import (
    BatchSummary,
    CheckSummary,
    FindingSummary,
    PlanRecord,
    RunSummary,
    StreamSummary,
    TakenObject,
    WatermarkSummary,
    rows_by_fate,
)


def time_text(time: int | None) -> str | None:
    """A time as ISO 8601 text, cut to the years 1 to 9999; None stays None."""
    return None if time is None else format_time(within_years(time))


def batch_summary(record: BatchRecord) -> BatchSummary:
    """Counts of one micro-batch."""
    fates, reasons = total(record.accounts)
    return {
        "batch_id": record.batch_id,
        "rows": sum(fates.values()),
        **rows_by_fate(fates),
        "by_reason": {str(reason): count for reason, count in reasons.items()},
        "objects": record.objects,
        "bytes": record.bytes,
        "seconds": round(sum(value for phase, value in record.timings.items() if phase == "judging"), 3),
    }


def watermarks_summary(states: States, combined: Mapping[str, Combined]) -> dict[str, WatermarkSummary]:
    """By source, the combined watermark and the watermark of each partition."""
    found: dict[str, WatermarkSummary] = {}
    for source, value in combined.items():
        known = sorted((part, state) for (name, part), state in states.items() if name == source and part != UNKNOWN)
        found[source] = {
            "watermark": time_text(value.watermark),
            "complete": value.complete,
            "partitions": {part: time_text(state.watermark) for part, state in known[:LONGEST_LIST]},
        }
        if len(known) > LONGEST_LIST:
            found[source]["truncated"] = True
    return found


def stream_summary(end: StreamEnd) -> StreamSummary:
    """Results of a run for one stream."""
    return {
        "rows": end.rows,
        "outside": end.outside,
        "dead_letters": end.dead_letters,
        "watermark": time_text(end.state.watermark),
        "complete": end.state.complete,
    }


def finding_summary(finding: Finding) -> FindingSummary:
    """One finding."""
    return {
        "source": finding.source,
        "partition": finding.partition,
        "type": finding.type.value,
        "count": finding.count,
        "message": finding.message,
    }


def check_summary(check: Check) -> CheckSummary:
    """Result of one check."""
    return {
        "table": check.table,
        "expectation": check.expectation,
        "observed": check.observed,
        "limit": check.limit,
        "success": check.success,
        "severity": check.severity.value,
        "examples": check.examples,
        "message": check.message,
    }


def validation(errors: Iterable[Problem], warnings: Iterable[Problem]) -> ValidateRecord:
    """Result of checking a configuration; it is valid without errors."""
    found = [problem_summary(problem) for problem in errors]
    return {"valid": not found, "errors": found, "warnings": [problem_summary(each) for each in warnings]}


def problem_summary(problem: Problem) -> ProblemRecord:
    """One problem of a configuration."""
    return {"file": problem.file, "key": problem.key, "message": problem.message}


def plan_summary(
    objects: Sequence[LandedObject], as_of: int, batches: int, findings: Sequence[Finding], notes: Sequence[str]
) -> PlanRecord:
    """The objects that a run would take."""
    shown: list[TakenObject] = [
        {"source": item.source, "uri": item.uri, "size": item.size, "modified": format_time(item.modified)}
        for item in objects[:LONGEST_LIST]
    ]
    return {
        "run_id": None,
        "as_of": format_time(as_of),
        "dry_run": True,
        "objects": len(objects),
        "bytes": sum(item.size for item in objects),
        "micro_batches": batches,
        "would_take": shown,
        "truncated": len(objects) > LONGEST_LIST,
        "diagnostics": [finding_summary(finding) for finding in findings[:LONGEST_LIST]],
        "batches": [],
        "watermarks": {},
        "streams": {},
        "quality": [],
        "notes": list(notes),
    }


def run_summary(
    records: Sequence[BatchRecord],
    states: States,
    findings: Sequence[Finding],
    notes: Sequence[str],
    checks: Sequence[Check],
) -> RunSummary:
    """Results of a run."""
    last = records[-1]
    return {
        "run_id": last.run_id,
        "as_of": format_time(last.as_of),
        "batches": [batch_summary(record) for record in records[:LONGEST_LIST]],
        "truncated": len(records) > LONGEST_LIST,
        "watermarks": watermarks_summary(states, last.combined),
        "streams": {name: stream_summary(end) for name, end in last.streams.items()},
        "quality": [check_summary(check) for check in checks[:LONGEST_LIST]],
        "objects": sum(record.objects for record in records),
        "bytes": sum(record.bytes for record in records),
        "diagnostics": [finding_summary(finding) for finding in findings[:LONGEST_LIST]],
        "notes": list(notes),
        "chain": last.chain,
    }
