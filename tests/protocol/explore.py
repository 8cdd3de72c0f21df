"""Explores the states of the protocol breadth first, so that the first counterexample found is a shortest one."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import actions
import events_outside
import versions_actions
from guards import ALL, Guards
from invariants import wrong
from state import ABANDONED, COMMITTED, Actor, Budget, State, Version, begun, committed, mask

BEGINS = (actions.take, actions.release, actions.abandon, actions.repair)
STEPS = {
    "list": (actions.list_objects,),
    "enlist": (versions_actions.list_version,),
    "look": (actions.look,),
    "plan": (actions.plan,),
    "aside": (actions.set_aside,),
    "withdraw": (actions.withdraw,),
    "forget": (actions.abandoned,),
    "retain": (actions.retain,),
    "merge": (actions.merge,),
    "replace": (actions.replace_files,),
    "reserve": (versions_actions.reserve,),
    "clear": (versions_actions.clear,),
    "clone": (versions_actions.clone,),
    "build": (versions_actions.build,),
    "bring": (versions_actions.bring,),
    "switch": (versions_actions.switch,),
}
"""Actions by the step that an actor does next."""
RECORDED = {
    "record": (actions.record,),
    "check": (actions.check,),
    "block": (actions.block,),
    "publish": (actions.publish,),
    "take": (actions.take_objects,),
    "commit": (actions.commit,),
}
"""Actions that record a judged batch, by the stage of that."""


class Found(NamedTuple):
    """Result of an exploration. `broken` is the broken invariant, and `trace` the steps to it."""

    states: int
    transitions: int
    depth: int
    broken: str
    trace: tuple[str, ...]


def enabled(actor: Actor, guards: Guards) -> tuple[actions.Action, ...]:
    """The actions that an actor may do next, as far as its step says."""
    if not actor.command:
        return BEGINS
    if actor.step != "execute":
        return STEPS[actor.step]
    recorded = RECORDED.get(actor.stage, ())
    return (actions.judge, *recorded) if guards.tables_first else (actions.judge, *recorded, actions.commit)


def by_commands(state: State, guards: Guards) -> Iterator[tuple[str, State]]:
    """The steps of actors from a state."""
    for who, actor in enumerate(state.actors):
        for action in enabled(actor, guards):
            for found in action(state, who, guards):
                yield f"{action.__name__} {who}", found


def from_outside(state: State) -> Iterator[tuple[str, State]]:
    """What may happen to the actors in a state."""
    for who in range(len(state.actors)):
        for found in events_outside.crash(state, who):
            yield f"crash {who}", found
    for action in (events_outside.lose_lease, events_outside.restore):
        for found in action(state):
            yield action.__name__, found


@dataclass
class Graph:
    """States by number, in the order in which they were found, each with the step that first led to it. `moves` has
    the numbers of a state and of one that a command leads to from it, one after the other."""

    states: list[State] = field(default_factory=list)
    numbers: dict[State, int] = field(default_factory=dict)
    parents: array[int] = field(default_factory=lambda: array("i"))
    steps: list[str] = field(default_factory=list)
    moves: array[int] = field(default_factory=lambda: array("i"))
    _shared: dict[Any, Any] = field(default_factory=dict)

    def add(self, state: State, parent: int, step: str) -> int:
        """Number a new state. Equal parts of states are kept once."""
        share = self._shared.setdefault
        state = state._replace(
            folders=tuple(share(each, each) for each in state.folders),
            actors=tuple(share(each, each) for each in state.actors),
            budget=share(state.budget, state.budget),
        )
        self.numbers[state] = len(self.states)
        self.states.append(state)
        self.parents.append(parent)
        self.steps.append(share(step, step))
        return len(self.states) - 1

    def trace(self, at: int) -> tuple[str, ...]:
        """The steps that lead to a state."""
        found = []
        while self.parents[at] >= 0:
            found.append(self.steps[at])
            at = self.parents[at]
        return tuple(reversed(found))


def explore(start: State, guards: Guards = ALL, lead_out: bool = False) -> Found:
    """Visit every state that can be reached. Stops at the first that breaks an invariant. With `lead_out` then looks
    for a state from which no sequence of commands ends all runs."""
    graph, known = Graph(), dict[Version, str]()
    graph.add(start, -1, "")
    transitions, depth, ends, at = 0, 0, 1, 0
    while at < len(graph.states):
        if at == ends:
            depth, ends = depth + 1, len(graph.states)
        for step, after, inside in moves(graph.states[at], guards):
            transitions += 1
            to = graph.numbers.get(after)
            if to is None:
                to = graph.add(after, at, step)
                if broken := wrong(after, known):
                    return Found(len(graph.states), transitions, depth + 1, broken, graph.trace(to))
            if inside and lead_out:
                graph.moves.extend((at, to))
        at += 1
    stuck = first_stuck(graph) if lead_out else None
    if stuck is not None:
        return Found(at, transitions, depth, "leads_out: no command leads out", graph.trace(stuck))
    return Found(at, transitions, depth, "", ())


def moves(state: State, guards: Guards) -> Iterator[tuple[str, State, bool]]:
    """Each step from a state, the state that it leads to, and True if it is a step of a command."""
    for step, after in by_commands(state, guards):
        yield step, in_order(after), True
    for step, after in from_outside(state):
        yield step, in_order(after), False


def in_order(state: State) -> State:
    """The state with its first two actors in order: they may do the same, so that states that differ in their names
    alone are one."""
    one, other, third = state.actors
    if one <= other:
        return state
    lease = 1 - state.lease if state.lease in (0, 1) else state.lease
    return state._replace(actors=(other, one, third), lease=lease)


def over(state: State) -> bool:
    """True if every object that has landed is in a committed batch, and every planned run is committed or
    abandoned."""
    version = state.tables
    settled = all(batch.status in (COMMITTED, ABANDONED) for batch in version.batches)
    return settled and not state.landed & ~mask(committed(version))


def first_stuck(graph: Graph) -> int | None:
    """The first state from which no path of commands leads to one in which all runs have ended."""
    sources, targets = graph.moves[::2], graph.moves[1::2]
    begins = array("i", bytes(4 * (len(graph.states) + 1)))
    for to in targets:
        begins[to + 1] += 1
    for at in range(len(graph.states)):
        begins[at + 1] += begins[at]
    place, incoming = array("i", begins), array("i", bytes(4 * len(targets)))
    for source, to in zip(sources, targets, strict=True):
        incoming[place[to]] = source
        place[to] += 1
    led = bytearray(map(over, graph.states))
    queue = [at for at, done in enumerate(led) if done]
    while queue:
        at = queue.pop()
        for source in incoming[begins[at] : begins[at + 1]]:
            if not led[source]:
                led[source] = 1
                queue.append(source)
    stuck = led.find(0)
    return None if stuck < 0 else stuck


def first_with(holds: Callable[[State], bool], budget: Budget) -> State:
    """The first state that has a property, reached without a crash or another fault, with all that `budget` has not
    spent on the way."""
    queue, seen = [begun(budget)], set()
    for state in queue:
        if holds(state):
            return state
        for _, after, inside in moves(state, ALL):
            if inside and after not in seen:
                seen.add(after)
                queue.append(after)
    raise ValueError("no state has this property")
