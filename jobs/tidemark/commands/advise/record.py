"""The record of the command `advise`, and its rows in the table `advice`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tidemark.commands.advise.delays import DelayAdvice, delayed_source
from tidemark.config import SourceSpec
from tidemark.core.advice import held_out
from tidemark.core.advice.costs import FateCounts, Targets, ToleranceCost, own_actions
from tidemark.core.times import format_duration, format_time
from tidemark.records.advice import (
    AdvisedSource,
    AdviseRecord,
    CandidateCost,
    CandidateCounts,
    CandidateRecord,
    ChosenTolerances,
    HeldOutRecord,
)
from tidemark.report.advice import cost, share, target, tolerance, yaml_of
from tidemark.report.words import counted, duration


@dataclass(frozen=True)
class Advice:
    """Candidates of one source with their costs: all (`cells`), the present one, and the recommended one, if any.
    `held_out`: newest periods, each with the advice from the rows before it. `whole`: retention has deleted no row or
    run of the source. `duplicates`: number of rows that are dropped with any tolerances."""

    source: SourceSpec
    targets: Targets
    cells: Sequence[ToleranceCost]
    present: ToleranceCost
    recommended: ToleranceCost | None
    held_out: Sequence[held_out.HeldOut]
    whole: bool
    duplicates: int = 0


@dataclass(frozen=True)
class NoAdvice:
    """The reason why there is no advice on a source."""

    source: str
    why: str


def advice_summary(
    found: Sequence[Advice | DelayAdvice | NoAdvice], through: int, as_of: int, *, kept: bool
) -> AdviseRecord:
    """The record: costs of the candidates of all sources, and the present and the recommended candidate of each
    source. `kept`: the advice is stored for the report."""
    advised = [each for each in found if isinstance(each, Advice)]
    return {
        "batch_id": through,
        "as_of": format_time(as_of),
        "grid": [_cell(each, cell) for each in advised for cell in each.cells],
        "recommended": {
            each.source.name: None if each.recommended is None else _chosen(each, each.recommended)
            for each in advised
        },
        "present": {each.source.name: _chosen(each, each.present) for each in advised},
        "sources": [_source(each) for each in advised],
        "delays": [delayed_source(each) for each in found if isinstance(each, DelayAdvice)],
        "not_applicable": [{"source": each.source, "why": each.why} for each in found if isinstance(each, NoAdvice)],
        "kept": kept,
    }


def kept_rows(advice: Advice, through: int, as_of: int) -> list[dict[str, Any]]:
    """Costs of the candidates as rows of the table `advice`."""
    about = {"batch_id": through, "as_of": as_of, "source": advice.source.name}
    targets = {"target_dropped": advice.targets.dropped, "target_adjusted": advice.targets.adjusted}
    return [
        {
            **about,
            "late": cell.late,
            "out_of_order": cell.out_of_order,
            **asdict(cell.fates),
            "delay": cell.delay,
            "longest_delay": cell.longest_delay,
            "present": cell is advice.present,
            "recommended": cell is advice.recommended,
            **targets,
        }
        for cell in advice.cells
    ]


def _cell(advice: Advice, cell: ToleranceCost) -> CandidateRecord:
    return {
        "source": advice.source.name,
        **_figures(cell),
        "present": cell is advice.present,
        "recommended": cell is advice.recommended,
        "meets_targets": advice.targets.met(cell.fates),
        "partitions": {name: _fates(fates) for name, fates in cell.partitions.items()},
    }


def _figures(cell: ToleranceCost) -> CandidateCost:
    return {
        "late": tolerance(cell.late),
        "out_of_order": tolerance(cell.out_of_order),
        **_fates(cell.fates),
        "delay": None if cell.delay is None else duration(cell.delay),
        "delay_micros": cell.delay,
        "longest_delay": None if cell.longest_delay is None else duration(cell.longest_delay),
        "longest_delay_micros": cell.longest_delay,
    }


def _fates(fates: FateCounts) -> CandidateCounts:
    return {
        "rows": fates.rows,
        "adjusted": fates.adjusted,
        "dropped": fates.dropped,
        "own": {"adjusted": fates.own_adjusted, "dropped": fates.own_dropped},
    }


def _chosen(advice: Advice, cell: ToleranceCost) -> ChosenTolerances:
    return {**_figures(cell), "yaml": yaml_of(cell.late, cell.out_of_order, own_actions(advice.source.policy))}


def _source(advice: Advice) -> AdvisedSource:
    late, out_of_order = own_actions(advice.source.policy)
    return {
        "source": advice.source.name,
        "rows": advice.present.fates.rows,
        "actions": {"late": late.value, "out_of_order": out_of_order.value},
        "target_dropped": advice.targets.dropped,
        "target_adjusted": advice.targets.adjusted,
        "sentence": _sentence(advice),
        "whole": advice.whole,
        "duplicates": advice.duplicates,
        "held_out": [_held_out(each) for each in advice.held_out],
        "confidence": _confidence(advice.held_out),
    }


def _held_out(period: held_out.HeldOut) -> HeldOutRecord:
    best, fates = period.advised, period.fates
    return {
        "from": format_time(period.start),
        "to": format_time(period.end),
        "late": None if best is None else tolerance(best.late),
        "out_of_order": None if best is None else tolerance(best.out_of_order),
        "counts": None if fates is None else _fates(fates),
        "met": period.met,
    }


def _confidence(periods: Sequence[held_out.HeldOut]) -> str:
    """A sentence on how often advice from earlier rows would have met the target on each of the newest periods."""
    length = format_duration(held_out.PERIOD)
    if not periods:
        return f"How sure this is, is not known: rows of more than {length} are needed to test it."
    met, tests = sum(each.met for each in periods), counted(len(periods), "test")
    said = f"Tested on newer rows, by {length}: advice met the target in {met} of {tests}"
    missed = next((each for each in periods if not each.met), None)
    if missed is None:
        return f"{said}."
    day = format_time(missed.start)[:10]
    if missed.fates is None:
        return f"{said}; from {day} on no tolerances had met it before."
    rows, own = missed.fates.rows, (missed.fates.own_adjusted, missed.fates.own_dropped)
    return f"{said}; from {day} on {share(own[0], rows)} adjusted and {share(own[1], rows)} dropped."


def _sentence(advice: Advice) -> str:
    """A sentence that names the recommended candidate, or says why there is none."""
    asked, best = target(advice.targets.dropped, advice.targets.adjusted), advice.recommended
    if best is None:
        return f"No tolerances of the grid meet the target ({asked}): try larger ones, or another target."
    pair = f"late {tolerance(best.late)}, out_of_order {tolerance(best.out_of_order)}"
    same = "the present tolerances are the smallest" if best is advice.present else f"{pair} are the smallest"
    fates = best.fates
    return f"For {asked}, {same}: {cost(fates.rows, fates.own_adjusted, fates.own_dropped, best.delay)}."
