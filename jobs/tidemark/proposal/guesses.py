"""Assumptions of a proposal, and their cost if they are wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tidemark.config.formats import FORMATS
from tidemark.core.policy import Tolerance
from tidemark.core.times import format_duration
from tidemark.proposal.columns.time_orders import TimeOrder, other_arrivals
from tidemark.proposal.columns.times import Candidate
from tidemark.proposal.durations import brief
from tidemark.proposal.landing_dates import remark
from tidemark.proposal.propose import ProposedSource, rows_of
from tidemark.proposal.samples import RowSample
from tidemark.proposal.tolerances import MeasuredTolerances, judge, policy_of

_WEIGHTS = {"quarantined": 1.0, "dropped": 1.0, "mistimed": 0.5, "adjusted": 0.2, "delayed": 0.1, "unread": 0.1,
            "text": 0.02}  # fmt: skip
"""Cost of each effect on a row; the loss of a row costs 1."""
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_SOME = 5


@dataclass(frozen=True)
class Guess:
    """An assumption. `key`: the setting. `effect`: what happens to rows, as proposed or if it is wrong: quarantined,
    dropped, mistimed, adjusted, delayed (output waits for them), unread (values are lost) or text (values are text).
    `rows`: sampled rows with this effect; None if only rows outside the sample may have it."""

    key: str
    message: str
    effect: str
    rows: int | None = None

    @property
    def cost(self) -> tuple[bool, float, float]:
        """Sort key: sampled rows times the weight of the effect; then guesses on unsampled rows; then none."""
        weight = _WEIGHTS[self.effect]
        return bool(self.rows), weight * (self.rows or 0), weight * (self.rows is None)


def guesses_of(sources: Sequence[ProposedSource]) -> list[tuple[str, Guess]]:
    """Return the assumptions on all sources, each with the name of its source, the most expensive first."""
    found = [(source.name, guess) for source in sources for guess in _of_source(source)]
    return sorted(found, key=lambda each: each[1].cost, reverse=True)


def _of_source(source: ProposedSource) -> Iterator[Guess]:
    yield from _of_files(source)
    yield from _of_columns(source)
    yield from _of_choices(source)
    yield from _of_zones(source)
    yield from _of_partitions(source)
    if source.measured is not None:
        yield from _of_tolerances(source.measured)


def touched(rows: int | None, effect: str) -> str:
    """Return in words what an assumption touches: `60 sampled rows: mistimed`."""
    count = "rows not sampled" if rows is None else f"{rows:,} sampled {'row' if rows == 1 else 'rows'}"
    return f"{count}: {effect}"


def zone_doubt(each: Candidate, more: str = "") -> str:
    """Return the doubt about times without a zone, and how to set one; `more` follows the name of the column."""
    signs = f", but some values lie after their landing, by up to {brief(each.ahead)}" if each.landed < 1 else ""
    return (
        f"{each.column}{more} says no zone and is read as UTC{signs}: if it is local time, write"
        f" to_utc_timestamp({each.expression}, 'Europe/Berlin') or so"
    )


def order_doubt(order: TimeOrder) -> str:
    """Return the doubt that another column may be the arrival."""
    return (
        f"{order.later.column} is never before {order.earlier.column}, by {brief(order.median)} in the middle and"
        f" {brief(order.largest)} at most: it may be the arrival"
    )


def _of_files(source: ProposedSource) -> Iterator[Guess]:
    taken = source.sample
    if source.strays:
        count, example = len(source.strays), source.strays[0]
        files = "1 file" if count == 1 else f"{count:,} files"
        yield Guess("landing", f"its folder holds {files} of another kind, such as {example}", "quarantined")
    yield from _of_lines(taken)
    if not taken.whole or len(taken.objects) < sum(item.size > 0 for item in source.objects):
        part = "" if taken.whole else ", and of these the first rows"
        yield Guess(
            "schema",
            f"{len(taken.objects):,} of {len(source.objects):,} objects were looked at{part}: others may hold other"
            " types, and later rows",
            "quarantined",
        )
    if source.landed_at is not None:
        yield Guess("landed_at", remark(source.landed_at), "mistimed", taken.rows)
    elif source.copied:
        message = "the files landed long after their rows, as copies do: lateness and delays are those of the copy"
        yield Guess("landed_at", message, "adjusted", taken.rows)


def _of_lines(taken: RowSample) -> Iterator[Guess]:
    cells = FORMATS[taken.format].by_position
    if cells:
        split, header = _SEPARATORS[taken.options.get("sep", ",")], "a" if "header" in taken.options else "no"
        message = f"lines are values between {split}, with {header} header; lines with another number are no rows"
        yield Guess("format", message, "quarantined", taken.unread)
    elif taken.unread:
        yield Guess("format", f"no row can be read from some lines as {taken.format}", "quarantined", taken.unread)
    each = len(taken.objects) if cells else None
    yield from (
        Guess("options" if cells else "format", note.rstrip("."), "quarantined", each) for note in taken.notes
    )
    if taken.nulled:
        yield Guess("options", f"{taken.options['nullValue']} is taken for null", "unread", taken.nulled)


def _of_columns(source: ProposedSource) -> Iterator[Guess]:
    taken = source.sample
    for name, why in taken.left_out.items():
        yield Guess("schema", f"{name} is left out: {why}", "unread", taken.rows)
    for name, kind in taken.types.items():
        there = sum(value is not None for value in taken.values[name])
        if kind.note:
            yield Guess("schema", f"{name}: {kind.note}", "text", there)
        if cut := taken.cut.get(name):
            yield Guess("schema", f"{name} has nanoseconds, which are cut to microseconds", "unread", cut)
    whole = [name for name, kind in taken.types.items() if kind.type == "BIGINT" and FORMATS[taken.format].text]
    if whole:
        some = ", ".join(whole[:_SOME]) + (f" and {len(whole) - _SOME} more" if len(whole) > _SOME else "")
        message = f"only whole numbers were seen in {some}, so BIGINT: a fraction would be refused"
        yield Guess("schema", message, "quarantined")


def _of_choices(source: ProposedSource) -> Iterator[Guess]:
    times, rows = source.times, source.sample.rows
    if source.quarantined:
        lost = "rows lack a time that can be"
        yield Guess("timestamp_by" if times.event else "arrival_time", lost, "quarantined", source.quarantined)
    if times.event is None and times.arrival is None:
        message = "no column holds times; rows count as of the landing of their file"
        yield Guess("timestamp_by", message, "mistimed", rows)
    elif times.sure != "clear":
        chosen = [(times.event, "says when a row happened"), (times.arrival, "says when it arrived")]
        which = " and ".join(f"{each.column} {what}" for each, what in chosen if each is not None)
        yield Guess(
            "timestamp_by" if times.event else "arrival_time", f"{which}, which is {times.sure}", "mistimed", rows
        )
    if times.event is not None and times.arrival is None:
        message = (
            "no column says when a row arrived; all rows of a file arrive when it lands, so late_arrival is long"
        )
        yield Guess("arrival_time", message, "delayed", rows)
    for order in other_arrivals(times, source.orders):
        yield Guess("arrival_time", order_doubt(order), "delayed", order.rows)
    if source.landing_delay is not None:
        delay = format_duration(source.landing_delay)
        yield Guess("landing_delay", f"no row lands later than {delay}; an idle partition waits for that", "delayed")


def _of_zones(source: ProposedSource) -> Iterator[Guess]:
    """Yield the assumed zone of times without one, and the assumed order of days and months."""
    times = source.times
    chosen = {id(times.event): "timestamp_by", id(times.arrival): "arrival_time"}
    ranked = sorted(times.candidates, key=lambda each: list(chosen).index(id(each)) if id(each) in chosen else 2)
    local = [each for each in ranked if each.zoneless]
    if local:
        more = f" (and {', '.join(each.column for each in local[1:])})" if local[1:] else ""
        message = zone_doubt(local[0], more)
        yield Guess(chosen.get(id(local[0]), "schema"), message, "mistimed", max(each.zoneless for each in local))
    for each in ranked:
        if each.swapped:
            message = f"days and months of {each.column} may be the other way round"
            yield Guess(chosen.get(id(each), "schema"), message, "mistimed", sum(t is not None for t in each.micros))


def _of_partitions(source: ProposedSource) -> Iterator[Guess]:
    chosen, found = source.keys.partition, source.measured
    if chosen is not None:
        rows = None if found is None else _behind(source, found)
        message = (
            f"each {chosen.column or 'match of ' + chosen.path} delivers rows in an order of its own: {chosen.why}"
        )
        yield Guess("partition", message, "adjusted", rows)
    elif source.keys.others and found is not None:
        others = ", ".join(source.keys.others[:_SOME])
        message = f"all rows are one partition; one of these may say who delivers rows in order: {others}"
        yield Guess("partition", message, "adjusted", found.fates.out_of_order)


def _behind(source: ProposedSource, found: MeasuredTolerances) -> int:
    """Count the rows that would be out of order if all were one partition."""
    rows = [replace(row, partition="") for row in rows_of(source.sample, source.times, source.keys)]
    policy = policy_of(found.late, found.out_of_order, Tolerance(found.early, found.early_action))
    return judge(rows, policy, source.clock_skew).out_of_order


def _of_tolerances(found: MeasuredTolerances) -> Sequence[Guess]:
    late = (
        "off: nothing is ever late" if found.late is None else f"rows are at most {format_duration(found.late)} late"
    )
    early, order = format_duration(found.early), format_duration(found.out_of_order)
    dropped = "dropped" if found.early_action.value == "drop" else "adjusted"
    return [
        Guess("late_arrival", late, "adjusted", found.fates.late),
        Guess("out_of_order", f"rows are at most {order} out of order", "adjusted", found.fates.out_of_order),
        Guess("early_arrival", f"rows happen at most {early} after they arrive", dropped, found.fates.early),
    ]
