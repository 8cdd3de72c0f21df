"""A long past for a pipeline that has run once: as many batches, objects and live files as years would leave.

Everything is a copy of what the first batch left, through the product's own tables: the ledger's rows with other
ids and names, in big files as compaction leaves them; the events as hard links to the first batch's file, under
days long gone, with the log and the checkpoint that Spark would have written.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from bench.data import object_name
from bench.subject import EVENTS, SOURCE
from tidemark.core.batch import LandedObject
from tidemark.core.batch_result import BatchRecord
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.tables.rows import batch_row, object_row, state_row
from tidemark.spark.tables.delta import APPLICATION, CHECKPOINT_EVERY

_BATCHES_A_FILE = 10_000
_OBJECTS_A_FILE = 100_000
_COMMITS = CHECKPOINT_EVERY
"""Of the past: a whole number of checkpoints, so that both warehouses write theirs in the same turns."""
_FILES_A_DAY = 50
_MOST_LINKS = 60_000
"""To one file: file systems take 65,000."""


@dataclass(frozen=True)
class Past:
    """How much lies behind: committed batches, objects taken, live files of events."""

    batches: int
    objects: int
    files: int


def fabricate(ledger: Ledger, past: Past) -> None:
    """Give a pipeline whose only batch is batch 1 the past of one that has run `past.batches` times."""
    record = ledger.batches(1, 1)[0]
    _fabricate_batches(ledger, record, past)
    _fabricate_objects(ledger, ledger.objects_of(record)[0], past)
    _fabricate_events(ledger.folder / EVENTS, past)


def _fabricate_batches(ledger: Ledger, record: BatchRecord, past: Past) -> None:
    states = ledger.states(2)
    for ids in _ranges(2, past.batches, _BATCHES_A_FILE):
        ledger.stores["batches"].append([batch_row(_later(record, batch_id)) for batch_id in ids])
        rows = [state_row(batch_id, *key, state) for batch_id in ids for key, state in states.items()]
        ledger.stores["watermarks"].append(rows)


def _later(record: BatchRecord, batch_id: int) -> BatchRecord:
    return replace(
        record,
        batch_id=batch_id,
        run_id=f"{record.run_id}-{batch_id}",
        run_first=batch_id,
        run_last=batch_id,
        as_of=record.as_of + batch_id,
        plan=f"{record.plan}-{batch_id}",
    )


def _fabricate_objects(ledger: Ledger, taken: LandedObject, past: Past) -> None:
    each = max(1, past.objects // past.batches)
    for numbers in _ranges(2 * each, past.batches * each + each - 1, _OBJECTS_A_FILE):
        rows = [object_row(number // each, replace(taken, uri=object_name(f"past {number}"))) for number in numbers]
        ledger.stores["objects"].append(rows)


def _fabricate_events(table: Path, past: Past) -> None:
    """Adds in a few commits on top of the first, then a checkpoint."""
    first = next(action["add"] for action in _actions(table / "_delta_log" / f"{0:020}.json") if "add" in action)
    source = table / first["path"]
    modified = first["modificationTime"]
    files = range(1, past.files)
    for commit, numbers in enumerate(_ranges(1, past.files - 1, -(-len(files) // _COMMITS) or 1), start=1):
        actions: list[dict[str, Any]] = [
            {"commitInfo": {"timestamp": modified + commit, "operation": "WRITE", "isBlindAppend": True}},
            {"txn": {"appId": APPLICATION, "version": _batch_of(numbers[-1], past), "lastUpdated": modified}},
            *[{"add": _linked(table, source, first, number, past)} for number in numbers],
        ]
        lines = "".join(json.dumps(action) + "\n" for action in actions)
        (table / "_delta_log" / f"{commit:020}.json").write_text(lines)
    DeltaTable(str(table)).create_checkpoint()


def _linked(table: Path, source: Path, first: dict[str, Any], number: int, past: Past) -> dict[str, Any]:
    """One more file with the first one's content, in a day of its own past; what its statistics say of days and
    batches is what a reader would skip it by."""
    day = _day_of(first) - timedelta(days=1 + (past.files - 1 - number) // _FILES_A_DAY)
    path = f"_arrival_date={day:%Y-%m-%d}/{object_name(f'events {number}')}"
    (table / path).parent.mkdir(exist_ok=True)
    if source.stat().st_nlink >= _MOST_LINKS:
        fresh = source.with_suffix(".copy")
        shutil.copyfile(source, fresh)
        fresh.replace(source)  # the links to what it was stand
    os.link(source, table / path)
    statistics = json.loads(first["stats"])
    for bound in ("minValues", "maxValues"):
        found = statistics[bound]
        found["_batch_id"] = _batch_of(number, past)
        for name in found.keys() & {"_arrival_time", "_system_timestamp"}:
            found[name] = f"{day:%Y-%m-%d}{found[name][10:]}"
    return {
        **first,
        "path": path,
        "partitionValues": {"_arrival_date": f"{day:%Y-%m-%d}"},
        "stats": json.dumps(statistics),
    }


def _batch_of(number: int, past: Past) -> int:
    return 1 + number * (past.batches - 1) // max(1, past.files - 1)


def _day_of(add: dict[str, Any]) -> datetime:
    return datetime.strptime(add["partitionValues"]["_arrival_date"], "%Y-%m-%d").replace(tzinfo=UTC)


def _actions(commit: Path) -> Iterator[dict[str, Any]]:
    yield from map(json.loads, commit.read_text().splitlines())


def _ranges(first: int, last: int, size: int) -> Iterator[range]:
    """first..last in ranges of `size`."""
    for begin in range(first, last + 1, size):
        yield range(begin, min(begin + size, last + 1))


def check(ledger: Ledger, past: Past) -> None:
    """The past is there, and the product takes it for its own."""
    assert ledger.last().committed_through == past.batches, "the fabricated batches are not committed"
    objects = ledger.table("objects").count_rows()
    assert abs(objects - past.objects) <= past.objects // past.batches, f"{objects} objects"
    live = len(DeltaTable(str(ledger.folder / EVENTS)).file_uris())
    assert live == past.files, f"{live} live files"
    assert all(key[0] == SOURCE for key in ledger.states(past.batches + 1)), "states of another source"
