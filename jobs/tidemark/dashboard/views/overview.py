"""One pipeline: the progress of each partition, the causes that hold it back, and the results of the newest run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tidemark.commands.dashboard.causes import Causes
from tidemark.commands.dashboard.paged import SIZE, ListPage, page_of
from tidemark.config.pipeline_files import dag_id
from tidemark.dashboard.asked import Partitions
from tidemark.dashboard.links import Links, link, named
from tidemark.dashboard.shell import Page, form, paged, pager, quiet, select, void
from tidemark.dashboard.views.states import Standing, first_lines, states_data
from tidemark.records.status import PartitionSummary, StatusRecord
from tidemark.report.page.fates import HEADS, cards, fate_cells
from tidemark.report.page.markup import Amount, Cell, Html, element, paragraph, section, table
from tidemark.report.words import counted, moment_of

_NEWEST = 5
"""Most runs in the overview."""


def overview(
    status: StatusRecord, beside: Beside, shown: ListPage[PartitionSummary], asked: Partitions, links: Links
) -> Page:
    """Return the first page of a pipeline; `shown` are the requested partitions."""
    name = status["pipeline"]
    dag = paragraph("In Airflow: ", links.airflow(dag_id(name), "dags", dag_id(name)), ".")
    data = {**status, **states_data(beside.standing), "causes": list(beside.causes.causes)}
    attention = [*status["failed"]]
    attention += [f"{each['source']}: {text}." for each in status["sources"] for text in each["attention"]]
    if status["as_of"] is None:
        first = paragraph("No run has committed anything yet.")
        block = [] if beside.standing.calm else first_lines(name, beside.standing, beside.causes, attention, links)
        return Page(name, (*block, first, dag), data=data)
    data |= {"partitions": list(shown.rows), **paged(shown)}
    parts = (
        *first_lines(name, beside.standing, beside.causes, attention, links),
        *_newest(status, links),
        _partitions(status, shown, asked, beside.sources, links),
        _sources(status),
        _streams(status),
        _runs(status, links),
        dag,
    )
    return Page(name, parts, data=data)


@dataclass(frozen=True)
class Beside:
    """Parts of a pipeline's page besides its status: its state, causes of abnormal rows, and its sources."""

    standing: Standing
    causes: Causes
    sources: Sequence[str]


def partitions(status: StatusRecord, asked: Partitions) -> ListPage[PartitionSummary]:
    """Return the requested page of partitions."""
    chosen = [
        each
        for each in status["partitions"]
        if asked.source in (None, each["source"]) and (each["holds_back"] or not asked.held)
    ]
    begin = (asked.page - 1) * SIZE
    return page_of(chosen[begin : begin + SIZE], asked.page, len(chosen))


def _newest(status: StatusRecord, links: Links) -> Iterator[Html]:
    if not status["runs"]:
        return
    run = status["runs"][0]
    rows = counted(run["rows"], "row") if run["rows"] else "no row"
    took = f"{counted(run['objects'], 'object')} with {rows}"
    newest = link("newest run", links.pipeline(status["pipeline"], "runs", run["run_id"]))
    yield paragraph("The ", newest, f", as of {moment_of(run['as_of'])}, took {took}.")
    if run["rows"]:
        yield cards(run)


def _partitions(
    status: StatusRecord,
    shown: ListPage[PartitionSummary],
    asked: Partitions,
    sources: Sequence[str],
    links: Links,
) -> Html:
    heads = ("source", "partition", "watermark", "watermark delay", "last arrival", "idle for", "rows", "complete")
    here = links.pipeline(status["pipeline"])
    inner = [
        paragraph(f"As of {moment_of(status['as_of'])}, the time of the newest run."),
        form(here, *_filters(asked, sources), button="Show"),
        table("partitions", heads, map(_partition, shown.rows)),
        pager(shown, links.pipeline(status["pipeline"], source=asked.source, held=asked.held), "partition"),
    ]
    if status["truncated"]:
        inner.append(quiet(f"Of more partitions only {len(status['partitions']):,} are listed."))
    return section("watermarks", "Watermarks", *inner)


def _filters(asked: Partitions, sources: Sequence[str]) -> Iterator[Html]:
    yield select("source", "Source", dict(zip(sources, sources, strict=True)), asked.source, "all")
    box = void("input", type="checkbox", name="held", value="true", checked="checked" if asked.held else None)
    yield element("label", box, element("span", "Only what holds back"), class_="check")


def _partition(entry: PartitionSummary) -> list[Cell | Html]:
    return [
        entry["source"],
        entry["partition"],
        moment_of(entry["watermark"]),
        Amount.of(entry["watermark_delay"]),
        moment_of(entry["last_arrival"]),
        Amount.of(entry["idle_for"]),
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
            Amount.of(each["output_delay"]),
            Amount.of(each["watermark_delay"]),
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
    heads = ("run", "as of", "status", *HEADS)
    rows = [
        (
            named(run["run_id"], links.pipeline(status["pipeline"], "runs", run["run_id"])),
            moment_of(run["as_of"]),
            run["status"],
            *fate_cells(run),
        )
        for run in status["runs"][:_NEWEST]
    ]
    return section("runs", "Newest runs", table("newest-runs", heads, rows))
