"""Texts of the records of commands that act: the objects taken, the results, and the next commands."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from tidemark.report.words import counted

if TYPE_CHECKING:
    from rich.console import RenderableType

FATES = ("on_time", "adjusted", "dropped", "quarantined")
LONGEST_TABLE = 20
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")

Record = Mapping[str, Any]


def run_text(config: Path) -> Callable[[Record], RenderableType]:
    """Text of the record of a run, or of a close, of this configuration."""
    return lambda record: _lines(
        _taken(record),
        _verified(record),
        _batches(record["batches"]),
        _reasons(record["batches"]),
        _watermarks(record["watermarks"]),
        _streams(record["streams"]),
        _listed("Noted", [*_changes(record)]),
        _diagnostics(record.get("diagnostics", [])),
        _quality(record["quality"]),
        _next_commands(record, config),
    )


def release_text(config: Path) -> Callable[[Record], RenderableType]:
    """Text of a release: the run is published, and its results."""
    told = run_text(config)
    return lambda record: _lines(f"Run {record['run_id']} is released.", told(record))


def _quality(checks: Sequence[Record]) -> RenderableType | None:
    """Number of checks that held, and each check that failed."""
    failed = [check for check in checks if not check["success"]]
    if not failed:
        return f"Quality: all {counted(len(checks), 'check')} held." if checks else None
    return _listed(
        f"Quality: {len(failed):,} of {counted(len(checks), 'check')} failed", [_check(each) for each in failed]
    )


def _check(check: Record) -> str:
    limit = "" if check["limit"] is None else f", limit {check['limit']:g}"
    rows = f", such as {', '.join(check['examples'])}" if check["examples"] else ""
    seen = " failed" if check["observed"] is None else f" is {check['observed']:g}{limit}"
    return f"{check['table']}: {check['expectation']}{seen}{rows}. {check['message']}"


def maintain_text(record: Record) -> RenderableType:
    """Text of maintenance that was done or, in a dry run, would be done."""
    if not record["dry_run"]:
        seconds = record["merged_seconds"]
        merged = "No run is committed: nothing to merge" if seconds is None else f"Merged in {seconds:.1f} s"
        return _lines(
            f"{merged}; unneeded files were looked for in {counted(record['vacuumed_tables'], 'table', 's')}."
        )
    table = table_of("table", "files>", "small>", "unneeded>")
    for name, found in record["tables"].items():
        table.add_row(name, *(f"{found[key]:,}" for key in ("files", "small_files", "unneeded_files")))
    return _lines("Nothing was changed. Small files would be merged, unneeded ones deleted:", table)


def plan_text(config: Path) -> Callable[[Record], RenderableType]:
    """Text of a dry run: the objects that a run of this configuration would take."""

    def text(record: Record) -> RenderableType:
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
            _diagnostics(record.get("diagnostics", [])),
            f"Next: tidemark run {_quoted(config)}" if objects else None,
        )

    return text


def replay_text(record: Record) -> RenderableType:
    """Text of a replay: the number of equal batches, and for the others what differs."""
    batches = record["batches"]
    differing = [batch for batch in batches if not batch["identical"]]
    inputs = Counter(batch["input"] for batch in batches)
    source = ", ".join(f"{count:,} from {name}" for name, count in inputs.items())
    verdict = f"{len(differing):,} of them DIFFER from what is recorded." if differing else "All are identical."
    changed = record.get("engine_changed") or []
    return _lines(
        f"Computed {counted(len(batches), 'batch', 'es')} again ({source}). {verdict}",
        f"Note: {record['rebuilt']}." if record.get("rebuilt") else None,
        *(_listed(f"Batch {batch['batch_id']}", batch["differences"]) for batch in differing[:LONGEST_TABLE]),
        _listed("The engine is not the one that was recorded", [changed] if isinstance(changed, str) else changed),
    )


def validate_text(config: Path) -> Callable[[Record], RenderableType]:
    """Text of a validation: errors of a configuration, and settings that are legal but rarely meant."""

    def text(record: Record) -> RenderableType:
        errors, warnings = record["errors"], record["warnings"]
        counts = f"{counted(len(errors), 'error')}, {counted(len(warnings), 'warning')}"
        return _lines(
            _problems("error", errors),
            _problems("warning", warnings),
            f"{config} can't be used: {counts}." if errors else f"{config} is valid ({counts}).",
            None if errors else f"Next: tidemark run {_quoted(config)} --dry-run",
        )

    return text


def path_text(record: Record) -> RenderableType:
    """The folder alone, for use in other commands."""
    return str(record["path"])


def report_text(record: Record) -> RenderableType:
    """Text that names the path of the page."""
    return f"Wrote {record['path']}: open it in a browser; it needs no network."


def export_text(target: Path) -> Callable[[Record], RenderableType]:
    """Text that says how many rows were written, and where."""
    return lambda record: f"Wrote {counted(record['rows'], 'row')} to {target}."


def size_text(size: int) -> str:
    """A size in bytes in the largest unit in which it is at least 1."""
    amount, unit = float(size), 0
    while amount >= 1024 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{amount:.1f} {_UNITS[unit]}" if unit else f"{size} B"


def _taken(record: Record) -> str:
    rows = sum(batch["rows"] for batch in record["batches"])
    name = f"Run {record['run_id']}, as of {record['as_of']}"
    if not record.get("objects"):
        return f"{name}: nothing new had landed."
    batches = counted(len(record["batches"]), "micro-batch", "es")
    return f"{name}: {counted(rows, 'row')} of {_objects(record)}, judged in {batches}."


def _verified(record: Record) -> RenderableType | None:
    if "verified" not in record:
        return None
    return _lines(
        "This run is committed already; it was verified and nothing was changed.", replay_text(record["verified"])
    )


def _batches(batches: Sequence[Record]) -> Table | None:
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


def _numbers(batches: Sequence[Record]) -> list[str]:
    return [f"{sum(batch[key] for batch in batches):,}" for key in ("rows", *FATES)]


def _reasons(batches: Sequence[Record]) -> RenderableType | None:
    reasons: Counter[str] = Counter()
    for batch in batches:
        reasons.update(batch["by_reason"])
    found = [f"{reason} {count:,}" for reason, count in reasons.most_common() if count]
    return f"Reasons: {', '.join(found)}" if found else None


def _watermarks(sources: Record) -> Table | None:
    """One line a partition; the combined watermark, which all have passed, is first."""
    if not sources:
        return None
    table = table_of("source", "partition", "watermark")
    for name, source in sources.items():
        partitions = source.get("partitions", {})
        combined = "complete" if source.get("complete") else source["watermark"]
        table.add_row(name, "all" if len(partitions) != 1 else next(iter(partitions)), combined or "none yet")
        if len(partitions) > 1:
            for partition, watermark in list(partitions.items())[:LONGEST_TABLE]:
                table.add_row("", partition, watermark or "none yet")
        if len(partitions) > LONGEST_TABLE:
            table.add_row("", f"{len(partitions) - LONGEST_TABLE:,} more", "see `tidemark status`")
    return table


def _streams(streams: Record) -> Table | None:
    """One line a stream: the rows that the run wrote, and the stream's progress."""
    if not streams:
        return None
    table = table_of("stream", "rows written>", "in no window>", "dead letters>", "watermark")
    for name, stream in list(streams.items())[:LONGEST_TABLE]:
        counts = (f"{stream[key]:,}" if stream[key] else "-" for key in ("rows", "outside", "dead_letters"))
        table.add_row(name, *counts, "complete" if stream["complete"] else stream["watermark"] or "none yet")
    return table


