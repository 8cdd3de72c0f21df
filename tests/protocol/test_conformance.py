"""Warehouses that conform, and histories that no trace of the model leaves: each is refused, by table and batch."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import conformance
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

import oracle
from ledger_samples import landed, planned
from product import Product
from strategies import BASE
from tidemark.core.batch import ObjectState
from tidemark.core.batch_result import BatchRecord, TableDigest
from tidemark.core.quality import Check, Severity
from tidemark.core.streams import StreamEnd, StreamState
from tidemark.core.watermarks import Combined, PartitionState
from tidemark.ledger import versions
from tidemark.ledger.abandoned import set_aside
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.lost_commits import WRITERS
from tidemark.ledger.tables.clone import clone
from tidemark.ledger.tables.commits import commit_properties
from tidemark.ledger.tables.rows import batch_row
from tidemark.runner.planner import judged_under
from tidemark.storage.folders import tables_below

EVENTS, STREAM = "events/readings", "streams/sums"
STREAMS = {"sums": {"from": "readings", "tumbling": {"size": "10s"}, "select": {"n": "count(*)"}}}
RUN = "plan judge record check publish commit"


@dataclass
class ByHand:
    """A warehouse whose steps are done one by one, in any order, with the ledger's own code."""

    folder: Path

    def __post_init__(self) -> None:
        product = Product(self.folder, {"readings": oracle.Source()}, {"streams": STREAMS})
        self.root = self.folder / "warehouse" / "tested"
        self.under = judged_under(product.pipeline().context.spec, self.root)
        versions.first(self.root, BASE)
        self.ledger = Ledger(self.root, 1)
        self.records: dict[int, BatchRecord] = {}

    def run(self, number: int, steps: str = RUN) -> None:
        """Do steps of a run of one batch, in this order."""
        for step in steps.split():
            getattr(self, step)(number)

    def plan(self, number: int, *objects: str) -> None:
        batch = [landed(name) for name in objects or (f"{number}.json",)]
        plan, (record,) = planned([batch], number, f"run {number}", f"token {number}")
        self.records[number] = replace(record, as_of=BASE + number, **self.under)
        self.ledger.stores["batches"].close()
        self.ledger.plan(plan, [self.records[number]])

    def judge(self, number: int) -> None:
        self.append(EVENTS, number)

    def append(self, table: str, number: int, once: bool = True) -> None:
        """Append two rows of a batch as Spark does; if not `once`, without the batch's number in the log."""
        times = pa.array([BASE + number, BASE + number], pa.timestamp("us", tz="UTC"))
        rows = pa.table({"_batch_id": pa.array([number] * 2, pa.int64()), "_system_timestamp": times})
        done = commit_properties("tidemark" if once else None, number)
        write_deltalake(self.ledger.folder / table, rows, mode="append", commit_properties=done)

    def record(self, number: int) -> None:
        self.ledger.record_states(number, {("readings", "0"): PartitionState(high=number)})

    def check(self, number: int) -> None:
        self.verdict(number, success=True)

    def fail(self, number: int) -> None:
        self.verdict(number, success=False)

    def verdict(self, number: int, success: bool) -> None:
        check = Check("batches", "rows", 1.0, 2.0, success, Severity.BLOCK, (), "too few")
        self.ledger.record_checks(self.records[number], [check])

    def block(self, number: int) -> None:
        self.ledger.block(self.records[number])

    def release(self, number: int) -> None:
        self.ledger.release(self.records[number], "it is right")

    def publish(self, number: int) -> None:
        self.append(STREAM, number)

    def commit(self, number: int) -> None:
        record, taken = self.records[number], self.ledger.objects_of(self.records[number])
        digests = tuple(TableDigest(table, rows, "") for table, rows in ((EVENTS, 2), (STREAM, 2), ("watermarks", 1)))
        ends = {"sums": StreamEnd(StreamState(watermark=BASE), 2)}
        done = replace(record, digests=digests, combined={"readings": Combined(BASE)}, streams=ends)
        self.ledger.commit(done, [replace(item, state=ObjectState.READ, rows=2) for item in taken])

    def aside(self, number: int) -> None:
        set_aside(self.ledger, self.ledger.recorded(number, number), "abandoning", "it is stuck")

    def withdraw(self, number: int) -> None:
        for name in WRITERS:
            self.ledger.stores[name].withdraw(number, number, "abandoned", WRITERS[name])
        table, done = DeltaTable(self.ledger.folder / EVENTS), commit_properties("abandoned", number)
        none = table.to_pyarrow_table().slice(0, 0)
        where = f"_batch_id = {number}"
        write_deltalake(table, none, mode="overwrite", predicate=where, commit_properties=done)

    def abandoned(self, number: int) -> None:
        set_aside(self.ledger, self.ledger.recorded(number, number), "abandoned", "it is stuck")

    def second(self) -> None:
        """List a version that is a clone of the live one."""
        number, _ = reserved = versions.reserve(self.root)
        for name in tables_below(self.ledger.folder):
            clone(self.ledger.folder / name, self.root / f"v{number}" / name)
        made = versions.Made(BASE, None, "", "{}", 1, self.ledger.last().committed_through, None, 0, "{}")
        versions.add(self.root, BASE, made, reserved)

    def rewrite(self, table: str, change: Callable[[pa.Table], pa.Table]) -> None:
        """Replace the files of a table, in a commit that says that it changes no data."""
        folder = self.ledger.folder / table
        opened = DeltaTable(folder)
        pq.write_table(change(opened.to_pyarrow_table()), folder / "compacted.parquet")
        log = sorted((folder / "_delta_log").glob("*.json"))
        actions = [{"commitInfo": {"operation": "OPTIMIZE", "timestamp": int(2e12)}}]
        actions += [{"remove": {"path": Path(path).name, "dataChange": False}} for path in opened.file_uris()]
        added = {"path": "compacted.parquet", "partitionValues": {}, "size": 1, "modificationTime": 0}
        actions.append({"add": {**added, "dataChange": False}})
        text = "".join(json.dumps(action) + "\n" for action in actions)
        (folder / "_delta_log" / f"{len(log):020d}.json").write_text(text)


