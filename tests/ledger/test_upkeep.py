"""Merging small files and forgetting old rows."""

from __future__ import annotations

import hashlib

import pytest
from deltalake.table import TableOptimizer

from ledger_samples import NOON, finding, landed, plan_run, taken
from tidemark.core.watermarks import PartitionState
from tidemark.landing.discover import known_objects
from tidemark.ledger import maintenance
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.tables.rows import object_row


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """Merging begins with fewer files."""
    monkeypatch.setattr(maintenance, "MANY_FILES", 6)


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path)


def _run(ledger, count):
    for _ in range(count):
        number = ledger.last().next_batch_id
        record = plan_run(ledger, [[landed(f"{number}.json", modified=NOON + number)]], plan_id=f"t{number}")[0]
        ledger.record_states(number, {("readings", "0"): PartitionState(next_offset=number)})
        ledger.record_findings(number, [finding()])
        ledger.commit(record, taken(ledger, record))


def _content(ledger):
    last = ledger.last().next_batch_id
    rows = {name: store.read(0, last) for name, store in ledger.stores.items() if name != "plans"}
    return {name: sorted(map(repr, found)) for name, found in rows.items()}


def test_few_files_are_left_alone(ledger):
    _run(ledger, 3)
    assert maintenance.compact(ledger) is None


def test_many_small_files_are_merged_without_changing_any_content(ledger):
    _run(ledger, maintenance.MANY_FILES + 2)
    before = _content(ledger)
    assert maintenance.compact(ledger) > 0
    assert _content(ledger) == before
    assert {name: len(store.files()) for name, store in ledger.stores.items()} == {
        "batches": 1,
        "objects": 1,
        "watermarks": 1,
        "diagnostics": 1,
        "plans": 1,
        "quality": 0,
        "advice": 0,
    }
    assert _content(Ledger(ledger.root)) == before
    _run(ledger, 1)
    assert ledger.last().committed_through == maintenance.MANY_FILES + 3


def test_merging_says_that_no_data_changed(ledger):
    _run(ledger, maintenance.MANY_FILES + 2)
    maintenance.compact(ledger)
    log = sorted((ledger.folder / "watermarks" / "_delta_log").glob("*.json"))
    merged = [path.read_text() for path in log if '"operation":"OPTIMIZE"' in path.read_text()]
    assert merged
    assert all('"dataChange":true' not in text for text in merged)


def test_merging_keeps_a_pending_plan_and_what_was_recorded_once(ledger):
    _run(ledger, maintenance.MANY_FILES + 2)
    record = plan_run(ledger, [[landed("pending.json")]], plan_id="pending")[0]
    ledger.record_states(record.batch_id, {("readings", "0"): PartitionState()})
    maintenance.compact(ledger)
    again = Ledger(ledger.root)
    assert [item.uri for item in again.objects_of(again.last().pending[0])] == ["pending.json"]
    again.record_states(record.batch_id, {("readings", "0"): PartitionState()})
    assert len(again.stores["watermarks"].read(record.batch_id, record.batch_id)) == 1


def test_a_file_that_was_written_anew_without_some_batches_is_read_batch_by_batch(ledger):
    _run(ledger, maintenance.MANY_FILES + 2)
    maintenance.compact(ledger)
    before = {name: [row for row in store.all() if row["batch_id"] > 2] for name, store in ledger.stores.items()}
    for store in ledger.stores.values():
        store.delete("batch_id <= 2")
    again = Ledger(ledger.root)
    last = again.last().next_batch_id
    for name, store in again.stores.items():
        found = [row for batch in range(last) for row in store.read(batch, batch)]
        assert sorted(map(repr, found)) == sorted(map(repr, before[name])), name
    assert known_objects(again, "readings", ["3.json", "1.json"]).keys() == {"3.json"}
    assert again.states(5) == ledger.states(5)


def test_a_full_file_is_not_written_again(ledger, monkeypatch):
    monkeypatch.setattr("tidemark.ledger.tables.file_sizes.FULL_BYTES", 9000)
    monkeypatch.setattr("tidemark.ledger.tables.file_sizes.MIDDLE_BYTES", 9000)
    _run(ledger, maintenance.MANY_FILES + 2)
    maintenance.compact(ledger)
    full = {file.path for file in ledger.stores["batches"].files() if file.size >= 9000}
    assert full
    _run(ledger, maintenance.MANY_FILES + 2)
    maintenance.compact(ledger)
    assert full <= {file.path for file in ledger.stores["batches"].files()}


