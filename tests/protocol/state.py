"""The state of the protocol: versions with their tables, the lease, three actors, and what may still go wrong.

Objects are bits of a mask. Times, partitions and rows are left out: the content of a batch's events is a pair of the
mask of the objects before it and the mask of its own, which is all that a batch depends on. Every value is immutable
and hashable.
"""

from __future__ import annotations

from typing import NamedTuple

PLANNED, BLOCKED, COMMITTED, ABANDONING, ABANDONED = "planned", "blocked", "committed", "abandoning", "abandoned"
PASSED, FAILED, RELEASED = 1, 2, 3
"""Verdicts of the check of a run, as `quality` records them."""
NOBODY = -1
FIRST_LANDED, ALL_LANDED = 0b0011, 0b1111
"""Objects of the first run, and of both."""
EVENTS, STATES, TAKEN, STREAMS, QUALITY = range(5)
"""Tables by their place in `Version.known`."""
Row = tuple[int, int] | tuple[int, tuple[int, int]]
"""A batch, with the content of its rows; a pair in events."""
Rows = tuple[Row, ...]


class Batch(NamedTuple):
    """A row of `batches`. `first` and `last` are the bounds of its run."""

    number: int
    status: str
    objects: int
    first: int
    last: int


class Version(NamedTuple):
    """The tables of a version.

    `plans` has objects of batches that may never have been planned. `known` has the last batch that each table's log
    knows. `settled` is the last batch whose rows are on the disk. Retention keeps events from batch `events_from` on,
    and the ledger from `ledger_from` on. `restored`: a table was restored from a copy older than the others.
    """

    batches: tuple[Batch, ...] = ()
    plans: Rows = ()
    events: Rows = ()
    states: Rows = ()
    taken: Rows = ()
    streams: Rows = ()
    quality: Rows = ()
    known: tuple[int, int, int, int, int] = (0, 0, 0, 0, 0)
    settled: int = 0
    events_from: int = 1
    ledger_from: int = 1
    whole: bool = True
    restored: bool = False


class Actor(NamedTuple):
    """A process. `command` is the one it carries out, `step` the next thing that it does.

    It executes batches `first` to `last` from the state `base`, then goes on with `then`. It has judged those up to
    `judged` and committed those up to `done`; `stage` is the next thing that it records of the batch after. `found`
    are the objects that it plans, by batch. `expected` is the number of changes of the list of versions that it has
    seen, `number` the version that it builds or brings up, `read` the events that a compaction has read. `lost`: its
    lease has ended, which it does not know.
    """

    command: str = ""
    step: str = ""
    then: str = ""
    version: int = 1
    first: int = 0
    last: int = 0
    base: int = 0
    judged: int = 0
    done: int = 0
    stage: str = ""
    found: tuple[int, ...] = ()
    expected: int = 0
    number: int = 0
    read: Rows = ()
    lost: bool = False


class Budget(NamedTuple):
    """How often each of these may still happen: `withdrawals` are abandonments of runs that have published. At most
    `versions` may be listed beside one that is built.

    In a trace `traced` is true: the next run that lists objects plans the micro-batches `cut`, and none without.
    """

    crashes: int = 0
    losses: int = 0
    failures: int = 0
    abandonments: int = 0
    builds: int = 0
    promotions: int = 0
    retentions: int = 0
    merges: int = 0
    restores: int = 0
    powers: int = 0
    withdrawals: int = 0
    versions: int = 1
    traced: bool = False
    cut: tuple[int, ...] = ()


class State(NamedTuple):
    """All that the protocol depends on. `expired`: the last holder of the lease has not released it. `changes` counts
    commits to the list of versions. `seen` are the objects that runs have reported as committed."""

    landed: int
    lease: int
    expired: bool
    live: int
    listed: tuple[int, ...]
    numbered: int
    changes: int
    folders: tuple[Version | None, ...]
    actors: tuple[Actor, ...]
    budget: Budget
    seen: int

    @property
    def tables(self) -> Version:
        """The tables of the live version."""
        found = self.folders[self.live - 1]
        assert found is not None
        return found


IDLE = Actor()


def begun(budget: Budget) -> State:
    """The state before the first run: two objects have landed."""
    return State(FIRST_LANDED, NOBODY, False, 1, (1,), 1, 0, (Version(), None, None), (IDLE,) * 3, budget, 0)


def kept(version: Version) -> list[Batch]:
    """The batches that are not abandoned."""
    return [batch for batch in version.batches if batch.status != ABANDONED]


def committed(version: Version) -> list[Batch]:
    """The committed batches."""
    return [batch for batch in version.batches if batch.status == COMMITTED]


def ended_run(version: Version) -> Batch | None:
    """The last batch of the last run that is wholly committed: `Tail.last_run`."""
    return next((batch for batch in reversed(committed(version)) if batch.number == batch.last), None)


def mask(batches: list[Batch]) -> int:
    """The objects of batches."""
    found = 0
    for batch in batches:
        found |= batch.objects
    return found


def pending(version: Version) -> list[Batch]:
    """The batches of the last run from its first uncommitted one on: `Tail.pending`."""
    return [batch for batch in version.batches if batch.status not in (COMMITTED, ABANDONED)]


def unended(version: Version) -> int:
    """The first committed batch of a run whose rest was abandoned; 0 if there is none: `Tail.unended`."""
    there = kept(version)
    return there[-1].first if there and there[-1].status == COMMITTED and there[-1].number < there[-1].last else 0


def newest(rows: Rows, before: int) -> int:
    """The content of the newest row of a batch before `before`; 0 if there is none."""
    return max((row for row in rows if row[0] < before), default=(0, 0))[1]


def added(rows: Rows, row: Row) -> Rows:
    """Rows with one more, in order."""
    return tuple(sorted((*rows, row)))
