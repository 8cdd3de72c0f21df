"""Hashes the files that a batch has added to tables, and the entries of their logs, when the batch is committed.

In object storage nothing is hashed: each batch would ask for every log and read every object again (see
docs/decisions/chain-of-batches.md).
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import file_digest
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from tidemark.core.batch_result import BatchRecord, FileHash
from tidemark.ledger.tail import ABANDONED
from tidemark.storage import LOG
from tidemark.storage.folders import tables_below

if TYPE_CHECKING:
    from tidemark.ledger.ledger import Ledger

_AT_ONCE = 4
_BATCHES, _COMMIT = "batches", "commit"
_OF_VERSIONS = ("_slice/", "difference/", "batches", "plans", "advice")
"""Tables of a backfill, and small tables that are written after, or that no batch is recorded in."""
_OF_SPARK = {
    "events", "streams", "dead_letters", "before_start", "lifetimes", "open_lifetimes", "seen", "substreams",
}  # fmt: skip


def files_of(ledger: Ledger, record: BatchRecord, folder: Path) -> tuple[FileHash, ...]:
    """Hashes of the log entries of a batch's commits, and of the files that these commits added to tables. Files that
    the logs no longer list are left out. `folder` is the ledger's folder."""
    found = [each for table in _tables(record) for each in _of_table(ledger, table, folder / table, record.batch_id)]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return tuple(filter(None, pool.map(lambda each: _hashed(folder, each), found)))


def unrecorded(ledger: Ledger, known: Container[tuple[str, str]]) -> tuple[FileHash, ...]:
    """Hashes of the files in a version's tables that are not `known` (by table and path). Empty in object storage."""
    if not isinstance(ledger.folder, Path):
        return ()
    tables = [name for name in tables_below(ledger.folder) if not name.startswith(_OF_VERSIONS)]
    named = [(table, path) for table in tables for path in ledger.store(table).paths()]
    missing = [FileHash(table, path, 0, "") for table, path in named if (table, path) not in known]
    return tuple(each for each in (_hashed(ledger.folder, file) for file in missing) if each)


def _tables(record: BatchRecord) -> list[str]:
    """Tables that a batch may have written to, `batches` included."""
    written = {each.table for each in record.written or () if each.batch_id == record.batch_id}
    kinds = ((digest.table.partition("/")[0], digest.table) for digest in record.digests)
    spark = {kind if kind == "substreams" else table for kind, table in kinds if kind in _OF_SPARK}
    return sorted({_BATCHES, *written, *spark})


def _of_table(ledger: Ledger, table: str, folder: Path, batch_id: int) -> Iterator[FileHash]:
    """Files and log entries of the table in a folder, without their hashes, newest first."""
    opened = ledger.store(table).open()
    if opened is None:
        return
    log, gone = str(opened.metadata().id), set[str]()
    entries = (path for path in (folder / LOG).glob("*.json") if path.stem.isdecimal())
    for entry in sorted(entries, reverse=True):
        actions = [json.loads(line) for line in entry.read_bytes().splitlines()]
        numbers = _numbers(table, actions)
        before = any(number < batch_id for number in numbers)
        if before and table != _BATCHES:
            return
        mine = not any(number > batch_id for number in numbers)
        gone |= {action["remove"]["path"] for action in actions if "remove" in action}
        if mine:
            yield FileHash(table, f"{LOG}/{entry.name}", 0, "", log)
            added = (action["add"]["path"] for action in actions if "add" in action)
            yield from (FileHash(table, path, 0, "") for path in added if path not in gone)
        if before:
            return


def _numbers(table: str, actions: list[dict]) -> list[int]:  # type: ignore[type-arg] # actions are JSON
    """Batches of a log entry's writers. In `batches` only commits count, since planning goes ahead of them."""
    known = [action["txn"] for action in actions if "txn" in action]
    return [
        each["version"]
        for each in known
        if (each["appId"] == _COMMIT if table == _BATCHES else each["appId"] != ABANDONED)
    ]


def _hashed(folder: Path, each: FileHash) -> FileHash | None:
    """A file with its size and hash; None if it is gone: a run must not fail for a file that it does not need."""
    try:
        with (folder / each.table / unquote(each.path)).open("rb") as file:
            sha256 = file_digest(file, "sha256").hexdigest()
            return FileHash(each.table, each.path, file.tell(), sha256, each.log)
    except FileNotFoundError:
        return None
