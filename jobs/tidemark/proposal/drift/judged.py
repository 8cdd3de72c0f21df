"""Differences in time: partitions, arrivals, and the rows that tolerances act on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tidemark.config.models.sources import QualitySpec, SourceSpec
from tidemark.config.secrets import hidden
from tidemark.core.policy import Action, Tolerance
from tidemark.core.quality import within
from tidemark.core.times import format_duration
from tidemark.proposal.drift.findings import Drift
from tidemark.proposal.drift.times import instants
from tidemark.proposal.durations import brief, rounded_up
from tidemark.proposal.samples import RowSample
from tidemark.proposal.tolerances import SampledRow, judge, measure

MOST_QUARANTINED, MOST_MOVED = 0.01, 0.02
"""Shares of sampled rows beyond which rows without a time, and rows that a tolerance acts on, are drift, where
`quality` sets no limit."""
FEWEST = 5
"""Fewest rows for a difference; fewer may be an accident."""


@dataclass(frozen=True)
class SampledTimes:
    """Sampled rows in log order for the time rules, without unreadable rows; `rows` is None if only Spark can compute
    their times or partitions. `without`: number of rows that lack a required time or a partition."""

    rows: list[SampledRow] | None
    without: int = 0
    unseen: tuple[str, ...] = ()


def sampled_times(spec: SourceSpec, taken: RowSample, lost: set[int]) -> SampledTimes:
    """Return the times of a sample; `lost` are rows that cannot be read."""
    landed = [taken.objects[number].modified for number in taken.of]
    times = {key: instants(text, spec.columns, taken) for key, text in _expressions(spec).items()}
    partitions = _partitions(spec, taken)
    unknown = {key: text for key, text in _expressions(spec).items() if times[key] is None}
    unseen = [f"{key}: only Spark knows {hidden(text)}" for key, text in unknown.items()]
    if partitions is None:
        unseen.append("partition: only Spark knows its expression")
    if unseen or partitions is None:
        return SampledTimes(None, unseen=tuple(unseen))
    arrivals = times.get("arrival_time") or landed
    events = times.get("timestamp_by") or arrivals
    columns = enumerate(zip(partitions, events, arrivals, landed, strict=True))
    rows = [
        SampledRow(partition, event, arrival, moment)
        for number, (partition, event, arrival, moment) in columns
        if number not in lost and partition is not None
    ]
    without = sum(row.event is None or row.arrival is None for row in rows)
    return SampledTimes(rows, without + sum(each is None for each in partitions))


def judged_drifts(spec: SourceSpec, quality: QualitySpec, times: SampledTimes) -> Iterator[Drift]:
    """Yield the differences between the settings of time and sampled rows."""
    rows = times.rows or []
    most = MOST_QUARANTINED if quality.max_quarantined is None else quality.max_quarantined
    if times.without >= FEWEST and not within(times.without, len(rows), most):
        key = "timestamp_by" if spec.timestamp_by else "arrival_time" if spec.arrival_time else "partition"
        yield Drift("time", key, "rows lack a time or a partition", times.without, "quarantined")
    yield from _undeclared(spec, rows)
    yield from _arrivals(spec, rows)
    if spec.timestamp_by is not None and spec.punctuation is None:
        yield from _tolerances(spec, quality, rows)


def _expressions(spec: SourceSpec) -> dict[str, str]:
    given = {"arrival_time": spec.arrival_time, "timestamp_by": spec.timestamp_by}
    return {key: text for key, text in given.items() if text is not None}


def _partitions(spec: SourceSpec, taken: RowSample) -> list[str | None] | None:
    """Return the partition of each row, None for a row without one; None if only Spark can compute it."""
    if spec.partition is None:
        return ["0"] * taken.rows
    if spec.partition.path is not None:
        found = [re.search(spec.partition.path, item.uri) for item in taken.objects]
        return [match[1] if (match := found[number]) else None for number in taken.of]
    name = str(spec.partition.column).strip("`").replace("``", "`")
    values = next((each for column, each in taken.values.items() if column.lower() == name.lower()), None)
    return None if values is None else [None if value is None else _text(value) for value in values]


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _undeclared(spec: SourceSpec, rows: Sequence[SampledRow]) -> Iterator[Drift]:
    """Yield partitions that are not declared, if the source declares any."""
    if spec.partition is None or not spec.partitions:
        return
    others = Counter(row.partition for row in rows if row.partition not in spec.partitions)
    if others:
        names = ", ".join(sorted(others)[:5]) + ", ..." * (len(others) > 5)
        message = f"{len(others):,} partitions are not declared: {names}"
        yield Drift("partition", "partitions", message, others.total(), proposed=names)


def _arrivals(spec: SourceSpec, rows: Sequence[SampledRow]) -> Iterator[Drift]:
    if spec.arrival_time is None:
        return
    lags = [row.landed - row.arrival for row in rows if row.arrival is not None]
    delay, skew = spec.landing_delay, spec.clock_skew
    slow, ahead = [lag for lag in lags if lag > delay], [-lag for lag in lags if -lag > skew]
    if slow:
        message = f"rows land up to {brief(max(slow))} after they arrive, later than {format_duration(delay)}"
        proposed = format_duration(rounded_up(max(slow)))
        yield Drift("landing_delay", "landing_delay", message, len(slow), proposed=proposed)
    if ahead:
        message = f"arrivals are up to {brief(max(ahead))} after the landing, more than {format_duration(skew)}"
        proposed = format_duration(rounded_up(max(ahead)))
        yield Drift("clock_skew", "clock_skew", message, len(ahead), "quarantined", proposed=proposed)


def _tolerances(spec: SourceSpec, quality: QualitySpec, rows: Sequence[SampledRow]) -> Iterator[Drift]:
    """Yield tolerances that more rows exceed than `quality` allows, if a longer one is proposed."""
    policy, measured = spec.policy, measure(rows, spec.clock_skew)
    fates = judge(rows, policy, spec.clock_skew)
    steps: list[tuple[str, Tolerance | None, int, int | None]] = [
        ("early_arrival", policy.early, fates.early, measured.early),
        ("late_arrival", policy.late, fates.late, measured.late),
        ("out_of_order", policy.out_of_order, fates.out_of_order, measured.out_of_order),
    ]
    for key, tolerance, acted, proposed in steps:
        if tolerance is None or (proposed is not None and proposed <= tolerance.micros):
            continue
        dropped = tolerance.action is Action.DROP
        limit = quality.max_dropped if dropped else quality.max_adjusted
        if acted >= FEWEST and not within(acted, len(rows), MOST_MOVED if limit is None else limit):
            words = f"rows are beyond {format_duration(tolerance.micros)}"
            yield Drift(key.removesuffix("_arrival"), key, words, acted, "dropped" if dropped else "adjusted",
                        proposed="off" if proposed is None else format_duration(proposed))  # fmt: skip
