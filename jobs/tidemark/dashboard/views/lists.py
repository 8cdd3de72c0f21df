"""Quality and dead letters of a pipeline."""

from __future__ import annotations

from collections.abc import Mapping

from tidemark.commands.dashboard.paged import ListPage
from tidemark.dashboard.asked import Checks, LetterFilter
from tidemark.dashboard.links import Links, link, named
from tidemark.dashboard.shell import Page, form, paged, pager, select, void
from tidemark.report.page.data.tables import Row
from tidemark.report.page.markup import Amount, Cell, Html, element, paragraph, result, table, text
from tidemark.report.page.measures import bounded, measured
from tidemark.report.words import duration, iso, moment

_OF_LETTERS = ("row", "event time", "given time", "watermark", "window from", "to", "late by", "batch")


def quality(name: str, shown: ListPage[Row] | None, asked: Checks, links: Links) -> Page:
    """Return the page of checks and their results."""
    title = f"{name}: quality"
    if shown is None:
        return Page(title, (paragraph("No checks have run yet."),), data={"checks": []})
    heads = ("result", "table", "expectation", "observed", "limit", "severity", "run", "examples")
    box = void("input", type="checkbox", name="failed", value="true", checked="checked" if asked.failed else None)
    only = element("label", box, element("span", "Only what failed"), class_="check")
    here = links.pipeline(name, "quality")
    inner = (
        form(here, only, button="Show"),
        table("checks", heads, [_check(name, row, links) for row in shown.rows]),
        pager(shown, links.pipeline(name, "quality", failed=asked.failed), "check"),
    )
    return Page(title, inner, data={"checks": list(shown.rows), **paged(shown)})


def _check(name: str, row: Row, links: Links) -> list[Cell | Html]:
    expectation = str(row.get("expectation"))
    run = row.get("run_id")
    return [
        result(row.get("success")),
        row.get("table"),
        expectation,
        Amount.of(measured(expectation, row.get("observed"))),
        bounded(expectation, row.get("limit")),
        row.get("severity"),
        named(run, links.pipeline(name, "runs", run)) if run else None,
        _examples(name, row.get("examples"), links),
    ]


def _examples(name: str, value: object, links: Links) -> Html | None:
    """Return examples of rows (`source partition offset`) as links to their explanations; other examples as text."""
    if not isinstance(value, list) or not value:
        return None
    return element("ul", *(element("li", _example(name, str(each), links)) for each in value), class_="plain")


def _example(name: str, example: str, links: Links) -> Html:
    source, _, rest = example.partition(" ")
    partition, _, offset = rest.rpartition(" ")
    if not partition or not offset.isdecimal():
        return text(example)
    return link(example, links.pipeline(name, "row", source=source, partition=partition, offset=offset))


def opened(streams: Mapping[str, int]) -> str | None:
    """Return the stream that the page of dead letters shows first: the first with dead letters; else the first."""
    return next((name for name, rows in streams.items() if rows), next(iter(streams), None))


def letters(
    name: str,
    stream: str | None,
    streams: Mapping[str, int],
    shown: ListPage[Row] | None,
    asked: LetterFilter,
    links: Links,
) -> Page:
    """Return the page of rows that came late for a window."""
    title = f"{name}: dead letters"
    if stream is None or shown is None:
        none = paragraph("The pipeline publishes no windows, so that no row can be late for one.")
        return Page(title, (none,), data={"streams": {}, "stream": None, "dead_letters": []})
    found = list(map(_letter_data, shown.rows))
    data = {"streams": dict(streams), "stream": stream, "dead_letters": found, **paged(shown)}
    counted_in = {each: f"{each}: {rows:,}" for each, rows in streams.items()}
    inner = [
        paragraph("Rows that came when their window was closed: they are not in it."),
        form(links.pipeline(name, "letters"), select("stream", "Stream", counted_in, stream, None), button="Show"),
    ]
    if not shown.total:
        return Page(title, (*inner, paragraph("No row was late for a window of this stream.")), data=data)
    inner += [
        table("letters", _OF_LETTERS, [_letter(name, row, links) for row in shown.rows]),
        pager(shown, links.pipeline(name, "letters", stream=asked.stream), "dead letter"),
    ]
    return Page(title, tuple(inner), data=data)


def _letter_data(row: Row) -> Row:
    times = ("event_time", "system_timestamp", "watermark", "window_start", "window_end")
    return {**row, **{name: iso(row[name]) for name in times}}


def _letter(name: str, row: Row, links: Links) -> list[Cell | Html]:
    asked = {key: row[key] for key in ("source", "partition", "offset")}
    known = row["watermark"] is not None and row["window_end"] is not None
    times = [
        None if row[key] is None else moment(row[key])
        for key in ("event_time", "system_timestamp", "watermark", "window_start", "window_end")
    ]
    return [
        link(f"{row['source']}, {row['partition']}, {row['offset']:,}", links.pipeline(name, "row", **asked)),
        *times,
        Amount(duration(max(0, row["watermark"] - row["window_end"]))) if known else None,
        link(f"{row['batch_id']:,}", links.pipeline(name, "batches", row["batch_id"])),
    ]
