"""A proposal as plain JSON: findings, measurements and settings. Times are ISO 8601, durations microseconds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from itertools import islice
from typing import Any

from tidemark.core.times import format_time
from tidemark.proposal.columns.times import Candidate
from tidemark.proposal.propose import ProposedSource
from tidemark.proposal.samples import Values
from tidemark.proposal.settings import settings_of
from tidemark.proposal.tolerances import Cost, MeasuredTolerances

Record = dict[str, Any]
_SAMPLES = 3
_LONGEST = 60


def source_record(source: ProposedSource) -> Record:
    """Return everything about one source."""
    found, times = source.sample, source.times
    chosen = {"event_time": times.event, "arrival_time": times.arrival}
    partition = source.keys.partition
    return {
        "landing": source.landing,
        "objects": len(source.objects),
        "bytes": sum(item.size for item in source.objects),
        "first_landed": format_time(source.objects[0].modified),
        "last_landed": format_time(source.objects[-1].modified),
        "interval": asdict(source.interval),
        "sampled": {
            "objects": [item.uri for item in found.objects],
            "rows": found.rows,
            "whole": found.whole,
            "unread": found.unread,
            "without_time": source.quarantined,
        },
        "columns": [_column(source, name) for name in found.types],
        "left_out": found.left_out,
        "times": {key: each and each.column for key, each in chosen.items()}
        | {"confidence": times.sure, "candidates": [_candidate(each) for each in times.candidates]},
        "partition": partition and {"column": partition.column or None, "path": partition.path or None,
                                    "values": list(partition.found), "why": partition.why},
        "over": list(source.keys.over),
        "landing_delay": source.landing_delay,
        "measured": source.measured and _measured(source.measured),
        "settings": {each.key: _plain(each.value) for each in settings_of(source) if each.value is not None},
        "strays": list(source.strays),
    }  # fmt: skip


def _column(source: ProposedSource, name: str) -> Record:
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


def _candidate(each: Candidate) -> Record:
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
    }


def _measured(found: MeasuredTolerances) -> Record:
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
        "fates": {fate.value: count for fate, count in fates.counts.items()},
        "by_reason": {"early": fates.early, "late": fates.late, "out_of_order": fates.out_of_order},
    }


def _cost(cost: Cost) -> Record:
    return {"tolerance": cost.tolerance, "rows": cost.rows, "share": cost.share}


def _plain(value: Any) -> Any:  # noqa: ANN401 # JSON
    return ", ".join(value) if isinstance(value, tuple) else value
