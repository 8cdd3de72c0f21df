"""Selects the columns of the event time and the arrival time: by their names, and by comparing their values with each
other and with the landing times of the objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tidemark.config.sql.functions import KEYWORDS, SESSION_WORDS
from tidemark.config.types import parse_type, quoted
from tidemark.core.times import DAY, MINUTE
from tidemark.proposal.columns.timestamps import TimeFormat, ambiguous, are_clocks, has_zone, joined, reading_of
from tidemark.proposal.columns.words import AGAINST, ARRIVAL, BEGINNINGS, ENDS, EVENT, weight, words_of
from tidemark.proposal.samples import RowSample, Values, at_path

SKEW = 5 * MINUTE
"""Default of `clock_skew`, the most that an arrival may be after its object's landing, microseconds."""
_DEEP = 3
OLD = 20 * DAY
"""Longest median from an event to its arrival that is plausible, microseconds."""
_RECENT = 31 * DAY
_NAMED = 2
_LIKELY = 0.9
_ORDERED = 0.99

Micros = Sequence[int | None]


@dataclass(frozen=True)
class Candidate:
    """A column, or a member of one, that holds times: its microseconds by row (None: the row has no time).

    `fits`: share of values that are times. `filled`: share of rows with a time. `landed`: share of times not after
    their object's landing. `ordered`: share of times not before the previous row's in the file. `lag`: median from
    time to landing, microseconds. `constant`: all times are equal. `ahead`: longest time from a landing to a later
    time. `swapped`: days and months may be exchanged. `zoneless`: number of times without a zone, read as UTC.
    `clock`: SQL of the column with the time of day, if `path` has only the day.
    """

    path: tuple[str, ...]
    reading: TimeFormat
    micros: Micros
    fits: float
    filled: float
    landed: float
    ordered: float
    lag: int
    constant: bool = False
    ahead: int = 0
    swapped: bool = False
    zoneless: int = 0
    clock: str = ""

    @property
    def column(self) -> str:
        """Name of the column in SQL."""
        return ".".join(map(quoted, self.path))

    @property
    def name(self) -> str:
        """The name that describes the time: the last part of the path that does not begin with `$`."""
        return next((part for part in reversed(self.path) if not part.startswith("$")), self.path[-1])

    @property
    def expression(self) -> str:
        """Spark SQL of the time."""
        if self.clock:
            return self.reading.of_parts(_safe(self.path), self.clock)
        plain = self.reading.expression("")
        return self.reading.expression(self.column) if not plain else self.reading.expression(_safe(self.path))

    @property
    def named_event(self) -> float:
        return weight(self.name, EVENT) - weight(self.name, AGAINST)

    @property
    def named_arrival(self) -> float:
        return weight(self.name, ARRIVAL) - weight(self.name, AGAINST)

    @property
    def event_score(self) -> float:
        """Suitability as event time; more is better. Among equal columns, the plainest name is best."""
        plain = 0.1 * (len(words_of(self.name)) - 1) + 0.25 * (len(self.path) - 1)
        score = self.named_event + 2 * self.filled + 2 * self.landed - self.reading.dated
        score += self.ordered - 5 * self.constant
        return score - 3 * (self.lag > OLD) - plain - max(self.named_arrival, 0) / 2

    @property
    def arrival_score(self) -> float:
        """Suitability as arrival; more is better."""
        return self.named_arrival + self.filled + 2 * self.landed + self.ordered - 2 * self.reading.dated


def _safe(path: Sequence[str]) -> str:
    """Return a column's name for use within an expression; words of the SQL grammar are in backquotes."""
    words = KEYWORDS | SESSION_WORDS
    return ".".join(f"`{name}`" if name.lower() in words else quoted(name) for name in path)


@dataclass(frozen=True)
class Times:
    """The chosen times, and all candidates, best first. `sure` is the confidence: `clear`, `likely` or `a guess`."""

    event: Candidate | None
    arrival: Candidate | None
    candidates: tuple[Candidate, ...]
    sure: str = "clear"


