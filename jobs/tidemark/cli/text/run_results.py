"""Text of the results of a run: counts, watermarks, streams, findings and checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from tidemark.cli.text.layout import LONGEST_TABLE, listed, table_of
from tidemark.core.quality import compared
from tidemark.report.words import counted

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tidemark.records.runs import (
        BatchSummary,
        CheckSummary,
        FindingSummary,
        RunSummary,
        StreamSummary,
        WatermarkSummary,
    )


def results(record: RunSummary, noted: Sequence[str]) -> Iterator[RenderableType | None]:
    """Counts, watermarks and findings of a run, and its notes (`noted`)."""
    yield _batches(record["batches"])
    yield _reasons(record["batches"])
    yield _watermarks(record["watermarks"])
    yield _streams(record["streams"])
    yield listed("Noted", noted)
    yield findings_table(record["diagnostics"])
    yield _quality(record["quality"])
    if record["chain"] is not None:
        yield f"Head of the chain of batches: {record['chain']}"


def _quality(checks: Sequence[CheckSummary]) -> RenderableType | None:
    """Number of checks that held, and each check that failed."""
    failed = [check for check in checks if not check["success"]]
    if not failed:
        return f"Quality: all {counted(len(checks), 'check')} held." if checks else None
    return listed(
        f"Quality: {len(failed):,} of {counted(len(checks), 'check')} failed", [_check(each) for each in failed]
    )


def _check(check: CheckSummary) -> str:
    rows = f", such as {', '.join(check['examples'])}" if check["examples"] else ""
    seen = compared(check["observed"], check["limit"])
    return f"{check['table']}: {check['expectation']}{seen}{rows}. {check['message']}"


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
    """Sums over batches: all rows, then by fate in the order of the columns."""
    counts = ((b["rows"], b["on_time"], b["adjusted"], b["dropped"], b["quarantined"]) for b in batches)
    return [f"{sum(column):,}" for column in zip(*counts, strict=True)]


def _reasons(batches: Sequence[BatchSummary]) -> RenderableType | None:
    reasons: Counter[str] = Counter()
    for batch in batches:
        reasons.update(batch["by_reason"])
    found = [f"{reason} {count:,}" for reason, count in reasons.most_common() if count]
    return f"Reasons: {', '.join(found)}" if found else None


def _watermarks(sources: Mapping[str, WatermarkSummary]) -> Table | None:
    """One line a partition, below a line for the combined watermark, which all partitions have passed."""
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
    if len(streams) > LONGEST_TABLE:
        table.add_row(f"{len(streams) - LONGEST_TABLE:,} more", "", "", "", "see `tidemark status`")
    return table


def findings_table(findings: Sequence[FindingSummary]) -> Table | None:
    """A table of findings; None if there are none."""
    if not findings:
        return None
    table = table_of("finding", "source", "partition", "count>", "what it means")
    for finding in findings[:LONGEST_TABLE]:
        count = str(finding["count"] or "")
        table.add_row(finding["type"], finding["source"], finding["partition"] or "", count, finding["message"])
    if len(findings) > LONGEST_TABLE:
        table.add_row(f"{len(findings) - LONGEST_TABLE:,} more", "", "", "", "in the table `diagnostics`")
    return table
