"""The next steps after a cause: whether it is over, and the command that lists its rows."""

from __future__ import annotations

from collections.abc import Iterator

from tidemark.core.policy import Fate
from tidemark.core.shell import command
from tidemark.core.times import HOUR
from tidemark.report.causes.causes import Cause, Kind
from tidemark.report.causes.sentences import listed
from tidemark.report.page.data.answers import Answers
from tidemark.report.page.data.lost.aftermath import Aftermath
from tidemark.report.page.markup import Html, element, paragraph
from tidemark.report.words import counted, iso, moment, percent


def next_steps(answers: Answers) -> Iterator[Html]:
    """Yield, for the first cause, whether it is over and how to list its rows."""
    if answers.aftermath is not None:
        yield paragraph(element("strong", "Is it over? "), over(answers.aftermath))
    causes = answers.tables.causes
    if causes and causes[0].fate:
        yield paragraph("Its rows: ", element("code", _rows_of(answers.tables.config, causes[0])))


def over(found: Aftermath) -> str:
    """Return the answer in words, with the numbers behind it."""
    cause, of = found.cause, f" of {listed(found.cause.partitions)}" if found.cause.partitions else ""
    since = "in later runs" if found.since is None else f"since {moment(found.since)}"
    came = "were taken" if found.since is None else "arrived"
    if not found.rows:
        answer = "No" if cause.kind is Kind.IDLE_PARTITION else "Not known"
        return f"{answer}: no row{of} has come {since}."
    last = "" if found.last is None else f"; the last arrived at {moment(found.last)}"
    rows = f"{counted(found.rows, 'row')}{of} that {came} {since}"
    if not cause.fate:
        return f"It seems so: {counted(found.rows, 'row')}{of} {came} {since}{last}."
    fate = f"{cause.fate} ({cause.reason.replace('_', ' ')})" if cause.reason else cause.fate
    if not found.hit:
        return f"Yes: of {rows} none was {fate}{last}."
    answer = "Yes" if found.over else "No"
    return f"{answer}: {found.hit:,} of {rows} ({percent(found.hit, found.rows)}) were {fate}{last}."


def _rows_of(config: str, cause: Cause) -> str:
    """Return the command that lists the rows of a cause; for quarantined rows, which may lack a time, of any time."""
    named = ["--partition", cause.partitions[0]] if len(cause.partitions) == 1 else []
    reason = ["--reason", cause.reason] if cause.reason else []
    hours = (cause.first // HOUR * HOUR, (cause.last // HOUR + 1) * HOUR)
    times = [
        text for name, time in zip(("--since", "--until"), hours, strict=True) for text in (name, iso(time) or "")
    ]
    times = [] if cause.fate == Fate.QUARANTINED else times
    return command("rows", config, options=("--source", cause.source, *named, "--fate", cause.fate, *reason, *times))
