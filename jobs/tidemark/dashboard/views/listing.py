"""The list of all pipelines that a user may see, one line each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tidemark.commands.dashboard import ListPage, PipelineSummary
from tidemark.config.pipeline_files import PipelineFile, dag_id
from tidemark.core.policy import Fate
from tidemark.dashboard.links import Links, link
from tidemark.dashboard.shell import Page, pager, quiet
from tidemark.errors import TidemarkError
from tidemark.report.page.charts.vega import words
from tidemark.report.page.markup import Cell, Html, element, paragraph, section, table, text
from tidemark.report.words import brief, moment

SHOWN = 10
"""Pipelines on a page: the ledger of each is opened."""

Listed = PipelineSummary | TidemarkError
"""The summary of a pipeline's ledger, or the error of reading it."""


def listing(shown: ListPage[tuple[PipelineFile, Listed]], broken: Mapping[Path, str], links: Links) -> Page:
    """Return the page of pipelines and of invalid files."""
    heads = ("pipeline", "newest run as of", "behind", "rows of it", *map(words, Fate), "state", "in Airflow")
    rows = [_line(file, summary, links) for file, summary in shown.rows]
    inner: list[Html] = [_empty()] if not shown.total else [table("pipelines", heads, rows)]
    if shown.pages > 1:
        inner.append(pager(shown, links.to(""), "pipeline"))
    if shown.total:
        inner.append(quiet("Behind is how far the slowest source's watermark is from the newest run's as_of. UTC."))
    return Page("Pipelines", (*inner, *_broken(broken)))


def _empty() -> Html:
    return paragraph("There is no pipeline here that you may read.")


def _line(file: PipelineFile, summary: Listed, links: Links) -> Sequence[Cell | Html]:
    name = file.spec.name
    start = link(name, links.pipeline(name))
    dag = links.airflow("DAG", "dags", dag_id(name))
    if isinstance(summary, TidemarkError):
        return [start, None, None, *[None] * (1 + len(Fate)), _long(summary.message), dag]
    if summary.version is None:
        return [start, None, None, *[None] * (1 + len(Fate)), "nothing has run yet", dag]
    counts = [summary.fates[fate] for fate in Fate]
    as_of = None if summary.as_of is None else moment(summary.as_of)
    return [start, as_of, behind(summary), sum(counts), *counts, _state(summary), dag]


def behind(summary: PipelineSummary) -> str | None:
    """Return the delay of the slowest source against the newest run; None if nothing is known or all are complete."""
    marks = [each.watermark for each in summary.combined.values() if not each.complete]
    known = [mark for mark in marks if mark is not None]
    if summary.as_of is None or not known:
        return None
    return brief(summary.as_of - min(known)) if len(known) == len(marks) else "a source has no watermark"


def _state(summary: PipelineSummary) -> str:
    standing = summary.standing
    if standing is not None and standing["run_id"] is not None:
        return f"{standing['state']}: run {standing['run_id']}"
    return "no run yet" if summary.as_of is None else "committed"


def _long(value: str) -> Html:
    return element("span", value, class_="long")


def _broken(broken: Mapping[Path, str]) -> list[Html]:
    if not broken:
        return []
    sentence = "A pipeline file that does not hold has no DAG; the others are not touched by it."
    lines = [
        part
        for path, message in broken.items()
        for part in (element("h3", path.name), element("pre", Html("\n".join(map(text, message.splitlines())))))
    ]
    return [section("broken", "Files that do not hold", paragraph(sentence, class_="quiet"), *lines)]
