"""Checks that what a warehouse holds is what a trace of the model leaves.

The steps that the logs show are followed through the model's own actions: from the states that the model may be in,
each step must be one that an action does, after actions that no log shows. Invariants hold in each state, and the
last one has the rows that the tables have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from actions import with_bounds, with_version
from events_outside import crash, lose_lease
from explore import by_commands, in_order
from guards import ALL
from history import PipelineHistory, VersionHistory, rows_at
from invariants import wrong
from state import COMMITTED, IDLE, NOBODY, PLANNED, Batch, Budget, State, Version, ended_run
from versions_actions import executed_again
from written import OF_BATCHES, Change, Step, kind_of

FREE = Budget(1, 0, 1, 1, 1, 1, withdrawals=1, versions=1 << 30, traced=True)
"""What may happen again and again; retention and compaction are looked at by themselves."""
MOST_CRASHES = 2
"""Crashes between two steps that the logs show."""
MOST_LOSSES = 2
"""Leases that are lost in a whole history."""
MOST_VISITED = 50_000
"""States after which the search for a step is given up; with lost leases, that for a whole history."""
NOTHING: frozenset[Change] = frozenset()
NOBODY_ACTS = {"lease": NOBODY, "expired": False, "actors": (IDLE, IDLE, IDLE), "seen": 0}


class LongVersion(Version):
    """The tables of a version of many batches: their hash is computed once."""

    def __hash__(self) -> int:
        found: int = self.__dict__.get("hash") or super().__hash__()
        self.__dict__["hash"] = found
        return found


def changed(before: State, after: State, seen: frozenset[int]) -> frozenset[Change]:
    """What an action changes, as logs show it; of versions only those that are `seen`."""
    found: set[Change] = {("listed", "+", each) for each in set(after.listed) - set(before.listed)}
    for name in ("live", "numbered"):
        if getattr(before, name) != getattr(after, name):
            found.add((name, "+", getattr(after, name)))
    for number in seen.intersection(before.listed) if before.folders is not after.folders else ():
        found.update(tables_changed(number, before.folders[number - 1], after.folders[number - 1]))
    return frozenset(found)


def tables_changed(number: int, old: Version, new: Version) -> Iterator[Change]:
    """Rows that the tables of a version gain and lose, with the contents that logs show."""
    for name in ("batches", *OF_BATCHES, "quality"):
        before, after = getattr(old, name), getattr(new, name)
        if before is not after:
            whole = name in ("batches", "taken", "quality")
            for sign, rows in (("+", set(after) - set(before)), ("-", set(before) - set(after))):
                yield from ((number, name, sign, row if whole else row[0]) for row in rows)


def made(rows: Iterable[Batch], on: Version) -> Version:
    """A version that has executed these batches, on top of another: contents are as they should be."""
    ordered = sorted(rows)
    done = [row._replace(status=PLANNED) for row in ordered if row.status == COMMITTED]
    others = [row for row in ordered if row.status != COMMITTED]
    planned = on._replace(batches=tuple(sorted((*on.batches, *done, *others))))
    return executed_again(planned, Version(events=tuple((each.number, (0, each.objects)) for each in done)), done)


def plain(state: State, cut: tuple[int, ...]) -> State:
    """The state with all that may happen in it but further losses of leases, and the next plan's objects."""
    return in_order(state._replace(budget=FREE._replace(cut=cut, losses=state.budget.losses)))


