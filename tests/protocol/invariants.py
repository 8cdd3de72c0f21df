"""The invariants of the protocol, each a function that says what is wrong in a state, or nothing."""

from __future__ import annotations

from collections.abc import Callable

from actions import content, damaged, needed_by
from state import (
    ABANDONED,
    ABANDONING,
    BLOCKED,
    COMMITTED,
    RELEASED,
    State,
    Version,
    committed,
    ended_run,
    kept,
    mask,
)

Invariant = Callable[[State], str]


def listed(state: State) -> list[Version | None]:
    """The tables of each listed version."""
    return [state.folders[number - 1] for number in state.listed]


def one_content(version: Version) -> str:
    """Each batch has one row in `batches`, and in each table its rows once: those that its objects and the state
    before it give."""
    numbers = [batch.number for batch in version.batches]
    if len(numbers) != len(set(numbers)):
        return "two plans have one batch"
    earlier = 0
    wanted: dict[int, tuple[int, int]] = {}
    for batch in kept(version):
        if batch.status != ABANDONING:
            wanted[batch.number] = earlier, batch.objects
            earlier |= batch.objects
    for of, found in version.events:
        if of in wanted and found != content(*wanted[of]):
            return f"batch {of} has other events than its objects give"
    for of, found in version.states:
        if of in wanted and found != wanted[of][0] | wanted[of][1]:
            return f"batch {of} has another state than its objects give"
    for rows in (version.events, version.states, version.taken, version.streams):
        if len({row[0] for row in rows}) != len(rows):
            return "rows of a batch are in a table twice"
    return windows_whole(version)


def windows_whole(version: Version) -> str:
    """Each published window has the rows of its run, and of the batch before."""
    there = kept(version)
    for of, found in version.streams:
        batch = next((each for each in there if each.number == of), None)
        if batch is not None:
            earliest = needed_by(version, batch.first)
            if found != mask([each for each in there if earliest <= each.number <= of]):
                return f"batch {of} has published other rows than its windows have"
    return ""


def tables_there(version: Version) -> str:
    """A committed batch has its rows in all tables, as far as retention keeps them. A table that was restored from an
    older copy is left out: commands notice it."""
    for batch in committed(version):
        tables = [("events", version.events, version.events_from), ("objects", version.taken, 0)]
        if not (version.restored and damaged(version)):
            tables.append(("states", version.states, version.ledger_from))
        if batch.number == batch.last:
            tables += [("streams", version.streams, 0), ("quality", version.quality, 0)]
        for name, rows, first in tables:
            if batch.number >= first and all(row[0] != batch.number for row in rows):
                return f"batch {batch.number} is committed, and {name} has no row of it"
    return ""


def taken_once(version: Version) -> str:
    """No object is in two batches, and none that is recorded as taken is in no batch."""
    earlier = 0
    for batch in kept(version):
        if earlier & batch.objects:
            return f"batch {batch.number} takes an object again"
        earlier |= batch.objects
    for of, objects in version.taken:
        if objects & ~earlier:
            return f"an object that batch {of} has taken is lost"
    return ""


def cut_is_prefix(version: Version) -> str:
    """Rows up to the last committed batch are those of committed batches, and no batch before it is open."""
    done = {batch.number for batch in committed(version)}
    last = max(done, default=0)
    open_ = [batch.number for batch in kept(version) if batch.number < last and batch.status != COMMITTED]
    if open_:
        return f"batch {open_[0]} is open, and batch {last} is committed"
    for rows in (version.events, version.streams, version.states):
        for of, _ in rows:
            if of <= last and of not in done:
                return f"readers see rows of batch {of}, which is not committed"
    return ""


def abandoned_is_gone(version: Version) -> str:
    """No table has rows of a batch that was abandoned."""
    gone = {batch.number for batch in version.batches if batch.status == ABANDONED}
    for rows in (version.events, version.states, version.taken, version.streams, version.quality) if gone else ():
        for of, _ in rows:
            if of in gone:
                return f"a table has rows of the abandoned batch {of}"
    return ""


def blocked_is_silent(version: Version) -> str:
    """A run that quality blocks has published nothing before it is released."""
    for batch in version.batches:
        silent = batch.status != BLOCKED or (batch.number, RELEASED) in version.quality
        if not silent and any(row[0] == batch.number for row in version.streams):
            return f"batch {batch.number} is blocked and published"
    return ""


def runs_stay(state: State) -> str:
    """The live version is whole, and has every run that was reported as committed."""
    for number in state.listed:
        version = state.folders[number - 1]
        if version is None or not version.whole:
            return f"version {number} is listed and not whole"
    if state.seen & ~mask(committed(state.tables)):
        return "a run that was reported as committed is not in the live version"
    return ""


def upkeep_spares(version: Version) -> str:
    """Retention leaves the events of open windows, and the batch before the last run."""
    last = ended_run(version)
    if last and version.events_from > last.number:
        return "events that an open window needs are gone"
    if last and version.ledger_from > needed_by(version, last.first):
        return "the state that a replay of the last run begins with is gone"
    return ""


OF_VERSIONS = (
    taken_once,
    one_content,
    tables_there,
    cut_is_prefix,
    abandoned_is_gone,
    blocked_is_silent,
    upkeep_spares,
)
INVARIANTS = (*OF_VERSIONS, runs_stay)


def wrong(state: State, known: dict[Version, str]) -> str:
    """The invariant that a state breaks, in words; empty if it breaks none. `known` keeps answers by version."""
    for version in listed(state):
        if version is None:
            break
        found = known.get(version)
        if found is None:
            found = next((f"{rule.__name__}: {said}" for rule in OF_VERSIONS if (said := rule(version))), "")
            known[version] = found
        if found:
            return found
    said = runs_stay(state)
    return f"{runs_stay.__name__}: {said}" if said else ""
