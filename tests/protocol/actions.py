"""The actions of the protocol. Each is one step that other actors or a crash may follow, and names its function.

An action takes a state and the number of an actor, and yields the states that it may lead to; none if it is not
enabled. `docs/protocol.md` has the table of actions, functions and guards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from guards import Guards
from state import (
    ABANDONED,
    ABANDONING,
    ALL_LANDED,
    BLOCKED,
    COMMITTED,
    EVENTS,
    FAILED,
    IDLE,
    NOBODY,
    PASSED,
    PLANNED,
    QUALITY,
    RELEASED,
    STATES,
    STREAMS,
    TAKEN,
    Actor,
    Batch,
    Row,
    Rows,
    State,
    Version,
    added,
    committed,
    kept,
    mask,
    newest,
    pending,
    unended,
)

Action = Callable[[State, int, Guards], Iterator[State]]
TABLES = ("events", "states", "taken", "streams", "quality")


# -- what actions share


def with_actor(state: State, who: int, actor: Actor) -> State:
    """The state with another value of an actor."""
    actors = state.actors
    return state._replace(actors=(*actors[:who], actor, *actors[who + 1 :]))


def with_version(state: State, number: int, version: Version | None) -> State:
    """The state with other tables of a version."""
    folders = state.folders
    return state._replace(folders=(*folders[: number - 1], version, *folders[number:]))


def freed(state: State, who: int) -> State:
    """An actor ends its command, and releases the lease if it still has it."""
    if state.lease == who:
        state = state._replace(lease=NOBODY, expired=False)
    return with_actor(state, who, IDLE)


def checkpoint(state: State, who: int, actor: Actor, guards: Guards) -> State:
    """`RunContext.checkpoint`: an actor that has lost its lease stops."""
    if actor.lost and guards.lease_check:
        return with_actor(state, who, IDLE)
    return with_actor(state, who, actor)


def appended(version: Version, table: int, row: Row, once: bool) -> Version:
    """`Store.append` and `TableAppend.appendOnce`: append the rows of a batch, unless the log knows it."""
    if once and version.known[table] >= row[0]:
        return version
    known = tuple(max(each, row[0]) if at == table else each for at, each in enumerate(version.known))
    name = TABLES[table]
    return version._replace(known=known, **{name: added(getattr(version, name), row)})


def own(state: State, actor: Actor) -> Version:
    """The tables of the version that an actor has opened."""
    found = state.folders[actor.version - 1]
    assert found is not None
    return found


def objects_of(version: Version, batch: Batch, guards: Guards) -> int:
    """`Ledger.objects_of`: the objects planned for a batch under its token."""
    if guards.plan_token:
        return batch.objects
    found = batch.objects
    for number, objects in version.plans:
        found |= objects if number == batch.number else 0
    return found


def numbered(version: Version, number: int) -> Batch:
    """The row of a batch."""
    return next(batch for batch in version.batches if batch.number == number)


def turned(version: Version, rows: dict[int, Batch]) -> Version:
    """`Store.turn`: other rows of some batches."""
    return version._replace(batches=tuple(rows.get(batch.number, batch) for batch in version.batches))


def next_number(version: Version, guards: Guards) -> int:
    """`Tail.next_batch_id`."""
    there = version.batches if guards.numbers_rest else kept(version)
    return there[-1].number + 1 if there else 1


def damaged(version: Version) -> bool:
    """`lost_commits.losses`: a table's log knows less than the last committed batch has recorded."""
    done = committed(version)
    return bool(done) and version.known[STATES] < done[-1].number


def stopped(version: Version, guards: Guards) -> bool:
    """True if `ensure_whole` or `ensure_not_blocked` stops commands."""
    if guards.last_commit_check and damaged(version):
        return True
    waiting = pending(version)
    return bool(waiting) and waiting[-1].status == BLOCKED and not released(version, waiting[-1].number)


def released(version: Version, number: int) -> bool:
    """`checks.released`."""
    return (number, RELEASED) in version.quality


