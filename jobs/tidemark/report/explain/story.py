"""Explains a row in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tidemark.config.secrets import hidden
from tidemark.core.policy import REQUIREMENT, Action, Fate, Reason
from tidemark.core.watermarks import UNKNOWN
from tidemark.report.events import EventRow
from tidemark.report.explain.arrival import Arrival
from tidemark.report.explain.late import LateWindow, outcome
from tidemark.report.explain.origin import Origin, OriginKind, Past
from tidemark.report.explain.punctuated import kept_with, punctuation_sentences
from tidemark.report.explain.repeated import sentence as repeated_sentence
from tidemark.report.explain.steps import NOT_REACHED, Comparison
from tidemark.report.explain.tolerances import LeastSetting
from tidemark.report.words import day_of, duration, moment, signed

_LONGEST_RAW = 500


def sentences(
    past: Past,
    arrival: Arrival,
    steps: Sequence[Comparison],
    origin: Origin | None,
    needs: tuple[LeastSetting, ...] | None,
    late: Sequence[LateWindow] = (),
    repeats: EventRow | None = None,
) -> Iterator[str]:
    """Yield the row's origin, each step's result, the watermark's cause, late windows, and settings to keep it."""
    row = past.row
    day = day_of(row.arrival_time)
    yield _where(past, day)
    if row.disposition == Fate.QUARANTINED:
        yield from _quarantined(past, arrival, day)
        return
    yield _times(past, day)
    yield from arrival.sentences(day)
    if Reason.DUPLICATE in row.reasons:
        yield repeated_sentence(past, repeats, day)
        yield _result(past, day)
        return
    yield from _judged(past, steps, origin, day)
    yield from (each.sentence(day) for each in late)
    yield _result(past, day) + outcome(late)
    if past.facts.punctuation is not None:
        yield from kept_with(steps, past.facts.punctuation, past.facts.history)
    elif steps and row.disposition != Fate.ON_TIME:
        yield _kept(past, needs)


def _judged(past: Past, steps: Sequence[Comparison], origin: Origin | None, day: str | None) -> Iterator[str]:
    """Yield how the row was judged: the result of each step that acted, and the watermark's cause."""
    if past.facts.punctuation is not None:
        yield from punctuation_sentences(past, origin, day)
        yield from (step.sentence for step in steps)
        return
    if not steps:
        yield (
            f"The watermark in force before it was {moment(past.row.watermark, day)}. The settings that judged it "
            "are not kept any more: only what came of it is recorded."
        )
        return
    if past.facts.timestamp_by is None:
        yield "The source has no timestamp_by: arrival is the event time, and no tolerance can act."
    else:
        yield from (step.sentence for step in steps[:2])
    if steps[2].outcome != NOT_REACHED:
        yield _watermark(past, origin, day)
        yield steps[2].sentence
    yield from (step.sentence for step in steps[3:] if step.outcome != NOT_REACHED)


def _where(past: Past, day: str | None) -> str:
    row = past.row
    batch = past.recorded.batch(row.batch_id)
    run = f" of run {batch.run_id}, as_of {moment(batch.as_of, day)}" if batch else ""
    stream = f", substream {_named(row.substream)}" if past.facts.substreams else ""
    zone = f" Times are UTC, of {day} where no date is given." if day else " Times are UTC."
    return (
        f"Row {row.offset} of partition {row.partition} of source {row.source}{stream} came from "
        f"{row.file} in batch {row.batch_id}{run}.{zone}"
    )


def _times(past: Past, day: str | None) -> str:
    row = past.row
    if past.facts.timestamp_by is None:
        return f"It arrived at {moment(row.arrival_time, day)}."
    return f"Its event time is {moment(row.event_time, day)}, its arrival {moment(row.arrival_time, day)}."


def _quarantined(past: Past, arrival: Arrival, day: str | None) -> Iterator[str]:
    row = past.row
    reasons = ", ".join(row.reasons) or "no reason recorded"
    if "excluded" in row.reasons:
        said = past.recorded.why_excluded(past.facts.name, row.file or "")
        why = f"its object was taken out: {said or 'it is not known why'}"
    elif row.reasons and all(each.startswith(REQUIREMENT) for each in row.reasons):
        why = _unmet(past)
    elif row.partition == UNKNOWN:
        why = "its partition is missing or cannot be read, or nothing of it can"
    elif "invalid_time" in row.reasons:
        why = _bad_time(past)
    else:
        why = "it does not parse or does not fit the schema"
    yield f"It was quarantined ({reasons}): {why}."
    if row.arrival_time is not None:
        yield f"The arrival in force for its place in the log was {moment(row.arrival_time, day)}."
        yield from arrival.sentences(day)
    if row.raw is not None:
        cut = row.raw if len(row.raw) <= _LONGEST_RAW else f"{row.raw[:_LONGEST_RAW]}... ({len(row.raw)} characters)"
        yield f"Its raw text: {cut}"
    yield "It was not judged, is counted as quarantined, and moved no watermark."


def _unmet(past: Past) -> str:
    names = [each.removeprefix(REQUIREMENT) for each in past.row.reasons]
    known = past.facts.require
    told = [f"{name} ({hidden(known[name])})" if name in known else name for name in names]
    return f"it does not meet {'a requirement' if len(told) == 1 else 'requirements'}: {', '.join(told)}"


