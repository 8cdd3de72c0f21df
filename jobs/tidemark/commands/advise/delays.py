"""Advice on the delay of a punctuated source: what other delays would have cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidemark.config import SourceSpec
from tidemark.core.advice.costs import DEFAULT_TARGET, Targets
from tidemark.core.advice.delays import DelayCost, delay_costs, lags_of, smallest
from tidemark.core.advice.grid import rungs
from tidemark.core.advice.history import RecordedStates
from tidemark.core.policy import Action
from tidemark.core.punctuation import Punctuation
from tidemark.core.times import format_duration
from tidemark.records.advice import DelayedSource, DelayRecord
from tidemark.report.advice import behind, share, target
from tidemark.report.words import counted, duration

if TYPE_CHECKING:
    from tidemark.spark.judge.engine import Engine


@dataclass(frozen=True)
class DelayAdvice:
    """Delays of one source with their costs, the present one, and the smallest one that meets the target, if any."""

    source: str
    rows: int
    action: Action
    target: float
    costs: Sequence[DelayCost]
    present: DelayCost
    recommended: DelayCost | None


def why_not(punctuation: Punctuation) -> str | None:
    """The reason why other delays cannot be tried; None if they can."""
    if punctuation.import_from:
        return "it imports punctuations, which no delay moves: ask about the sources that it follows"
    if punctuation.every is None:
        return "its rows are the punctuations (it has no `every`), which no delay moves"
    return None


def delay_advice(
    engine: Engine, source: SourceSpec, through: int, history: Sequence[RecordedStates], targets: Targets
) -> DelayAdvice:
    """Count the rows of batches up to `through` that would have been behind the watermark with other delays."""
    from tidemark.spark.advised_delays import rows_behind

    if source.punctuation is None:
        raise ValueError(f"{source.name} has no punctuation")
    punctuation = source.punctuation.core()
    steps = rungs([punctuation.delay])
    parts = rows_behind(engine, source, through, steps)
    lags = None if punctuation.row else lags_of(history)
    costs, rows = delay_costs(steps, parts, punctuation.delay, lags), sum(part.rows for part in parts.values())
    wanted = targets.dropped if punctuation.violations is Action.DROP else targets.adjusted
    most = DEFAULT_TARGET if wanted is None else wanted
    present = next(cost for cost in costs if cost.delay == punctuation.delay)
    return DelayAdvice(source.name, rows, punctuation.violations, most, costs, present, smallest(costs, rows, most))


def delayed_source(advice: DelayAdvice) -> DelayedSource:
    """The part of the record on one source."""
    best = advice.recommended
    return {
        "source": advice.source,
        "rows": advice.rows,
        "violations": advice.action.value,
        "target": advice.target,
        "delays": [_delay(advice, cost) for cost in advice.costs],
        "recommended": None if best is None else format_duration(best.delay),
        "sentence": _sentence(advice),
    }


def _delay(advice: DelayAdvice, cost: DelayCost) -> DelayRecord:
    return {
        "delay": format_duration(cost.delay),
        "violations": cost.total,
        "partitions": dict(cost.violations),
        "output_delay": None if cost.output_delay is None else duration(cost.output_delay),
        "output_delay_micros": cost.output_delay,
        "present": cost is advice.present,
        "recommended": cost is advice.recommended,
    }


def _sentence(advice: DelayAdvice) -> str:
    drops, best = advice.action is Action.DROP, advice.recommended
    asked = target(advice.target if drops else None, None if drops else advice.target)
    if best is None:
        return f"No delay meets the target ({asked}): rows that are punctuations leave more rows behind."
    own = best is advice.present
    which = "the present delay is the smallest" if own else f"delay {format_duration(best.delay)} is the smallest"
    output = "" if best.output_delay is None else f"; output {behind(best.output_delay)} behind the latest arrival"
    return f"For {asked}, {which}: {counted(best.total, 'row')} behind ({share(best.total, advice.rows)}){output}."