def test_merged_files_wait_until_many_have_gathered_and_are_merged_once_more(ledger, monkeypatch):
    monkeypatch.setattr("tidemark.ledger.tables.file_sizes.MIDDLE_BYTES", 16_000)
    monkeypatch.setattr("tidemark.ledger.tables.file_sizes.FULL_BYTES", 64_000)
    objects = ledger.stores["objects"]

    def land(batch_id, number):
        objects.append([object_row(batch_id, landed(hashlib.sha256(b"%d" % each).hexdigest())) for each in number])

    for batch_id in range(maintenance.MANY_FILES):
        land(batch_id, range(1000 * batch_id, 1000 * batch_id + 100))
    middle = {file.path for file in objects.files()}
    assert all(4_000 <= file.size < 16_000 for file in objects.files())
    assert not objects.compact(maintenance.MANY_FILES)
    land(50, range(50_000, 50_001))
    assert not objects.compact(maintenance.MANY_FILES)
    assert middle < {file.path for file in objects.files()}
    land(51, range(51_000, 51_100))
    before = sorted(map(repr, objects.all()))
    assert objects.compact(maintenance.MANY_FILES)
    assert len(objects.files()) <= 2
    assert sorted(map(repr, objects.all())) == before
    assert not objects.compact(maintenance.MANY_FILES)


def test_a_merge_that_meets_another_writer_gives_way(ledger, monkeypatch):
    _run(ledger, maintenance.MANY_FILES + 2)
    before = _content(ledger)
    rival, merge = Ledger(ledger.root).stores["watermarks"], TableOptimizer.compact

    def overtaken(table, **given):
        rival.delete("batch_id = 1")
        return merge(table, **given)

    monkeypatch.setattr(TableOptimizer, "compact", overtaken)
    assert not ledger.stores["watermarks"].compact(maintenance.MANY_FILES)
    after = _content(ledger)
    assert len(after["watermarks"]) == len(before["watermarks"]) - 1


def test_retention_forgets_whole_old_files_and_keeps_what_the_next_run_and_replays_read(ledger):
    _run(ledger, 6)
    maintenance.retain(ledger, 4, NOON + 3)
    assert [record.batch_id for record in ledger.batches(0, 99)] == [3, 4, 5, 6]
    assert ledger.findings(3) == ()
    assert ledger.findings(4) != ()
    assert ledger.states(7)[("readings", "0")].next_offset == 6
    assert set(known_objects(ledger, "readings", ["2.json", "3.json", "4.json"])) == {"3.json", "4.json"}
    assert ledger.last().last_run.run_id == "r"


def test_retention_without_an_object_age_remembers_every_object(ledger):
    _run(ledger, 4)
    maintenance.retain(ledger, 3, None)
    assert len(known_objects(ledger, "readings", ["1.json", "2.json", "3.json", "4.json"])) == 4


def test_retention_never_forgets_the_last_committed_run(ledger):
    _run(ledger, 3)
    plan_run(ledger, [[landed("next.json")]], plan_id="next")
    maintenance.retain(ledger, 10**6, NOON + 10**6)
    tail = ledger.last()
    assert tail.last_run.first == 3
    assert tail.pending[0].batch_id == 4
    assert ledger.states(4)[("readings", "0")].next_offset == 3


def test_states_after_retention_start_at_a_checkpoint(ledger):
    ledger.record_states(999, {("readings", "0"): PartitionState(next_offset=1)})
    ledger.record_states(1000, {("readings", "0"): PartitionState(next_offset=2)})
    ledger.record_states(1001, {("readings", "1"): PartitionState(next_offset=3)})
    store = ledger.stores["watermarks"]
    maintenance._drop(store, maintenance.full_states_before(1002))
    assert {key[1]: state.next_offset for key, state in ledger.states(1002).items()} == {"0": 2, "1": 3}
    assert [file.first for file in store.files()] == [1000, 1001]