def _bad_time(past: Past) -> str:
    missing = "missing, unreadable or outside the years 1 to 9999"
    late = "or more than clock_skew after its object's landing time"
    timed, arrives = past.facts.timestamp_by, past.facts.arrival_time
    if timed and past.row.event_time is None:
        return f"its event time ({hidden(timed)}) is {missing}"
    if timed and arrives:
        return f"its arrival ({hidden(arrives)}) is {missing}, {late}"
    return f"a required time is {missing}, {late}"


def _watermark(past: Past, origin: Origin | None, day: str | None) -> str:
    key = f"substream {_named(past.row.substream)}" if past.facts.substreams else f"partition {past.row.partition}"
    if origin is None:
        return f"No watermark was in force before it: no earlier row of {key}, and no earlier run, had set one."
    start = f"The watermark in force before it was {moment(origin.watermark, day)}"
    if origin.kind is OriginKind.ROW:
        return f"{start}, set by {_setter(past, origin, day)}."
    if origin.kind is OriginKind.FLOOR:
        return f"{start}. No row set it, the end of a run did: {_floor(past, origin, day)}."
    if origin.kind is OriginKind.LATE_START:
        return (
            f"{start}. No row set it: partition {past.row.partition} is not declared and was first seen after an "
            f"earlier run (batch {origin.batch_id}, as_of {moment(origin.as_of, day)}) had left the source this "
            "combined watermark, so it starts there (late start)."
        )
    return f"{start}. What set it is no longer in the tables."


def _setter(past: Past, origin: Origin, day: str | None) -> str:
    row, policy, time = origin.row, origin.policy or past.facts.policy, origin.time
    if row is None or time is None:
        return "an earlier row"
    trail = f"out_of_order {duration(policy.disorder)}"
    if policy.late is not None and policy.disorder < policy.out_of_order.micros:
        trail = f"late_arrival {duration(policy.disorder)} (smaller than out_of_order)"
    event = f"event time {moment(row.event_time, day)}, " if past.facts.timestamp_by else ""
    adjusted = "its time, adjusted, " if time != row.event_time else "its time "
    return (
        f"row {row.offset} ({event}arrival {moment(row.arrival_time, day)}, {row.file}, batch {row.batch_id}): "
        f"{adjusted}{moment(time, day)} less {trail}"
    )


def _floor(past: Past, origin: Origin, day: str | None) -> str:
    state, late = origin.state, (origin.policy or past.facts.policy).late
    ended = f"when batch {origin.batch_id} (as_of {moment(origin.as_of, day)}) ended its run"
    run = f"{ended}, partition {past.row.partition}"
    less = f"less late_arrival {duration(late.micros if late else 0)}"
    if past.facts.timestamp_by is None:
        less = "which is the floor without timestamp_by"
    if state is None:
        return f"{run} was raised to its floor"
    if not state.idle:
        return f"{run} had its last arrival at {moment(state.last_arrival, day)}, {less}"
    delay = f"landing_delay {duration(past.facts.landing_delay)}"
    if state.last_seen is None:
        guess = f"as_of less 5s and {delay}"
    else:
        guess = (
            f"last arrival {moment(state.last_arrival, day)}, plus the time since as_of "
            f"{moment(state.last_seen, day)} of the run that brought it, less {delay}"
        )
    return f"{run} was idle, with estimated arrival {moment(state.estimated_arrival, day)} ({guess}), {less}"


def _result(past: Past, day: str | None) -> str:
    row = past.row
    if row.disposition == Fate.ON_TIME:
        return f"Result: on time, at {moment(row.system_timestamp, day)}."
    reasons = ", ".join(row.reasons)
    if row.disposition == Fate.DROPPED:
        moved = "" if past.facts.punctuation else " It moved no watermark."
        return f"Result: dropped ({reasons}).{moved}"
    return (
        f"Result: adjusted ({reasons}), moved by {signed(row.moved or 0)} to {moment(row.system_timestamp, day)}. "
        "Its event time and payload are unchanged."
    )


def _kept(past: Past, needs: tuple[LeastSetting, ...] | None) -> str:
    if needs is None and past.facts.timestamp_by is None:
        return "No tolerance would have kept it: the source has no timestamp_by, so that none applies."
    if needs is None and past.started_unknown:
        return (
            "What would have kept it is not known: its partition is not declared, and where the backfill that judged "
            "it had it start is not recorded."
        )
    if needs is None:
        return (
            "No tolerance alone would have kept it: its partition started late, at the combined watermark that "
            "the source's other partitions had reached."
        )
    if not needs:
        return "What would have kept it does not follow from the settings that are recorded."
    wanted = " and ".join(f"{need.setting} at least {duration(need.micros)} ({need.micros} us)" for need in needs)
    always = ", in every run" if past.facts.history.several else ""
    sentence = f"It would have been on time with {wanted}{always}, all else being the same."
    if past.facts.policy.out_of_order.action is not Action.KEEP and _by_watermark_trail(past, needs):
        sentence += " (The watermark trails by the smaller of out_of_order and late_arrival.)"
    if not all(need.possible for need in needs):
        sentence += " But late_arrival can be at most 20d 23h 59m 59s."
    return sentence


def _by_watermark_trail(past: Past, needs: tuple[LeastSetting, ...]) -> bool:
    """True if `late_arrival` must be larger although the late step did not act."""
    return any(need.setting == "late_arrival" for need in needs) and "late" not in past.row.reasons


def _named(substream: str | None) -> str:
    return "null" if substream is None else repr(substream)
