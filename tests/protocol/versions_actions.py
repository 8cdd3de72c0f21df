"""The actions on versions of a pipeline: build one beside the live one, list it, bring it up, make it live."""

from __future__ import annotations

from collections.abc import Iterator

from actions import checkpoint, content, ended, freed, own, turned, windowed, with_actor, with_version
from guards import Guards
from state import (
    COMMITTED,
    PASSED,
    PLANNED,
    Batch,
    State,
    Version,
    added,
    committed,
    kept,
    mask,
    pending,
)


def reserve(state: State, who: int, guards: Guards) -> Iterator[State]:
    """Reserve the number of a new version in a commit to the list of versions: `versions.reserve`."""
    actor = state.actors[who]
    if actor.step != "reserve":
        return
    if not guards.number_once:
        number = max(state.listed) + 1
        yield with_actor(state, who, actor._replace(step="clear", number=number))
        return
    if guards.switch_check and state.changes != actor.expected:
        yield freed(state, who)
        return
    number, changes = state.numbered + 1, state.changes + 1
    reserved = state._replace(numbered=number, changes=changes)
    yield with_actor(reserved, who, actor._replace(step="clear", number=number, expected=changes))


def clear(state: State, who: int, guards: Guards) -> Iterator[State]:
    """Remove what an interrupted build has left: `remove_tree`."""
    actor = state.actors[who]
    if actor.step != "clear":
        return
    emptied = with_version(state, actor.number, None)
    yield checkpoint(emptied, who, actor._replace(step="clone"), guards)


def clone(state: State, who: int, guards: Guards) -> Iterator[State]:
    """Make the tables of the new version from the files of the live one: `clone.clone`."""
    actor = state.actors[who]
    if actor.step != "clone":
        return
    copy = own(state, actor)._replace(whole=False)
    if guards.clone_check and pending(copy):
        yield freed(state, who)
        return
    step = "build" if guards.list_last else "enlist"
    yield checkpoint(with_version(state, actor.number, copy), who, actor._replace(step=step), guards)


def build(state: State, who: int, guards: Guards) -> Iterator[State]:
    """Make the recorded runs once more under the new rules, and merge what changed: `Backfill._rebuilt`."""
    actor = state.actors[who]
    if actor.step != "build":
        return
    version = state.folders[actor.number - 1]
    if version is None:
        yield freed(state, who)
        return
    built = with_version(state, actor.number, version._replace(whole=True))
    following = checkpoint(built, who, actor._replace(step="enlist" if guards.list_last else "end"), guards)
    yield ended(following, who)


def list_version(state: State, who: int, guards: Guards) -> Iterator[State]:
    """List the version, if nobody has changed the list since its number was reserved: `versions.add`."""
    actor = state.actors[who]
    if actor.step != "enlist":
        return
    if guards.switch_check and state.changes != actor.expected:
        yield freed(state, who)
        return
    listed = tuple(sorted({*state.listed, actor.number}))
    changed = state._replace(listed=listed, changes=state.changes + 1)
    step = "end" if guards.list_last else "build"
    following = checkpoint(changed, who, actor._replace(step=step), guards)
    yield ended(following, who)


def bring(state: State, who: int, guards: Guards) -> Iterator[State]:
    """Plan and execute in the other version the next run of the live one that it lacks, in two steps:
    `Promotion._bring_up`."""
    actor = state.actors[who]
    if actor.step != "bring":
        return
    live, target = own(state, actor), state.folders[actor.number - 1]
    assert target is not None
    begun = [batch for batch in target.batches if batch.status == PLANNED]
    known = target.batches[-1].number if target.batches else 0
    missing = [batch for batch in committed(live) if batch.number > known]
    due = begun or (missing if guards.bring_up else [])
    if not due:
        yield checkpoint(state, who, actor._replace(step="switch"), guards)
        return
    if guards.retained_check and due[0].number < max(live.events_from, live.ledger_from):
        yield freed(state, who)
        return
    made = executed_again(target, live, begun) if begun else planned_again(target, live, missing)
    yield checkpoint(with_version(state, actor.number, made), who, actor, guards)


def planned_again(target: Version, live: Version, missing: list[Batch]) -> Version:
    """The next plan of a run repeated in the target, and the numbers of abandoned batches before it:
    `Promotion._planned`, `abandoned.skip`. A run has two plans if the rest of its first was abandoned. Nothing in the
    target says what abandoned batches were to take."""
    run = [batch for batch in missing if (batch.first, batch.last) == (missing[0].first, missing[0].last)]
    known = target.batches[-1].number if target.batches else 0
    skipped = [batch._replace(objects=0) for batch in live.batches if known < batch.number < run[0].number]
    rows = [batch._replace(status=PLANNED) for batch in run]
    return target._replace(batches=(*target.batches, *skipped, *rows))


def executed_again(target: Version, live: Version, begun: list[Batch]) -> Version:
    """The planned run executed in the target, on the events of the live version: `EventsRerun.execute`, which is
    `Run.execute`."""
    rows = {of: found[1] for of, found in live.events}
    for batch in begun:
        earlier = mask([each for each in kept(target) if each.number < batch.number])
        known = tuple(max(each, batch.number) for each in target.known)
        target = target._replace(
            events=added(target.events, (batch.number, content(earlier, rows.get(batch.number, 0)))),
            states=added(target.states, (batch.number, earlier | batch.objects)),
            taken=added(target.taken, (batch.number, batch.objects)),
            known=known,
            settled=batch.number,
        )
        if batch.number == batch.last:
            target = target._replace(
                streams=added(target.streams, (batch.number, windowed(target, batch.number))),
                quality=added(target.quality, (batch.number, PASSED)),
            )
        target = turned(target, {batch.number: batch._replace(status=COMMITTED)})
    return target


def switch(state: State, who: int, guards: Guards) -> Iterator[State]:
    """Make the version live in one commit, if nobody has changed the list since the command began:
    `versions.promote`."""
    actor = state.actors[who]
    if actor.step != "switch":
        return
    if guards.switch_check and state.changes != actor.expected:
        yield freed(state, who)
        return
    yield freed(state._replace(live=actor.number, changes=state.changes + 1), who)
