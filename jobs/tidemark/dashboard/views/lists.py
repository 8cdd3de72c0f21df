"""Quality, dead letters and versions of a pipeline."""

from __future__ import annotations

from collections.abc import Sequence

from tidemark.commands.dashboard import ListPage
from tidemark.dashboard.asked import Checks, LetterFilter
from tidemark.dashboard.links import Links, link
from tidemark.dashboard.shell import Page, form, pager, quiet, select, void
from tidemark.report.page.data.tables import Row
from tidemark.report.page.markup import Cell, Html, element, paragraph, table
from tidemark.report.words import duration, moment, value_text


def quality(name: str, shown: ListPage[Row] | None, asked: Checks, links: Links) -> Page:
    """Return the page of checks and their results."""
    title = f"{name}: quality"
    if shown is None:
        return Page(title, (paragraph("No checks have run yet."),))
    heads = ("batch", "run", "table", "expectation", "observed", "limit", "result", "severity", "examples")
    box = void("input", type="checkbox", name="failed", value="true", checked="checked" if asked.failed else None)
    only = element("label", box, element("span", "Only what failed"), class_="check")
    here = links.pipeline(name, "quality")
    inner = (
        form(here, only, button="Show"),
        table("checks", heads, [_check(name, row, links) for row in shown.rows]),
        pager(shown, links.pipeline(name, "quality", failed=asked.failed), "check"),
    )
    return Page(title, inner)


def _check(name: str, row: Row, links: Links) -> list[Cell | Html]:
    return [
        link(f"{row['batch_id']:,}", links.pipeline(name, "batches", row["batch_id"])),
        link(row["run_id"], links.pipeline(name, "runs", row["run_id"])) if row.get("run_id") else None,
        row.get("table"),
        row.get("expectation"),
        value_text(row.get("observed")),
        value_text(row.get("limit")),
        _result(row),
        row.get("severity"),
        _examples(row.get("examples")),
    ]


def _result(row: Row) -> Html:
    held = bool(row.get("success"))
    return element("span", "held" if held else "failed", class_="fate on-time" if held else "fate dropped")


def _examples(value: object) -> Html | None:
    return element("span", value_text(value), class_="long") if value else None


def letters(
    name: str, stream: str | None, streams: list[str], shown: ListPage[Row] | None, asked: LetterFilter, links: Links
) -> Page:
    """Return the page of rows that came late for a window."""
    title = f"{name}: dead letters"
    if stream is None or shown is None:
        return Page(title, (paragraph("The pipeline publishes no windows, so that no row can be late for one."),))
    heads = ("row", "event time", "given time", "watermark", "window from", "to", "late by", "batch")
    here = links.pipeline(name, "letters")
    inner = [
        paragraph("Rows that came when their window was closed: they are not in it. All times are UTC."),
        form(here, select("stream", "Stream", streams, stream, None), button="Show"),
    ]
    if not shown.total:
        return Page(title, (*inner, paragraph("No row was late for a window of this stream.")))
    inner += [
        table("letters", heads, [_letter(name, row, links) for row in shown.rows]),
        pager(shown, links.pipeline(name, "letters", stream=asked.stream), "dead letter"),
    ]
    return Page(title, tuple(inner))


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
        duration(max(0, row["watermark"] - row["window_end"])) if known else None,
        link(f"{row['batch_id']:,}", links.pipeline(name, "batches", row["batch_id"])),
    ]


def versions(name: str, file: str, listed: Sequence[Row], links: Links) -> Page:
    """Return the page of versions, with the live one that readers see."""
    title = f"{name}: versions"
    if not listed:
        return Page(title, (paragraph("No version is recorded yet: the first run makes one."),))
    rows = [
        (
            str(each["version"]),
            "live" if each["live"] else "",
            moment(each["created"]),
            None if each["promoted"] is None else moment(each["promoted"]),
        )
        for each in listed
    ]
    command = element("code", f"tidemark replay {file} --all")
    inner = (
        table("versions", ("version", "state", "made", "made live"), rows),
        quiet("Readers see the live version; making another one live switches all its tables at once. UTC."),
        paragraph(
            "To see whether a version still comes out as it stands, use ",
            command,
            "; what DAG runs have verified is listed with ",
            link("the runs", links.pipeline(name, "runs")),
            ".",
        ),
    )
    return Page(title, inner)
