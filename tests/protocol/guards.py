"""The guards of the protocol: each is a check or an order of steps that the product has, and can be left out here."""

from __future__ import annotations

from typing import NamedTuple


class Guards(NamedTuple):
    """Which guards are in force. `without` leaves one out."""

    put_if_absent: bool = True
    """A plan is committed only if nobody has committed to `batches` since its end was looked up."""
    next_number: bool = True
    """A plan is committed only on a ledger that ends at the batch before its first."""
    plan_token: bool = True
    """The objects of a batch are those that were planned under its own token."""
    recover_first: bool = True
    """A command finishes the pending run before it does anything else."""
    none_pending: bool = True
    """A run plans nothing if another has planned a run since it looked for a pending one."""
    batch_order: bool = True
    """A batch is recorded only after the one before it is committed."""
    tables_first: bool = True
    """A batch is committed only after all its rows are in the tables."""
    events_once: bool = True
    """An append to events is skipped if the log knows the batch."""
    streams_once: bool = True
    """An append to streams is skipped if the log knows the batch."""
    records_once: bool = True
    """An append to a small table is skipped if the log knows the batch."""
    lease_check: bool = True
    """An actor whose lease has ended stops at its next checkpoint."""
    status_check: bool = True
    """The row of a batch is turned only if it still has the status that the turn begins with."""
    fence: bool = True
    """A withdrawal records the withdrawn batches as known, so that a stalled run can append nothing of them."""
    abandon_first: bool = True
    """A run is marked as being abandoned before any of its rows is withdrawn."""
    numbers_rest: bool = True
    """The numbers of abandoned batches are not used again."""
    check_first: bool = True
    """Quality is checked before anything is published."""
    check_once: bool = True
    """A recorded check is not made again."""
    last_commit_check: bool = True
    """A command stops if a table's log lacks a batch that the ledger has recorded."""
    settle: bool = True
    """The rows of a batch are on the disk before the batch is committed."""
    bring_up: bool = True
    """A version is brought up to the live one's last run before it becomes live."""
    switch_check: bool = True
    """A version becomes live only if nobody has changed the list of versions, or taken the lease, since."""
    clone_check: bool = True
    """A version is not built from a ledger in which another run was planned meanwhile."""
    list_last: bool = True
    """A version is listed only when it is whole."""
    number_once: bool = True
    """The number of a version is reserved, so that two builds never share a folder."""
    windows_kept: bool = True
    """Retention keeps the events that open windows need."""
    replay_kept: bool = True
    """Retention keeps the batch before the oldest run that can be replayed."""
    retained_check: bool = True
    """A version is brought up only by runs of which retention has removed nothing."""
    merge_check: bool = True
    """A compaction gives way if rows that it has read were deleted meanwhile."""

    def without(self, name: str) -> Guards:
        """The guards with one of them left out."""
        return self._replace(**{name: False})


ALL = Guards()
NAMES = Guards._fields
