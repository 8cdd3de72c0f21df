"""Chains batches: each committed or abandoned batch records a SHA-256 over its own row, which contains the hash of
the batch before. docs/chain.md is the specification."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from tidemark.core.batch_result import BatchRecord, TableDigest
from tidemark.ledger.chain.file_hashes import files_of, unrecorded
from tidemark.ledger.tables.rows import Row, batch_row
from tidemark.ledger.tables.schemas import BATCHES, with_integer_times
from tidemark.ledger.tail import ABANDONED

if TYPE_CHECKING:
    from tidemark.ledger.ledger import Ledger

_UNDIGESTED = ("objects", "quality")
"""Small tables without a digest that a replay computes again."""


def canonical(row: Mapping[str, object]) -> str:
    """A row as JSON in the form of docs/chain.md: times are integers of microseconds."""
    return json.dumps(_plain(row), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def sealed(ledger: Ledger, record: BatchRecord, before: BatchRecord | None) -> BatchRecord:
    """A batch with its chain hash, after the batch `before`. In a folder it also gets hashes of its files, and
    digests of its rows of `objects` and `quality`."""
    if isinstance(ledger.folder, Path):
        rows = {table: ledger.stores[table].read(record.batch_id, record.batch_id) for table in _UNDIGESTED}
        digests = tuple(_digest(table, found) for table, found in rows.items())
        record = replace(record, files=files_of(ledger, record, ledger.folder), ledger_digests=digests)
    return linked(before, record)


def linked(before: BatchRecord | None, record: BatchRecord) -> BatchRecord:
    """A batch with its chain hash, computed after the batch `before`."""
    found = replace(record, chain_before=None if before is None else before.chain, chain=None)
    stored = pa.Table.from_pylist([batch_row(found)], schema=with_integer_times(BATCHES)).to_pylist()[0]
    return replace(found, chain=sha256(canonical(stored).encode()).hexdigest())


def chained(before: BatchRecord | None, records: Iterable[BatchRecord]) -> list[BatchRecord]:
    """Batches, in order, chained to one another and to the batch `before`."""
    found: list[BatchRecord] = []
    for record in records:
        before = linked(before, record)
        found.append(before)
    return found


def chained_again(ledger: Ledger, records: Sequence[BatchRecord]) -> list[BatchRecord]:
    """`records`, which replace a version's own, with the abandoned batches after the first of them. If any of
    `records` has a chain hash, all are chained again, and the last one lists the files that no batch has recorded."""
    recorded = ledger.recorded(1, ledger.stores["batches"].newest() or 0)
    abandoned = [each for each in recorded if each.batch_id > records[0].batch_id and each.status == ABANDONED]
    whole = sorted([*records, *abandoned], key=lambda record: record.batch_id)
    if not any(record.chain for record in records):
        return whole
    known = {(file.table, file.path) for each in recorded for file in each.files or ()}
    files = (*(whole[-1].files or ()), *unrecorded(ledger, known))
    return chained(ledger.settled_before(whole[0].batch_id), [*whole[:-1], replace(whole[-1], files=files)])


def _digest(table: str, rows: Iterable[Row]) -> TableDigest:
    lines = sorted(map(canonical, rows))
    return TableDigest(table, len(lines), sha256("\n".join(lines).encode()).hexdigest())


def _plain(value: object) -> object:
    """A value in the form of docs/chain.md: without members that are null, doubles as their 16 hexadecimal digits."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items() if each is not None}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return struct.pack(">d", value).hex() if isinstance(value, float) else value
