"""The ledger of a slice: recorded runs, made once more beside the version that has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tidemark.core.batch import LandedObject
from tidemark.core.batch_result import BatchRecord, LastWrite
from tidemark.core.watermarks import PartitionState
from tidemark.ledger.ledger import Ledger, Noticed
from tidemark.ledger.tables.rows import batch_row
from tidemark.ledger.tail import COMMITTED
from tidemark.storage import Place


class SliceLedger(Ledger):
    """Its batches have the numbers and objects of those of `base`; it keeps no objects and no findings of listings of
    its own. Nothing of it is repaired: a slice that was interrupted is made from the beginning."""

    def __init__(self, root: Place, base: Ledger) -> None:
        super().__init__(root, 1)
        self.base = base

    def begin(self, before: BatchRecord, states: Mapping[tuple[str, str], PartitionState]) -> None:
        """Have a batch and the states that it left, which the first run goes on from."""
        self.stores["batches"].append([batch_row(before)])
        self.record_states(before.batch_id, states)

    def plan_again(self, records: Sequence[BatchRecord]) -> None:
        """Plan a recorded run."""
        self.stores["batches"].append([batch_row(record) for record in records])

    def objects_of(self, record: BatchRecord) -> tuple[LandedObject, ...]:
        """The objects that the base's batch of this number took; one without a plan takes none."""
        return self.base.objects_of(replace(record, status=COMMITTED)) if record.plan else ()

    def noticed(self, record: BatchRecord) -> Noticed:  # noqa: ARG002 - what the base noticed stands there
        """Nothing."""
        return Noticed()

    def commit(self, record: BatchRecord, objects: Sequence[LandedObject]) -> None:  # noqa: ARG002 - they stand there
        """Turn the row of a batch to `committed`."""
        super().commit(record, ())

    def _turn(self, record: BatchRecord, written: Sequence[LastWrite], how: str) -> None:  # noqa: ARG002 - it is removed
        """Replace the row of a batch; nothing of a slice has to outlast a power loss."""
        self.stores["batches"].replace(f"batch_id = {record.batch_id}", [batch_row(record)], how, record.batch_id)