@dataclass
class Following:
    """Follows the steps of a history through the model, in which at most so many leases are lost. `found` is what
    does not conform, in words; `states` are those that the model may be in."""

    history: PipelineHistory
    losses: int
    known: dict[Version, str] = field(default_factory=dict)
    followed: int = 0
    visited: int = 0

    def __post_init__(self) -> None:
        history, steps = self.history, self.history.steps()
        self.seen = frozenset(history.versions)
        last = max((step.batch for step in steps), default=0)
        self.optional = frozenset(each for version in history.versions.values() for each in version.optional(last))
        numbers = max(*history.known, history.numbered, *(step.version for step in steps))
        folders = [self._tables(each, history.since) for each in range(1, numbers + 1)]
        begin = State(
            history.objects.landed, NOBODY, False, history.live, tuple(sorted(history.begin)), history.numbered, 0,
            tuple(folders), (IDLE, IDLE, IDLE), FREE._replace(losses=self.losses), 0,
        )  # fmt: skip
        self.states = {begin}
        self.found = self._all(steps)

    def _tables(self, number: int, time: float) -> Version:
        """The tables of a version at a time, as its batches say; none if it is no longer there."""
        version = self.history.versions.get(number)
        return LongVersion() if version is None else made(version.at(time), LongVersion())

    def _all(self, steps: list[Step]) -> str:
        for step in steps:
            self.followed += 1
            if flaw := self._follow(step):
                where = step.table if step.table == "versions" else f"v{step.version}/{step.table}"
                return f"{where}: batch {step.batch}: {flaw}"
        return next(self._unlike(), "")

    def _follow(self, step: Step) -> str:
        """Go one step on. Returns what is wrong with it."""
        if step.kind == "retained":
            return self._retained(step)
        self.visited = self.visited if self.losses else 0
        self.states = {self._assumed(state, step) for state in self.states}
        before, wanted = self.states, step.changes - self.optional
        if self._given(step):
            self.states = {self._recorded(each, step) for each in before}
        elif wanted:
            self.states = {
                self._cleared(plain(after, ())) for each in before for after in self._reached(each, wanted)
            }
        if not self.states:
            return f"no action of the model leads to this step ({step.kind}); {self._awaited(before)}"
        return next(filter(None, (wrong(each, self.known) for each in self.states)), "")

    def _assumed(self, state: State, step: Step) -> State:
        """The state with what a plan takes from outside: its objects, and, if a promotion makes it from a live
        version whose tables are no longer there, that version's run."""
        if step.cut and step.version != state.live and state.live not in self.seen:
            rows = [each[3] for each in step.changes]
            rows = [row._replace(status=COMMITTED) if row.status == PLANNED else row for row in rows]
            state = with_version(state, state.live, made(rows, state.folders[step.version - 1]))
        return plain(state, step.cut)

    def _given(self, step: Step) -> bool:
        """True if a step of the list of versions is taken as it is recorded: a version was taken off the list, one
        was made from landing, with other numbers of batches, or the tables of one are no longer there."""
        (live,) = {each.live for each in self.states}
        if step.table != "versions" or step.kind == "forgotten":
            return step.table == "versions"
        apart = step.kind != "reserved" and self.history.line(step.version) != self.history.line(live)
        return apart or live not in self.seen or (step.kind == "live" and step.version not in self.seen)

    def _recorded(self, state: State, step: Step) -> State:
        """The state after a step of the list of versions, with the tables as the version's batches say."""
        state, number = state._replace(**NOBODY_ACTS), step.version
        if step.kind == "forgotten":
            return state._replace(listed=tuple(each for each in state.listed if each != number))
        if step.kind == "reserved":
            return state._replace(numbered=number)
        state = state._replace(listed=tuple(sorted({*state.listed, number})))
        state = state._replace(live=number) if step.kind == "live" else state
        return with_version(state, number, self._tables(number, step.time))

    def _cleared(self, state: State) -> State:
        """The state without tables of builds that died and were never listed: nobody reads them."""
        at_work = {actor.number for actor in state.actors} | self.history.known.keys()
        if at_work.issuperset(range(1, state.numbered + 1)):
            return state
        kept = (each if number in at_work else None for number, each in enumerate(state.folders, 1))
        return state._replace(folders=tuple(kept))

    def _retained(self, step: Step) -> str:
        """Retention has deleted rows: of the ledger none that `with_bounds` keeps."""
        states = set()
        for state in self.states if step.table in ("batches", "watermarks") else ():
            version = state.folders[step.version - 1]
            last = ended_run(version)
            kept = with_bounds(version, last, ALL).ledger_from if last else 0
            if (needed := max(step.gone)) >= kept:
                return f"retention has deleted batch {needed}, which the replay of the last run begins with"
            gone = step.gone if step.table == "watermarks" else NOTHING
            rows = tuple(row for row in version.states if row[0] not in gone)
            left = version._replace(states=rows, ledger_from=max(version.ledger_from, needed + 1))
            states.add(with_version(state, step.version, left))
        self.states = states or self.states
        return ""

    def _reached(self, start: State, wanted: frozenset[Change]) -> set[State]:
        """The states after an action that changes this, with as few crashes before it as may be."""
        level, known, found = {start}, {start}, set[State]()
        for _ in range(MOST_CRASHES + 1):
            queue = list(level)
            for state in queue:
                self.visited += 1
                for after, change in self._moves(state) if self.visited < MOST_VISITED else ():
                    if change == wanted:
                        found.add(after)
                    elif not change and after not in known:
                        known.add(after)
                        queue.append(after)
            if found:
                break
            crashed = (crash(state, who) for state in queue for who in range(len(state.actors)))
            level = {plain(after, start.budget.cut) for each in crashed for after in each} - known
            known |= level
        return found

    def _moves(self, state: State) -> Iterator[tuple[State, frozenset[Change]]]:
        """The states after actions, with what these change that a log must show, and after the loss of a lease."""
        for _, after in by_commands(state, ALL):
            yield plain(after, state.budget.cut), changed(state, after, self.seen) - self.optional
        yield from ((plain(after, state.budget.cut), NOTHING) for after in lose_lease(state))

    def _awaited(self, states: set[State]) -> str:
        """What actions without a fault would do next, in words."""
        queue, known, found = list(states), set(states), set[str]()
        for state in queue:
            for after, change in self._moves(state):
                found |= {f"{each[1]} {each[2]}{getattr(each[3], 'number', each[3])}" for each in change if each[3:]}
                if not change and after not in known:
                    known.add(after)
                    queue.append(after)
        return f"it awaits {', '.join(sorted(found)[:6]) or 'a command'}"

    def _unlike(self) -> Iterator[str]:
        """Differences between the last state and the tables. Batches that a promotion has begun to execute are left
        out: their steps are one, which has not ended."""
        state = next(iter(self.states))
        for number, version in self.history.versions.items():
            if number in state.listed and self.history.line(number) == self.history.line(state.live):
                tables = state.folders[number - 1]
                planned = {batch.number for batch in tables.batches if batch.status == PLANNED}
                begun = set() if number == state.live else planned
                yield from (f"v{number}/{each}" for each in unlike(version, tables, begun))


