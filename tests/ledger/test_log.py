"""A table that is open sees what others have committed since, and lists no log to find that nothing was."""

from __future__ import annotations

import pytest
from deltalake import DeltaTable

from ledger_samples import landed
from tidemark.ledger.tables.rows import object_row
from tidemark.ledger.tables.schemas import OBJECTS
from tidemark.ledger.tables.store import Store


@pytest.fixture
def table(tmp_path):
    return tmp_path / "objects"


@pytest.fixture
def updates(monkeypatch):
    """How often an open table was brought up to date by listing its log."""
    seen = []
    update = DeltaTable.update_incremental
    monkeypatch.setattr(DeltaTable, "update_incremental", lambda table: (seen.append(table.version()), update(table)))
    return seen


def store(table) -> Store:
    return Store(table, OBJECTS)


def append(store: Store, *batches: int) -> None:
    for batch_id in batches:
        store.append([object_row(batch_id, landed(f"{batch_id}.json"))])


def test_a_table_that_nobody_has_written_to_is_not_listed(table, updates):
    mine = store(table)
    append(mine, 1, 2)
    updates.clear()
    append(mine, 3)
    assert [mine.newest() for _ in range(3)] == [3, 3, 3]
    other = store(table)
    assert [len(other.read(1, 3)) for _ in range(3)] == [3, 3, 3]
    assert updates == []


def test_what_others_commit_is_seen_at_once(table, updates):
    mine, other = store(table), store(table)
    append(mine, 1)
    for batch_id in range(2, 80):
        append(other, batch_id)
        assert mine.newest() == batch_id
    assert len(updates) >= 78


def test_commits_of_others_are_seen_when_the_log_has_forgotten_them(table):
    mine, other = store(table), store(table)
    append(mine, 1)
    assert mine.newest() == 1
    append(other, 2, 3, 4)
    written = other.open()
    written.create_checkpoint()
    for version in range(written.version()):
        (table / "_delta_log" / f"{version:020}.json").unlink()
    assert mine.newest() == 4
    assert [row["batch_id"] for row in mine.read(1, 4)] == [1, 2, 3, 4]
