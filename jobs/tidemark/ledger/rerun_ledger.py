"""The ledger of a slice: recorded runs, computed again beside the version in which they are recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tidemark.core.batch import LandedObject
from tidemark.core.batch_result import BatchRecord, LastWrite
from tidemark.core.watermarks import PartitionState
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.plans import Noticed
from tidemark.ledger.tables.rows import batch_row
from tidemark.ledger.tail import COMMITTED
from tidemark.storage import Location


class SliceLedger(Ledger):
    """Ledger whose batches have the numbers and objects of the batches of `base`. It keeps no objects and no listing
    findings of its own. It is never repaired: an interrupted slice is made again from the beginning."""

    def __init__(self, root: Location, base: Ledger) -> None:
        super().__init__(root, 1)
        self.base = base

    def begin(self, before: BatchRecord, states: Mapping[tuple[str, str], PartitionState]) -> None:
        """Record the batch before the slice, and the states after it: the first run goes on from them."""
        self.stores["batches"].append([batch_row(before)])
        self.record_states(before.batch_id, states)

    def plan_again(self, records: Sequence[BatchRecord]) -> None:
        """Plan a recorded run."""
        self.stores["batches"].append([batch_row(record) for record in records])

    def objects_of(self, record: BatchRecord) -> tuple[LandedObject, ...]:
        """The objects that the base's batch of this number took; none for a batch without a plan."""
        return self.base.objects_of(replace(record, status=COMMITTED)) if record.plan else ()

    def noticed(self, record: BatchRecord) -> Noticed:  # noqa: ARG002 - the base keeps it
        """Nothing: the base has the findings of listing."""
        return Noticed()

    def commit(self, record: BatchRecord, objects: Sequence[LandedObject]) -> BatchRecord:  # noqa: ARG002 - the base keeps them
        """Turn the row of a batch to `committed`."""
        return super().commit(record, ())

    def _sealed(self, record: BatchRecord, before: BatchRecord | None) -> BatchRecord:  # noqa: ARG002 - it is removed
        """The batch as it is: a slice has no chain."""
        return record

    def _turn(self, record: BatchRecord, written: Sequence[LastWrite], how: str) -> None:  # noqa: ARG002 - it is removed
        """Replace the row of a batch, without a sync: a slice need not survive a power loss."""
        self.stores["batches"].replace(f"batch_id = {record.batch_id}", [batch_row(record)], how, record.batch_id)
