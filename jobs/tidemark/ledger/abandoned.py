"""Sets abandoned batches aside. Their rows of `batches` stay, so that their numbers are not used again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tidemark.core.batch_result import BatchRecord, LastWrite
from tidemark.ledger.chain.links import chained
from tidemark.ledger.durability import lasting
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.lost_commits import must_know
from tidemark.ledger.tables.rows import batch_row
from tidemark.ledger.tail import ABANDONED, ABANDONING, BLOCKED, PLANNED

BEFORE = {ABANDONING: (PLANNED, BLOCKED), ABANDONED: (ABANDONING,)}
"""By new status: the statuses that batches may have before."""


def set_aside(
    ledger: Ledger,
    records: Sequence[BatchRecord],
    status: str,
    reason: str,
    written: tuple[LastWrite, ...] | None = None,
) -> None:
    """Set the rows of a run's uncommitted batches to `status`, with the reason. A repeated call changes nothing.
    Raises Held if another command has finished the run, or its abandonment, meanwhile."""
    turned = [replace(each, status=status, reason=reason, written=written) for each in records]
    if status == ABANDONED:
        turned = chained(ledger.settled_before(records[0].batch_id), turned)
    rows = list(map(batch_row, turned))
    first, last = records[0].batch_id, records[-1].batch_id
    with lasting(ledger.folder / "batches"):
        ledger.stores["batches"].turn(first, last, rows, status, BEFORE[status])


def skip(ledger: Ledger, base: Ledger, first: int) -> None:
    """Copy the abandoned batches before `first` from `base`, so that their numbers are not used here either. Their
    `written` stays as in the batch before them, since nothing was withdrawn from this ledger's tables."""
    newest, before = ledger.stores["batches"].newest() or 0, ledger.settled_before(first)
    gap = [each for each in base.recorded(newest + 1, first - 1) if each.status == ABANDONED]
    if gap:
        here = [replace(each, written=must_know(ledger, before)) for each in gap]
        ledger.stores["batches"].append(list(map(batch_row, chained(before, here))))
