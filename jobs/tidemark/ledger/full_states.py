"""Batches that record the state of every partition, so that the cost of reading states does not grow with history."""

from __future__ import annotations

FULL_STATES_EVERY = 1000
"""A batch whose id is a multiple of this records the state of all partitions, changed or not."""


def records_all(batch_id: int) -> bool:
    """True if a batch records the state of all partitions, so that reading states stays cheap."""
    return batch_id % FULL_STATES_EVERY == 0


def full_states_before(batch_id: int) -> int:
    """The first batch to read for the states of all partitions before `batch_id`."""
    return (batch_id - 1) // FULL_STATES_EVERY * FULL_STATES_EVERY