@pytest.fixture
def hand(tmp_path: Path) -> ByHand:
    """A warehouse with two committed runs."""
    made = ByHand(tmp_path / "p")
    made.run(1)
    made.run(2)
    return made


def reversed_rows(rows: pa.Table) -> pa.Table:
    return rows.take(list(reversed(range(len(rows)))))


Story = str | Callable[[ByHand], object]
"""Steps of run 3, or what else happens to the warehouse."""
SOUND: dict[str, Story] = {
    "runs one after the other": RUN,
    "a crash before the commit": "plan judge record check publish",
    "a blocked run": "plan judge record fail block",
    "a released run": "plan judge record fail block release publish commit",
    "an abandoned run, whose object is taken again": lambda hand: (
        hand.run(3, "plan judge record aside withdraw abandoned"),
        hand.plan(4, "3.json"),
        hand.run(4, "judge record check publish commit"),
    ),
    "an abandonment that crashed": "plan judge record aside withdraw",
    "a listed version": lambda hand: (hand.second(), hand.run(3)),
    "a build that died a dozen times": lambda hand: ([versions.reserve(hand.root) for _ in range(12)], hand.second()),
    "builds that died, and a run after them": lambda hand: (
        [versions.reserve(hand.root) for _ in range(3)],
        hand.run(3),
    ),
    "a promoted version": lambda hand: (hand.second(), versions.promote(hand.root, 2, BASE)),
    "an entry that is there twice": lambda hand: entry_again(hand, EVENTS),
    "a compaction": lambda hand: (hand.rewrite(EVENTS, reversed_rows), hand.rewrite(STREAM, reversed_rows)),
}
FORGED: dict[str, tuple[Story, str, int]] = {
    "a run that is committed before its streams are appended": (
        "plan judge record check commit publish",
        "objects",
        3,
    ),
    "a run that is committed before its states are recorded": (
        "plan judge check publish commit record",
        "quality",
        3,
    ),
    "a run that is committed without events": ("plan record check publish commit", "watermarks", 3),
    "events that are appended after the commit": ("plan record check publish commit judge", "watermarks", 3),
    "a blocked run that is published without a release": ("plan judge record fail block publish", STREAM, 3),
    "a blocked run that is committed without a release": ("plan judge record fail block commit", "objects", 3),
    "a run that is published before a check blocks it": ("plan judge record publish fail block", STREAM, 3),
    "rows of an abandoned run that are left": ("plan judge record aside abandoned", "batches", 3),
    "rows that are withdrawn before their run is set aside": (
        "plan judge record withdraw aside abandoned",
        "batches",
        3,
    ),
    "rows of an abandoned run that come back": (
        lambda hand: (hand.run(3, "plan judge record aside withdraw abandoned"), hand.append(EVENTS, 3, once=False)),
        EVENTS,
        3,
    ),
    "a batch that is appended twice": (lambda hand: hand.append(EVENTS, 2, once=False), EVENTS, 2),
    "a window that is published twice": (lambda hand: hand.append(STREAM, 1, once=False), STREAM, 1),
    "a number that is skipped": (lambda hand: forge_plan(hand, 4), "batches", 4),
    "a number that is planned twice": (lambda hand: forge_plan(hand, 2), "batches", 2),
    "a number of an abandoned run that is used again": (
        lambda hand: (hand.run(3, "plan aside withdraw abandoned"), forge_plan(hand, 3)),
        "batches",
        3,
    ),
    "a run that is committed before the one ahead": (
        lambda hand: (hand.plan(3), hand.run(4), hand.run(3, "judge record check publish commit")),
        "batches",
        4,
    ),
    "an object in two committed batches": (
        lambda hand: (hand.plan(3, "2.json"), hand.run(3, "judge record check publish commit")),
        "batches",
        3,
    ),
    "an abandoned run that is committed": (
        lambda hand: (hand.run(3, "plan aside withdraw"), turn(hand, 3, "committed")),
        "batches",
        3,
    ),
    "a committed batch that is planned again": (lambda hand: turn(hand, 2, "planned"), "batches", 2),
    "a version without a committed run that becomes live": (
        lambda hand: (hand.second(), hand.run(3), versions.promote(hand.root, 2, BASE)),
        "versions",
        0,
    ),
    "retention that deletes what an open window needs": (lambda hand: delete(hand, EVENTS), EVENTS, 1),
    "retention that deletes what the last replay begins with": (
        lambda hand: delete(hand, "watermarks"),
        "watermarks",
        1,
    ),
    "published rows that are deleted": (lambda hand: delete(hand, STREAM), STREAM, 1),
    "a compaction that loses a row": (
        lambda hand: hand.rewrite(EVENTS, lambda rows: rows.sort_by("_batch_id").slice(1)),
        EVENTS,
        1,
    ),
    "a compaction that changes a value": (lambda hand: hand.rewrite(STREAM, moved), STREAM, 1),
}