def _changes(record: Record) -> Iterable[str]:
    for run in record.get("repaired") or []:
        yield f"run {run} had been interrupted; it was finished first"
    yield from record.get("notes", [])
    if record.get("compacted_seconds"):
        yield f"small files were compacted in {record['compacted_seconds']:.1f} s; no data changed"


def _diagnostics(findings: Sequence[Record]) -> Table | None:
    if not findings:
        return None
    table = table_of("finding", "source", "partition", "count>", "what it means")
    for finding in findings[:LONGEST_TABLE]:
        table.add_row(*(str(finding.get(key) or "") for key in ("type", "source", "partition", "count", "message")))
    if len(findings) > LONGEST_TABLE:
        table.add_row(f"{len(findings) - LONGEST_TABLE:,} more", "", "", "", "in the table `diagnostics`")
    return table


def _next_commands(record: Record, config: Path) -> RenderableType:
    table = Table.grid(padding=(0, 3))
    name = _quoted(config)
    meanings = {"dropped": "the rows that were dropped, and why", "quarantined": "the rows that could not be judged"}
    for fate, meaning in meanings.items():
        if any(batch[fate] for batch in record["batches"]):
            table.add_row("Next:" if not table.row_count else "", f"tidemark rows {name} --fate {fate}", meaning)
    status = f"tidemark status {name}"
    table.add_row("Next:" if not table.row_count else "", status, "how far each partition has come")
    return table


def _problems(kind: str, problems: Sequence[Record]) -> RenderableType | None:
    lines = [f"{kind}: {p['file']}: {p['key']}: {p['message']}".replace(": : ", ": ") for p in problems]
    return "\n".join(lines) or None


def _listed(title: str, lines: Iterable[str]) -> RenderableType | None:
    found = list(lines)
    return "\n".join([f"{title}:", *(f"  - {line}" for line in found)]) if found else None


def _objects(record: Record) -> str:
    return f"{counted(record['objects'], 'object')} ({size_text(record.get('bytes', 0))})"


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
