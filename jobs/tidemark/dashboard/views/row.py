"""The explanation of one row: why it was kept, moved or dropped, and the row that set the watermark in force."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from tidemark.core.policy import Fate
from tidemark.dashboard.asked import OneRow
from tidemark.dashboard.links import Links, link
from tidemark.dashboard.shell import Page, form, quiet, select, void
from tidemark.errors import UsageError
from tidemark.records.rows import EventRecord, ExplainRecord
from tidemark.report.page.charts.vega import words
from tidemark.report.page.markup import Html, element, paragraph, section, table


def row(
    name: str, asked: OneRow, sources: Sequence[str], found: ExplainRecord | UsageError | None, links: Links
) -> Page:
    """Return the form, and below it the explanation of the row found."""
    inner = [_form(name, asked, sources, links)]
    if found is None:
        inner.append(quiet("A row is named by its source, its partition and its offset there, which counts from 0."))
        return Page(f"{name}: one row", tuple(inner), data={"row": None})
    if isinstance(found, UsageError):
        sentence = f"{found.message}. {found.hint}".strip()
        inner.append(element("p", sentence, role="status"))
        data = {"status": 404, "sentences": [sentence]}
        return Page(f"{name}: no such row", tuple(inner), status=404, data=data)
    return Page(f"{name}: row {asked.offset:,}", (*inner, *_story(name, found, links)), data=found)


def _form(name: str, asked: OneRow, sources: Sequence[str], links: Links) -> Html:
    given = {"partition": asked.partition, "offset": asked.offset}
    fields = [
        element(
            "label",
            element("span", label),
            void("input", name=field, value=given[field], required="required", **kind),
        )
        for field, label, kind in (
            ("partition", "Partition", {"type": "text", "maxlength": 1_000}),
            ("offset", "Offset", {"type": "number", "min": 0, "step": 1}),
        )
    ]
    choice = select("source", "Source", dict(zip(sources, sources, strict=True)), asked.source, None)
    return form(links.pipeline(name, "row"), choice, *fields, button="Explain")


def _story(name: str, found: ExplainRecord, links: Links) -> Iterator[Html]:
    row = found["row"]
    fate = Fate(row["disposition"])
    why = f" ({', '.join(row['reasons']).replace('_', ' ')})" if row["reasons"] else ""
    moved = f", moved by {row['moved_by']}" if row["moved_micros"] else ""
    yield element("p", f"{words(fate)}{why}{moved}", class_=f"fate {fate.value.replace('_', '-')}")
    lines = (element("li", sentence) for sentence in found["sentences"])
    yield section("story", "Its story", element("ol", *lines, class_="story"))
    yield from _other_rows(name, found, links)
    yield section("content", "Content", _content(row))
    yield paragraph(
        "It is in ", link(f"batch {row['batch_id']:,}", links.pipeline(name, "batches", row["batch_id"])), "."
    )


def _other_rows(name: str, found: ExplainRecord, links: Links) -> Iterator[Html]:
    """Yield links to the row that set the watermark, and to the earlier row that this row repeats."""
    setter, repeats = found["set_by"], found["repeats"]
    if setter is not None and "offset" in setter:
        yield paragraph("The watermark in force was set by ", _row(name, found, setter["offset"], links), ".")
    if repeats is not None:
        yield paragraph("It repeats ", _row(name, found, repeats["offset"], links), ".")


def _row(name: str, found: ExplainRecord, offset: int, links: Links) -> Html:
    asked = {"source": found["row"]["source"], "partition": found["row"]["partition"], "offset": offset}
    return link(f"row {offset:,}", links.pipeline(name, "row", **asked))


def _content(row: EventRecord) -> Html:
    if row["raw"] is not None:
        return element("pre", row["raw"])
    lines = [(key, element("span", _plain(value), class_="long")) for key, value in row["payload"].items()]
    return table("payload", ("column", "value"), lines)


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