def free(state: State) -> int:
    """Objects that have landed and that neither the table `objects` nor a pending plan of the live version has."""
    version = state.tables
    known = mask(pending(version))
    for _, objects in version.taken:
        known |= objects
    return state.landed & ~known


def executed(version: Version, actor: Actor, first: int, last: int, then: str) -> Actor:
    """An actor that begins to execute planned batches: `Run.execute` reads the state before them."""
    base = newest(version.states, first)
    place = {"first": first, "last": last, "judged": first - 1, "done": first - 1, "base": base}
    return actor._replace(step="execute", then=then, found=(), **place)


# -- the lease, and the beginning of a command


def take(state: State, who: int, guards: Guards) -> Iterator[State]:
    """Take the lease and begin a command: `hold`, `hold_lease`. Whoever takes over a lease that was not released
    first commits to the list of versions: `versions.fence`."""
    if state.lease != NOBODY or state.actors[who].command or stopped(state.tables, guards):
        return
    held = taken_over(state, who, guards)
    for actor, budget in commands(held, who):
        opened = actor._replace(version=held.live, expected=held.changes)
        waiting = pending(held.tables)
        next_state = held._replace(budget=budget)
        if waiting and actor.then != "merge" and (guards.recover_first or actor.command == "recover"):
            yield with_actor(next_state, who, recovered(held.tables, opened))
        else:
            yield with_actor(next_state, who, opened._replace(step=actor.then, then=""))


def taken_over(state: State, who: int, guards: Guards) -> State:
    """The state with the lease taken; `versions.fence` if it was not released."""
    changes = state.changes + (state.expired and guards.switch_check)
    return state._replace(lease=who, expired=False, changes=changes)


def recovered(version: Version, actor: Actor) -> Actor:
    """`recover.recover`: finish the pending run, or its abandonment."""
    waiting = pending(version)
    first, last = waiting[0].number, waiting[-1].number
    if waiting[0].status == ABANDONING:
        return actor._replace(step="withdraw", first=first, last=last)
    return executed(version, actor, first, last, actor.then)


def commands(state: State, who: int) -> Iterator[tuple[Actor, tuple[int, ...]]]:
    """Commands that an actor may begin: two actors run, the third builds, promotes and compacts."""
    budget, version = state.budget, state.tables
    stalled = state.actors[2].command == "backfill" and not budget.traced
    if who < 2 and not (stalled and budget.builds):
        if free(state) or state.landed != ALL_LANDED:
            yield Actor("run", then="list"), budget
        elif pending(version):
            yield Actor("recover", then="end"), budget
        return
    if budget.builds and len(state.listed) <= budget.versions and committed(version):
        yield Actor("backfill", then="reserve"), budget._replace(builds=budget.builds - 1)
    for number in state.listed if budget.promotions else ():
        if number != state.live:
            yield Actor("promote", then="bring", number=number), budget._replace(promotions=budget.promotions - 1)
    if budget.merges and version.events:
        yield Actor("maintain", then="merge"), budget._replace(merges=budget.merges - 1)


# -- plan


def list_objects(state: State, who: int, guards: Guards) -> Iterator[State]:
    """List what has landed by now and append it to `plans` under a new token: `Planning.discover`, `Planning.cut`,
    `Ledger.plan`. The objects of the second run may have landed or not."""
    actor, version = state.actors[who], own(state, state.actors[who])
    if actor.step != "list":
        return
    if pending(version) and guards.none_pending:
        yield freed(state, who)
        return
    first = next_number(version, guards)
    for landed in {state.landed, state.landed | ALL_LANDED}:
        then = state._replace(landed=landed)
        batches = recorded_cut(then) if state.budget.traced else halves(free(then))
        if not batches:
            yield freed(then, who)
            continue
        listed = version
        if not guards.plan_token:  # else nobody reads the plans of another token
            plans = {(first + at, objects) for at, objects in enumerate(batches)}
            listed = version._replace(plans=tuple(sorted({*version.plans, *plans})))
        planner = actor._replace(step="look", first=first, last=first + len(batches) - 1, found=batches)
        yield with_actor(with_version(then, actor.version, listed), who, planner)


