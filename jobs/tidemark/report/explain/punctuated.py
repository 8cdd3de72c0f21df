"""Explains a row of a punctuated source: the punctuation in force, its cause and its effect."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow.compute as pc

from tidemark.core.policy import Fate, Reason
from tidemark.core.punctuation import Mark, Punctuation
from tidemark.core.times import MAX_TIME, within_years
from tidemark.report.events import EventRow, instant, read_row
from tidemark.report.explain.history import PolicyHistory
from tidemark.report.explain.origin import Origin, OriginKind, Past
from tidemark.report.explain.steps import ADJUSTED, DROPPED, PASSED, Comparison
from tidemark.report.scan import UNREPEATED, first_offset, single, sql, stream
from tidemark.report.words import duration, moment

_EQUALS = re.compile(r"\s*`?(\w+)`?\s*=\s*'([^']*)'\s*")
_NAMES = {
    Mark.POINT: "a point",
    Mark.INTERVAL: "an interval",
    Mark.START: "a start edge",
    Mark.END: "an end edge",
    Mark.PUNCTUATION: "a punctuation of the producer",
}


def mark_of(row: EventRow, past: Past) -> Mark:
    """Return the kind of a judged row, as far as its columns show the kind without computed expressions."""
    punctuation, shape = past.facts.punctuation, past.facts.shape
    if punctuation is not None and punctuation.row is not None and _is_punctuation(row, punctuation.row):
        return Mark.PUNCTUATION
    if shape.edges:
        return Mark.START if row.end_time is None else Mark.END
    if shape.end_time is None:
        return Mark.POINT
    return Mark.INTERVAL if row.end_time is not None else Mark.PUNCTUATION


def _is_punctuation(row: EventRow, predicate: str) -> bool:
    """True if the predicate holds for a row. A predicate `column = 'text'` is compared. Any other predicate counts as
    true for a row without end that is on time behind the punctuation: no other kind of row can be there."""
    found = _EQUALS.fullmatch(predicate)
    if found:
        wanted = found[1].lower()
        return any(name.lower() == wanted and value == found[2] for name, value in row.payload.items())
    behind = row.watermark is not None and row.event_time is not None and row.event_time < row.watermark
    return behind and row.disposition == Fate.ON_TIME and row.end_time is None


def origin_of_punctuation(past: Past) -> Origin | None:
    """Return the cause of the punctuation in force before the row: the row that issued it, or an imported source."""
    mark, punctuation = past.row.watermark, past.facts.punctuation
    if mark is None or punctuation is None:
        return None
    here = (pc.field("_partition") == past.row.partition) & (pc.field("_offset") <= past.row.offset)
    first = first_offset(past.events, here & (pc.field("_watermark") == instant(mark)), None)
    setter = None if first is None else _judged_before(past, first)
    if setter is not None and _sets(setter, punctuation, mark, past):
        return Origin(OriginKind.ROW, mark, row=setter)
    return Origin(OriginKind.IMPORTED if punctuation.import_from else OriginKind.UNKNOWN, mark)


def _judged_before(past: Past, offset: int) -> EventRow | None:
    """Return the last judged row of the partition before an offset."""
    here = (pc.field("_partition") == past.row.partition) & (pc.field("_offset") < offset)
    where = here & (pc.field("_disposition") != Fate.QUARANTINED.value)
    with sql() as connection:
        connection.register("earlier", stream(past.events, ["_offset", "_reasons"], where))
        last = single(connection, f"SELECT max(_offset) FROM earlier WHERE {UNREPEATED}")  # noqa: S608
    return None if last is None else read_row(past.facts.name, past.events, past.row.partition, last)


def _sets(row: EventRow, punctuation: Punctuation, mark: int, past: Past) -> bool:
    if row.event_time is None:
        return False
    if mark_of(row, past) is Mark.PUNCTUATION:
        return row.event_time == mark
    return punctuation.every is not None and within_years(row.event_time - punctuation.delay) == mark


def steps_of_punctuated(past: Past, day: str | None) -> list[Comparison]:
    """Return the comparison with the punctuation and, for an end edge, the search for its start edge."""
    row, mark = past.row, mark_of(past.row, past)
    if mark is Mark.PUNCTUATION:
        return []
    time = row.end_time if mark is Mark.END else row.event_time
    step = Comparison(Reason.VIOLATION, PASSED, time, row.watermark, time)
    if Reason.VIOLATION in row.reasons:
        moved = row.disposition == Fate.ADJUSTED
        step = replace(step, outcome=ADJUSTED if moved else DROPPED, after=row.system_timestamp if moved else None)
    found = [replace(step, sentence=f"Violation: {_compared(step, mark, day)}.")]
    if mark is Mark.END and step.outcome == PASSED:
        found.append(_matched(row, day))
    return found


def _compared(step: Comparison, mark: Mark, day: str | None) -> str:
    what = "its end" if mark is Mark.END else "its start"
    if step.time is None or step.reference is None:
        return f"no punctuation was in force, so that {what} {moment(step.time, day)} cannot be behind one"
    gap = step.time - step.reference
    where = "exactly at" if gap == 0 else f"{duration(abs(gap))} {'ahead of' if gap > 0 else 'behind'}"
    result = {PASSED: "passed", DROPPED: "dropped"}.get(
        step.outcome, f"its start is moved to {moment(step.after, day)}"
    )
    return f"{what} {moment(step.time, day)} is {where} the punctuation {moment(step.reference, day)}: {result}"


def _matched(row: EventRow, day: str | None) -> Comparison:
    if Reason.UNMATCHED in row.reasons:
        sentence = "Edges: no open start edge has this start and equal match columns: dropped."
        return Comparison(Reason.UNMATCHED, DROPPED, row.event_time, sentence=sentence)
    start = moment(row.system_timestamp, day)
    sentence = f"Edges: it closes the oldest open start edge that matches, whose start in force is {start}."
    return Comparison(Reason.UNMATCHED, PASSED, row.event_time, after=row.system_timestamp, sentence=sentence)


def punctuation_sentences(past: Past, origin: Origin | None, day: str | None) -> Iterator[str]:
    """Yield the kind of the row, the punctuation in force before it, and the cause of that punctuation."""
    row, mark = past.row, mark_of(past.row, past)
    lives = f", its end {moment(row.end_time, day)}" if row.end_time is not None else ""
    if mark is Mark.PUNCTUATION:
        yield f"It is {_NAMES[mark]} at {moment(row.event_time, day)}: it enters no stream and is always on time."
    else:
        yield f"It is {_NAMES[mark]}; its start is {moment(row.event_time, day)}{lives}."
    if origin is None:
        yield f"No punctuation was in force before it: nothing had set one for partition {row.partition}."
        return
    start = f"The punctuation in force before it was {moment(origin.watermark, day)}"
    punctuation = past.facts.punctuation
    if origin.row is not None and punctuation is not None:
        yield f"{start}, set by {_setter(origin.row, punctuation, past, day)}."
    elif origin.kind is OriginKind.IMPORTED and punctuation is not None:
        below, several = _sources(punctuation), len(punctuation.import_from) > 1
        if origin.watermark == MAX_TIME:
            which = "which are imported, are" if several else "which is imported, is"
            yield f"{start}, past everything: {below}, {which} complete."
        elif several:
            yield f"{start}, imported from {below}: the least that they had reached when the row arrived."
        else:
            yield f"{start}, imported from {below}, which had come so far when the row arrived."
    else:
        yield f"{start}. What set it is no longer in the tables."


def kept_with(steps: Sequence[Comparison], punctuation: Punctuation, history: PolicyHistory) -> Iterator[str]:
    """Yield the setting that would have kept a row that violates a punctuation. `delay` does not change which rows
    generate punctuations: a larger `delay` makes each punctuation earlier by the difference."""
    step = next((each for each in steps if each.reason is Reason.VIOLATION and each.outcome != PASSED), None)
    if step is None or step.time is None or step.reference is None:
        return
    others = "rows of the producer" if punctuation.row is not None else _sources(punctuation)
    if punctuation.every is None:
        yield f"No setting would have kept it: its punctuations come from {others}."
    elif punctuation.row is not None or punctuation.import_from:
        yield f"What would have kept it is not known: punctuations come from {others}, too, which no delay moves."
    elif history.several or history.sliced or history.rebased or step.reference >= MAX_TIME:
        yield "What would have kept it does not follow from the settings that are recorded."
    else:
        least = punctuation.delay + step.reference - step.time
        wanted = f"punctuation.delay at least {duration(least)} ({least} us)"
        yield f"It would have been no violation with {wanted}, all else being the same."


def _sources(punctuation: Punctuation) -> str:
    names = punctuation.import_from
    listed = " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)
    return f"{'sources' if len(names) > 1 else 'source'} {listed}"


def _setter(row: EventRow, punctuation: Punctuation, past: Past, day: str | None) -> str:
    where = f"row {row.offset} ({row.file}, batch {row.batch_id})"
    if mark_of(row, past) is Mark.PUNCTUATION:
        return f"{where}, which is that punctuation"
    every = punctuation.every
    often = "its count" if every is None or every.period is None else f"the first of its {duration(every.period)}"
    start, delay = moment(row.event_time, day), duration(punctuation.delay)
    return f"{where}: {often} made it issue one, at its start {start} less delay {delay}"
