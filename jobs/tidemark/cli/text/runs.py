"""Texts of the records of commands that act: the objects taken, the results, and the next commands."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from tidemark.report.words import counted

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tidemark.records.failures import ProblemRecord, ValidateRecord
    from tidemark.records.rows import ExportRecord, PathRecord
    from tidemark.records.runs import (
        BatchSummary,
        CheckSummary,
        FindingSummary,
        MaintainRecord,
        MaintenancePlan,
        PlanRecord,
        ReleaseRecord,
        ReplayRecord,
        RunRecord,
        RunSummary,
        StreamSummary,
        WatermarkSummary,
    )

FATES = ("on_time", "adjusted", "dropped", "quarantined")
LONGEST_TABLE = 20
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def run_text(config: Path) -> Callable[[RunRecord], RenderableType]:
    """Text of the record of a run, or of a close, of this configuration."""
    return lambda record: _lines(
        _taken(record), _verified(record), *_results(record, [*_changes(record)]), _next_commands(record, config)
    )


def release_text(config: Path) -> Callable[[ReleaseRecord], RenderableType]:
    """Text of a release: the run is published, and its results."""
    return lambda record: _lines(
        f"Run {record['run_id']} is released.",
        _taken(record),
        *_results(record, record["notes"]),
        _next_commands(record, config),
    )


def _results(record: RunSummary, noted: Sequence[str]) -> Iterator[RenderableType | None]:
    """Counts, watermarks and findings of a run, with what is `noted` about it."""
    yield _batches(record["batches"])
    yield _reasons(record["batches"])
    yield _watermarks(record["watermarks"])
    yield _streams(record["streams"])
    yield _listed("Noted", noted)
    yield _diagnostics(record["diagnostics"])
    yield _quality(record["quality"])


def _quality(checks: Sequence[CheckSummary]) -> RenderableType | None:
    """Number of checks that held, and each check that failed."""
    failed = [check for check in checks if not check["success"]]
    if not failed:
        return f"Quality: all {counted(len(checks), 'check')} held." if checks else None
    return _listed(
        f"Quality: {len(failed):,} of {counted(len(checks), 'check')} failed", [_check(each) for each in failed]
    )


def _check(check: CheckSummary) -> str:
    limit = "" if check["limit"] is None else f", limit {check['limit']:g}"
    rows = f", such as {', '.join(check['examples'])}" if check["examples"] else ""
    seen = " failed" if check["observed"] is None else f" is {check['observed']:g}{limit}"
    return f"{check['table']}: {check['expectation']}{seen}{rows}. {check['message']}"


def maintain_text(record: MaintainRecord | MaintenancePlan) -> RenderableType:
    """Text of maintenance that was done or, in a dry run, would be done."""
    if record["dry_run"] is False:
        seconds = record["merged_seconds"]
        merged = "No run is committed: nothing to merge" if seconds is None else f"Merged in {seconds:.1f} s"
        return _lines(
            f"{merged}; unneeded files were looked for in {counted(record['vacuumed_tables'], 'table', 's')}."
        )
    table = table_of("table", "files>", "small>", "unneeded>")
    for name, found in record["tables"].items():
        numbers = (found["files"], found["small_files"], found["unneeded_files"])
        table.add_row(name, *(f"{number:,}" for number in numbers))
    return _lines("Nothing was changed. Small files would be merged, unneeded ones deleted:", table)


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
        return _lines(
            taken if objects else f"Nothing has landed that a run as of {record['as_of']} would take.",
            table if objects else None,
            f"... and {more:,} more" if more else None,
            _diagnostics(record["diagnostics"]),
            f"Next: tidemark run {_quoted(config)}" if objects else None,
        )

    return text


def replay_text(record: ReplayRecord) -> RenderableType:
    """Text of a replay: the number of equal batches, and for the others what differs."""
    batches = record["batches"]
    differing = [batch for batch in batches if not batch["identical"]]
    inputs = Counter(batch["input"] for batch in batches)
    source = ", ".join(f"{count:,} from {name}" for name, count in inputs.items())
    verdict = f"{len(differing):,} of them DIFFER from what is recorded." if differing else "All are identical."
    return _lines(
        f"Computed {counted(len(batches), 'batch', 'es')} again ({source}). {verdict}",
        f"Note: {record['rebuilt']}." if record["rebuilt"] else None,
        *(_listed(f"Batch {batch['batch_id']}", batch["differences"]) for batch in differing[:LONGEST_TABLE]),
        _listed("The engine is not the one that was recorded", record["engine_changed"]),
    )


def validate_text(config: Path) -> Callable[[ValidateRecord], RenderableType]:
    """Text of a validation: errors of a configuration, and settings that are legal but rarely meant."""

    def text(record: ValidateRecord) -> RenderableType:
        errors, warnings = record["errors"], record["warnings"]
        counts = f"{counted(len(errors), 'error')}, {counted(len(warnings), 'warning')}"
        return _lines(
            _problems("error", errors),
            _problems("warning", warnings),
            f"{config} can't be used: {counts}." if errors else f"{config} is valid ({counts}).",
            None if errors else f"Next: tidemark run {_quoted(config)} --dry-run",
        )

    return text


def path_text(record: PathRecord) -> RenderableType:
    """The folder alone, for use in other commands."""
    return record["path"]


def report_text(record: PathRecord) -> RenderableType:
    """Text that names the path of the page."""
    return f"Wrote {record['path']}: open it in a browser; it needs no network."


def export_text(target: Path) -> Callable[[ExportRecord], RenderableType]:
    """Text that says how many rows were written, and where."""
    return lambda record: f"Wrote {counted(record['rows'], 'row')} to {target}."


def size_text(size: int) -> str:
    """A size in bytes in the largest unit in which it is at least 1."""
    amount, unit = float(size), 0
    while amount >= 1024 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{amount:.1f} {_UNITS[unit]}" if unit else f"{size} B"


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
    return _lines(
        "This run is committed already; it was verified and nothing was changed.", replay_text(record["verified"])
    )


def _batches(batches: Sequence[BatchSummary]) -> Table | None:
    batches = [batch for batch in batches if batch["rows"]]
    if not batches:
        return None
    table = table_of("batch", "rows>", "on time>", "adjusted>", "dropped>", "quarantined>")
    left_out = len(batches) - LONGEST_TABLE
    for batch in batches[:LONGEST_TABLE]:
        table.add_row(str(batch["batch_id"]), *_numbers([batch]))
    if left_out > 0:
        table.add_row(f"{left_out:,} more", *_numbers(batches[LONGEST_TABLE:]))
    if len(batches) > 1:
        table.add_section()
        table.add_row("all", *_numbers(batches), style="bold")
    return table


def _numbers(batches: Sequence[BatchSummary]) -> list[str]:
    """Sums over batches: all rows, then by fate in the order of FATES."""
    counts = ((b["rows"], b["on_time"], b["adjusted"], b["dropped"], b["quarantined"]) for b in batches)
    return [f"{sum(column):,}" for column in zip(*counts, strict=True)]


def _reasons(batches: Sequence[BatchSummary]) -> RenderableType | None:
    reasons: Counter[str] = Counter()
    for batch in batches:
        reasons.update(batch["by_reason"])
    found = [f"{reason} {count:,}" for reason, count in reasons.most_common() if count]
    return f"Reasons: {', '.join(found)}" if found else None


def _watermarks(sources: Mapping[str, WatermarkSummary]) -> Table | None:
    """One line a partition; the combined watermark, which all have passed, is first."""
    if not sources:
        return None
    table = table_of("source", "partition", "watermark")
    for name, source in sources.items():
        partitions = source["partitions"]
        combined = "complete" if source["complete"] else source["watermark"]
        table.add_row(name, "all" if len(partitions) != 1 else next(iter(partitions)), combined or "none yet")
        if len(partitions) > 1:
            for partition, watermark in list(partitions.items())[:LONGEST_TABLE]:
                table.add_row("", partition, watermark or "none yet")
        if len(partitions) > LONGEST_TABLE:
            table.add_row("", f"{len(partitions) - LONGEST_TABLE:,} more", "see `tidemark status`")
    return table


def _streams(streams: Mapping[str, StreamSummary]) -> Table | None:
    """One line a stream: the rows that the run wrote, and the stream's progress."""
    if not streams:
        return None
    table = table_of("stream", "rows written>", "in no window>", "dead letters>", "watermark")
    for name, stream in list(streams.items())[:LONGEST_TABLE]:
        numbers = (stream["rows"], stream["outside"], stream["dead_letters"])
        counts = (f"{number:,}" if number else "-" for number in numbers)
        table.add_row(name, *counts, "complete" if stream["complete"] else stream["watermark"] or "none yet")
    return table