def halves(new: int) -> tuple[int, ...]:
    """Objects as two micro-batches in log order, or one if there is one object."""
    bits = [1 << at for at in range(4) if new >> at & 1]
    middle = (len(bits) + 1) // 2
    return tuple(sum(part) for part in (bits[:middle], bits[middle:]) if part)


def recorded_cut(state: State) -> tuple[int, ...]:
    """The micro-batches that the next run of a trace has planned, if each of their objects is free."""
    new, cut = free(state), state.budget.cut
    return (
        cut if not any(part & ~new for part in cut) and sum(cut).bit_count() == sum(map(int.bit_count, cut)) else ()
    )


def look(state: State, who: int, guards: Guards) -> Iterator[State]:
    """Look up where the ledger ends: the first half of `Store.append_next`, which raises Held if the batch exists."""
    actor, version = state.actors[who], own(state, state.actors[who])
    if actor.step != "look":
        return
    if guards.next_number and next_number(version, guards) != actor.first:
        yield freed(state, who)
    else:
        yield with_actor(state, who, actor._replace(step="plan", number=len(version.batches)))


def plan(state: State, who: int, guards: Guards) -> Iterator[State]:
    """Commit the plan, all its batches at once: the second half of `Store.append_next`, which raises Held if somebody
    has committed since `look`."""
    actor = state.actors[who]
    if actor.step != "plan":
        return
    version = own(state, actor)
    if guards.put_if_absent and len(version.batches) != actor.number:
        yield freed(state, who)
        return
    run = unended(version) or actor.first
    rows = [Batch(actor.first + at, PLANNED, objects, run, actor.last) for at, objects in enumerate(actor.found)]
    planned = version._replace(batches=tuple(sorted((*version.batches, *rows))))
    ready = executed(planned, actor._replace(number=0), actor.first, actor.last, "end")
    yield checkpoint(with_version(state, actor.version, planned), who, ready, guards)


# -- judge, record, check, publish, commit


def judge(state: State, who: int, guards: Guards) -> Iterator[State]:
    """Append the events of the next batch, or find them appended: `Engine.judge`, `TableAppend.appendOnce`. It may be
    one batch ahead of what is recorded."""
    actor = state.actors[who]
    number = actor.judged + 1
    if actor.step != "execute" or number > min(actor.last, actor.done + 2):
        return
    version = own(state, actor)
    objects = objects_of(version, numbered(version, number), guards)
    row = number, content(before(version, actor, number, guards), objects)
    judged = appended(version, EVENTS, row, guards.events_once)
    following = actor._replace(judged=number, stage=actor.stage or "record")
    yield checkpoint(with_version(state, actor.version, judged), who, following, guards)


def before(version: Version, actor: Actor, number: int, guards: Guards) -> int:
    """The objects that the state before a batch has, in the memory of the actor that executes its run."""
    found = actor.base
    for each in range(actor.first, number):
        found |= objects_of(version, numbered(version, each), guards)
    return found


def content(earlier: int, objects: int) -> tuple[int, int]:
    """The content of a batch's events: the objects that the state before it has, and its own."""
    return earlier, objects


def record(state: State, who: int, guards: Guards) -> Iterator[State]:
    """Record the state that a judged batch leaves: `Ledger.record`."""
    actor = state.actors[who]
    if actor.step != "execute" or actor.stage != "record":
        return
    number = actor.done + 1 if guards.batch_order else actor.judged
    version = own(state, actor)
    batch = numbered(version, number)
    left = before(version, actor, number, guards) | objects_of(version, batch, guards)
    recorded = appended(version, STATES, (number, left), guards.records_once)
    ends = number == batch.last
    stage = ("check" if guards.check_first else "publish") if ends else "take"
    following = actor._replace(stage=stage, done=number - 1)
    yield checkpoint(with_version(state, actor.version, recorded), who, following, guards)


