"""A proposal as plain JSON: findings, measurements and settings. Times are ISO 8601, durations microseconds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from tidemark.core.times import format_time
from tidemark.proposal.columns.partition_keys import Partition
from tidemark.proposal.columns.times import Candidate
from tidemark.proposal.guesses import guesses_of
from tidemark.proposal.propose import ProposedSource
from tidemark.proposal.samples import Values
from tidemark.proposal.settings import settings_of
from tidemark.proposal.tolerances import Cost, MeasuredTolerances
from tidemark.records.proposal import (
    CandidateTime,
    ColumnSummary,
    CostSummary,
    GuessSummary,
    MeasuredSummary,
    PartitionProposal,
    SourceProposal,
    TimesSummary,
)
from tidemark.records.runs import rows_by_fate

_SAMPLES = 3
_LONGEST = 60


def source_record(source: ProposedSource) -> SourceProposal:
    """Return everything about one source."""
    found, partition = source.sample, source.keys.partition
    return {
        "landing": source.landing,
        "objects": len(source.objects),
        "bytes": sum(item.size for item in source.objects),
        "first_landed": format_time(source.objects[0].modified),
        "last_landed": format_time(source.objects[-1].modified),
        "interval": {"median": source.interval.median, "longest": source.interval.longest},
        "sampled": {
            "objects": [item.uri for item in found.objects[::-1]],
            "rows": found.rows,
            "whole": found.whole,
            "unread": found.unread,
            "without_time": source.quarantined,
        },
        "columns": [_column(source, name) for name in found.types],
        "left_out": found.left_out,
        "times": _times(source),
        "partition": None if partition is None else _partition(partition),
        "over": list(source.keys.over),
        "landing_delay": source.landing_delay,
        "measured": None if source.measured is None else _measured(source.measured),
        "settings": {each.key: _plain(each.value) for each in settings_of(source) if each.value is not None},
        "strays": list(source.strays),
    }


def guess_records(sources: Sequence[ProposedSource]) -> list[GuessSummary]:
    """Return the assumptions on all sources, the most expensive first."""
    return [
        {"source": name, "key": each.key, "message": each.message, "effect": each.effect, "rows": each.rows}
        for name, each in guesses_of(sources)
    ]


def _times(source: ProposedSource) -> TimesSummary:
    times = source.times
    return {
        "event_time": None if times.event is None else times.event.column,
        "arrival_time": None if times.arrival is None else times.arrival.column,
        "confidence": times.sure,
        "candidates": [_candidate(each) for each in times.candidates],
        "orders": [
            {
                "later": each.later.expression,
                "earlier": each.earlier.expression,
                "rows": each.rows,
                "median": each.median,
                "largest": each.largest,
            }
            for each in source.orders
        ],
    }


def _partition(found: Partition) -> PartitionProposal:
    return {
        "column": found.column or None,
        "path": found.path or None,
        "values": list(found.found),
        "why": found.why,
    }


def _column(source: ProposedSource, name: str) -> ColumnSummary:
    kind, values = source.sample.types[name], source.sample.values[name]
    return {
        "name": name,
        "type": kind.type,
        "note": kind.note,
        "nulls": sum(value is None for value in values),
        "samples": _samples(values, native=name in source.sample.native),
    }


def _samples(values: Values, *, native: bool) -> list[str]:
    there = (value for value in values if value is not None)
    texts = (format_time(value) if native and isinstance(value, int) else str(value) for value in there)
    return list(islice(_different(text[:_LONGEST] for text in texts), _SAMPLES))


def _different(texts: Iterable[str]) -> Iterable[str]:
    seen: set[str] = set()
    for text in texts:
        if text not in seen:
            seen.add(text)
            yield text


def _candidate(each: Candidate) -> CandidateTime:
    return {
        "column": each.column,
        "expression": each.expression,
        "read_as": each.reading.words,
        "event_score": round(each.event_score, 2),
        "arrival_score": round(each.arrival_score, 2),
        "fits": round(each.fits, 4),
        "filled": round(each.filled, 4),
        "not_after_landing": round(each.landed, 4),
        "in_order": round(each.ordered, 4),
        "before_landing": each.lag,
        "without_zone": each.zoneless,
    }


def _measured(found: MeasuredTolerances) -> MeasuredSummary:
    fates = found.fates
    return {
        "lateness": found.lateness.record(),
        "disorder": found.disorder.record(),
        "earliness": found.earliness.record(),
        "late_arrival": found.late,
        "out_of_order": found.out_of_order,
        "early_arrival": found.early,
        "late_costs": [_cost(each) for each in found.late_costs],
        "out_of_order_costs": [_cost(each) for each in found.order_costs],
        "fates": rows_by_fate(fates.counts),
        "by_reason": {"early": fates.early, "late": fates.late, "out_of_order": fates.out_of_order},
    }


def _cost(cost: Cost) -> CostSummary:
    return {"tolerance": cost.tolerance, "rows": cost.rows, "share": cost.share}


def _plain(value: Any) -> Any:  # noqa: ANN401 # JSON
    return ", ".join(value) if isinstance(value, tuple) else value
