"""Runs and their batches with their verifications, and one batch with the rows of a fate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tidemark.commands.dashboard import ListPage
from tidemark.config.pipeline_files import dag_id
from tidemark.core.batch_result import BatchRecord, Finding, total
from tidemark.core.policy import Fate
from tidemark.dashboard.asked import Moved
from tidemark.dashboard.host import Verified
from tidemark.dashboard.links import Links, link
from tidemark.dashboard.shell import Page, form, pager, quiet, select
from tidemark.dashboard.views.overview import facts
from tidemark.records.rows import FoundRow, RowsRecord
from tidemark.report.page.charts.vega import words
from tidemark.report.page.markup import Cell, Html, element, paragraph, section, table
from tidemark.report.page.records import engine
from tidemark.report.words import moment, moment_of

DIGITS = 16
_MOST = 200
_VERIFIED = (
    "Verified is what DAG runs of this pipeline have found that were asked for it again, as far as Airflow remembers "
    "them. A replay from the command line writes nothing, so that it is not known here; to do one, use "
)


@dataclass(frozen=True)
class Around:
    """The host's records of the runs on a page, by run id."""

    runs: Mapping[str, str]
    verified: Mapping[str, Verified]


def runs(name: str, shown: ListPage[BatchRecord], around: Around, links: Links) -> Page:
    """Return the page of batches of all runs, newest first."""
    inner = (
        paragraph("Micro-batches, newest first; a run is made of one or more. All times are UTC."),
        _batches(name, shown.rows, around, links),
        pager(shown, links.pipeline(name, "runs"), "batch", "es"),
        _proof(),
    )
    return Page(f"{name}: runs", inner)


def run(name: str, run_id: str, shown: ListPage[BatchRecord], around: Around, links: Links) -> Page:
    """Return the page of one run."""
    newest = shown.rows[0] if shown.rows else None
    about = (
        []
        if newest is None
        else [paragraph(f"As of {moment(newest.as_of)} (UTC). ", *_where(name, run_id, around, links))]
    )
    inner = (
        *about,
        _batches(name, shown.rows, around, links),
        pager(shown, links.pipeline(name, "runs", run_id), "batch", "es"),
        _proof(),
    )
    return Page(f"{name}: run {run_id}", inner)


def _where(name: str, run_id: str, around: Around, links: Links) -> Iterator[object]:
    if run_id in around.runs:
        yield "In Airflow: "
        yield links.airflow(f"DAG run, {around.runs[run_id]}", "dags", dag_id(name), "runs", run_id)
        yield ". "
    verified = around.verified.get(run_id)
    if verified is None:
        yield "No DAG run has verified it."
    else:
        yield "Verified: "
        yield _verified(name, verified, links)
        yield "."


def _proof() -> Html:
    return paragraph(_VERIFIED, element("code", "tidemark replay CONFIG --run RUN"), ".", class_="quiet")


def _batches(name: str, shown: Sequence[BatchRecord], around: Around, links: Links) -> Html:
    heads = ("batch", "run", "as of", "status", "objects", "rows", *map(words, Fate), "verified", "in Airflow")
    return table("batches", heads, [_batch(name, record, around, links) for record in shown])


def _batch(name: str, record: BatchRecord, around: Around, links: Links) -> list[Cell | Html]:
    fates, _ = total(record.accounts)
    state, verified = around.runs.get(record.run_id), around.verified.get(record.run_id)
    return [
        link(f"{record.batch_id:,}", links.pipeline(name, "batches", record.batch_id)),
        link(record.run_id, links.pipeline(name, "runs", record.run_id)),
        moment(record.as_of),
        record.status,
        record.objects,
        sum(fates.values()),
        *(fates[fate] for fate in Fate),
        None if verified is None else _verified(name, verified, links),
        None if state is None else links.airflow(f"DAG run, {state}", "dags", dag_id(name), "runs", record.run_id),
    ]


def _verified(name: str, verified: Verified, links: Links) -> Html:
    found = {"success": "identical", "failed": "differs or failed"}.get(verified.state, verified.state)
    when = "" if verified.at is None else f", {verified.at:%Y-%m-%d %H:%M}"
    return links.airflow(f"{found}{when}", "dags", dag_id(name), "runs", verified.by)


def batch(
    name: str, record: BatchRecord, findings: Sequence[Finding], asked: Moved, moved: RowsRecord | None, links: Links
) -> Page:
    """Return the page of one batch: counts, digests, and the rows of a fate."""
    fates, _ = total(record.accounts)
    counts = {"rows": sum(fates.values()), **{fate.value: count for fate, count in fates.items()}}
    of = link(record.run_id, links.pipeline(name, "runs", record.run_id))
    inner = (
        paragraph("Of run ", of, f", as of {moment(record.as_of)} (UTC), {record.status}."),
        facts(counts),
        _moved(name, record, asked, moved, links),
        _counts(record),
        *_findings(findings),
        _digests(record),
    )
    return Page(f"{name}: batch {record.batch_id:,}", inner)


def _moved(name: str, record: BatchRecord, asked: Moved, moved: RowsRecord | None, links: Links) -> Html:
    here = links.pipeline(name, "batches", record.batch_id)
    choice = select("fate", "Rows that were", [fate.value for fate in Fate], asked.fate, "not listed")
    inner = [form(here, choice, button="Show")]
    if moved is not None:
        inner += [table("rows", ROW_HEADS, [row_line(name, row, links) for row in moved["rows"]])]
        inner.append(quiet(f"{moved['total']:,} in all, the newest {len(moved['rows']):,} are shown."))
    return section("moved", "Rows", *inner)


ROW_HEADS = ("row", "arrival", "event time", "given time", "reasons", "moved by", "file")


def row_line(name: str, row: FoundRow, links: Links) -> list[Cell | Html]:
    """Return a row of a list, with a link to its explanation."""
    asked = {"source": row["source"], "partition": row["partition"], "offset": row["offset"]}
    return [
        link(f"{row['source']}, {row['partition']}, {row['offset']:,}", links.pipeline(name, "row", **asked)),
        moment_of(row["arrival_time"]),
        moment_of(row["event_time"]),
        moment_of(row["system_timestamp"]),
        ", ".join(row["reasons"]).replace("_", " "),
        row["moved_by"],
        element("span", row["file"], class_="long") if row["file"] else None,
    ]


def _counts(record: BatchRecord) -> Html:
    heads = ("source", "partition", "rows", *map(words, Fate))
    rows: list[list[Cell]] = [
        [account.source, account.partition, account.rows, *(account.fates.get(fate, 0) for fate in Fate)]
        for account in record.accounts[:_MOST]
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
