"""The top of a page: results in sentences, and what may need attention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tidemark.core.policy import Fate
from tidemark.report.page.charts.vega import words
from tidemark.report.page.data.answers import Answers
from tidemark.report.page.data.moves import by_reason
from tidemark.report.page.markup import Html, bullets, element, paragraph
from tidemark.report.words import counted, duration, moment

_NAMED = 5
"""Most partitions in a sentence."""
_LOOKED = {
    "LandedTooLate": "rows landed after their partition was taken to be idle: landing_delay is too small",
    "ListedLate": "objects landed with a time that an earlier run had passed",
    "ObjectTooOld": "objects were older than max_object_age and were left",
    "ObjectChanged": "objects changed after they were taken, and were not read again",
    "LandedAfterClose": "objects landed after their source was closed, and were left",
    "ObjectWithoutRows": "objects gave no rows, although something is in them",
    "EdgeLeftOpen": "end edges were dropped, so their lifetimes wait for a later one",
    "InputPartitionNotProgressing": "times a partition was idle for longer than its late tolerance",
}


def title(answers: Answers) -> str:
    """Return the title of the page."""
    return f"{answers.tables.pipeline}: what became of rows"


def summary(answers: Answers) -> Iterator[Html]:
    """Yield the beginning of a page."""
    totals, status = answers.runs.totals, answers.status
    if status["as_of"] is None:
        yield paragraph("No run has committed anything yet.")
    elif not totals["batches"]:
        yield paragraph(f"No run: there are no {answers.tables.scope.words}.")
    else:
        yield paragraph(_coverage(answers))
        if totals["rows"]:
            yield _facts(answers)
        yield from map(paragraph, _sources(answers))
    looks = list(_look(answers))
    if looks:
        yield element("div", element("h3", "Look at this"), bullets(looks), class_="look")
    elif totals["batches"]:
        yield paragraph("Nothing needs a look: no check failed, no row was dropped or quarantined.")


def _coverage(answers: Answers) -> str:
    totals = answers.runs.totals
    first, last = moment(totals["first_as_of"]), moment(totals["last_as_of"])
    when = f"as of {last}" if first == last else f"as of times from {first} to {last}"
    runs, batches = counted(totals["runs"], "run"), counted(totals["batches"], "micro-batch", "es")
    objects = counted(totals["objects"], "object")
    rows = counted(totals["rows"], "row") if totals["rows"] else "no row"
    sentence = f"{runs} in {batches}, {when} (UTC), took {objects} with {rows}."
    return f"{sentence} This page covers {answers.tables.scope.words}; all times are UTC."


def _facts(answers: Answers) -> Html:
    totals = answers.runs.totals
    cards = [element("div", element("dt", "rows"), element("dd", f"{totals['rows']:,}"))]
    for fate in Fate:
        count = totals[fate.value]
        name = f"{words(fate)} ({percent(count, totals['rows'])})"
        inner = (element("dt", name), element("dd", f"{count:,}"))
        cards.append(element("div", *inner, class_=fate.value.replace("_", "-")))
    return element("dl", *cards, class_="facts", id="totals")


def percent(part: int, whole: int) -> str:
    """Return a share in per cent; 0 % and 100 % only if it is exactly none or all."""
    if part in {0, whole}:
        return "100 %" if part else "0 %"
    share = 100 * part / whole
    if share < 0.1 or share > 99.9:
        return "under 0.1 %" if share < 1 else "over 99.9 %"
    return f"{share:.1f} %"


def _sources(answers: Answers) -> Iterator[str]:
    """Yield one sentence for each source: rows, reasons and how far adjusted ones were moved."""
    for judged in answers.sources:
        if not judged.fates.rows:
            yield f"{judged.source.name}: no row."
            continue
        text = f"{judged.source.name}: {counted(judged.fates.rows, 'row')}"
        reasons = [
            f"{move.judged + move.quarantined:,} {(move.reason or '').replace('_', ' ')}"
            for move in by_reason(judged.moves)
        ]
        text += f"; reasons: {', '.join(reasons)}." if reasons else ", all on time."
        whole = next((move for move in judged.moves if move.partition is None and move.reason is None), None)
        if whole is not None and whole.shifts is not None:
            text += (
                f" Adjusted rows were moved by {duration(whole.shifts.median)} in the middle, "
                f"by {duration(whole.shifts.largest)} at most."
            )
        yield text


def _look(answers: Answers) -> Iterator[str]:
    """Yield what may need attention: uncommitted batches and failed checks first."""
    status = answers.status
    if status["pending"]:
        batches = _some(status["pending"])
        yield f"Batches {batches} are planned or blocked, and not committed: no count of this page has them."
    for check in _newest_failed(answers):
        yield f"Quality: {check['table']}, {check['expectation']} failed in run {check['run_id']}."
    yield from _lost(answers)
    for finding in answers.findings:
        if finding["type"] in _LOOKED:
            where = f"{finding['type']}, source {finding['source']}"
            yield f"{where}: {finding['n']:,} {_LOOKED[finding['type']]}."
    for source in status["sources"]:
        yield from (f"Source {source['source']}: {each}." for each in source["attention"])


def _lost(answers: Answers) -> Iterator[str]:
    """Yield sentences on rows that are in no stream, or are missing from a window they belong to."""
    for judged in answers.sources:
        dropped = judged.fates.totals[Fate.DROPPED]
        if dropped:
            share = percent(dropped, judged.fates.rows)
            yield f"{judged.source.name}: {counted(dropped, 'row')} dropped ({share}), in no stream."
        unread = judged.fates.totals[Fate.QUARANTINED]
        if unread:
            share = percent(unread, judged.fates.rows)
            yield f"{judged.source.name}: {counted(unread, 'row')} quarantined ({share}), in no stream."
    for letters in answers.letters:
        if letters.letters:
            times = counted(letters.letters, "time")
            yield f"Stream {letters.stream}: {times} a row was late for a window, and is not in it."


def _newest_failed(answers: Answers) -> list[dict[str, object]]:
    newest = answers.quality[-1]["run_id"] if answers.quality else None
    return [check for check in answers.quality if check["run_id"] == newest and not check["success"]]


def _some(names: Sequence[object]) -> str:
    shown = ", ".join(map(str, names[:_NAMED]))
    more = len(names) - _NAMED
    return f"{shown} and {more:,} more" if more > 0 else shown
