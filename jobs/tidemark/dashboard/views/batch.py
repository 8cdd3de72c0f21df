"""One batch: its counts, its digests, and its rows of a fate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidemark.commands.dashboard.batch_rows import BatchRows
from tidemark.commands.dashboard.paged import ListPage, page_of
from tidemark.core.batch_result import BatchRecord, Finding, total
from tidemark.core.policy import Fate
from tidemark.dashboard.asked import Moved
from tidemark.dashboard.links import Links, link
from tidemark.dashboard.shell import Page, form, paged, pager, quiet, select
from tidemark.dashboard.views.states import Standing, badge, state_of
from tidemark.records.rows import ListedRow
from tidemark.records.runs import rows_by_fate
from tidemark.report.page.charts.vega import words
from tidemark.report.page.fates import HEADS, cards, fate_cells
from tidemark.report.page.markup import Amount, Cell, Html, element, paragraph, section, table
from tidemark.report.page.records import engine
from tidemark.report.words import counted, duration, iso, moment, moment_of

DIGITS = 16
_MOST = 200
_HEADS = ("row", "arrival", "event time", "late by", "given time", "moved by", "reasons", "file")


def batch(
    name: str,
    record: BatchRecord,
    findings: Sequence[Finding],
    standing: Standing,
    asked: Moved,
    moved: BatchRows | None,
    links: Links,
) -> Page:
    """Return the page of one batch: counts, digests, and the rows of a fate."""
    data = batch_data(record, standing)
    of = link(record.run_id, links.pipeline(name, "runs", record.run_id))
    state = badge(state_of(record.status, standing))
    inner = (
        paragraph("Of run ", of, f", as of {moment(record.as_of)}: ", state),
        cards(data),
        _rows(name, record, asked, moved, links),
        _counts(record),
        *_findings(findings),
        _digests(record),
    )
    data |= {"findings": [_finding(each) for each in findings], "digests": _digest_data(record)}
    if moved is not None:
        data |= {
            "fate": asked.fate,
            "found": moved.rows,
            "kept": moved.found if moved.whole else None,
            **paged(page_of_rows(record, asked)),
        }
    return Page(f"{name}: batch {record.batch_id:,}", inner, data=data)


def batch_data(record: BatchRecord, standing: Standing) -> dict[str, Any]:
    """Return a batch as JSON: its run, its state and its rows by fate."""
    fates, reasons = total(record.accounts)
    return {
        "batch_id": record.batch_id,
        "run_id": record.run_id,
        "as_of": iso(record.as_of),
        "state": state_of(record.status, standing),
        "objects": record.objects,
        "rows": sum(fates.values()),
        **rows_by_fate(fates),
        "by_reason": {str(reason): count for reason, count in reasons.items()},
    }


def _finding(each: Finding) -> dict[str, Any]:
    return {
        "source": each.source,
        "partition": each.partition,
        "type": each.type.value,
        "count": each.count,
        "message": each.message,
    }


def _digest_data(record: BatchRecord) -> list[dict[str, Any]]:
    return [{"table": each.table, "rows": each.rows, "digest": each.digest} for each in record.digests]


def rows_of(record: BatchRecord, fate: Fate) -> int:
    """Return the number of a batch's rows with a fate, as the ledger counts them."""
    return sum(account.fates.get(fate, 0) for account in record.accounts)


def page_of_rows(record: BatchRecord, asked: Moved, rows: Sequence[ListedRow] = ()) -> ListPage[ListedRow]:
    """Return the requested page of rows; without a fate the list is empty."""
    return page_of(rows, asked.page, 0 if asked.fate is None else rows_of(record, asked.fate))


def _rows(name: str, record: BatchRecord, asked: Moved, moved: BatchRows | None, links: Links) -> Html:
    here = links.pipeline(name, "batches", record.batch_id)
    counts = {fate.value: f"{words(fate)} ({rows_of(record, fate):,})" for fate in Fate}
    inner = [form(here, select("fate", "Rows that were", counts, asked.fate, "not listed"), button="Show")]
    if moved is not None and asked.fate is not None:
        shown = page_of_rows(record, asked, moved.rows)
        lines = [_line(name, row, links) for row in moved.rows]
        inner += [table("rows", *_filled(lines))] * bool(lines)
        if moved.whole and moved.found < shown.total:
            inner.append(quiet(f"The events table still has {counted(moved.found, 'row')} of {shown.total:,}."))
        more = f"{words(asked.fate)} row"
        inner.append(pager(shown, links.pipeline(name, "batches", record.batch_id, fate=asked.fate), more))
    return section("moved", "Rows", *inner)


def _line(name: str, row: ListedRow, links: Links) -> list[Cell | Html]:
    asked = {"source": row["source"], "partition": row["partition"], "offset": row["offset"]}
    return [
        link(f"{row['source']}, {row['partition']}, {row['offset']:,}", links.pipeline(name, "row", **asked)),
        moment_of(row["arrival_time"]),
        moment_of(row["event_time"]),
        None if row["lag_micros"] is None else Amount(duration(row["lag_micros"])),
        moment_of(row["system_timestamp"]),
        Amount.of(row["moved_by"]),
        ", ".join(row["reasons"]).replace("_", " "),
        element("span", row["file"], class_="long") if row["file"] else None,
    ]


def _filled(lines: Sequence[list[Cell | Html]]) -> tuple[list[str], list[list[Cell | Html]]]:
    """Return the headings and the lines without columns that are empty in all lines."""
    shown = [column for column in range(len(_HEADS)) if any(line[column] not in (None, "") for line in lines)]
    return [_HEADS[column] for column in shown], [[line[column] for column in shown] for line in lines]


def _counts(record: BatchRecord) -> Html:
    heads = ("source", "partition", *HEADS)
    rows: list[list[Cell | Html]] = [
        [account.source, account.partition, *fate_cells(account.fates)] for account in record.accounts[:_MOST]
    ]
    more = len(record.accounts) - len(rows)
    note = [quiet(f"{more:,} more partitions are not listed.")] * (more > 0)
    return section("counts", "By partition", table("counts-table", heads, rows), *note)


def _findings(findings: Sequence[Finding]) -> list[Html]:
    if not findings:
        return []
    heads = ("type", "source", "partition", "count", "what it says")
    rows = [
        (each.type.value, each.source, each.partition, each.count, element("span", each.message, class_="long"))
        for each in findings[:_MOST]
    ]
    return [section("findings", "Diagnostics", table("findings-table", heads, rows))]


def _digests(record: BatchRecord) -> Html:
    text = (
        "What the batch wrote to each table has a digest; a replay of the batch computes it again and compares. "
        f"Configuration {record.fingerprint[:DIGITS]}; engine: {engine(record.engine)}."
    )
    rows = [(each.table, each.rows, element("code", each.digest[:DIGITS])) for each in record.digests]
    heads = ("table", "rows", f"digest, first {DIGITS} digits")
    inner = [table("digests", heads, rows)] if rows else [paragraph("None: the batch has not been committed.")]
    return section("proof", "Digests", paragraph(text), *inner)