def _changes(record: RunRecord) -> Iterator[str]:
    for run in record["repaired"]:
        yield f"run {run} had been interrupted; it was finished first"
    yield from record["notes"]
    if seconds := record.get("compacted_seconds"):
        yield f"small files were compacted in {seconds:.1f} s; no data changed"


def _diagnostics(findings: Sequence[FindingSummary]) -> Table | None:
    if not findings:
        return None
    table = table_of("finding", "source", "partition", "count>", "what it means")
    for finding in findings[:LONGEST_TABLE]:
        count = str(finding["count"] or "")
        table.add_row(finding["type"], finding["source"], finding["partition"] or "", count, finding["message"])
    if len(findings) > LONGEST_TABLE:
        table.add_row(f"{len(findings) - LONGEST_TABLE:,} more", "", "", "", "in the table `diagnostics`")
    return table


def _next_commands(record: RunSummary, config: Path) -> RenderableType:
    table = Table.grid(padding=(0, 3))
    name = _quoted(config)
    meanings = {"dropped": "the rows that were dropped, and why", "quarantined": "the rows that could not be judged"}
    batches = record["batches"]
    found = {"dropped": any(b["dropped"] for b in batches), "quarantined": any(b["quarantined"] for b in batches)}
    for fate, meaning in meanings.items():
        if found[fate]:
            table.add_row("Next:" if not table.row_count else "", f"tidemark rows {name} --fate {fate}", meaning)
    status = f"tidemark status {name}"
    table.add_row("Next:" if not table.row_count else "", status, "how far each partition has come")
    return table


def _problems(kind: str, problems: Sequence[ProblemRecord]) -> RenderableType | None:
    lines = [f"{kind}: {p['file']}: {p['key']}: {p['message']}".replace(": : ", ": ") for p in problems]
    return "\n".join(lines) or None


def _listed(title: str, lines: Iterable[str]) -> RenderableType | None:
    found = list(lines)
    return "\n".join([f"{title}:", *(f"  - {line}" for line in found)]) if found else None


def _objects(record: RunSummary | PlanRecord) -> str:
    return f"{counted(record['objects'], 'object')} ({size_text(record['bytes'])})"


def _quoted(config: Path) -> str:
    return shlex.quote(str(config))


def table_of(*columns: str) -> Table:
    """A table with these column headings; a column whose name ends in `>` holds numbers."""
    table = Table(box=None, padding=(0, 2), pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column.rstrip(">"), justify="right" if column.endswith(">") else "left")
    return table


def _lines(*parts: RenderableType | None) -> Group:
    """The parts that are not None, with an empty line between them."""
    found = [Text(part) if isinstance(part, str) else part for part in parts if part is not None]
    spaced: list[RenderableType] = []
    for part in found:
        spaced += [Text(""), part] if spaced else [part]
    return Group(*spaced)
