"""The part of a page about files with rows that were not on time."""

from __future__ import annotations

from tidemark.core.policy import FATES
from tidemark.report.page.data.answers import Answers
from tidemark.report.page.data.tables import Row
from tidemark.report.page.markup import Cell, Html, element, paragraph, section, table
from tidemark.report.words import counted, span


def files(answers: Answers) -> Html:
    """Return the files of each source with most dropped or quarantined rows, then with most adjusted rows."""
    inner: list[Html] = []
    for judged in answers.sources:
        found = judged.files
        if found.total:
            said = (
                f"{judged.source.name}: {counted(found.total, 'file')}, {found.hit:,} with rows that were not on time"
            )
            most = f"; the {len(found.worst):,} with most" if found.hit > len(found.worst) else ""
            inner.append(paragraph(f"{said}{most}{':' if found.worst else '.'}"))
        if found.worst:
            heads = ("file", "rows", *(fate.replace("_", " ") for fate in FATES), "arrived")
            inner.append(table(f"files-{judged.source.name}", heads, map(_file, found.worst)))
    return section("files", "Files", *inner or [paragraph("There is no file.")])


def _file(found: Row) -> list[Cell | Html]:
    arrived = None if found["first"] is None else span(found["first"], found["last"])
    name = element("span", found["file"], class_="long")
    return [name, found["rows"], *(found[fate] for fate in FATES), arrived]
