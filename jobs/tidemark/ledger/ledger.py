"""The ledger of one version: plans of runs, their results, and the progress of each partition.

A run is planned before it does anything. First its objects go to `plans` under a random token. Then all its rows of
`batches` (status `planned`) go in ONE commit, which fails if the first of them exists already. After a later crash
the recorded plan is carried out; rows of `plans` are void if no batch has their token. Every write is idempotent, so
a run can go on from any point. No cost grows with history: files are chosen by the statistics of their batch ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from tidemark.core.batch import LandedObject, ObjectState, RunPlan
from tidemark.core.batch_result import BatchRecord, Finding, LastWrite, TableDigest
from tidemark.core.quality import RELEASED, Check, Severity
from tidemark.core.watermarks import PartitionState
from tidemark.errors import TidemarkError
from tidemark.ledger import versions
from tidemark.ledger.chain.links import sealed
from tidemark.ledger.digest import digest_rows
from tidemark.ledger.durability import lasting, settle
from tidemark.ledger.full_states import full_states_before
from tidemark.ledger.lost_commits import written_with
from tidemark.ledger.plans import Noticed, lost_plan, of_objects, plan_rows
from tidemark.ledger.tables.rows import (
    Row,
    accounts_of,
    batch_record,
    batch_row,
    check,
    check_rows,
    finding,
    finding_of_text,
    finding_rows,
    landed_object,
    object_row,
    partition_state,
    state_rows,
)
from tidemark.ledger.tables.schemas import TABLES
from tidemark.ledger.tables.store import Store
from tidemark.ledger.tail import (
    ABANDONED,
    BLOCKED,
    COMMITTED,
    PLANNED,
    Accounted,
    RunRange,
    Tail,
    Which,
    kept,
    last_before,
    settled,
    tail_of,
)
from tidemark.storage import Location

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset

_OPENED_AT_ONCE = 4
"""Number of tables opened at a time: more would wait for cores, or for connections to the storage."""


class Ledger:
    """Reads and writes the small tables of `<root>/v<version>`; without a version, of the live one.

    Nothing is written before the first `plan`. Writers hold the pipeline's lock.
    """

    _sealed = sealed

    def __init__(self, root: Location, version: int | None = None) -> None:
        self.root = root
        self.version = version or versions.live(root) or versions.FIRST
        self.folder = root / f"v{self.version}"
        self.stores = {name: Store(self.folder / name, schema) for name, schema in TABLES.items()}
        self.damaged = root / "damaged" / f"v{self.version}"  # files that repairs took out
        self._others: dict[str, Store] = {}
        self._committed: BatchRecord | None = None

    def open(self) -> None:
        """Open the tables that a run reads, several at a time. Errors of a table are raised when it is read."""
        with ThreadPoolExecutor(_OPENED_AT_ONCE) as pool:
            wait([pool.submit(store.open) for name, store in self.stores.items() if name != "advice"])

    def last(self) -> Tail:
        """The end of the ledger, from the rows of its last run and of the batch before it."""
        return tail_of(self.stores["batches"].newest(), self.recorded)

    def plan(self, plan: RunPlan, records: Sequence[BatchRecord], noticed: Noticed | None = None) -> None:
        """Record a run before it does anything; its records share one new token, `plan` (see `new_token`).

        Raises Held if another run has planned batches in the meantime; this plan is then void.
        """
        tokens = {record.plan for record in records}
        expected = [batch.batch_id for batch in plan.batches]
        if len(tokens) != 1 or [record.batch_id for record in records] != expected:
            raise TidemarkError(f"run {plan.run_id}: records and planned batches differ")
        planned = [batch_row(replace(record, status=PLANNED)) for record in records]
        if rows := plan_rows(plan, tokens.pop(), noticed or Noticed()):
            with lasting(self.folder / "plans"):
                self.stores["plans"].append(rows)
        with lasting(self.folder / "batches"):
            self.stores["batches"].append_next(planned, "plan", plan.first, plan.last)

    def objects_of(self, record: BatchRecord) -> tuple[LandedObject, ...]:
        """The objects of a batch in log order, without paths: as planned, or once committed as taken."""
        if record.status == COMMITTED:
            rows = self.stores["objects"].read(record.batch_id, record.batch_id)
        else:
            rows = self._planned(record.batch_id, record.plan)
        taken = [item for item in map(landed_object, of_objects(rows)) if item.state is not ObjectState.CHANGED]
        if record.status != COMMITTED and len(taken) < record.objects:
            raise lost_plan(self.folder / "plans", record, len(taken))
        return tuple(sorted(taken, key=lambda item: (item.source, item.order)))

    def noticed(self, record: BatchRecord) -> Noticed:
        """Findings and reported objects, from the plan of a pending run's first batch; empty for other batches."""
        rows = self._planned(record.batch_id, record.plan)
        items = list(map(landed_object, of_objects(rows)))
        return Noticed(
            findings=tuple(finding_of_text(row["finding"]) for row in rows if row["finding"] is not None),
            reported=tuple(item for item in items if item.state is ObjectState.CHANGED),
        )

    def states(self, before: int) -> dict[tuple[str, str], PartitionState]:
        """The state of every partition before batch `before`."""
        rows = self.stores["watermarks"].read(full_states_before(before), before - 1)
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
        """Record, before a batch is committed, its changed states, its findings and its objects as taken. Give
        `objects` only if no check can block the batch any more. The tables are written in parallel."""
        with ThreadPoolExecutor(2) as beside:
            stated = beside.submit(self.record_states, batch_id, states)
            taken = beside.submit(self._record_objects, batch_id, objects)
            found = self.record_findings(batch_id, findings)
        taken.result()
        return [stated.result(), found]

    def record_states(self, batch_id: int, states: Mapping[tuple[str, str], PartitionState]) -> TableDigest:
        """Record the states that a batch changed, or all states if `records_all` says so."""
        return self._record("watermarks", batch_id, state_rows(batch_id, states))

    def record_findings(self, batch_id: int, findings: Sequence[Finding]) -> TableDigest:
        """Record the findings of a batch; without findings nothing is written."""
        return self._record("diagnostics", batch_id, finding_rows(batch_id, findings))

    def findings(self, batch_id: int) -> tuple[Finding, ...]:
        """The recorded findings of a batch."""
        return tuple(finding(row) for row in self.stores["diagnostics"].read(batch_id, batch_id))

    def record_checks(self, record: BatchRecord, checks: Sequence[Check], of: str = "record") -> None:
        """Record checks of the run that a batch ends, once for each writer name `of`."""
        rows = check_rows(record.batch_id, record.run_id, checks)
        if rows:
            self.stores["quality"].append(rows, of, record.batch_id)

    def release(self, record: BatchRecord, reason: str) -> None:
        """Record that the blocked run that a batch ends may be published, and why."""
        released = Check("batches", RELEASED, None, None, True, Severity.RECORD, (), reason)
        self.record_checks(record, [released], "release")

    def checks(self, batch_id: int) -> tuple[Check, ...]:
        """The recorded checks of the run that a batch ends."""
        return tuple(check(row) for row in self.stores["quality"].read(batch_id, batch_id))

    def block(self, record: BatchRecord) -> None:
        """Turn the row of a run's last batch from `planned` to `blocked`. Raises Held if it was abandoned."""
        self._turn(replace(record, status=BLOCKED), written_with(self, self._before(record), record), "block")

    def digests(self, batch_id: int) -> dict[str, TableDigest]:
        """Digests of a batch's rows of `watermarks` and `diagnostics`."""
        read = {name: self.stores[name].read(batch_id, batch_id) for name in ("watermarks", "diagnostics")}
        return {name: digest_rows(name, rows) for name, rows in read.items()}

    def record_advice(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Replace the earlier advice on these sources by these cells, in one commit."""
        sources = {row["source"] for row in rows}
        if not rows:
            return
        self.stores["advice"].rewrite(
            lambda kept: [*(r for r in kept if r["source"] not in sources), *map(dict, rows)]
        )

    def commit(self, record: BatchRecord, objects: Sequence[LandedObject]) -> BatchRecord:
        """Record the objects of a batch as taken (and those only reported), then turn its row from `planned` to
        `committed` in one commit; returns the batch as recorded. Repeated, it changes nothing. Raises Held if another
        command has abandoned it."""
        self._record_objects(record.batch_id, objects)
        before = self._before(record)
        done = replace(record, status=COMMITTED, written=written_with(self, before, record))
        done = self._sealed(done, before)
        self._turn(done, done.written or (), "commit")
        self._committed = done
        return done

    def _turn(self, record: BatchRecord, written: Sequence[LastWrite], how: str) -> None:
        """Replace the row of a batch, once its writes to all tables are on the disk."""
        settle([self.folder / each.table for each in written if each.batch_id == record.batch_id], record.batch_id)
        number, row = record.batch_id, batch_row(record)
        with lasting(self.folder / "batches"):
            self.stores["batches"].turn(number, number, [row], how, (PLANNED, BLOCKED))

    def _before(self, record: BatchRecord) -> BatchRecord | None:
        """The last committed or abandoned batch before a batch."""
        known = self._committed
        return known if known and known.batch_id == record.batch_id - 1 else self.settled_before(record.batch_id)

    def _record_objects(self, batch_id: int, objects: Sequence[LandedObject]) -> None:
        rows = [object_row(batch_id, item) for item in objects]
        if rows:
            self.stores["objects"].append(rows, "commit", batch_id)

    def batches(self, first: int, last: int) -> list[BatchRecord]:
        """The recorded batches first..last, in order, without abandoned ones."""
        return kept(self.recorded(first, last))

    def before(self, first: int, which: Which = kept) -> BatchRecord | None:
        """The last batch before `first` that `which` keeps; by default, abandoned batches are skipped."""
        return last_before(self.recorded, first, which)

    def settled_before(self, first: int) -> BatchRecord | None:
        """The last committed or abandoned batch before `first`: its row lists the last writes that logs must have."""
        return last_before(self.recorded, first, settled)

    def recorded(self, first: int, last: int) -> list[BatchRecord]:
        """The recorded batches first..last, in order, abandoned ones too."""
        return sorted(map(batch_record, self.stores["batches"].read(first, last)), key=attrgetter("batch_id"))

    def digested(self, last: int) -> list[BatchRecord]:
        """The committed batches up to `last`, with only their digests and numbers of objects."""
        rows = self.stores["batches"].read(1, last, ["batch_id", "status", "objects", "digests"])
        ordered = sorted(rows, key=itemgetter("batch_id"))
        blank = dict.fromkeys(self.stores["batches"].schema.names)
        return [batch_record(blank | row) for row in ordered if row["status"] == COMMITTED]

    def store(self, table: str) -> Store:
        """A table of the version (a small one or one of Spark's), for reading its log and rows."""
        if table not in self._others:
            self._others[table] = self.stores.get(table) or Store(self.folder / table, pa.schema([]))
        return self._others[table]

    def accounts(self, first: int, last: int) -> list[Accounted]:
        """Accounts of the recorded batches first..last, in order; abandoned ones are left out."""
        rows = self.stores["batches"].read(first, last, ["batch_id", "run_id", "status", "counts", "further_reasons"])
        ordered = sorted((row for row in rows if row["status"] != ABANDONED), key=itemgetter("batch_id"))
        return [Accounted(row["batch_id"], row["run_id"], accounts_of(row)) for row in ordered]

    def first_since(self, as_of: int) -> int:
        """The first committed batch whose run is at or after `as_of`; if there is none, the number after the last
        batch. A binary search, since as_of never decreases."""
        low, high = 1, self.last().committed_through + 1
        while low < high:
            middle = (low + high) // 2
            found = self.before(middle + 1)
            low, high = (low, middle) if found and found.as_of >= as_of else (middle + 1, high)
        return low

    def run(self, run_id: str) -> RunRange | None:
        """The batches of a run; None if it was never planned, or was abandoned. Of files without the run, only the
        column `run_id` is read."""
        columns = ["batch_id", "status", "run_first", "run_last"]
        rows = self.stores["batches"].lookup("run_id", pa.array([run_id]), columns)
        ends = [row for row in rows if row["status"] != ABANDONED and row["batch_id"] == row["run_last"]]
        return RunRange(run_id, ends[-1]["run_first"], ends[-1]["run_last"]) if ends else None

    def table(self, name: str, through: int | None = None) -> Dataset:
        """A small table up to the last committed batch, or up to batch `through`, as a dataset."""
        bound = self.last().committed_through if through is None else through
        return self.stores[name].dataset().filter(pc.field("batch_id") <= bound)

    def _planned(self, batch_id: int, token: str) -> list[Row]:
        return [row for row in self.stores["plans"].read(batch_id, batch_id) if row["plan"] == token]

    def _record(self, name: str, batch_id: int, rows: list[Row]) -> TableDigest:
        if rows:
            self.stores[name].append(rows, "record", batch_id)
        return digest_rows(name, rows)
