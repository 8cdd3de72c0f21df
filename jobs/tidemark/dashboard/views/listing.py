"""The list of all pipelines that a user may see, one line each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tidemark.commands.dashboard.paged import ListPage
from tidemark.commands.dashboard.pages import PipelineSummary
from tidemark.config.pipeline_files import PipelineFile, dag_id
from tidemark.dashboard.asked import LONGEST
from tidemark.dashboard.links import Links, link, named
from tidemark.dashboard.shell import Page, form, paged, pager, quiet, void
from tidemark.dashboard.views.states import Standing, badge
from tidemark.errors import TidemarkError
from tidemark.report.page.fates import HEADS, fate_cells
from tidemark.report.page.markup import Cell, Html, element, paragraph, section, table, text
from tidemark.report.words import brief, iso, moment

SHOWN = 10
"""Pipelines on a page: the ledger of each is opened."""

Listed = tuple[PipelineSummary, Standing] | TidemarkError
"""The summary of a pipeline's ledger and its state, or the error of reading it."""


def listing(
    shown: ListPage[tuple[PipelineFile, Listed]], broken: Mapping[Path, str], wanted: str | None, links: Links
) -> Page:
    """Return the page of pipelines and of invalid files; `wanted` is the requested text in names."""
    heads = ("pipeline", "state", "newest run as of", "behind", *HEADS, "in Airflow")
    rows = [_line(file, summary, links) for file, summary in shown.rows]
    inner: list[Html] = [_search(wanted, links)] if wanted or shown.pages > 1 else []
    inner.append(table("pipelines", heads, rows) if shown.total else _empty(wanted))
    if shown.pages > 1:
        inner.append(pager(shown, links.to("", name=wanted), "pipeline"))
    if shown.total:
        explained = "Behind is how far the slowest source's watermark is from its as_of."
        inner.append(quiet(f"Rows are those of the newest run. {explained}"))
    files = [{"file": path.name, "message": message} for path, message in broken.items()]
    data = {"pipelines": [_data(*each) for each in shown.rows], **paged(shown), "broken": files}
    return Page("Pipelines", (*inner, *_broken(broken)), data=data)


def _search(wanted: str | None, links: Links) -> Html:
    field = void("input", name="name", value=wanted, type="search", maxlength=LONGEST)
    return form(links.to(""), element("label", element("span", "Name contains"), field), button="Show")


def _empty(wanted: str | None) -> Html:
    named = f" with {wanted!r} in its name" if wanted else ""
    return paragraph(f"There is no pipeline{named} here that you may read.")


def _line(file: PipelineFile, summary: Listed, links: Links) -> Sequence[Cell | Html]:
    name = file.spec.name
    start = link(name, links.pipeline(name))
    dag = links.airflow("DAG", "dags", dag_id(name))
    if isinstance(summary, TidemarkError):
        return [start, _long(summary.message), None, None, *fate_cells(None), dag]
    found, standing = summary
    as_of = None if found.as_of is None else moment(found.as_of)
    counts = None if found.as_of is None else found.fates
    return [start, _state(name, standing, links), as_of, behind(found), *fate_cells(counts), dag]


def _data(file: PipelineFile, summary: Listed) -> dict[str, object]:
    """Return a line as JSON."""
    begin = {"pipeline": file.spec.name, "dag": dag_id(file.spec.name)}
    if isinstance(summary, TidemarkError):
        return {**begin, "error": summary.message}
    found, standing = summary
    return {
        **begin,
        "state": standing.name,
        "run_id": standing.record["run_id"] or found.run_id,
        "version": found.version,
        "as_of": iso(found.as_of),
        "behind": behind(found),
        "rows": sum(found.fates.values()),
        **{fate.value: count for fate, count in found.fates.items()},
    }


def behind(summary: PipelineSummary) -> str | None:
    """Return the delay of the slowest source against the newest run; None if nothing is known or all are complete."""
    marks = [each.watermark for each in summary.combined.values() if not each.complete]
    known = [mark for mark in marks if mark is not None]
    if summary.as_of is None or not known:
        return None
    return brief(summary.as_of - min(known)) if len(known) == len(marks) else "a source has no watermark"


def _state(name: str, standing: Standing, links: Links) -> Html:
    run = standing.record["run_id"]
    if run is None:
        return badge(standing.name)
    return element("span", badge(standing.name), " ", named(run, links.pipeline(name, "runs", run)))


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
