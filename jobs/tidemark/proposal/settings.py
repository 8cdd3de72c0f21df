"""Proposed settings of a source, each with remarks: its reason, its basis, and how certain it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from tidemark.config.formats import FORMATS
from tidemark.config.types import quoted
from tidemark.core.times import DAY, MINUTE, format_duration, format_time
from tidemark.proposal.columns.time_orders import other_arrivals
from tidemark.proposal.columns.times import SKEW, Candidate, Times
from tidemark.proposal.durations import brief
from tidemark.proposal.guesses import order_doubt, zone_doubt
from tidemark.proposal.landing_dates import remark
from tidemark.proposal.propose import ProposedSource
from tidemark.proposal.tolerances import FEW_BEHIND, FEW_LATE, Cost, MeasuredTolerances

_SOME = 5
_LONG_DELAY = 7 * DAY


@dataclass(frozen=True)
class Setting:
    """A key and its value. If the value is None, the key is only suggested, with `hint` as an example value."""

    key: str
    value: Any
    remarks: tuple[str, ...] = ()
    hint: str = ""


def settings_of(source: ProposedSource) -> list[Setting]:
    """Return all settings in the order of the file."""
    return [
        _landing(source),
        *_landed_at(source),
        Setting("format", source.sample.format, ("As the files' content shows.", *source.sample.notes)),
        *_options(source),
        _schema(source),
        *_names(source),
        *_partition(source),
        *_times(source),
        *_over(source),
        *(_tolerances(source, source.measured) if source.measured is not None else ()),
    ]


def share(part: float) -> str:
    """Return a share of sampled rows for people: `0.3 %`."""
    percent = 100 * part
    if not percent:
        return "none"
    return f"{percent:.0f} %" if percent >= 10 else f"{percent:.1f} %" if percent >= 0.1 else "less than 0.1 %"


def _landing(source: ProposedSource) -> Setting:
    interval, count = source.interval, len(source.objects)
    if interval.median is None or interval.longest is None:
        when = ", all landed at one moment" if count > 1 else " so far"
    else:
        when = f", {brief(interval.median)} from one to the next in the middle, {brief(interval.longest)} at most"
    remarks = [f"{count:,} {'object' if count == 1 else 'objects'}{when}."]
    if source.strays:
        names = ", ".join(source.strays[:3])
        remarks.append(
            f"{len(source.strays)} of another kind lie among them ({names}): a source takes all that is in its"
            " folder, so their rows would be quarantined. Move them away."
        )
    return Setting("landing", source.landing, tuple(remarks))


def _landed_at(source: ProposedSource) -> Iterator[Setting]:
    if source.landed_at is not None:
        yield Setting("landed_at", source.landed_at, (remark(source.landed_at) + ".",))
    elif source.copied:
        yield Setting(
            "landed_at",
            None,
            ("The files landed long after their rows and all at once, as copies do. What is measured against the",
             "landing below says little of the day's business; where names say when files landed, write it here."),
            "{path: 'dt=([0-9-]{10})/', format: yyyy-MM-dd, plus: 1d}",
        )  # fmt: skip


def _options(source: ProposedSource) -> Iterator[Setting]:
    if source.sample.options:
        yield Setting("options", source.sample.options, ("As the sampled lines are written.",))


def _schema(source: ProposedSource) -> Setting:
    found = source.sample
    remarks = [f"{name}: {kind.note}." for name, kind in found.types.items() if kind.note]
    remarks += [f"{zone_doubt(each)}." for each in _others(source.times) if each.zoneless]
    remarks += [f"{name} is left out: {why}." for name, why in found.left_out.items()]
    if FORMATS[found.format].by_position and next(iter(found.types), "") == "c1":
        remarks.append("Without a header columns go by their positions: give them any names.")
    if found.unread:
        remarks.append(f"{found.unread:,} of the sampled lines are no rows: they would be quarantined.")
    schema = tuple(f"{quoted(name)} {kind.type}" for name, kind in found.types.items())
    return Setting("schema", schema, ("Types that hold every sampled value; where unsure, text.", *remarks))


def _others(times: Times) -> list[Candidate]:
    """Return the times that are neither the event nor the arrival."""
    return [each for each in times.candidates if each not in (times.event, times.arrival)]


def _names(source: ProposedSource) -> Iterator[Setting]:
    found = source.sample
    if found.names:
        yield Setting("header_columns", found.names, ("Names in the files that no column can have, and its own.",))
    if found.path:
        yield Setting("rows", found.path, ("The rows are the elements of this array in each document.",))


def _partition(source: ProposedSource) -> Iterator[Setting]:
    chosen, others = source.keys.partition, ", ".join(source.keys.others[:_SOME])
    if chosen is None:
        remark = f"Few different values, if one of them says who delivers rows in order: {others}." if others else ""
        if remark:
            yield Setting("partition", None, (remark,), f"{{column: {source.keys.others[0]}}}")
        return
    value = {"column": chosen.column} if chosen.column else {"path": chosen.path}
    why = f"Each partition is in an order of its own. Why this one: {chosen.why}."
    yield Setting("partition", value, (why, f"Others could be {others}.") if others else (why,))
    names = ", ".join(f'"{name}"' for name in chosen.found[:20])
    hint = f"[{names}]" if len(chosen.found) <= 20 else f"[{names}, ...]"
    yield Setting("partitions", None, ("If these are all that there are, declare them:",), hint)


def _times(source: ProposedSource) -> Iterator[Setting]:
    times, rows = source.times, source.sample.rows
    orders = list(islice(other_arrivals(times, source.orders), _SOME)) if times.arrival is None else []
    if orders:
        doubts = tuple(f"{order_doubt(order)}." for order in orders)
        yield Setting("arrival_time", None, doubts, orders[0].later.expression)
    if times.arrival is not None:
        arrival = times.arrival
        yield Setting("arrival_time", arrival.expression, tuple(_arrival_remarks(source, arrival)))
        delay = source.landing_delay or 0
        lag = [f"The longest time from an arrival to its object's landing in the sample is {_longest(source)}."]
        if delay > _LONG_DELAY:
            lag.append(
                "That is very long, and idle partitions hold all output back by so much: files that were copied have"
                " lost their own landing times. If rows land sooner day by day, write the shorter time."
            )
        yield Setting("landing_delay", format_duration(delay), tuple(lag))
        if source.clock_skew != SKEW:
            skewed = "Some arrivals are later than their object's landing: the producer's clock goes ahead."
            yield Setting("clock_skew", format_duration(source.clock_skew), (skewed,))
    if times.event is not None:
        yield Setting("timestamp_by", times.event.expression, tuple(_event_remarks(source, times.event, rows)))
    elif times.arrival is None:
        yield Setting(
            "timestamp_by",
            None,
            ("No column holds times that could be when a row happened: each counts as of its object's landing,",
             "and nothing is ever early, late or out of order. If a column does, name it:"),
            "EventTime",
        )  # fmt: skip


def _longest(source: ProposedSource) -> str:
    arrival, taken = source.times.arrival, source.sample
    if arrival is None:
        return "unknown"
    pairs = zip(taken.of, arrival.micros, strict=True)
    return brief(max([0, *(taken.objects[number].modified - time for number, time in pairs if time is not None)]))


def _arrival_remarks(source: ProposedSource, arrival: Candidate) -> Iterator[str]:
    yield f"When a row arrived ({_sure(source, arrival.named_arrival)}): {arrival.reading.words}, {_facts(arrival)}."
    yield from _missing(arrival, source.sample.rows)
    yield from (f"{order_doubt(order)}." for order in islice(other_arrivals(source.times, source.orders), _SOME))
    if source.times.event is None:
        others = [each.column for each in _others(source.times)]
        more = f" Other times: {', '.join(others[:_SOME])}." if others else ""
        yield f"It is the event time, too: nothing is ever late then.{more}"


def _event_remarks(source: ProposedSource, event: Candidate, rows: int) -> Iterator[str]:
    others = [each.column for each in _others(source.times)]
    first = format_time(next(time for time in event.micros if time is not None))
    yield f"When it happened ({_sure(source, event.named_event)}): {event.reading.words}, e.g. {first}."
    if event.reading.dated:
        form = "" if event.reading.way == "date" else f", '{event.reading.way} HH:mm:ss'"
        both = f"to_timestamp(concat({event.column}, ' ', it){form})"
        yield f"It says a day alone. If another column says the time of day: {both}."
    if others:
        yield f"Other times in the rows: {', '.join(others[:_SOME])}."
    yield from _missing(event, rows)
    if source.times.arrival is None:
        yield (
            "No column says when a row arrived, so all rows of an object arrive when it lands: their events are as"
            " old as the object's content. late_arrival allows for that; with a column of arrivals it could be short."
        )


def _missing(chosen: Candidate, rows: int) -> Iterator[str]:
    lost = sum(time is None for time in chosen.micros)
    if lost:
        yield f"{lost:,} of {rows:,} sampled rows ({share(lost / rows)}) have no such time and would be quarantined."
    if chosen.swapped:
        yield "Days and months may be the other way round."
    if chosen.zoneless:
        yield f"{zone_doubt(chosen)}."


def _facts(arrival: Candidate) -> str:
    order = "in the order of the file" if arrival.ordered >= 0.99 else "not in the order of the file"
    return f"{brief(arrival.lag)} before the object's landing in the middle, {order}"


def _sure(source: ProposedSource, named: float) -> str:
    by = "by its name and values" if named > 0 else "by its values"
    return f"{source.times.sure}, {by}"


def _over(source: ProposedSource) -> Iterator[Setting]:
    if source.measured is not None and source.keys.over:
        columns = ", ".join(source.keys.over[:_SOME])
        remark = (
            f"A watermark of its own for each value, if rows of one are in order and not those of all: {columns}."
        )
        yield Setting("over", None, (remark,), source.keys.over[0])


def _tolerances(source: ProposedSource, found: MeasuredTolerances) -> Iterator[Setting]:
    rows, partial = found.lateness.rows, "" if source.sample.whole else ", the first of each object"
    yield _early(found, rows)
    basis = f"Of {rows:,} sampled rows{partial}"
    if found.late is None:
        half = f"{brief(found.lateness.p50)} in the middle, {brief(found.lateness.largest)} at most"
        yield Setting("late_arrival", "off", (f"Rows are later than late_arrival can allow: {half}.",))
    else:
        late = {"tolerance": format_duration(found.late), "action": "adjust"}
        yield Setting("late_arrival", late, (_costs(f"{basis}, late and adjusted would be", found.late_costs),))
    order = {"tolerance": format_duration(found.out_of_order), "action": "adjust"}
    costs = _costs("Behind their partition's watermark, and adjusted, would be", found.order_costs)
    price = "A longer tolerance holds the watermark, and with it all output, so much further back."
    aim = (
        f"Proposed is the shortest that leaves at most {FEW_BEHIND:.0%} of the sample ({FEW_LATE:.1%} of late rows)."
    )
    yield Setting("out_of_order", order, (costs, f"{price} {aim}"))


def _early(found: MeasuredTolerances, rows: int) -> Setting:
    early = {"tolerance": format_duration(found.early), "action": found.early_action.value}
    ahead = found.earliness.beyond(0)
    seen = "No sampled row happened after it arrived" if not ahead else (
        f"{share(ahead / rows)} of the sampled rows happened after they arrived, by {brief(found.earliness.largest)}"
        " at most"
    )  # fmt: skip
    why = f": beyond {format_duration(5 * MINUTE)} it would show a broken clock." if not ahead else "."
    return Setting("early_arrival", early, (seen + why,))


def _costs(what: str, costs: Sequence[Cost]) -> str:
    each = "; ".join(f"with {format_duration(cost.tolerance)} {share(cost.share)}" for cost in costs)
    return f"{what}: {each}."
