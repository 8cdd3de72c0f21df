"""Compares a source's settings with the rows that land now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidemark.config.models.sources import QualitySpec, SourceSpec
from tidemark.core.policy import Fate
from tidemark.proposal.drift.findings import Drift
from tidemark.proposal.drift.judged import SampledTimes, judged_drifts, sampled_times
from tidemark.proposal.drift.rows import landed_rows
from tidemark.proposal.drift.schema import schema_drifts, unreadable_rows
from tidemark.proposal.objects import ListedObject
from tidemark.proposal.samples import RowSample
from tidemark.proposal.tolerances import judge

_EFFECTS = ("quarantined", "dropped", "adjusted", "unread", "none")


@dataclass(frozen=True)
class SourceDrift:
    """A source's settings compared with its newest rows. `fates`: expected fates of the sampled rows and lines; None
    if only Spark can compute them. `unseen`: parts that could not be compared, and why."""

    sample: RowSample
    fates: dict[Fate, int] | None
    drifts: tuple[Drift, ...]
    unseen: tuple[str, ...]


def compare(spec: SourceSpec, quality: QualitySpec, objects: Sequence[ListedObject]) -> SourceDrift:
    """Compare a source with its newest objects; `quality` has its limits, `objects` are in log order. Differences are
    sorted, the costliest first."""
    unnamed = [item for item in objects if spec.landed_at and spec.landed_at.landing_time(item.uri) is None]
    found = landed_rows(spec, [item for item in objects if item not in unnamed] if unnamed else objects)
    lost = unreadable_rows(spec, found)
    times = sampled_times(spec, found.sample, lost)
    drifts = [
        *_unnamed(unnamed),
        *schema_drifts(spec, found),
        *judged_drifts(spec, quality, times),
    ]
    drifts.sort(key=lambda each: (_EFFECTS.index(each.effect), -each.rows))
    unseen = [*found.unseen, *times.unseen]
    return SourceDrift(found.sample, None if found.unseen else _fates(spec, found.sample, times), tuple(drifts),
                       tuple(unseen))  # fmt: skip


def _unnamed(objects: Sequence[ListedObject]) -> list[Drift]:
    if not objects:
        return []
    message = f"{len(objects):,} objects have no landing time in their names, such as {objects[-1].uri}"
    return [Drift("landed_at", "landed_at", message, effect="quarantined")]


def _fates(spec: SourceSpec, taken: RowSample, times: SampledTimes) -> dict[Fate, int] | None:
    if times.rows is None:
        return None
    fates = dict(judge(times.rows, spec.policy, spec.clock_skew).counts)
    fates[Fate.QUARANTINED] += taken.rows - len(times.rows) + taken.unread
    return fates