def candidates(sample: RowSample) -> list[Candidate]:
    """Return every column, or member of a column, whose values are times."""
    found = []
    for path in _paths(sample):
        values = at_path(sample, path)
        there = [value for value in values if value is not None]
        native = path[0] in sample.native
        read = (TimeFormat("timestamp", native=True), 1.0) if native else reading_of(there) if there else None
        if there and read is not None:
            found.append(_candidate(sample, path, values, *read))
    whole = list(_of_parts(sample, [each for each in found if each.reading.dated and len(each.path) == 1]))
    found = [each for each in found if all(each.path != other.path for other in whole)] + whole
    return [each for each in found if not each.reading.counted or _is_time(each)]


def _of_parts(sample: RowSample, days: Sequence[Candidate]) -> Iterator[Candidate]:
    """Yield the times of day columns that are followed by a column of times of day, both combined."""
    names = list(sample.values)
    for day in days:
        name, *_ = day.path
        clock = next(iter(names[names.index(name) + 1 :]), "")
        if not clock or not are_clocks(sample.values[clock]):
            continue
        values = joined(sample.values[name], sample.values[clock])
        read = reading_of([value for value in values if value is not None])
        if read is not None:
            yield replace(_candidate(sample, day.path, values, *read), clock=_safe((clock,)))


def _is_time(each: Candidate) -> bool:
    """True if numbers in the range of times are times: by their name, or because they are shortly before the
    landing."""
    named = any(weight(each.name, words) for words in (EVENT, ARRIVAL, AGAINST))
    return named or (each.landed >= _LIKELY and each.lag <= _RECENT)


def _paths(sample: RowSample) -> Iterator[tuple[str, ...]]:
    for name, kind in sample.types.items():
        yield from paths_below((name,), kind.type)


def paths_below(path: tuple[str, ...], kind: str) -> Iterator[tuple[str, ...]]:
    """Yield the paths that may hold times in a column of this type: the column, or members of it."""
    read = parse_type(kind)
    if read.fields and len(path) < _DEEP:
        for member in read.fields:
            yield from paths_below((*path, member.name), member.type)
    elif not read.nested and kind not in ("BOOLEAN", "BINARY"):
        yield path


