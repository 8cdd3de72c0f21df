"""What happens to the actors from outside: processes die, leases end, power and tables are lost."""

from __future__ import annotations

from collections.abc import Iterator

from actions import damaged, with_actor, with_version
from state import IDLE, NOBODY, STATES, State, Version, committed


def crash(state: State, who: int) -> Iterator[State]:
    """An actor's process ends; its lease ends by itself."""
    if not state.actors[who].command or not state.budget.crashes:
        return
    spent = state._replace(budget=state.budget._replace(crashes=state.budget.crashes - 1))
    if state.lease == who:
        spent = spent._replace(lease=NOBODY, expired=True)
    died = with_actor(spent, who, IDLE)
    yield died
    if state.budget.powers and (lost := without_power(state.tables)) != state.tables:
        yield with_version(died, state.live, lost)


def without_power(version: Version) -> Version:
    """The tables after a loss of power: the states of batches that were not settled are gone."""
    states = tuple(row for row in version.states if row[0] <= version.settled)
    last = max((row[0] for row in states), default=0)
    known = tuple(min(each, last) if at == STATES else each for at, each in enumerate(version.known))
    return version._replace(states=states, known=known)


def lose_lease(state: State) -> Iterator[State]:
    """The lease of a stalled actor ends; it does not know, and goes on."""
    if state.lease == NOBODY or not state.budget.losses:
        return
    spent = state._replace(budget=state.budget._replace(losses=state.budget.losses - 1), lease=NOBODY, expired=True)
    yield with_actor(spent, state.lease, state.actors[state.lease]._replace(lost=True))


def restore(state: State) -> Iterator[State]:
    """An operator restores the table of states, while no command runs, from a copy without the last committed
    batch."""
    version = state.tables
    done = committed(version)
    if (
        any(actor.command for actor in state.actors)
        or not state.budget.restores
        or not done
        or damaged(version)
        or done[-1].number != version.known[STATES]
    ):
        return
    last = done[-1].number
    states = tuple(row for row in version.states if row[0] < last)
    known = tuple(last - 1 if at == STATES else each for at, each in enumerate(version.known))
    spent = state._replace(budget=state.budget._replace(restores=state.budget.restores - 1))
    yield with_version(spent, state.live, version._replace(states=states, known=known, restored=True))
