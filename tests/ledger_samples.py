"""Small ledgers and landing folders for the tests of this folder."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

from tidemark.core.batch import Batch, LandedObject, ObjectState, RunPlan
from tidemark.core.batch_result import Account, BatchRecord, Diagnostic, Finding, FindingSample, Shifts, TableDigest
from tidemark.core.policy import Fate, Reason
from tidemark.core.watermarks import Combined, PartitionState
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.plans import Noticed
from tidemark.ledger.tables.rows import batch_row, object_row, state_row
from tidemark.ledger.tables.schemas import with_integer_times

SECOND = 1_000_000
NOON = 1_767_268_800 * SECOND
FIRST_INSTANT = -62_135_596_800_000_000
LAST_INSTANT = 253_402_300_799_999_999


def landed(uri: str, source: str = "readings", state: ObjectState = ObjectState.PLANNED, **facts) -> LandedObject:
    return LandedObject(source, uri, facts.pop("size", 10), facts.pop("modified", NOON), "t-10", state=state, **facts)


def planned(batches: Sequence[Sequence[LandedObject]], first: int = 1, run_id: str = "r", plan_id: str = "token"):
    """A plan and its records: one batch for each group of objects."""
    cut = tuple(Batch(first + index, tuple(group)) for index, group in enumerate(batches))
    plan = RunPlan(run_id, NOON + first, cut)
    records = [
        BatchRecord(
            batch_id=batch.batch_id,
            run_id=run_id,
            run_first=plan.first,
            run_last=plan.last,
            as_of=plan.as_of,
            status="planned",
            configuration=f'{{"run": "{run_id}"}}',
            fingerprint="f",
            engine="{}",
            plan=plan_id,
            objects=len(batch.objects),
            bytes=sum(item.size for item in batch.objects),
        )
        for batch in cut
    ]
    return plan, records


def plan_run(ledger: Ledger, batches: Sequence[Sequence[LandedObject]], noticed: Noticed | None = None, **given):
    plan, records = planned(batches, ledger.last().next_batch_id, **given)
    ledger.plan(plan, records, noticed)
    return records


def taken(ledger: Ledger, record: BatchRecord, state: ObjectState = ObjectState.READ) -> list[LandedObject]:
    return [replace(item, state=state, rows=3) for item in ledger.objects_of(record)]


def commit_run(ledger: Ledger, batches: Sequence[Sequence[LandedObject]], **given) -> list[BatchRecord]:
    records = plan_run(ledger, batches, **given)
    for record in records:
        ledger.commit(record, taken(ledger, record))
    return records


def full(record: BatchRecord) -> BatchRecord:
    """The record with something in every field, as a run's last batch commits it."""
    account = Account(
        "readings",
        "0",
        {Fate.ON_TIME: 5, Fate.ADJUSTED: 2, Fate.DROPPED: 1, Fate.QUARANTINED: 1},
        {Reason.LATE: 2, Reason.OUT_OF_ORDER: 1, Reason.INVALID_TIME: 1},
        Shifts(9, 1, 2, 3),
    )
    plain = Account("rates", "a", dict.fromkeys(Fate, 0), {})
    return replace(
        record,
        status="committed",
        closing=("readings",),
        accounts=(account, plain),
        digests=(TableDigest("events/readings", 9, "ab"), TableDigest("watermarks", 1, "cd")),
        combined={"readings": Combined(NOON, True), "rates": Combined(None)},
        timings={"judging": 1.5},
    )


def finding(kind: Diagnostic = Diagnostic.LATE, **facts) -> Finding:
    sample = facts.pop("sample", FindingSample(7, NOON - SECOND, NOON, "a b.json"))
    values = {"source": "readings", "partition": "0", "count": 2, "first_time": NOON, "last_time": NOON + 1}
    return Finding(**{**values, "type": kind, "sample": sample, "tolerance": 5, "message": "late", **facts})


def fabricate(ledger: Ledger, batches: int, a_file: int = 10_000, states: Mapping | None = None) -> None:
    """A history of committed one-batch runs in a few big files, as compaction leaves them."""
    known = states or {("readings", "0"): PartitionState(watermark=NOON)}
    plan_run(ledger, [[landed("first")]])
    template = planned([[]])[1][0]
    for store in ("batches", "objects", "watermarks"):
        ledger.stores[store].append([])
    for first in range(2, batches + 1, a_file):
        ids = range(first, min(first + a_file, batches + 1))
        _write(ledger, "batches", [_past(template, batch_id) for batch_id in ids])
        _write(ledger, "objects", [_object(batch_id) for batch_id in ids])
        rows = [state_row(i, *key, replace(state, next_offset=i)) for i in ids for key, state in known.items()]
        _write(ledger, "watermarks", rows)


def _past(template: BatchRecord, batch_id: int) -> dict:
    past = replace(
        template,
        batch_id=batch_id,
        run_id=f"r{batch_id}",
        run_first=batch_id,
        run_last=batch_id,
        as_of=NOON + batch_id,
        status="committed",
        combined={"readings": Combined(NOON)},
    )
    return batch_row(past)


def _object(batch_id: int) -> dict:
    item = landed(f"past/{batch_id:07}.json", modified=NOON + batch_id, state=ObjectState.READ)
    return object_row(batch_id, item)


def _write(ledger: Ledger, name: str, rows: list[dict]) -> None:
    store = ledger.stores[name]
    data = pa.Table.from_pylist(rows, schema=with_integer_times(store.schema)).cast(store.schema)
    write_deltalake(str(store.path), data, mode="append")


def land(folder: Path, uri: str, text: str = "x", at: int = NOON) -> Path:
    """A file in a landing folder, with its last-modified in microseconds."""
    path = folder / uri
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, ns=(at * 1000, at * 1000))
    return path
