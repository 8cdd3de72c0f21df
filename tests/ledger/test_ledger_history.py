"""Nothing that a run reads or writes grows with what lies behind."""

from __future__ import annotations

import pytest

from ledger_samples import fabricate, landed, plan_run, taken
from tidemark.core.watermarks import PartitionState
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.tables import answers, file_rows, files, store
from tidemark.ledger.tail import RunRange

BATCHES = 100_000


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    ledger = Ledger(tmp_path_factory.mktemp("old"))
    fabricate(ledger, BATCHES)
    return ledger.root


@pytest.fixture
def touched(monkeypatch):
    """The files that reading opens, and how many rows it takes from them."""
    seen = {"files": set(), "rows": 0}

    def counting(read):
        def counted(file, *given):
            found = read(file, *given)
            seen["files"].add(file.path)
            seen["rows"] += 0 if found is None else found.num_rows
            return found

        return counted

    for room, name in ((file_rows, "read_batches"), (store, "read_hits"), (store, "read_all")):
        monkeypatch.setattr(room, name, counting(getattr(files, name)))
    return seen


def test_the_tail_of_100_000_batches_is_read_from_one_file_and_a_few_rows(old, touched):
    ledger = Ledger(old)
    assert len(ledger.stores["batches"].files()) > 10
    tail = ledger.last()
    assert tail.next_batch_id == BATCHES + 1
    assert tail.committed_through == BATCHES
    assert tail.last_run == RunRange(f"r{BATCHES}", BATCHES, BATCHES)
    assert len(touched["files"]) == 1
    assert touched["rows"] <= 3


def test_states_after_100_000_batches_are_read_from_the_last_checkpoint_on(old, touched):
    states = Ledger(old).states(BATCHES + 1)
    assert states[("readings", "0")].next_offset == BATCHES
    assert len(touched["files"]) == 1
    assert touched["rows"] == 1
    assert Ledger(old).states(50_500)[("readings", "0")].next_offset == 50_499
    assert touched["rows"] <= 1 + 500


def test_the_objects_of_one_batch_are_read_from_one_file(old, touched):
    ledger = Ledger(old)
    assert [item.uri for item in ledger.objects_of(ledger.batches(70_000, 70_000)[0])] == ["past/0070000.json"]
    assert len(touched["files"]) == 2
    assert touched["rows"] == 2


def test_a_batch_on_top_of_100_000_replaces_no_old_file(old):
    ledger = Ledger(old)
    behind = {name: {file.path for file in each.files()} for name, each in ledger.stores.items()}
    record = plan_run(ledger, [[landed("now.json")]])[0]
    ledger.record_states(record.batch_id, {("readings", "0"): PartitionState()})
    ledger.commit(record, taken(ledger, record))
    for name, each in ledger.stores.items():
        now = {file.path for file in each.files()}
        assert behind[name] <= now
        assert len(now - behind[name]) <= 1


def test_what_a_table_has_told_is_not_read_again_and_later_only_what_was_written_since(tmp_path, touched):
    ledger = Ledger(tmp_path)
    for batch_id in (1, 2):
        ledger.record_states(batch_id, {("readings", "0"): PartitionState(next_offset=batch_id)})
    watermarks = ledger.stores["watermarks"]
    told = watermarks.read(1, 3)
    assert (len(told), touched["rows"]) == (2, 2)
    told[0].clear()
    assert [row["next_offset"] for row in watermarks.read(1, 3)] == [1, 2]
    assert (len(watermarks.read(1, 3, ["next_offset"])), touched["rows"]) == (2, 4)
    ledger.record_states(3, {("readings", "0"): PartitionState(next_offset=3)})
    assert [row["next_offset"] for row in watermarks.read(1, 3)] == [1, 2, 3]
    assert touched["rows"] == 5


def test_of_what_was_told_longest_ago_nothing_is_kept(tmp_path, touched, monkeypatch):
    monkeypatch.setattr(file_rows, "MOST_KEPT", 2)
    ledger = Ledger(tmp_path)
    for batch_id in (1, 2, 3):
        ledger.record_states(batch_id, {("readings", "0"): PartitionState(next_offset=batch_id)})
    watermarks = ledger.stores["watermarks"]
    for batch_id in range(1, answers.MOST_KEPT + 2):
        watermarks.read(batch_id, batch_id)
    assert len(watermarks._known.answers) == answers.MOST_KEPT
    read = touched["rows"]
    assert (len(watermarks.read(1, 1)), touched["rows"]) == (1, read + 1)


def test_states_that_were_told_before_a_run_are_not_read_again_after_it(old, touched):
    ledger = Ledger(old)
    next_batch = ledger.last().next_batch_id
    ledger.states(next_batch)
    read = touched["rows"]
    ledger.record_states(next_batch, {("readings", "0"): PartitionState()})
    assert ledger.states(next_batch + 1)
    assert touched["rows"] == read + 1


def test_what_is_large_is_not_kept(tmp_path, touched, monkeypatch):
    monkeypatch.setattr(file_rows, "MOST_BYTES_KEPT", 10)
    monkeypatch.setattr(answers, "MOST_ROWS_KEPT", 0)
    ledger = Ledger(tmp_path)
    ledger.record_states(1, {("readings", "0"): PartitionState()})
    assert [len(ledger.stores["watermarks"].read(1, 1)) for _ in range(2)] == [1, 1]
    assert touched["rows"] == 2
