"""Assigns objects to the recorded runs that read them when landing is reread.

An object that a run took is read as it is now, with the landing time that was recorded. One that came too late is
read by the run that should have taken it: the first whose as_of has passed its landing time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tidemark.core.batch import Batch, LandedObject, ObjectState

Key = tuple[str, str]
"""A source and the URI of an object in it."""


@dataclass(frozen=True)
class PastRun:
    """A recorded run: its as_of in microseconds, its batches with the objects they took, and the sources that were
    complete before it."""

    as_of: int
    batches: tuple[Batch, ...]
    complete: frozenset[str] = frozenset()

    @property
    def taken(self) -> dict[Key, tuple[int, LandedObject]]:
        """The objects that the run took, each with its batch; objects that had vanished are left out."""
        return {
            (item.source, item.uri): (batch.batch_id, item)
            for batch in self.batches
            for item in batch.objects
            if item.state in (ObjectState.READ, ObjectState.QUARANTINED)
        }


@dataclass(frozen=True)
class Sources:
    """Sources in the order in which a run reads them: how long objects must settle, and how old they may be;
    microseconds."""

    settle: Mapping[str, int]
    oldest: Mapping[str, int | None]

    def rank(self, item: LandedObject) -> tuple[int, tuple[int, bytes]]:
        """Position at which a run reads an object."""
        return list(self.settle).index(item.source), item.order


def missing(runs: Iterable[PastRun], there: Mapping[Key, LandedObject]) -> list[Key]:
    """Objects that runs took and that are no longer in landing."""
    return sorted(key for run in runs for key in run.taken if key not in there)


def reread(
    runs: Sequence[PastRun],
    there: Mapping[Key, LandedObject],
    before: int | None,
    sources: Sources,
    known: Collection[Key] = (),
) -> list[tuple[Batch, ...]]:
    """The batches of each run, with the objects that are `there` now. `before` is the as_of of the run before the
    first (None: there is none): what landed by then is left as it was. `known` objects were taken before, or must not
    be taken. Any other object that no run took is read by the run in whose time it landed, if there is one."""
    planned: list[list[tuple[int | None, LandedObject]]] = [[] for _ in runs]
    taken = {key: (number, found) for number, run in enumerate(runs) for key, found in run.taken.items()}
    for key, item in there.items():
        if key in known:
            continue
        number, batch, then = None, None, item
        if key in taken:
            number, (batch, recorded) = taken[key]
            then = replace(item, modified=recorded.modified)
        due = _due(runs, then, before, sources, recorded=key in taken)
        if number is None or (due is not None and due < number):
            number, batch = due, None
        if number is not None:
            planned[number].append((batch, then))
    return [_cut(run, found, sources) for run, found in zip(runs, planned, strict=True)]


def _due(
    runs: Sequence[PastRun], item: LandedObject, before: int | None, sources: Sources, *, recorded: bool
) -> int | None:
    """The run that should have taken an object. None: it landed before all of them, or after, or too late for its
    source. An object that a run took is never too late."""
    settle, oldest = sources.settle[item.source], sources.oldest[item.source]
    if before is not None and item.modified <= before - settle:
        return None
    for number, run in enumerate(runs):
        if item.modified <= run.as_of - settle:
            old = oldest is not None and run.as_of - item.modified > oldest
            refused = not recorded and (old or item.source in run.complete)
            return None if refused else number
    return None


def _cut(run: PastRun, found: Iterable[tuple[int | None, LandedObject]], sources: Sources) -> tuple[Batch, ...]:
    """The batches of a run as they were; a new object goes into the batch where its order puts it."""
    at = run.batches[0].batch_id
    groups: dict[int, list[LandedObject]] = {batch.batch_id: [] for batch in run.batches}
    for batch, item in sorted(found, key=lambda each: sources.rank(each[1])):
        at = max(at, batch or at)
        groups[at].append(item)
    return tuple(Batch(number, tuple(items)) for number, items in groups.items())