def check(state: State, who: int, guards: Guards) -> Iterator[State]:
    """Check the run that a batch ends, and record the verdict once: `Audit.of_run`, `Run._check`."""
    actor = state.actors[who]
    if actor.step != "execute" or actor.stage != "check":
        return
    number, version = actor.done + 1, own(state, actor)
    known = [verdict for of, verdict in version.quality if of == number]
    after = "publish" if guards.check_first else "take"
    if known and guards.check_once:
        stage = "block" if FAILED in known and RELEASED not in known else after
        yield checkpoint(state, who, actor._replace(stage=stage), guards)
        return
    for verdict in (PASSED, FAILED) if state.budget.failures else (PASSED,):
        checked = appended(version, QUALITY, (number, verdict), guards.records_once)
        left = state.budget.failures - (verdict == FAILED)
        stage = "block" if verdict == FAILED and RELEASED not in known else after
        following = with_version(state, actor.version, checked)._replace(budget=state.budget._replace(failures=left))
        yield checkpoint(following, who, actor._replace(stage=stage), guards)


def block(state: State, who: int, guards: Guards) -> Iterator[State]:
    """Turn the last batch of a run that failed its check to `blocked`, and end: `Ledger.block`."""
    actor = state.actors[who]
    if actor.step != "execute" or actor.stage != "block":
        return
    version, number = own(state, actor), actor.done + 1
    batch = numbered(version, number)
    if batch.status not in (PLANNED, BLOCKED) and guards.status_check:
        yield freed(state, who)
        return
    blocked = turned(version, {number: batch._replace(status=BLOCKED)})
    yield freed(with_version(state, actor.version, blocked), who)


def publish(state: State, who: int, guards: Guards) -> Iterator[State]:
    """Append to streams what a run's end releases: rows of its batches, and of the batch before, whose window was
    open: `take_on`, `Outputs.write`."""
    actor = state.actors[who]
    if actor.step != "execute" or actor.stage != "publish":
        return
    version, number = own(state, actor), actor.done + 1
    row = number, windowed(version, number)
    published = appended(version, STREAMS, row, guards.streams_once)
    following = actor._replace(stage="take" if guards.check_first else "check")
    yield checkpoint(with_version(state, actor.version, published), who, following, guards)


def windowed(version: Version, number: int) -> int:
    """The objects whose rows the windows have that close with the run that a batch ends."""
    earliest, found = needed_by(version, numbered(version, number).first), 0
    for of, each in version.events:
        if earliest <= of <= number:
            found |= each[1]
    return found


def needed_by(version: Version, first: int) -> int:
    """The earliest batch whose events the run from `first` on needs: the one before, whose window is open."""
    return max((batch.number for batch in kept(version) if batch.number < first), default=first)


def take_objects(state: State, who: int, guards: Guards) -> Iterator[State]:
    """Record the objects of a batch as taken: `Ledger._record_objects`. No checkpoint follows."""
    actor = state.actors[who]
    if actor.step != "execute" or actor.stage != "take":
        return
    version, number = own(state, actor), actor.done + 1
    row = number, objects_of(version, numbered(version, number), guards)
    taken = appended(version, TAKEN, row, guards.records_once)
    yield with_actor(with_version(state, actor.version, taken), who, actor._replace(stage="commit"))


