"""The ledger of one version: what runs planned, what they did, and how far each partition has come.

A run is planned before it does anything: first its objects go to `plans` under a random token, then
all its rows of `batches` (status `planned`) in ONE commit that fails if the first of them exists.
Whatever crashes after that, the recorded plan is carried out; plans whose token no batch has are void.
Every write below is idempotent, so that a run that died may be carried on from any point.
Nothing here costs more because more lies behind: files are chosen by the statistics of their batch ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tidemark.core.account import Account, BatchRecord, Finding, TableDigest
from tidemark.core.batch import LandedObject, ObjectState, RunPlan
from tidemark.core.progress import Combined, PartitionState
from tidemark.core.quality import RELEASED, Check, Severity
from tidemark.errors import TidemarkError
from tidemark.ledger import versions
from tidemark.ledger.digest import digest_rows
from tidemark.ledger.rows import (
    Row,
    accounts_of,
    batch_record,
    batch_row,
    check,
    check_rows,
    finding,
    finding_of_text,
    finding_rows,
    finding_text,
    landed_object,
    object_row,
    partition_state,
    state_rows,
)
from tidemark.ledger.schemas import TABLES
from tidemark.ledger.store import Store
from tidemark.places import Place

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset

PLANNED = "planned"
COMMITTED = "committed"
BLOCKED = "blocked"

CHECKPOINT_EVERY = 1000
"""A batch whose id is a multiple of this records the state of all partitions, changed or not."""

_OPENED_AT_ONCE = 4
"""Tables: more would wait for cores, or for the connections of a store."""


@dataclass(frozen=True)
class RunRange:
    """A run and the batches it is made of."""

    run_id: str
    first: int
    last: int


@dataclass(frozen=True)
class Tail:
    """Where the ledger ends. `as_of`, `configuration` and `fingerprint` are those of the last planned batch, in
    microseconds and JSON; `combined` and `last_run` those of the last run that is wholly committed;
    `pending` the batches of a later run from its first uncommitted one on."""

    next_batch_id: int = 1
    as_of: int | None = None
    committed_through: int = 0
    pending: tuple[BatchRecord, ...] = ()
    combined: Mapping[str, Combined] = field(default_factory=dict)
    last_run: RunRange | None = None
    configuration: str | None = None
    fingerprint: str | None = None


@dataclass(frozen=True)
class Noticed:
    """What listing found besides objects to take: findings, and contents that were reported."""

    findings: tuple[Finding, ...] = ()
    reported: tuple[LandedObject, ...] = ()


class Accounted(NamedTuple):
    """A batch of a run and what became of its rows."""

    run_id: str
    accounts: tuple[Account, ...]


def records_all(batch_id: int) -> bool:
    """Whether a batch has to record the state of all partitions, so that reading them stays cheap."""
    return batch_id % CHECKPOINT_EVERY == 0


def checkpoint_before(batch_id: int) -> int:
    """The first batch whose states must be read to know those before `batch_id`."""
    return (batch_id - 1) // CHECKPOINT_EVERY * CHECKPOINT_EVERY


class Ledger:
    """Reads and writes the small tables of `<root>/v<version>`; without a version, of the live one.

    Nothing is written before the first `plan`. Writers hold the pipeline's lock.
    """

    def __init__(self, root: Place, version: int | None = None) -> None:
        self.root = root
        self.version = version or versions.live(root) or versions.FIRST
        self.folder = root / f"v{self.version}"
        self.stores = {name: Store(self.folder / name, schema) for name, schema in TABLES.items()}

    def open(self) -> None:
        """Open the tables that a run asks for, side by side. What is wrong with one is told when it is asked for."""
        with ThreadPoolExecutor(_OPENED_AT_ONCE) as pool:
            wait([pool.submit(store.open) for name, store in self.stores.items() if name != "advice"])

    def last(self) -> Tail:
        """Where the ledger ends, from the rows of its last run and of the batch before it."""
        newest = self.stores["batches"].newest()
        if newest is None:
            return Tail()
        first = self.batches(newest, newest)[0].run_first
        read = self.batches(first - 1, newest)
        before = read[:1] if read[0].batch_id < first else []
        run = read[len(before) :]
        tip = run[-1]
        done = [record.batch_id for record in run if record.status == COMMITTED]
        through = max(done, default=tip.run_first - 1)
        ended = tip if through == newest else (before[0] if before else None)
        return Tail(
            next_batch_id=newest + 1,
            as_of=tip.as_of,
            committed_through=through,
            pending=tuple(record for record in run if record.batch_id > through),
            combined=ended.combined if ended else {},
            last_run=RunRange(ended.run_id, ended.run_first, ended.run_last) if ended else None,
            configuration=tip.configuration,
            fingerprint=tip.fingerprint,
        )

    def plan(self, plan: RunPlan, records: Sequence[BatchRecord], noticed: Noticed | None = None) -> None:
        """Record a run before it does anything; its records share one random token, `plan`.

        Held: another run has planned a batch of this number, or anything, in the meantime. Then nothing
        of this plan counts.
        """
        tokens = {record.plan for record in records}
        expected = [batch.batch_id for batch in plan.batches]
        if len(tokens) != 1 or [record.batch_id for record in records] != expected:
            raise TidemarkError(f"run {plan.run_id}: records and planned batches differ")
        rows = _plan_rows(plan, tokens.pop(), noticed or Noticed())
        if rows:
            self.stores["plans"].append(rows)
        planned = [batch_row(replace(record, status=PLANNED)) for record in records]
        self.stores["batches"].append_next(planned, "plan", plan.first, plan.last)

    def objects_of(self, record: BatchRecord) -> tuple[LandedObject, ...]:
        """The objects of a batch in log order, without paths: as planned, or once committed as taken."""
        if record.status == COMMITTED:
            rows = self.stores["objects"].read(record.batch_id, record.batch_id)
        else:
            rows = self._planned(record.batch_id, record.plan)
        items = [landed_object(row) for row in rows if row["uri"] is not None]
        taken = [item for item in items if item.state is not ObjectState.CHANGED]
        return tuple(sorted(taken, key=lambda item: (item.source, item.order)))

    def noticed(self, record: BatchRecord) -> Noticed:
        """What the plan of a pending run's first batch noticed while listing; nothing for the others."""
        rows = self._planned(record.batch_id, record.plan)
        items = [landed_object(row) for row in rows if row["uri"] is not None]
        return Noticed(
            findings=tuple(finding_of_text(row["finding"]) for row in rows if row["finding"] is not None),
            reported=tuple(item for item in items if item.state is ObjectState.CHANGED),
        )

    def states(self, before: int) -> dict[tuple[str, str], PartitionState]:
        """The state of every partition as the batches before `before` left it."""
        rows = self.stores["watermarks"].read(checkpoint_before(before), before - 1)
        rows.sort(key=itemgetter("batch_id"))
        newest = {(row["source"], row["partition"]): row for row in rows}
        return {key: partition_state(row) for key, row in newest.items()}

    def record(
        self,
        batch_id: int,
        states: Mapping[tuple[str, str], PartitionState],
        findings: Sequence[Finding],
        objects: Sequence[LandedObject] = (),
    ) -> list[TableDigest]:
        """Record what has to stand before a batch is committed, each table beside the others: the states that it
        changed, what it found and, where nothing can stop it any more, its objects as they were taken."""
        with ThreadPoolExecutor(2) as beside:
            stated = beside.submit(self.record_states, batch_id, states)
            taken = beside.submit(self._record_objects, batch_id, objects)
            found = self.record_findings(batch_id, findings)
        taken.result()
        return [stated.result(), found]

    def record_states(self, batch_id: int, states: Mapping[tuple[str, str], PartitionState]) -> TableDigest:
        """Record the states that a batch changed (of all partitions where `records_all`)."""
        return self._record("watermarks", batch_id, state_rows(batch_id, states))

    def record_findings(self, batch_id: int, findings: Sequence[Finding]) -> TableDigest:
        """Record what a batch found; without findings nothing is written."""
        return self._record("diagnostics", batch_id, finding_rows(batch_id, findings))

    def findings(self, batch_id: int) -> tuple[Finding, ...]:
        """The recorded findings of a batch."""
        return tuple(finding(row) for row in self.stores["diagnostics"].read(batch_id, batch_id))

    def record_checks(self, record: BatchRecord, checks: Sequence[Check], of: str = "record") -> None:
        """Record checks of the run that a batch ends: once those `of` a name."""
        rows = check_rows(record.batch_id, record.run_id, checks)
        if rows:
            self.stores["quality"].append(rows, of, record.batch_id)

    def release(self, record: BatchRecord, reason: str) -> None:
        """Record that the blocked run which a batch ends may be published, and why."""
        released = Check("batches", RELEASED, None, None, True, Severity.RECORD, (), reason)
        self.stores["quality"].append(
            check_rows(record.batch_id, record.run_id, [released]), "release", record.batch_id
        )

    def checks(self, batch_id: int) -> tuple[Check, ...]:
        """The recorded checks of the run that a batch ends."""
        return tuple(check(row) for row in self.stores["quality"].read(batch_id, batch_id))

    def block(self, record: BatchRecord) -> None:
        """Turn the row of a run's last batch from `planned` to `blocked`: nothing of the run is published."""
        blocked = batch_row(replace(record, status=BLOCKED))
        self.stores["batches"].replace(f"batch_id = {record.batch_id}", [blocked], "block", record.batch_id)

    def digests(self, batch_id: int) -> dict[str, TableDigest]:
        """The digests of what stands in the small tables of which a batch records one."""
        read = {name: self.stores[name].read(batch_id, batch_id) for name in ("watermarks", "diagnostics")}
        return {name: digest_rows(name, rows) for name, rows in read.items()}

    def record_advice(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Put the cells of sources in the place of what was advised on them before; all in one commit."""
        sources = {row["source"] for row in rows}
        if not rows:
            return
        self.stores["advice"].rewrite(
            lambda kept: [*(r for r in kept if r["source"] not in sources), *map(dict, rows)]
        )

    def commit(self, record: BatchRecord, objects: Sequence[LandedObject]) -> None:
        """Record the objects of a batch as they were taken (with those only reported), then turn its
        row from `planned` to `committed` in one commit. Repeated, it changes nothing."""
        self._record_objects(record.batch_id, objects)
        done = batch_row(replace(record, status=COMMITTED))
        self.stores["batches"].replace(f"batch_id = {record.batch_id}", [done], "commit", record.batch_id)

    def _record_objects(self, batch_id: int, objects: Sequence[LandedObject]) -> None:
        rows = [object_row(batch_id, item) for item in objects]
        if rows:
            self.stores["objects"].append(rows, "commit", batch_id)

    def batches(self, first: int, last: int) -> list[BatchRecord]:
        """The recorded batches first..last, in order; those that don't exist are left out."""
        rows = self.stores["batches"].read(first, last)
        return [batch_record(row) for row in sorted(rows, key=itemgetter("batch_id"))]

    def accounts(self, first: int, last: int) -> list[Accounted]:
        """What became of the rows of the recorded batches first..last, in order."""
        rows = self.stores["batches"].read(first, last, ["batch_id", "run_id", "counts"])
        ordered = sorted(rows, key=itemgetter("batch_id"))
        return [Accounted(row["run_id"], accounts_of(row)) for row in ordered]

    def first_since(self, as_of: int) -> int:
        """The first committed batch of a run at or after `as_of`, by halving: as_of never goes back. The one after
        the last if there is none."""
        low, high = 1, self.last().committed_through + 1
        while low < high:
            middle = (low + high) // 2
            found = self.batches(middle, middle)
            low, high = (low, middle) if found and found[0].as_of >= as_of else (middle + 1, high)
        return low

    def run(self, run_id: str) -> RunRange | None:
        """The batches of a run; None when it was never planned. Reads no more than the column `run_id`
        of the files that may have it."""
        rows = self.stores["batches"].lookup("run_id", pa.array([run_id]), ["run_first", "run_last"])
        return RunRange(run_id, rows[0]["run_first"], rows[0]["run_last"]) if rows else None

    def table(self, name: str, through: int | None = None) -> Dataset:
        """A small table cut at the last committed batch, as a dataset."""
        bound = self.last().committed_through if through is None else through
        return self.stores[name].dataset().filter(pc.field("batch_id") <= bound)

    def _planned(self, batch_id: int, token: str) -> list[Row]:
        rows = self.stores["plans"].read(batch_id, batch_id)
        return [row for row in rows if row["plan"] == token]

    def _record(self, name: str, batch_id: int, rows: list[Row]) -> TableDigest:
        if rows:
            self.stores[name].append(rows, "record", batch_id)
        return digest_rows(name, rows)


def _plan_rows(plan: RunPlan, token: str, noticed: Noticed) -> list[Row]:
    rows = [object_row(batch.batch_id, item) for batch in plan.batches for item in batch.objects]
    rows += [object_row(plan.first, item) for item in noticed.reported]
    rows += [{"batch_id": plan.first, "finding": finding_text(item)} for item in noticed.findings]
    return [{**row, "plan": token} for row in rows]
