"""Builds a page from tables: reads all numbers first, then writes the page."""

from __future__ import annotations

from collections.abc import Callable

from tidemark.report.page import advice, files, quarantine, records, sections
from tidemark.report.page.data.answers import Answers
from tidemark.report.page.data.tables import Tables
from tidemark.report.page.definition import definition
from tidemark.report.page.markup import Html, document, element
from tidemark.report.page.summary import summary, title

_PARTS: dict[str, tuple[str, Callable[[Answers], Html]]] = {
    "fates": ("Fates", sections.fates),
    "moves": ("Adjusted and dropped", sections.moves),
    "quarantined": ("Quarantined", quarantine.quarantine),
    "files": ("Files", files.files),
    "watermarks": ("The watermark", sections.watermarks),
    "progress": ("Progress", sections.progress),
    "late": ("Late for windows", sections.late),
    "tolerances": ("Other tolerances", advice.tolerances),
    "quality": ("Quality", records.quality),
    "diagnostics": ("Diagnostics", records.diagnostics),
    "runs": ("Runs", records.runs),
    "definition": ("How streams are made", lambda answers: definition(answers.tables.spec)),
    "versions": ("Versions and replay", records.versions),
}


def build(tables: Tables) -> str:
    """Build one self-contained HTML page. It depends on the tables alone: equal tables give an equal page."""
    answers = Answers.of(tables)
    return page(answers)


def page(answers: Answers) -> str:
    """Build the page from answers that were read before."""
    links = [element("li", element("a", name, href=f"#{part}")) for part, (name, _) in _PARTS.items()]
    contents = element("nav", element("ul", *links), aria_label="contents", class_="contents")
    return document(title(answers), *summary(answers), contents, *(make(answers) for _, make in _PARTS.values()))
