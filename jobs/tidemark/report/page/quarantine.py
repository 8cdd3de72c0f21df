"""The part of a page about rows that could not be judged: reasons, files, and samples of their text."""

from __future__ import annotations

from collections.abc import Iterator

from tidemark.report.page.data.answers import Answers, SourceFates
from tidemark.report.page.data.lost.samples import MOST, Quarantined
from tidemark.report.page.markup import Cell, Html, element, paragraph, section, table


def quarantine(answers: Answers) -> Html:
    """Return the quarantined rows by reason, with samples."""
    found = [(judged, each) for judged in answers.sources for each in judged.quarantined]
    if not found:
        return section("quarantined", "Quarantined", paragraph("No row is quarantined."))
    heads = ("source", "reason", "rows", "files", "file with most")
    return section(
        "quarantined",
        "Quarantined",
        table("quarantined-table", heads, [_reason(judged, each) for judged, each in found]),
        *_samples(answers),
    )


def _reason(judged: SourceFates, found: Quarantined) -> list[Cell | Html]:
    file = None if found.file is None else element("span", found.file, class_="long")
    return [judged.source.name, found.reason, found.rows, found.files, file]


def _samples(answers: Answers) -> Iterator[Html]:
    if not answers.tables.samples:
        yield paragraph("Their text is not shown: the page was asked to be without samples.", class_="quiet")
        return
    yield paragraph(f"The newest of each reason, at most {MOST}, with their text as it landed:", class_="quiet")
    heads = ("source", "reason", "partition", "offset", "file", "text")
    lines: list[list[Cell | Html]] = [
        [judged.source.name, each.reason, sample["partition"], sample["offset"], _long(sample["file"]), _text(sample)]
        for judged in answers.sources
        for each in judged.quarantined
        for sample in each.samples
    ]
    yield table("samples", heads, lines)


def _long(value: str | None) -> Html | None:
    return None if value is None else element("span", value, class_="long")


def _text(sample: dict[str, object]) -> Html | None:
    """Return the text of a sample; escaped as all text is."""
    if sample["text"] is None:
        return None
    more = f" ... {sample['cut']:,} more characters" if sample["cut"] else ""
    return element("code", f"{sample['text']}{more}", class_="long")
