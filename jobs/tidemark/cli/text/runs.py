"""Texts of the records of commands that act: the objects taken, the results, and the next commands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from tidemark.cli.output import Verbatim
from tidemark.cli.text.layout import LONGEST_TABLE, listed, paragraphs, size_text, table_of
from tidemark.cli.text.run_results import findings_table, results
from tidemark.cli.text.why import run_cause
from tidemark.core.shell import command
from tidemark.report.text import unread
from tidemark.report.words import counted

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tidemark.pipeline import Pipeline
    from tidemark.records.failures import ProblemRecord, ValidateRecord
    from tidemark.records.rows import ExportRecord, PathRecord
    from tidemark.records.runs import (
        MaintainRecord,
        MaintenancePlan,
        PlanRecord,
        ReleaseRecord,
        ReplayedBatch,
        ReplayRecord,
        RunRecord,
        RunSummary,
    )


def run_text(config: Path, pipeline: Pipeline) -> Callable[[RunRecord], RenderableType]:
    """Text of the record of a run, or of a close, of this configuration."""
    return lambda record: paragraphs(
        _taken(record),
        _verified(record),
        run_cause(pipeline, record),
        *results(record, [*_changes(record)]),
        _next_commands(record, config),
    )


def release_text(config: Path) -> Callable[[ReleaseRecord], RenderableType]:
    """Text of a release: the run is published, and its results."""
    return lambda record: paragraphs(
        f"Run {record['run_id']} is released.",
        _taken(record),
        *results(record, record["notes"]),
        _next_commands(record, config),
    )


def maintain_text(record: MaintainRecord | MaintenancePlan) -> RenderableType:
    """Text of maintenance that was done or, in a dry run, would be done."""
    if record["dry_run"] is False:
        seconds = record["merged_seconds"]
        merged = "No run is committed: nothing to merge" if seconds is None else f"Merged in {seconds:.1f} s"
        return paragraphs(
            f"{merged}; unneeded files were looked for in {counted(record['vacuumed_tables'], 'table', 's')}."
        )
    table = table_of("table", "files>", "small>", "unneeded>")
    for name, found in record["tables"].items():
        numbers = (found["files"], found["small_files"], found["unneeded_files"])
        table.add_row(name, *(f"{number:,}" for number in numbers))
    return paragraphs("Nothing was changed. Small files would be merged, unneeded ones deleted:", table)


def plan_text(config: Path) -> Callable[[PlanRecord], RenderableType]:
    """Text of a dry run: the objects that a run of this configuration would take."""

    def text(record: PlanRecord) -> RenderableType:
        objects = record["would_take"]
        table = table_of("source", "object", "size>", "landed")
        for item in objects[:LONGEST_TABLE]:
            table.add_row(item["source"], item["uri"], size_text(item["size"]), item["modified"])
        batches = counted(record["micro_batches"], "micro-batch", "es")
        taken = f"A run as of {record['as_of']} would take {_objects(record)} in {batches}; nothing was changed."
        more = record["objects"] - min(len(objects), LONGEST_TABLE)
        return paragraphs(
            taken if objects else f"Nothing has landed that a run as of {record['as_of']} would take.",
            table if objects else None,
            f"... and {more:,} more" if more else None,
            findings_table(record["diagnostics"]),
            *record["notes"],
            f"Next: {command('run', config)}" if objects else None,
        )

    return text


def replay_text(record: ReplayRecord) -> RenderableType:
    """Text of a replay: the number of equal batches, and the differences of the others."""
    batches = record["batches"]
    differing = [batch for batch in batches if batch["identical"] is False]
    partly = [batch for batch in batches if batch["not_compared"]]
    inputs = Counter(batch["input"] for batch in batches)
    source = ", ".join(f"{count:,} from {name}" for name, count in inputs.items())
    verdict = f"{len(differing):,} of them DIFFER from what is recorded." if differing else "All are identical."
    if partly and not differing:
        verdict = "Nothing differs." if len(partly) == len(batches) else "The others are identical."
        verdict = f"{len(partly):,} of them could not be compared in full. {verdict}"
    return paragraphs(
        f"Computed {counted(len(batches), 'batch', 'es')} again ({source}). {verdict}",
        f"Note: {record['rebuilt']}." if record["rebuilt"] else None,
        *(listed(f"Batch {batch['batch_id']}", batch["differences"]) for batch in differing[:LONGEST_TABLE]),
        *(_not_compared(batch) for batch in partly[:LONGEST_TABLE]),
        listed("The engine is not the one that was recorded", record["engine_changed"]),
    )


def _not_compared(batch: ReplayedBatch) -> RenderableType | None:
    return listed(f"Batch {batch['batch_id']}, not compared", batch["not_compared"])


def validate_text(config: Path) -> Callable[[ValidateRecord], RenderableType]:
    """Text of a validation: errors of a configuration, and settings that are legal but rarely meant."""

    def text(record: ValidateRecord) -> RenderableType:
        errors, warnings = record["errors"], record["warnings"]
        counts = f"{counted(len(errors), 'error')}, {counted(len(warnings), 'warning')}"
        return paragraphs(
            _problems("error", errors),
            _problems("warning", warnings),
            f"{config} can't be used: {counts}." if errors else f"{config} is valid ({counts}).",
            None if errors else f"Next: {command('run', config, options=('--dry-run',))}",
        )

    return text


def _problems(kind: str, problems: Sequence[ProblemRecord]) -> RenderableType | None:
    lines = [f"{kind}: {p['file']}: {p['key']}: {p['message']}".replace(": : ", ": ") for p in problems]
    return "\n".join(lines) or None


def path_text(record: PathRecord) -> RenderableType:
    """The folder alone, for use in other commands."""
    return Verbatim(record["path"])


def report_text(record: PathRecord) -> RenderableType:
    """Text that names the path of the page."""
    return f"Wrote {record['path']}: open it in a browser; it needs no network."


def export_text(target: Path) -> Callable[[ExportRecord], RenderableType]:
    """Text that says how many rows were written, where, and which batches were not searched."""
    return lambda record: f"Wrote {counted(record['rows'], 'row')} to {target}. {unread(record)}".rstrip()


def _taken(record: RunSummary) -> str:
    rows = sum(batch["rows"] for batch in record["batches"])
    name = f"Run {record['run_id']}, as of {record['as_of']}"
    if not record["objects"]:
        return f"{name}: nothing new had landed."
    batches = counted(len(record["batches"]), "micro-batch", "es")
    return f"{name}: {counted(rows, 'row')} of {_objects(record)}, judged in {batches}."


def _verified(record: RunRecord) -> RenderableType | None:
    if "verified" not in record:
        return None
    return paragraphs(
        "This run is committed already; it was verified and nothing was changed.", replay_text(record["verified"])
    )


def _changes(record: RunRecord) -> Iterator[str]:
    for run in record["repaired"]:
        yield f"run {run} had been interrupted; it was finished first"
    yield from record["notes"]
    yield from record.get("names", ())
    if seconds := record.get("compacted_seconds"):
        yield f"small files were compacted in {seconds:.1f} s; no data changed"


def _next_commands(record: RunSummary, config: Path) -> RenderableType:
    table = Table.grid(padding=(0, 3))
    meanings = {"dropped": "the rows that were dropped, and why", "quarantined": "the rows that could not be judged"}
    batches = record["batches"]
    found = {"dropped": any(b["dropped"] for b in batches), "quarantined": any(b["quarantined"] for b in batches)}
    for fate, meaning in meanings.items():
        if found[fate]:
            table.add_row(
                "Next:" if not table.row_count else "", command("rows", config, options=("--fate", fate)), meaning
            )
    status = command("status", config)
    table.add_row("Next:" if not table.row_count else "", status, "how far each partition has come")
    return table


def _objects(record: RunSummary | PlanRecord) -> str:
    return f"{counted(record['objects'], 'object')} ({size_text(record['bytes'])})"
