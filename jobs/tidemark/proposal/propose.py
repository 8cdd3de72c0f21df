"""Proposes one source, with all findings behind the proposal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from tidemark.core.times import MINUTE
from tidemark.proposal.columns.partition_keys import Keys, keys_of
from tidemark.proposal.columns.time_orders import TimeOrder, time_orders
from tidemark.proposal.columns.times import SKEW, Times, candidates, choose, without_event
from tidemark.proposal.durations import rounded_up
from tidemark.proposal.landing_dates import agree, copied, dated, redated
from tidemark.proposal.objects import ListedObject, in_log_order
from tidemark.proposal.samples import RowSample, sample
from tidemark.proposal.tolerances import MeasuredTolerances, SampledRow, measure

_LONGEST_SKEW = 60 * MINUTE


@dataclass(frozen=True)
class Interval:
    """Time between consecutive landing times, microseconds; None if all objects landed at one moment."""

    median: int | None
    longest: int | None

    @classmethod
    def of(cls, objects: Sequence[ListedObject]) -> Interval:
        moments = sorted({item.modified for item in objects})
        gaps = sorted(later - earlier for earlier, later in pairwise(moments))
        return cls(gaps[len(gaps) // 2], gaps[-1]) if gaps else cls(None, None)


@dataclass(frozen=True)
class ProposedSource:
    """One source: `landing` as configured, its objects in log order, and findings from a sample. `measured` is None
    if rows have no event time of their own, `landing_delay` if they have no arrival of their own."""

    name: str
    landing: str
    objects: Sequence[ListedObject]
    sample: RowSample
    times: Times
    keys: Keys
    interval: Interval
    measured: MeasuredTolerances | None
    landing_delay: int | None
    clock_skew: int
    landed_at: dict[str, str] | None = None
    copied: bool = False
    strays: tuple[str, ...] = ()

    @cached_property
    def orders(self) -> list[TimeOrder]:
        """Pairs of times in which one is never before the other, the closest first."""
        return time_orders(self.times)

    @property
    def quarantined(self) -> int:
        """Number of sampled rows that lack a required time, or have an impossible one."""
        return sum(row.event is None or row.arrival is None for row in rows_of(self.sample, self.times, self.keys))


def propose_source(
    name: str,
    landing: str,
    kind: str,
    objects: Sequence[ListedObject],
    folders: Sequence[str] = (),
    strays: tuple[str, ...] = (),
) -> ProposedSource:
    """Propose a source for objects of one format below `landing`; see `keys_of` for `folders`."""
    ordered = in_log_order(objects)
    found = _proposed(name, landing, kind, ordered, folders)
    if found.copied:
        ways = (each for each in dated(ordered) if agree(found.sample.objects, found.sample.of, found.times, each))
        if (landed_at := next(ways, None)) is not None:
            again = _proposed(name, landing, kind, redated(ordered, landed_at), folders)
            if agree(again.sample.objects, again.sample.of, again.times, landed_at):
                found = replace(again, landed_at=landed_at)
    return replace(found, strays=strays)


def _proposed(
    name: str, landing: str, kind: str, ordered: Sequence[ListedObject], folders: Sequence[str]
) -> ProposedSource:
    taken = sample(kind, ordered)
    times = choose(candidates(taken)) if taken.rows else Times(None, None, ())
    keys = keys_of(taken, ordered, folders)
    skew = _skew(taken, times)
    measured = None if times.event is None else measure(list(rows_of(taken, times, keys)), skew)
    if measured is not None and measured.late is None and times.arrival is None and _in_order(times):
        times, measured = without_event(times), None
    return ProposedSource(
        name=name,
        landing=landing,
        objects=ordered,
        sample=taken,
        times=times,
        keys=keys,
        interval=Interval.of(ordered),
        measured=measured,
        landing_delay=_landing_delay(taken, times),
        clock_skew=skew,
        copied=copied(ordered, times),
    )


def rows_of(taken: RowSample, times: Times, keys: Keys) -> list[SampledRow]:
    """Return the rows of a sample for the time rules, in log order."""
    nothing = [None] * taken.rows
    landed = [taken.objects[number].modified for number in taken.of]
    arrivals = times.arrival.micros if times.arrival else landed
    events = times.event.micros if times.event else arrivals
    partitions = _partitions(taken, keys)
    return [
        SampledRow(partition, event, arrival, moment)
        for partition, event, arrival, moment in zip(partitions, events or nothing, arrivals, landed, strict=True)
    ]


def _partitions(taken: RowSample, keys: Keys) -> list[str]:
    chosen = keys.partition
    if chosen is None:
        return ["0"] * taken.rows
    if chosen.path:
        names = [chosen.of(item) for item in taken.objects]
        return [names[number] for number in taken.of]
    return [str(value) for value in taken.values[chosen.column.strip("`").replace("``", "`")]]


def _skew(taken: RowSample, times: Times) -> int:
    """Return the smallest clock skew that accepts every sampled arrival, at most the largest plausible one."""
    if times.arrival is None:
        return SKEW
    landed = [taken.objects[number].modified for number in taken.of]
    pairs = zip(times.arrival.micros, landed, strict=True)
    ahead = max((time - moment for time, moment in pairs if time is not None), default=0)
    return min(max(rounded_up(ahead), SKEW), _LONGEST_SKEW)


def _landing_delay(taken: RowSample, times: Times) -> int | None:
    if times.arrival is None:
        return None
    lags = (
        taken.objects[number].modified - time
        for number, time in zip(taken.of, times.arrival.micros, strict=True)
        if time is not None
    )
    return rounded_up(max([0, *lags]))


def _in_order(times: Times) -> bool:
    event = times.event
    return event is not None and event.ordered >= 0.999 and event.landed >= 0.98 and not event.reading.dated
