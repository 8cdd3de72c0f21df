"""The top of a page: results in sentences, and what may need attention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tidemark.core.policy import Fate
from tidemark.report.page.charts.vega import words
from tidemark.report.page.charts.watermark import watermark_picture
from tidemark.report.page.data.answers import Answers, SourceFates
from tidemark.report.page.data.moves import by_reason
from tidemark.report.page.data.tables import Row
from tidemark.report.page.fates import cards
from tidemark.report.page.markup import Html, bullets, element, figure, paragraph
from tidemark.report.page.measures import failed, once
from tidemark.report.page.over import next_steps
from tidemark.report.words import counted, day_of, duration, moment, percent, second

_MOST_CAUSES = 3
"""Most causes at the top of a page; `tidemark why` has all."""
_NAMED = 5
"""Most partitions in a sentence."""
_CALM = "Nothing needs a look: no check of the newest run failed, and nothing is out of the ordinary."
_LOOKED = {
    "LandedTooLate": ("row", "landed after the partition was taken to be idle: landing_delay is too small"),
    "ListedLate": ("object", "landed with a time that an earlier run had passed"),
    "ObjectTooOld": ("object", "had passed max_object_age and stayed behind"),
    "ObjectChanged": ("object", "changed after a run had taken it: the change is not read, land it under a new name"),
    "LandedAfterClose": ("object", "landed after the source was closed and stayed behind"),
    "ObjectWithoutRows": ("object", "gave no rows, although something is inside"),
    "EdgeLeftOpen": ("dropped end edge", "left a lifetime open, which waits for a later one"),
    "InputPartitionNotProgressing": ("time", "a partition was idle for longer than its late tolerance"),
}
"""By kind of finding, what is counted and what it did."""


def title(answers: Answers) -> str:
    """Return the title of the page."""
    return f"{answers.tables.spec.name}: what became of rows"


def summary(answers: Answers) -> Iterator[Html]:
    """Yield the beginning of a page: the answer, its runs, the picture that shows it, then the numbers."""
    totals = answers.runs.totals
    if answers.status["as_of"] is None:
        yield paragraph("No run has committed anything yet.")
    elif not totals["batches"]:
        yield paragraph(f"No run: there are no {answers.tables.scope.words}.")
    looks = list(_look(answers))
    if looks:
        yield element("div", element("h2", "Look at this"), *_said(answers, looks), class_="look")
    elif totals["batches"]:
        yield paragraph(_CALM, class_="calm")
    if totals["batches"]:
        yield paragraph(_coverage(answers), class_="quiet")
    yield from shown_cause(answers)
    if totals["rows"]:
        yield cards(totals, "totals")
        yield from map(paragraph, _sources(answers))


def _said(answers: Answers, looks: Sequence[str]) -> Iterator[Html]:
    """Yield the first sentence alone, as the answer, then its next steps, then the other sentences as a list."""
    yield paragraph(looks[0], class_="first")
    yield from next_steps(answers)
    if len(looks) > 1:
        yield bullets(looks[1:])


def shown_cause(answers: Answers) -> Iterator[Html]:
    """Yield the picture of the stretch with the first cause."""
    judged = first_abnormal(answers)
    if judged is None or judged.stretch is None:
        return
    picture = watermark_picture(judged.source.name, judged.stretch)
    if picture is not None:
        yield figure(f"watermark-{judged.source.name}", picture)


def first_abnormal(answers: Answers) -> SourceFates | None:
    """Return the source of the first cause."""
    named = [cause.source for cause in answers.tables.causes or ()]
    return next((each for each in answers.sources if named and each.source.name == named[0]), None)


def _coverage(answers: Answers) -> str:
    totals = answers.runs.totals
    first, last = moment(totals["first_as_of"]), moment(totals["last_as_of"])
    when = f"as of {last}" if first == last else f"as of times from {first} to {last}"
    runs, batches = counted(totals["runs"], "run"), counted(totals["batches"], "micro-batch", "es")
    objects = counted(totals["objects"], "object")
    rows = counted(totals["rows"], "row") if totals["rows"] else "no row"
    sentence = f"{runs} in {batches}, {when} (UTC), took {objects} with {rows}. {_ran(answers)}"
    return f"{sentence} This page covers {answers.tables.scope.words}; all times are UTC."


def _ran(answers: Answers) -> str:
    """Return a sentence on when the runs ran, as far as that is known."""
    ran, runs = answers.runs.ran, answers.runs.totals["runs"]
    they = "it" if runs == 1 else "they"
    if not ran:
        return f"When {they} ran is no longer known."
    first, last = second(ran[0]), second(ran[-1], day_of(ran[0]))
    when = f"ran at {first}" if first.endswith(last) else f"ran from {first} to {last}"
    if len(ran) == runs:
        return f"{they.capitalize()} {when}."
    return f"{len(ran):,} of them {when}; when the others ran is no longer known."


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
    """Yield abnormal findings: causes first, then uncommitted batches, failed checks and diagnostics. Rows that a
    cause explains are not counted again."""
    status, causes = answers.status, answers.tables.causes
    yield from (cause.sentence for cause in (causes or ())[:_MOST_CAUSES])
    if status["pending"]:
        batches, several = _some(status["pending"]), "es" * (len(status["pending"]) > 1)
        yield f"Batch{several} {batches} of a run that is not committed: in no count of this page."
    yield from dict.fromkeys(_failed(answers))
    yield from _lost(answers)
    for finding in answers.findings:
        if finding["type"] in _LOOKED:
            where = f"{finding['type']}, source {finding['source']}"
            thing, done = _LOOKED[finding["type"]]
            yield f"{where}: {counted(finding['n'], thing)} {done}."
    for source in status["sources"]:
        yield from (f"Source {source['source']}: {each}." for each in source["attention"])


def _failed(answers: Answers) -> Iterator[str]:
    """Yield the failed checks of the newest run, each once."""
    for check in once(_newest_failed(answers)):
        yield f"{failed(check)}, in run {check['run_id']}."


def _lost(answers: Answers) -> Iterator[str]:
    """Yield sentences on rows that no stream contains, or that a window lacks, unless a cause explains them. Dropped
    rows are included only if causes were not searched, since some dropped rows are ordinary."""
    causes = answers.tables.causes
    explained = {(cause.source, cause.fate) for cause in causes or ()}
    fates = (Fate.QUARANTINED,) if causes is not None else (Fate.DROPPED, Fate.QUARANTINED)
    for judged in answers.sources:
        name = judged.source.name
        for fate in fates:
            rows = judged.fates.totals[fate]
            if rows and (name, fate.value) not in explained:
                share = percent(rows, judged.fates.rows)
                yield f"{name}: {counted(rows, 'row')} {words(fate)} ({share}), in no stream{_why(judged, fate)}."
    for letters in answers.letters:
        if letters.letters:
            times = counted(letters.letters, "time")
            yield f"Stream {letters.stream}: {times} a row was late for a window, and is not in it."


def _why(judged: SourceFates, fate: Fate) -> str:
    """Return the most frequent reason of quarantined rows, with the file that has most of them."""
    first = next(iter(judged.quarantined), None)
    if fate is not Fate.QUARANTINED or first is None or first.file is None:
        return ""
    return f": {first.rows:,} {first.reason.replace('_', ' ')}, most from {first.file}"


def _newest_failed(answers: Answers) -> list[Row]:
    newest = answers.quality[-1]["run_id"] if answers.quality else None
    return [check for check in answers.quality if check["run_id"] == newest and not check["success"]]


def _some(names: Sequence[object]) -> str:
    shown = ", ".join(map(str, names[:_NAMED]))
    more = len(names) - _NAMED
    return f"{shown} and {more:,} more" if more > 0 else shown