def unlike(version: VersionHistory, tables: Version, begun: set[int]) -> Iterator[str]:
    """How the tables of a version are unlike those of the model, but for batches that are `begun`."""
    there = set(version.at(float("inf")))
    first = min((each.number for each in there), default=0)
    for batch in sorted(there ^ {each for each in tables.batches if each.number >= first}):
        if batch.number not in begun:
            where = "the table" if batch in there else "the model"
            yield f"batches: batch {batch.number}: it is {batch.status} in {where} alone"
    gone = {(step.table, number) for step in version.written.others for number in step.gone}
    for name, log in version.logs.items():
        if (kind := kind_of(name)) in OF_BATCHES:
            found = {row[0] for row in rows_at(log, float("inf"))}
            wanted = {row[0] for row in getattr(tables, kind)}
            for number in sorted(found - wanted - begun):
                yield f"{name}: batch {number}: it has rows that no step of the model leaves"
            for number in sorted(version.written.needed[name] & wanted - found):
                if (name, number) not in gone:
                    yield f"{name}: batch {number}: it has no rows of what the batch has written"


def check(history: Callable[[], PipelineHistory], leases: bool) -> tuple[str, int]:
    """What does not conform in a history, in words, or nothing; and the number of steps followed. With `leases`
    processes may have lost the lock and gone on; without, as on a file system, they may only have crashed."""
    first = Following(history(), 0)
    if not first.found or not leases:
        return first.found, first.followed
    conforms = any(not Following(history(), losses).found for losses in range(1, MOST_LOSSES + 1))
    return "" if conforms else first.found, first.followed


def check_folder(root: Path, leases: bool = False) -> tuple[str, int]:
    """What does not conform in the warehouse of the pipeline in a folder."""
    return check(partial(PipelineHistory.of, root), leases)
