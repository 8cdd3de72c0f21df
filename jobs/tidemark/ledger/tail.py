"""Finds the end of a ledger: its last run, and the rest of a run that has not ended. Abandoned batches are skipped,
but their numbers are not used again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tidemark.core.batch_result import Account, BatchRecord
from tidemark.core.watermarks import Combined

PLANNED = "planned"
COMMITTED = "committed"
BLOCKED = "blocked"
ABANDONING = "abandoning"
"""Status of a run that is being set aside: its appended rows are being deleted, so it cannot be finished any more."""
ABANDONED = "abandoned"

_FURTHER = 16
Read = Callable[[int, int], list[BatchRecord]]
"""A function that reads the recorded batches first..last, abandoned ones too."""
Which = Callable[[list[BatchRecord]], list[BatchRecord]]
"""A function that keeps some of the batches, in their order."""


@dataclass(frozen=True)
class RunRange:
    """A run, with its first and last batch."""

    run_id: str
    first: int
    last: int


@dataclass(frozen=True)
class Tail:
    """End of a ledger. `as_of` (microseconds) and `configuration` (JSON) come from the last planned batch, `combined`
    and `last_run` from the last fully committed run. `pending`: batches of a later run, from its first uncommitted
    one on. `unended`: first committed batch of a run whose rest was abandoned and that the next run ends; None if
    there is none."""

    next_batch_id: int = 1
    as_of: int | None = None
    committed_through: int = 0
    pending: tuple[BatchRecord, ...] = ()
    combined: Mapping[str, Combined] = field(default_factory=dict)
    last_run: RunRange | None = None
    configuration: str | None = None
    fingerprint: str | None = None
    unended: int | None = None


class Accounted(NamedTuple):
    """A batch of a run with the accounts of its rows."""

    batch_id: int
    run_id: str
    accounts: tuple[Account, ...]


def kept(records: Iterable[BatchRecord]) -> list[BatchRecord]:
    """The batches that are not abandoned."""
    return [record for record in records if record.status != ABANDONED]


def settled(records: Iterable[BatchRecord]) -> list[BatchRecord]:
    """The batches that need nothing more: committed or abandoned."""
    return [record for record in records if record.status in (COMMITTED, ABANDONED)]


def last_before(read: Read, first: int, which: Which = kept) -> BatchRecord | None:
    """The last batch before `first` that `which` keeps; None if there is none. By default, abandoned batches are
    skipped."""
    span = 1
    while first > 1:
        if found := which(read(max(1, first - span), first - 1)):
            return found[-1]
        if span >= first - 1:
            break
        span *= _FURTHER
    return None


def tail_of(newest: int | None, read: Read) -> Tail:
    """The tail of a ledger whose greatest batch is `newest`."""
    tip = None if newest is None else last_before(read, newest + 1)
    if newest is None or tip is None:
        return Tail(next_batch_id=(newest or 0) + 1)
    run = kept(read(tip.run_first, tip.batch_id))
    before = last_before(read, tip.run_first)
    done = [record.batch_id for record in run if record.status == COMMITTED]
    through = max(done, default=before.batch_id if before else tip.run_first - 1)
    ended = tip if tip.ends_run and through == tip.batch_id else before
    return Tail(
        next_batch_id=newest + 1,
        as_of=tip.as_of,
        committed_through=through,
        pending=tuple(record for record in run if record.batch_id > through),
        combined=ended.combined if ended else {},
        last_run=RunRange(ended.run_id, ended.run_first, ended.run_last) if ended else None,
        configuration=tip.configuration,
        fingerprint=tip.fingerprint,
        unended=tip.run_first if through == tip.batch_id and not tip.ends_run else None,
    )
