"""Tables of recorded runs for tests of reports: judged by the oracle, written by delta-rs, without a JVM."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from pyarrow.dataset import Dataset

from oracle import Outcome, Run, Source, State, Verdict, judge
from tidemark.core.batch_result import BatchRecord
from tidemark.core.policy import Action, Policy, Tolerance
from tidemark.core.watermarks import Combined, PartitionState
from tidemark.report.explain.origin import SourceFacts

TIME = pa.timestamp("us", tz="UTC")
DAY = 86_400_000_000
COLUMNS = pa.schema(
    [
        ("_partition", pa.string()),
        ("_offset", pa.int64()),
        ("_arrival_time", TIME),
        ("_arrival_date", pa.date32()),
        ("_event_time", TIME),
        ("_end_time", TIME),
        ("_system_timestamp", TIME),
        ("_disposition", pa.string()),
        ("_reasons", pa.list_(pa.string())),
        ("_watermark", TIME),
        ("_substream", pa.string()),
        ("_batch_id", pa.int64()),
        ("_file", pa.string()),
        ("_raw", pa.string()),
    ]
)


def event(offset: int, arrival: int | None, **values: Any) -> dict[str, Any]:
    """A row of an events table, on time unless said otherwise."""
    row = {
        "_partition": "0",
        "_offset": offset,
        "_arrival_time": arrival,
        "_arrival_date": None if arrival is None else arrival // DAY,
        "_event_time": arrival,
        "_system_timestamp": arrival,
        "_disposition": "on_time",
        "_reasons": [],
        "_batch_id": 1,
        "_file": "a.json",
    }
    return row | values


def table_of(rows: Iterable[Mapping[str, Any]], payload: pa.Schema | None = None) -> pa.Table:
    """Rows as an Arrow table of the contract's columns and those of `payload`; absent values are null."""
    rows = list(rows)
    arrays = []
    schema = pa.schema([*COLUMNS, *(payload or ())])
    for column in schema:
        values = [row.get(column.name) for row in rows]
        if pa.types.is_date(column.type):
            arrays.append(pa.array(values, pa.int32()).cast(column.type))
        else:
            arrays.append(pa.array(values, column.type))
    return pa.Table.from_arrays(arrays, schema=schema)


def write(place: Path, *parts: pa.Table) -> Dataset:
    """Append each part, by days of arrival, and read the table."""
    for part in parts:
        write_deltalake(str(place), part, mode="append", partition_by=["_arrival_date"])
    return DeltaTable(str(place)).to_pyarrow_dataset()


@dataclass
class FakeLedger:
    """What runs recorded, in memory."""

    history: Mapping[str, Sequence[tuple[int, PartitionState]]] = field(default_factory=dict)
    batches: Mapping[int, BatchRecord] = field(default_factory=dict)
    landings: Mapping[str, int] = field(default_factory=dict)

    def states(self, source: str, partition: str) -> Sequence[tuple[int, PartitionState]]:  # noqa: ARG002
        return self.history.get(partition, ())

    def before(self, first: int) -> BatchRecord | None:
        return self.batch(first - 1)

    def batch(self, batch_id: int) -> BatchRecord | None:
        return self.batches.get(batch_id)

    def landed(self, source: str, uri: str) -> int | None:  # noqa: ARG002
        return self.landings.get(uri)

    def why_excluded(self, source: str, uri: str) -> str | None:  # noqa: ARG002
        return None


def batch_of(batch_id: int, as_of: int, **values: Any) -> BatchRecord:
    """A committed run of one batch."""
    given = {"status": "committed", "configuration": "", "fingerprint": "", "engine": "", "plan": ""}
    given |= {"run_id": f"r{batch_id}", "run_first": batch_id, "run_last": batch_id}
    return BatchRecord(batch_id=batch_id, as_of=as_of, **(given | values))


def policy_of(source: Source) -> Policy:
    if not source.timestamp_by:
        return Policy.of_arrival()
    early, late, order = (
        None if given is None else Tolerance(given[0], Action(given[1]))
        for given in (source.early, source.late, source.out_of_order)
    )
    assert order is not None
    return Policy(early, late, order)


def facts_of(source: Source) -> SourceFacts:
    return SourceFacts(
        name="readings",
        policy=policy_of(source),
        timestamp_by="EventTime" if source.timestamp_by else None,
        arrival_time="EnqueuedAt" if source.arrival_column else None,
        landing_delay=source.landing_delay,
        over=("device",) if source.over else (),
        partitions=("0",) if source.single else source.partitions,
    )


@dataclass(frozen=True)
class Recorded:
    """One source's judged log as tables and ledger; each run is one batch, from 1."""

    events: Dataset
    ledger: FakeLedger
    facts: SourceFacts
    outcome: Outcome


def record(place: Path, source: Source, runs: Sequence[Run]) -> Recorded:
    """Judge runs by the oracle and write what the product would have recorded of them."""
    outcome = judge(source, runs)
    own = {(obj.uri, n): row.arrival for run in runs for obj in run.objects for n, row in enumerate(obj.rows)}
    payload = pa.schema([("EnqueuedAt", TIME)]) if source.arrival_column else pa.schema([])
    parts = []
    for number in range(len(runs)):
        rows = [_row(verdict, own) for verdict in outcome.verdicts if verdict.run == number]
        if rows or not parts:
            parts.append(table_of(rows, payload))
    return Recorded(write(place, *parts), _ledger(outcome, runs), facts_of(source), outcome)


def _row(verdict: Verdict, own: Mapping[tuple[str, int], int | None]) -> dict[str, Any]:
    quarantined = verdict.disposition == "quarantined"
    arrival = own[verdict.uri, verdict.position]
    return event(
        verdict.offset,
        verdict.arrival,
        _partition=verdict.partition,
        _event_time=verdict.event,
        _end_time=verdict.end_time,
        _system_timestamp=verdict.system_timestamp,
        _disposition=verdict.disposition,
        _reasons=list(verdict.reasons),
        _watermark=verdict.watermark,
        _substream=verdict.substream,
        _batch_id=verdict.run + 1,
        _file=verdict.uri,
        _raw='{"broken' if quarantined else None,
        EnqueuedAt=arrival,
    )


def _ledger(outcome: Outcome, runs: Sequence[Run]) -> FakeLedger:
    history: dict[str, list[tuple[int, PartitionState]]] = {}
    batches = {}
    high: dict[str, int | None] = {}
    for batch_id, end in enumerate(outcome.ends, 1):
        for name, state in end.states.items():
            if state.idle:
                high[name] = max(
                    (t for t in (high.get(name), state.estimated_arrival) if t is not None), default=None
                )
            values = {key: getattr(state, key) for key in State.__dataclass_fields__}
            history.setdefault(name, []).append((batch_id, PartitionState(**values, estimated_high=high.get(name))))
        combined = {"readings": Combined(end.combined, end.complete)}
        batches[batch_id] = batch_of(batch_id, end.as_of, combined=combined)
    landings = {obj.uri: obj.modified for run in runs for obj in run.objects}
    return FakeLedger(history, batches, landings)
