"""Causes of abnormally many rows with a fate and a reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tidemark.core.policy import REQUIREMENT, Reason
from tidemark.core.times import HOUR, MINUTE
from tidemark.report.causes.causes import Cause, Kind, clocks_change
from tidemark.report.causes.cells import CountedSource, partitions_of
from tidemark.report.causes.details import (
    Beyond,
    Details,
    Repeats,
    details,
    ordinarily_repeated,
    repeats,
    tolerance_of,
)
from tidemark.report.causes.ordinary import Incident
from tidemark.report.causes.sentences import capital, kept_by, listed, of_total, span_of, when, who
from tidemark.report.scan import single
from tidemark.report.words import brief

_MOST = 0.8
"""Share of an incident's rows that must agree for a kind of cause."""
_COINCIDING = 0.4
"""Share of repeated event times from which on equal times are ordinary, and no sign of duplicates."""


def judged_cause(look: CountedSource, partitions: tuple[str, ...], span: Incident, late: set[str]) -> Iterator[Cause]:
    """Yield the cause of an incident of rows with one fate and reason, if it has rows; `late` are files that landed
    late."""
    found = details(look, partitions, span)
    if found is not None and not partitions and (partitions := found.most(partitions_of(look))):
        found = details(look, partitions, span)
    if found is None:
        return
    fate, _, reason = span.kind.partition(" ")
    own = tuple(name for name, _ in found.partitions) if partitions else ()
    again = repeats(look, partitions, span) if found.beyond else []
    kind = _kind(look, own, found, reason, again, late)
    query = "SELECT CAST(sum(n) AS BIGINT) FROM cells WHERE scope AND fate = ?"
    rows = of_total(found.rows, single(look.connection, query, [fate]) or 0, fate)
    text, remedy = _words(kind, own, found, (reason, tolerance_of(look.source.rules, reason)), again)
    beyond = None if found.beyond is None else (found.beyond.median, found.beyond.high)
    files = tuple(file for file, _ in found.files)
    sentence = capital(f"{rows} are {text}; {remedy}")
    kept = found.kept if found.tolerances and kind not in (Kind.REPLAYED_FILE, Kind.DUPLICATES) else None
    yield Cause(
        kind, look.name, own, found.rows, found.first, found.last, files, sentence, remedy, fate, reason, kept,
        beyond,
        found.substream,
    )  # fmt: skip


def _kind(
    look: CountedSource, own: tuple[str, ...], found: Details, reason: str, again: Sequence[Repeats], late: set[str]
) -> Kind:
    largest = found.files[0][1] / found.rows
    if reason.startswith(REQUIREMENT) and largest >= _MOST:
        return Kind.BAD_FILE
    if found.beyond is None and reason in (Reason.INVALID_ROW, Reason.INVALID_TIME):
        return Kind.BAD_FILE if largest >= _MOST else Kind.SCHEMA_CHANGE
    if sum(each.rows for each in again) >= _MOST * found.rows and ordinarily_repeated(look, own) < _COINCIDING:
        return Kind.REPLAYED_FILE if largest >= _MOST else Kind.DUPLICATES
    if sum(rows for file, rows in found.files if file in late) >= _MOST * found.rows:
        return Kind.SLOW_LANDING
    if found.beyond is None or reason == Reason.OUT_OF_ORDER:
        return Kind.DISORDER
    return _shifted(found, found.beyond, reason)


def _shifted(found: Details, beyond: Beyond, reason: str) -> Kind:
    """The kind of cause for rows far from their arrival."""
    constant = beyond.high - beyond.low <= 20 * MINUTE and abs(beyond.median - HOUR) <= 6 * MINUTE
    if constant and clocks_change(found.first):
        return Kind.CLOCK_CHANGE
    if beyond.grows(found.last - found.first):
        return Kind.GROWING_SKEW
    return Kind.CLOCK_AHEAD if reason == Reason.EARLY else Kind.LATE_SENDER


def _words(
    kind: Kind, own: tuple[str, ...], found: Details, why: tuple[str, int | None], again: Sequence[Repeats]
) -> tuple[str, str]:
    """Return a description of the rows, and the remedy; `why` is their reason and its tolerance in microseconds."""
    reason, tolerance = why
    owner = who(own, found.substream)
    files = listed([file for file, _ in found.files])
    hours = when(found.first, found.last)
    if kind is Kind.BAD_FILE:
        return f"from {files} ({reason}), arrived {hours}", "correct these rows and land them as a new file"
    if kind is Kind.SCHEMA_CHANGE:
        return (
            f"{owner}, arrived {hours}, {reason} in {files}",
            "compare these files with the schema of the source",
        )
    if kind in (Kind.REPLAYED_FILE, Kind.DUPLICATES):
        origins = listed(list(dict.fromkeys(each.origin or "" for each in again)))
        return (
            f"{owner}, arrived {hours}, from {files}, and repeat rows of {origins}",
            "no tolerance should keep them",
        )
    if found.beyond is None:
        return f"{owner}, arrived {hours}, {reason}, from {files}", "look at their sender"
    ways = {Reason.LATE.value: "late", Reason.EARLY.value: "ahead of their arrival"}
    way = ways.get(reason, "behind the watermark")
    far = f"{span_of(found.beyond.low, found.beyond.high)} {way} (tolerance {brief(tolerance or 0)})"
    added, remedy = _MORE.get(kind, ("", "look at their sender"))
    kept = kept_by(found.tolerances, found.kept) if found.tolerances else remedy
    return f"{owner}, arrived {hours}, {far}, from {files}{added}", kept


_MORE = {
    Kind.CLOCK_AHEAD: (": its clock is ahead", "set the clock"),
    Kind.GROWING_SKEW: (", more with each hour: its clock runs wrong", "set the clock"),
    Kind.CLOCK_CHANGE: (", on the day on which clocks change: it sends local time", "have it send UTC"),
    Kind.SLOW_LANDING: (": these files landed late", "look at what brings the files"),
}
"""For each kind: text added to its sentence, and the remedy if no row was dropped or no tolerance keeps any."""