def delete(hand: ByHand, table: str) -> None:
    """Delete the rows of batch 1 as retention does."""
    column = "batch_id" if table == "watermarks" else "_batch_id"
    DeltaTable(hand.ledger.folder / table).delete(f"{column} = 1")


def die(hand: ByHand, times: int) -> None:
    """Builds that have reserved their number, and nothing else."""
    for _ in range(times):
        versions.reserve(hand.root)


def entry_again(hand: ByHand, table: str) -> None:
    """Copy the newest entry of a table's log: it adds a file that is there."""
    log = hand.ledger.folder / table / "_delta_log"
    (log / f"{2:020d}.json").write_bytes((log / f"{1:020d}.json").read_bytes())


def tell(story: Story, hand: ByHand) -> None:
    """Let a story happen."""
    if isinstance(story, str):
        hand.run(3, story)
    else:
        story(hand)


def forge_plan(hand: ByHand, number: int) -> None:
    """Plan a batch whatever the ledger ends with."""
    _, (record,) = planned([[landed("new.json")]], number, "forged", "forged")
    row = batch_row(replace(record, as_of=BASE + number, **hand.under))
    hand.ledger.stores["batches"].append([row], "plan", 99)


def turn(hand: ByHand, number: int, status: str) -> None:
    """Set the status of a batch, whatever it is."""
    (record,) = hand.ledger.recorded(number, number)
    row = batch_row(replace(record, status=status))
    hand.ledger.stores["batches"].replace(f"batch_id = {number}", [row], "forged", number)


def moved(rows: pa.Table) -> pa.Table:
    """The rows, one of them a microsecond later."""
    rows = rows.sort_by("_batch_id")
    times = rows["_system_timestamp"].cast(pa.int64()).to_pylist()
    changed = pa.array([times[0] + 1, *times[1:]], pa.timestamp("us", tz="UTC"))
    return rows.set_column(rows.column_names.index("_system_timestamp"), "_system_timestamp", changed)


@pytest.mark.parametrize("story", SOUND)
def test_what_the_steps_of_the_product_leave_conforms(hand, story):
    tell(SOUND[story], hand)
    assert conformance.check_folder(hand.root)[0] == ""


@pytest.mark.parametrize("story", FORGED)
def test_a_history_that_is_no_trace_is_refused_by_table_and_batch(hand, story):
    forged, table, batch = FORGED[story]
    tell(forged, hand)
    found, _ = conformance.check_folder(hand.root)
    assert f"{table}: batch {batch}: " in found
