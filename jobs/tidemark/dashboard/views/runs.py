"""Runs and their batches, with their states and verifications."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tidemark.commands.dashboard.causes import Causes
from tidemark.commands.dashboard.paged import ListPage
from tidemark.config.pipeline_files import dag_id
from tidemark.core.batch_result import BatchRecord, total
from tidemark.dashboard.host import Verified
from tidemark.dashboard.links import Links, link, named
from tidemark.dashboard.shell import Page, paged, pager
from tidemark.dashboard.views.batch import batch_data
from tidemark.dashboard.views.states import Standing, badge, first_lines, of_run, state_of
from tidemark.report.page.fates import HEADS, fate_cells
from tidemark.report.page.markup import Cell, Html, element, paragraph, table
from tidemark.report.words import moment

_VERIFIED = (
    "Verified is what DAG runs of this pipeline have found that were asked for it again, as far as Airflow remembers "
    "them. A replay from the command line writes nothing, so that it is not known here; to do one, use "
)


@dataclass(frozen=True)
class Around:
    """The host's records of the runs on a page, by run id, and the state of the pipeline."""

    runs: Mapping[str, str]
    verified: Mapping[str, Verified]
    standing: Standing


def runs(name: str, shown: ListPage[BatchRecord], around: Around, links: Links) -> Page:
    """Return the page of batches of all runs, newest first."""
    inner = (
        paragraph("Micro-batches, newest first; a run is made of one or more."),
        _batches(name, shown.rows, around, links),
        pager(shown, links.pipeline(name, "runs"), "batch", "es"),
        _proof(),
    )
    return Page(f"{name}: runs", inner, data=_data(shown, around))


def run(
    name: str,
    run_id: str,
    shown: ListPage[BatchRecord],
    around: Around,
    causes: Causes,
    failing: Sequence[str],
    links: Links,
) -> Page:
    """Return the page of one run, which begins with abnormal rows and their causes; `failing`: sentences on failed
    checks that the pipeline's state does not mention."""
    newest = shown.rows[0] if shown.rows else None
    about = (
        [] if newest is None else [paragraph(f"As of {moment(newest.as_of)}. ", *_where(name, run_id, around, links))]
    )
    inner = (
        *_first(name, run_id, newest, around, causes, failing, links),
        *about,
        _batches(name, shown.rows, around, links),
        pager(shown, links.pipeline(name, "runs", run_id), "batch", "es"),
        _proof(),
    )
    data = {"run_id": run_id, **_data(shown, around), "causes": list(causes.causes)}
    return Page(f"{name}: run {run_id}", inner, data=data)


def _first(
    name: str,
    run_id: str,
    newest: BatchRecord | None,
    around: Around,
    causes: Causes,
    failing: Sequence[str],
    links: Links,
) -> list[Html]:
    standing = around.standing
    if standing.record["run_id"] == run_id:
        return first_lines(name, standing, causes, failing, links)
    return [] if newest is None or newest.status == "planned" else of_run(causes, failing)


def _data(shown: ListPage[BatchRecord], around: Around) -> dict[str, object]:
    return {"batches": [batch_data(each, around.standing) for each in shown.rows], **paged(shown)}


def _where(name: str, run_id: str, around: Around, links: Links) -> Iterator[object]:
    if run_id in around.runs:
        yield "In Airflow: "
        yield links.airflow(f"DAG run, {around.runs[run_id]}", "dags", dag_id(name), "runs", run_id)
        yield ". "
    verified = around.verified.get(run_id)
    if verified is None:
        yield "No DAG run has verified it."
    else:
        yield "Verified: "
        yield _verified(name, verified, links)
        yield "."


def _proof() -> Html:
    return paragraph(_VERIFIED, element("code", "tidemark replay CONFIG --run RUN"), ".", class_="quiet")


def _batches(name: str, shown: Sequence[BatchRecord], around: Around, links: Links) -> Html:
    heads = ("batch", "run", "as of", "state", "objects", *HEADS, "verified", "DAG run")
    return table("batches", heads, [_batch(name, record, around, links) for record in shown])


def _batch(name: str, record: BatchRecord, around: Around, links: Links) -> list[Cell | Html]:
    fates, _ = total(record.accounts)
    state, verified = around.runs.get(record.run_id), around.verified.get(record.run_id)
    return [
        link(f"{record.batch_id:,}", links.pipeline(name, "batches", record.batch_id)),
        named(record.run_id, links.pipeline(name, "runs", record.run_id)),
        moment(record.as_of),
        badge(state_of(record.status, around.standing)),
        record.objects,
        *fate_cells(fates),
        None if verified is None else _verified(name, verified, links),
        None if state is None else links.airflow(state, "dags", dag_id(name), "runs", record.run_id),
    ]


def _verified(name: str, verified: Verified, links: Links) -> Html:
    found = {"success": "no difference", "failed": "differs or failed"}.get(verified.state, verified.state)
    when = "" if verified.at is None else f", {verified.at:%Y-%m-%d %H:%M}"
    return links.airflow(f"{found}{when}", "dags", dag_id(name), "runs", verified.by)