def _candidate(
    sample: RowSample, path: tuple[str, ...], values: Values, reading: TimeFormat, fits: float
) -> Candidate:
    micros = [None if value is None else reading.micros(value) for value in values]
    lags = sorted(
        sample.objects[number].modified - time
        for number, time in zip(sample.of, micros, strict=True)
        if time is not None
    )
    late = sum(lag < -SKEW for lag in lags)
    texts = [value for value in values if isinstance(value, str)]
    return Candidate(
        path,
        reading,
        micros,
        fits,
        filled=len(lags) / len(values),
        landed=1 - late / len(lags),
        ordered=_ordered(sample.of, micros),
        lag=lags[len(lags) // 2],
        constant=len(micros) > 1 and len({*micros} - {None}) == 1,
        ahead=max(-lags[0], 0),
        swapped=ambiguous(reading, texts),
        zoneless=len(lags) if path[0] in sample.zoneless else _zoneless(reading, values),
    )


def _zoneless(reading: TimeFormat, values: Values) -> int:
    """Count the times that have a time of day but no zone."""
    if reading.native or reading.counted or reading.dated or "Z" in reading.way:
        return 0
    local = sum(isinstance(value, datetime) and value.tzinfo is None for value in values)
    texts = (value for value in values if isinstance(value, str) and not has_zone(value))
    return local + sum(reading.micros(value) is not None for value in texts)


def _ordered(of: Sequence[int], micros: Micros) -> float:
    """Return the share of times that are not before the previous time in their file; 1 if there are no pairs."""
    pairs = behind = 0
    above: tuple[int, int] | None = None
    for number, time in zip(of, micros, strict=True):
        if time is None:
            continue
        if above is not None and above[0] == number:
            pairs += 1
            behind += time < above[1]
        above = number, time
    return 1 - behind / pairs if pairs else 1.0


def choose(found: Sequence[Candidate]) -> Times:
    """Choose the event time and the arrival among candidates; both may be None."""
    arrival = _arrival(found)
    others = [each for each in found if each is not arrival and each.filled >= 0.5]
    if arrival is not None:
        others = [each for each in others if _follows(arrival, each) >= 0.5]
    event = max(others, key=lambda each: each.event_score, default=None)
    if event is not None and event.event_score < _NAMED and arrival is not None:
        event = None
    ranked = sorted(found, key=lambda each: -max(each.event_score, each.arrival_score))
    return Times(event, arrival, tuple(ranked), _sureness(event, arrival, others))


def may_arrive(each: Candidate) -> bool:
    """True if a column's values allow it to be the arrival."""
    return each.landed >= 0.98 and each.filled >= 0.5 and not each.reading.dated and not each.constant


def _arrival(found: Sequence[Candidate]) -> Candidate | None:
    possible = [each for each in found if may_arrive(each)]
    named = [each for each in possible if each.named_arrival >= _NAMED and each.named_arrival > each.named_event]
    if named:
        return max(named, key=lambda each: each.arrival_score)
    shown = [
        each
        for each in possible
        if weight(each.name, AGAINST) == 0 and any(_shows(each, other) for other in found if other is not each)
    ]
    ended = [each for each in possible if any(_ends(each, other) for other in found if other is not each)]
    shown = [each for each in shown if not any(_ends(other, each) for other in found)]
    return max(ended or shown, key=lambda each: (each.arrival_score, -each.named_event), default=None)


def _ends(end: Candidate, beginning: Candidate) -> bool:
    """True if names and values show that `beginning` and `end` bound one thing: a row about both cannot have arrived
    before `end`."""
    return (
        weight(end.name, ENDS) > weight(end.name, BEGINNINGS)
        and weight(beginning.name, BEGINNINGS) > 0
        and not beginning.reading.dated
        and end.filled >= beginning.filled - 0.01
        and _follows(end, beginning, 0) >= _ORDERED
    )


def _shows(arrival: Candidate, event: Candidate) -> bool:
    """True if values alone show that `arrival` is the arrival of `event`: files are ordered by `arrival` but not by
    `event`, and `arrival` is rarely before `event` or long after it."""
    return (
        arrival.ordered >= _ORDERED
        and event.ordered < arrival.ordered - 0.01
        and not event.reading.dated
        and (event.named_event >= arrival.named_event or _qualifies(arrival, event))
        and event.lag - arrival.lag <= OLD
        and _follows(arrival, event) >= _ORDERED
    )


def _qualifies(arrival: Candidate, event: Candidate) -> bool:
    """True if the arrival's name has the words of the event's name and more, as `observed_time` and `time`."""
    return set(words_of(arrival.name)) > set(words_of(event.name))


def _follows(arrival: Candidate, event: Candidate, skew: int = SKEW) -> float:
    """Return the share of rows with both times in which the arrival is at most `skew` before the event."""
    pairs = [(a, e) for a, e in zip(arrival.micros, event.micros, strict=True) if a is not None and e is not None]
    return sum(a >= e - skew for a, e in pairs) / len(pairs) if pairs else 0.0


def _sureness(event: Candidate | None, arrival: Candidate | None, others: Sequence[Candidate]) -> str:
    if event is None:
        return "clear" if arrival is not None and arrival.named_arrival >= 3 else "a guess"
    second = max((each.event_score for each in others if each is not event), default=0)
    named = event.named_event >= _NAMED and (arrival is None or arrival.named_arrival >= _NAMED)
    if named and event.event_score - second >= 1 and event.landed >= _LIKELY:
        return "clear"
    return "likely" if event.named_event > 0 and event.event_score > second else "a guess"


def without_event(times: Times) -> Times:
    """Return the times without event time; the former event time becomes the arrival."""
    return replace(times, event=None, arrival=times.event)