def commit(state: State, who: int, guards: Guards) -> Iterator[State]:
    """Turn the row of a batch from `planned` to `committed`, once its rows are on the disk: `Ledger.commit`,
    `settle`."""
    actor = state.actors[who]
    early = not guards.tables_first and actor.stage in ("record", "check", "publish", "take")
    if actor.step != "execute" or not (actor.stage == "commit" or early):
        return
    version, number = own(state, actor), actor.done + 1
    batch = numbered(version, number)
    if batch.status == COMMITTED:
        yield from after_commit(state, who, actor, number, guards)
        return
    if batch.status not in (PLANNED, BLOCKED) and guards.status_check:
        yield freed(state, who)
        return
    settled = max(version.settled, number) if guards.settle else version.settled
    done = turned(version, {number: batch._replace(status=COMMITTED)})._replace(settled=settled)
    seen = state._replace(seen=state.seen | batch.objects)
    yield from after_commit(with_version(seen, actor.version, done), who, actor, number, guards)
    if state.budget.retentions and number == batch.last:
        spent = seen._replace(budget=state.budget._replace(retentions=state.budget.retentions - 1))
        bounded = with_version(spent, actor.version, with_bounds(done, batch, guards))
        yield from after_commit(bounded, who, actor, number, guards)


def after_commit(state: State, who: int, actor: Actor, number: int, guards: Guards) -> Iterator[State]:
    """Go on with the next batch, or with the rest of the command, or with retention if it is due: `Run._record`."""
    if number < actor.last:
        following = actor._replace(done=number, stage="record" if actor.judged > number else "")
    elif own(state, actor).events_from >= number and actor.then == "end":
        following = begins(actor._replace(then="retain"))
    else:
        following = begins(actor)
    yield ended(checkpoint(state, who, following, guards), who)


def ended(state: State, who: int) -> State:
    """The state in which an actor that has nothing more to do has ended its command."""
    return freed(state, who) if state.actors[who].step == "end" else state


def begins(actor: Actor) -> Actor:
    """An actor that has executed a run goes on with what it was to do then."""
    return Actor(
        actor.command,
        actor.then,
        version=actor.version,
        number=actor.number,
        expected=actor.expected,
        lost=actor.lost,
    )


# -- upkeep


def with_bounds(version: Version, last: Batch, guards: Guards) -> Version:
    """A version of which retention no longer keeps events that no open window needs, and batches before the last run
    but the one that its replay begins with; `last` ends that run: `Maintenance._retain`."""
    events_from = last.number if guards.windows_kept else last.number + 1
    ledger_from = needed_by(version, last.first) if guards.replay_kept else last.first
    return version._replace(events_from=events_from, ledger_from=ledger_from)


def retain(state: State, who: int, _: Guards) -> Iterator[State]:
    """Remove what retention no longer keeps: `TableMaintenance.retain`, `maintenance.retain`."""
    actor = state.actors[who]
    if actor.step != "retain":
        return
    version = own(state, actor)
    left = version._replace(
        events=tuple(row for row in version.events if row[0] >= version.events_from),
        states=tuple(row for row in version.states if row[0] >= version.ledger_from),
    )
    yield freed(with_version(state, actor.version, left), who)


def merge(state: State, who: int, _: Guards) -> Iterator[State]:
    """Read the files of events that a compaction is to replace: the first half of `TableMaintenance.merge`."""
    actor = state.actors[who]
    if actor.step != "merge":
        return
    read = own(state, actor).events
    yield with_actor(state, who, actor._replace(step="replace", read=read))


def replace_files(state: State, who: int, guards: Guards) -> Iterator[State]:
    """Replace these files by one that has their rows: the second half. Delta refuses it if a file is gone."""
    actor = state.actors[who]
    if actor.step != "replace":
        return
    version = own(state, actor)
    if not guards.merge_check:
        rows = tuple(sorted({*version.events, *actor.read}))
        state = with_version(state, actor.version, version._replace(events=rows))
    yield freed(state, who)


# -- release, abandon


def release(state: State, who: int, guards: Guards) -> Iterator[State]:
    """Release a run that quality blocks, then execute its rest: `recover.release`."""
    version, waiting = state.tables, pending(state.tables)
    if who > 1 or state.lease != NOBODY or state.actors[who].command:
        return
    if not waiting or waiting[-1].status != BLOCKED or released(version, waiting[-1].number):
        return
    if guards.last_commit_check and damaged(version):
        return
    row = waiting[-1].number, RELEASED
    said = version._replace(quality=added(version.quality, row))
    held = with_version(taken_over(state, who, guards), state.live, said)
    actor = Actor("release", then="end", version=state.live, expected=held.changes)
    yield with_actor(held, who, recovered(said, actor))


