"""Maintenance of the small tables: compacts files, and forgets what retention no longer keeps."""

from __future__ import annotations

import time

from deltalake import CommitProperties

from tidemark.ledger.full_states import full_states_before
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.tables.commits import FORGOTTEN, commit_properties
from tidemark.ledger.tables.store import Store

MANY_FILES = 16
KEPT_PLANS = 16
"""Number of batches whose plans stay after they are committed: lost rows of `objects` are rebuilt from them."""


def compact(ledger: Ledger) -> float | None:
    """Compact the small files of every table that has gathered many. Returns the seconds it took; None if no table
    had many.

    Content never changes. If another process writes at the time, its commit wins and a later run compacts.
    """
    begun = time.monotonic()
    _forget_plans(ledger)
    merged = [store.compact(MANY_FILES) for store in ledger.stores.values()]
    return time.monotonic() - begun if any(merged) else None


def retain(ledger: Ledger, first_batch: int, modified: int | None) -> None:
    """Forget batches before `first_batch`: their rows of `batches`, `watermarks` and `diagnostics`, and objects that
    landed before `modified` (microseconds; None: objects are kept for ever).

    Only whole files are removed, so some rows stay longer. Rows that the next run reads always stay: the last
    committed run, and states from the last full record on. The batch before the first kept run stays, too: a replay
    of that run starts from its progress.
    """
    tail = ledger.last()
    first = min(first_batch, tail.last_run.first if tail.last_run else 0)
    before = ledger.before(first)
    _drop(ledger.stores["batches"], before.batch_id if before else first)
    _drop(ledger.stores["diagnostics"], first)
    _drop(ledger.stores["watermarks"], full_states_before(first))
    if modified is not None:
        also = f" AND arrow_cast(modified, 'Int64') < {modified}"
        _drop(ledger.stores["objects"], first, also, commit_properties(FORGOTTEN, modified))


def _forget_plans(ledger: Ledger) -> None:
    plans = ledger.stores["plans"]
    if len(plans.files()) > MANY_FILES:
        _drop(plans, ledger.last().committed_through + 1 - KEPT_PLANS)


def _drop(store: Store, first: int, also: str = "", commit: CommitProperties | None = None) -> None:
    """Delete rows of batches before `first`, if their whole file has no later ones."""
    old = [file.last for file in store.files() if file.last is not None and file.last < first]
    if old:
        store.delete(f"batch_id <= {max(old)}{also}", commit)
