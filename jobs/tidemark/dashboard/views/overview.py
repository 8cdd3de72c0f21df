"""One pipeline: the progress of each partition, the causes that hold it back, and the results of the newest run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tidemark.commands.dashboard import SIZE, ListPage
from tidemark.config.pipeline_files import dag_id
from tidemark.core.policy import Fate
from tidemark.dashboard.asked import Partitions
from tidemark.dashboard.links import Links, link
from tidemark.dashboard.shell import Page, form, pager, quiet, select, void
from tidemark.records.status import PartitionSummary, StandingRecord, StatusRecord
from tidemark.report.page.charts.vega import words
from tidemark.report.page.markup import Cell, Html, bullets, element, paragraph, section, table
from tidemark.report.page.summary import percent
from tidemark.report.words import counted, moment_of

_NEWEST = 5
"""Most runs in the overview."""


def overview(status: StatusRecord, asked: Partitions, sources: Sequence[str], links: Links) -> Page:
    """Return the first page of a pipeline."""
    name = status["pipeline"]
    dag = paragraph("In Airflow: ", links.airflow(dag_id(name), "dags", dag_id(name)), ".")
    if status["as_of"] is None:
        return Page(name, (dag, paragraph("No run has committed anything yet."), *_look(status)))
    parts = (
        *_newest(status),
        *_look(status),
        _partitions(status, asked, sources, links),
        _sources(status),
        _streams(status),
        _runs(status, links),
        dag,
    )
    return Page(name, parts)


def _newest(status: StatusRecord) -> Iterator[Html]:
    if not status["runs"]:
        return
    run = status["runs"][0]
    rows = counted(run["rows"], "row") if run["rows"] else "no row"
    took = f"{counted(run['objects'], 'object')} with {rows}"
    yield paragraph(f"The newest run, as of {moment_of(run['as_of'])} (UTC), took {took}.")
    if run["rows"]:
        yield facts(run)


def facts(counts: Mapping[str, Any]) -> Html:
    """Return the rows by fate as cards."""
    whole = counts["rows"]
    cards = [element("div", element("dt", "rows"), element("dd", f"{whole:,}"))]
    for fate in Fate:
        share = percent(counts[fate.value], whole) if whole else "none"
        inner = (element("dt", f"{words(fate)} ({share})"), element("dd", f"{counts[fate.value]:,}"))
        cards.append(element("div", *inner, class_=fate.value.replace("_", "-")))
    return element("dl", *cards, class_="facts")


def _look(status: StatusRecord) -> list[Html]:
    """Return the list of what may need attention; empty if there is nothing."""
    lines: list[Html | str] = []
    lines += _standing(status["standing"])
    for source in status["sources"]:
        lines += [f"{source['source']}: {each}." for each in source["attention"]]
    return [element("div", element("h2", "Look at this"), bullets(lines), class_="look")] if lines else []


def _standing(found: StandingRecord) -> Iterator[Html | str]:
    """Yield the run that is not committed: its cause, the failed checks, and the commands to continue with."""
    if found["sentence"]:
        yield f"{found['sentence']} Nothing here counts its rows."
        yield from (f"It failed: {each}." for each in found["failed"])
        yield from (Html(element("code", each)) for each in found["commands"])


def _partitions(status: StatusRecord, asked: Partitions, sources: Sequence[str], links: Links) -> Html:
    chosen = [
        each
        for each in status["partitions"]
        if asked.source in (None, each["source"]) and (each["holds_back"] or not asked.held)
    ]
    begin = (asked.page - 1) * SIZE
    shown = ListPage(chosen[begin : begin + SIZE], asked.page, max(1, -(-len(chosen) // SIZE)), len(chosen))
    heads = ("source", "partition", "watermark", "watermark delay", "last arrival", "idle for", "rows", "complete")
    here = links.pipeline(status["pipeline"])
    inner = [
        paragraph(f"As of {moment_of(status['as_of'])} (UTC), the time of the newest run."),
        form(here, *_filters(asked, sources), button="Show"),
        table("partitions", heads, map(_partition, shown.rows)),
        pager(shown, links.pipeline(status["pipeline"], source=asked.source, held=asked.held), "partition"),
    ]
    if status["truncated"]:
        inner.append(quiet(f"Of more partitions only {len(status['partitions']):,} are listed."))
    return section("watermarks", "Watermarks", *inner)


def _filters(asked: Partitions, sources: Sequence[str]) -> Iterator[Html]:
    yield select("source", "Source", list(sources), asked.source, "all")
    box = void("input", type="checkbox", name="held", value="true", checked="checked" if asked.held else None)
    yield element("label", box, element("span", "Only what holds back"), class_="check")


def _partition(entry: PartitionSummary) -> list[Cell | Html]:
    return [
        entry["source"],
        entry["partition"],
        moment_of(entry["watermark"]),
        entry["watermark_delay"],
        moment_of(entry["last_arrival"]),
        entry["idle_for"],
        entry["rows"],
        yes(entry["complete"]),
    ]


def yes(flag: object) -> str:
    """Return a flag in words."""
    return "yes" if flag else "no"


def _sources(status: StatusRecord) -> Html:
    rows = [
        (
            each["source"],
            moment_of(each["watermark"]),
            each["output_delay"],
            each["watermark_delay"],
            yes(each["complete"]),
        )
        for each in status["sources"]
    ]
    heads = ("source", "combined watermark", "output delay", "watermark delay", "complete")
    return section("sources", "Sources", table("combined", heads, rows))


def _streams(status: StatusRecord) -> Html:
    if not status["streams"]:
        return section("streams", "Streams", paragraph("The newest run records no stream."))
    heads = ("stream", "watermark", "complete", "published", "rows of the newest run", "late for a window")
    rows = [
        (
            each["stream"],
            moment_of(each["watermark"]),
            yes(each["complete"]),
            yes(each["published"]),
            each["rows"],
            each["dead_letters"],
        )
        for each in status["streams"]
    ]
    return section("streams", "Streams", table("streams-table", heads, rows))


def _runs(status: StatusRecord, links: Links) -> Html:
    heads = ("run", "as of", "status", "rows", *map(words, Fate))
    rows = [
        (
            link(run["run_id"], links.pipeline(status["pipeline"], "runs", run["run_id"])),
            moment_of(run["as_of"]),
            run["status"],
            run["rows"],
            run["on_time"],
            run["adjusted"],
            run["dropped"],
            run["quarantined"],
        )
        for run in status["runs"][:_NEWEST]
    ]
    return section("runs", "Newest runs", table("newest-runs", heads, rows))