def repair(state: State, who: int, guards: Guards) -> Iterator[State]:
    """Put rows that a table has lost back, from events: `repair`."""
    version = state.tables
    if who > 1 or state.lease != NOBODY or state.actors[who].command or not damaged(version):
        return
    for batch in committed(version):
        if batch.number > version.known[STATES]:
            earlier = mask([each for each in kept(version) if each.number < batch.number])
            version = appended(version, STATES, (batch.number, earlier | batch.objects), guards.records_once)
    whole = version._replace(restored=False)
    yield with_version(taken_over(state, who, guards)._replace(lease=NOBODY), state.live, whole)


def abandon(state: State, who: int, guards: Guards) -> Iterator[State]:
    """Decide to abandon the pending run, by default one that has published nothing: `Abandonment.abandon`."""
    if who > 1 or state.lease != NOBODY or state.actors[who].command or not state.budget.abandonments:
        return
    waiting = pending(state.tables)
    if not waiting:
        return
    spent = state.budget._replace(abandonments=state.budget.abandonments - 1)
    if state.tables.known[STREAMS] >= waiting[0].number:
        if not state.budget.withdrawals:
            return
        spent = spent._replace(withdrawals=spent.withdrawals - 1)
    held = taken_over(state, who, guards)._replace(budget=spent)
    step = "aside" if guards.abandon_first else "withdraw"
    bounds = {"first": waiting[0].number, "last": waiting[-1].number}
    actor = Actor("abandon", step, "end", version=state.live, expected=held.changes, **bounds)
    yield with_actor(held, who, actor)


def set_aside(state: State, who: int, guards: Guards) -> Iterator[State]:
    """Turn the batches of a run to `abandoning`: `abandoned.set_aside`."""
    actor = state.actors[who]
    if actor.step != "aside":
        return
    yield from turned_aside(state, who, ABANDONING, "withdraw", guards)


def turned_aside(state: State, who: int, status: str, step: str, guards: Guards) -> Iterator[State]:
    """Turn the batches of an abandonment, unless somebody has turned them otherwise meanwhile."""
    actor = state.actors[who]
    version = own(state, actor)
    rows = [batch for batch in version.batches if actor.first <= batch.number <= actor.last]
    expected = (PLANNED, BLOCKED) if status == ABANDONING else (ABANDONING,)
    if not guards.abandon_first:
        expected = (PLANNED, BLOCKED)
    if guards.status_check and any(batch.status not in expected for batch in rows):
        yield freed(state, who)
        return
    aside = turned(version, {batch.number: batch._replace(status=status) for batch in rows})
    following = checkpoint(with_version(state, actor.version, aside), who, actor._replace(step=step), guards)
    yield ended(following, who)


def withdraw(state: State, who: int, guards: Guards) -> Iterator[State]:
    """Delete the rows of an abandoned run, table by table, and record it: `Abandonment.withdraw`,
    `Store.withdraw`."""
    actor = state.actors[who]
    if actor.step != "withdraw":
        return
    version = own(state, actor)

    def without(rows: Rows) -> Rows:
        return tuple(row for row in rows if not actor.first <= row[0] <= actor.last)

    known = tuple(max(each, actor.last) for each in version.known) if guards.fence else version.known
    tables = {name: without(getattr(version, name)) for name in TABLES}
    emptied = version._replace(known=known, **tables)
    yield checkpoint(with_version(state, actor.version, emptied), who, actor._replace(step="forget"), guards)


def abandoned(state: State, who: int, guards: Guards) -> Iterator[State]:
    """Turn the batches to `abandoned`, and go on with the command: `Abandonment.finish`."""
    actor = state.actors[who]
    if actor.step != "forget":
        return
    yield from turned_aside(state, who, ABANDONED, actor.then, guards)
