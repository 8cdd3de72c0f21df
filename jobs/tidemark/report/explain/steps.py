"""The steps of judging one row, as numbers and sentences (time rules: judging a row)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tidemark.core.policy import Action, Policy, Reason, Tolerance
from tidemark.records.rows import StepRecord
from tidemark.report.events import EventRow
from tidemark.report.words import duration, iso, moment, signed

PASSED = "passed"
ADJUSTED = "adjusted"
DROPPED = "dropped"
KEPT = "kept"
OFF = "off"
NOT_REACHED = "not_reached"

_SETTINGS = {
    Reason.EARLY: "early_arrival",
    Reason.LATE: "late_arrival",
    Reason.OUT_OF_ORDER: "out_of_order",
}
_TITLES = {Reason.EARLY: "Early", Reason.LATE: "Late", Reason.OUT_OF_ORDER: "Out of order"}


@dataclass(frozen=True)
class Comparison:
    """One step's comparison: `time` is the row's time before the step, `reference` the arrival or the watermark,
    `after` the row's time after the step; each may be None. Microseconds UTC."""

    reason: Reason
    outcome: str
    time: int | None = None
    reference: int | None = None
    after: int | None = None
    tolerance: Tolerance | None = None
    sentence: str = ""

    def record(self) -> StepRecord:
        compared = self.time is not None and self.reference is not None
        difference = self.time - self.reference if self.time is not None and self.reference is not None else 0
        return {
            "step": self.reason.value,
            "outcome": self.outcome,
            "tolerance": duration(self.tolerance.micros) if self.tolerance else None,
            "tolerance_micros": self.tolerance.micros if self.tolerance else None,
            "action": self.tolerance.action.value if self.tolerance else None,
            "time": iso(self.time),
            "reference": iso(self.reference),
            "difference": signed(difference) if compared else None,
            "difference_micros": difference if compared else None,
            "after": iso(self.after),
            "sentence": self.sentence,
        }


def steps_of(row: EventRow, policy: Policy, day: str | None) -> list[Comparison]:
    """Return all steps of a judged row, including steps that were not reached. A step acted if its reason is
    recorded. For an interval, the last step compares start and end."""
    time = row.event_time
    emptied: int | None = None
    found: list[Comparison] = []
    for reason, tolerance in _tolerances(policy):
        step = _step(row, reason, tolerance, time)
        found.append(replace(step, sentence=f"{_TITLES[reason]}: {_sentence(step, day)}."))
        time = step.after
        if time is not None and row.end_time is not None and time >= row.end_time:
            emptied, time = time, None
    if row.end_time is not None:
        found.append(_lasting(row.end_time, time if emptied is None else emptied, day))
    return found


def _lasting(end: int, start: int | None, day: str | None) -> Comparison:
    """Return the comparison of an interval's start, after the other steps, with its end."""
    if start is None:
        sentence = "Empty: not reached, an earlier step had dropped it."
        return Comparison(Reason.EMPTY, NOT_REACHED, reference=end, sentence=sentence)
    outcome, after = (PASSED, start) if start < end else (DROPPED, None)
    where = "before" if start < end else "not before"
    sentence = f"Empty: its start {moment(start, day)} is {where} its end {moment(end, day)}: {outcome}."
    return Comparison(Reason.EMPTY, outcome, start, end, after, sentence=sentence)


def _tolerances(policy: Policy) -> Iterator[tuple[Reason, Tolerance | None]]:
    yield Reason.EARLY, policy.early
    yield Reason.LATE, policy.late
    yield Reason.OUT_OF_ORDER, policy.out_of_order


def _step(row: EventRow, reason: Reason, tolerance: Tolerance | None, time: int | None) -> Comparison:
    if time is None:
        return Comparison(reason, NOT_REACHED, tolerance=tolerance)
    if tolerance is None:
        return Comparison(reason, OFF, time=time, after=time)
    reference = row.watermark if reason is Reason.OUT_OF_ORDER else row.arrival_time
    step = Comparison(reason, PASSED, time, reference, time, tolerance)
    if reason.value in row.reasons:
        if tolerance.action is Action.DROP:
            return replace(step, outcome=DROPPED, after=None)
        return replace(step, outcome=ADJUSTED, after=_bound(reason, tolerance, reference))
    if reason is Reason.OUT_OF_ORDER and reference is not None and time < reference:
        return replace(step, outcome=KEPT)
    return step


def _bound(reason: Reason, tolerance: Tolerance, reference: int | None) -> int | None:
    if reference is None or reason is Reason.OUT_OF_ORDER:
        return reference
    return reference + tolerance.micros if reason is Reason.EARLY else reference - tolerance.micros


def _sentence(step: Comparison, day: str | None) -> str:
    setting = _SETTINGS[step.reason]
    if step.outcome == NOT_REACHED:
        return "not reached, an earlier step had dropped it"
    if step.outcome == OFF:
        return f"{setting} is off, nothing is compared"
    if step.reason is Reason.OUT_OF_ORDER:
        return f"{_order(step, day)}: {_result(step, day)}"
    return f"{_distance(step, day)}; {_allowance(step)}: {_result(step, day)}"


def _distance(step: Comparison, day: str | None) -> str:
    if step.time is None or step.reference is None:
        return "there is no arrival to compare with"
    gap = step.time - step.reference
    where = "exactly at" if gap == 0 else f"{duration(abs(gap))} {'after' if gap > 0 else 'before'}"
    name = "its time" if step.reason is Reason.OUT_OF_ORDER else "event time"
    return f"{name} {moment(step.time, day)} is {where} its arrival {moment(step.reference, day)}"


def _allowance(step: Comparison) -> str:
    micros = step.tolerance.micros if step.tolerance else 0
    side = "after" if step.reason is Reason.EARLY else "before"
    return f"{_SETTINGS[step.reason]} allows {duration(micros)} {side} it"


def _order(step: Comparison, day: str | None) -> str:
    if step.time is None or step.reference is None:
        return f"no watermark was in force, so that its time {moment(step.time, day)} cannot be behind one"
    gap = step.time - step.reference
    where = "exactly at" if gap == 0 else f"{duration(abs(gap))} {'ahead of' if gap > 0 else 'behind'}"
    return f"its time {moment(step.time, day)} is {where} the watermark {moment(step.reference, day)}"


def _result(step: Comparison, day: str | None) -> str:
    if step.outcome == ADJUSTED:
        return f"adjusted to {moment(step.after, day)}"
    if step.outcome == KEPT:
        return "left where it is (out_of_order has action keep)"
    return step.outcome
