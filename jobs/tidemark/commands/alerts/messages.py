"""Messages about one run of a pipeline: it failed, it waits for a decision, or its output is overdue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tidemark.commands.alerts.due import OwedOutput
from tidemark.commands.alerts.trouble import Trouble
from tidemark.config.secrets import hidden
from tidemark.records.versions import FateSides, VersionRecord, nothing_differs
from tidemark.report.alerts.message import MessagePart, RunMessage
from tidemark.report.page.differences import sentences
from tidemark.report.words import moment

_LONGEST_ERROR = 2_000


@dataclass(frozen=True)
class NamedRun:
    """A scheduled run of a pipeline, and addresses of its pages by name."""

    pipeline: str
    run_id: str
    links: Sequence[tuple[str, str]] = ()


def failed(run: NamedRun, task: str | None, error: str | None, found: Trouble | None) -> RunMessage:
    """The message about a run that failed at a task, with its error. `found` is None if the pipeline could not be
    examined; `task` is None if the run itself failed, for example by a timeout."""
    where = "" if task is None else f" at {task}"
    sentence = f"Run {run.run_id} of pipeline {run.pipeline} failed{where}."
    parts = [MessagePart("What failed", [] if error is None else _lines(error)), *_parts(found)]
    return RunMessage(f"tidemark: {run.pipeline}: run {run.run_id} failed{where}", sentence, parts, run.links)


def check_failed(run: NamedRun, task: str, error: str, found: Trouble) -> RunMessage:
    """The message about a run that failed at a check: quality blocks this run, or another run is in the way."""
    if found.failed and found.run_id == run.run_id:
        return _blocked(run, found, f"tidemark: {run.pipeline}: quality blocks run {run.run_id}", "")
    return failed(run, task, error, found)


def waiting(run: NamedRun, found: Trouble) -> RunMessage:
    """The message about a blocked run that waits for a person's decision."""
    asked = " It waits until somebody decides: release it with a reason, or leave it blocked."
    return _blocked(run, found, f"tidemark: {run.pipeline}: run {run.run_id} waits for a decision", asked)


def overdue(run: NamedRun, late: str, owes: Sequence[OwedOutput], found: Trouble) -> RunMessage:
    """The message about a run whose output is due and not published by its deadline; `late` says since when."""
    sentence = f"Run {run.run_id} of pipeline {run.pipeline} has not published what is due {late}."
    parts = [MessagePart("Due and not published", [_owed(each) for each in owes]), *_parts(found)]
    return RunMessage(f"tidemark: {run.pipeline}: output is overdue", sentence, parts, run.links)


def unseen(run: NamedRun, late: str, error: str) -> RunMessage:
    """The message about a run that has not ended by its deadline, if an error hides the output that is due."""
    sentence = f"Run {run.run_id} of pipeline {run.pipeline} has not ended {late}. What is due is not known."
    parts = [MessagePart("Why the pipeline could not be looked at", _lines(error))]
    return RunMessage(f"tidemark: {run.pipeline}: output may be overdue", sentence, parts, run.links)


def promotion(run: NamedRun, built: VersionRecord) -> RunMessage:
    """The message about a version that a backfill has built, and that a person may promote."""
    found = built["difference"] or nothing_differs()
    to, number = built["to"] or "the last run", built["version"]
    tables = [f"tables in {built['path']}/difference"] if any(found.values()) else []
    sentence = f"Version {number} of pipeline {run.pipeline} has outputs from {built['from']} to {to}."
    parts = [
        MessagePart(f"Other than in version {built['base']}", [*sentences(found)] or ["nothing"]),
        MessagePart("Rows by fate", list(_fates(found.get("fates")))),
        MessagePart("Rows and outputs that differ", tables),
    ]
    return RunMessage(
        f"tidemark: {run.pipeline}: may version {built['version']} be promoted?", sentence, parts, run.links
    )


def _fates(sides: FateSides | None) -> Iterator[str]:
    for when, by_source in (("before", sides["before"]), ("after", sides["after"])) if sides else ():
        for source, fates in by_source.items():
            yield f"{source} {when}: {', '.join(f'{fate} {count:,}' for fate, count in fates.items())}"


def _blocked(run: NamedRun, found: Trouble, subject: str, more: str) -> RunMessage:
    sentence = f"Quality blocks run {run.run_id} of pipeline {run.pipeline}: nothing of it is published.{more}"
    return RunMessage(subject, sentence, _parts(found), run.links)


def _lines(error: str) -> list[str]:
    return hidden(error).strip()[:_LONGEST_ERROR].splitlines()


def _parts(found: Trouble | None) -> list[MessagePart]:
    if found is None:
        return []
    return [
        MessagePart("State", [] if found.sentence is None else [found.sentence]),
        MessagePart("Values beyond their limits", found.failed),
        MessagePart("Likely cause", found.causes),
        MessagePart("Commands that lead on", found.commands, code=True),
    ]


def _owed(output: OwedOutput) -> str:
    if output.stream is None:
        return "events of objects that have landed"
    due = "its end" if output.due is None else moment(output.due)
    before = "nothing yet" if output.published is None else f"up to {moment(output.published)}"
    return f"stream {output.stream}: due up to {due}, published {before}"
