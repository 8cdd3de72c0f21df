"""What a commit relies on is on the disk before it: files, those that they name, and their folders."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest
from deltalake import DeltaTable

from ledger_samples import NOON, commit_run, finding, landed, plan_run, taken
from power import key_of, watched
from tidemark.core.watermarks import PartitionState
from tidemark.ledger import maintenance, versions
from tidemark.ledger.exclusions import Exclusion, exclude
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.tables.store import Store
from tidemark.storage import write_once

SMALL = ("watermarks", "diagnostics", "objects")


@pytest.fixture
def ledger(tmp_path) -> Ledger:
    return Ledger(tmp_path)


@pytest.fixture
def disk(monkeypatch):
    return watched(monkeypatch)


def run(ledger: Ledger) -> None:
    number = ledger.last().next_batch_id
    record = plan_run(ledger, [[landed(f"{number}.json", modified=NOON + number)]], plan_id=f"t{number}")[0]
    ledger.record_states(number, {("readings", "0"): PartitionState(next_offset=number)})
    ledger.record_findings(number, [finding()])
    ledger.commit(record, taken(ledger, record))


def files_of(table: Path) -> Iterator[Path]:
    """The entries of a table's log, and the files that they have added and that are still there."""
    for entry in sorted((table / "_delta_log").glob("*.json")):
        yield entry
        for line in entry.read_text().splitlines():
            if "add" in (action := json.loads(line)):
                path = table / unquote(action["add"]["path"])
                yield from [path] if path.exists() else []


def unsynced(disk, table: Path) -> list[Path]:
    """Files of a table that would not be there, or not whole, after a power loss."""
    found = []
    for path in files_of(table):
        named = disk.names.get(key_of(path.parent.stat()), {})
        if key_of(path.stat()) not in disk.contents or path.name not in named:
            found.append(path)
    return found


def test_all_that_a_batch_wrote_is_on_the_disk_before_its_row_says_so(ledger, disk, monkeypatch):
    steps, turn, append = [], Store.turn, Store.append_next

    def turned(store: Store, first, last, rows, writer, begins) -> None:
        steps.append(writer)
        assert [path for table in SMALL for path in unsynced(disk, ledger.folder / table)] == []
        turn(store, first, last, rows, writer, begins)

    def planned(store: Store, rows, writer, first, last) -> None:
        steps.append(writer)
        assert list(files_of(ledger.folder / "plans"))
        assert unsynced(disk, ledger.folder / "plans") == []
        append(store, rows, writer, first, last)

    monkeypatch.setattr(Store, "turn", turned)
    monkeypatch.setattr(Store, "append_next", planned)
    for _ in range(2):
        run(ledger)
        assert unsynced(disk, ledger.folder / "batches") == []
    assert steps == ["plan", "commit"] * 2


def test_a_new_table_is_named_by_every_folder_above_it(ledger, disk, tmp_path):
    run(ledger)
    for name in ("objects", "batches", "plans"):
        table = ledger.folder / name
        assert table.name in disk.names[key_of(ledger.folder.stat())]
        assert (table / "_delta_log").name in disk.names[key_of(table.stat())]
    assert ledger.folder.name in disk.names[key_of(tmp_path.stat())]
    assert tmp_path.name in disk.names[key_of(tmp_path.parent.stat())]


def test_what_another_process_wrote_of_the_batch_is_synced_too(ledger, disk, tmp_path):
    """A run that died before it committed had synced nothing."""
    (record,) = plan_run(ledger, [[landed("1.json")]])
    ledger.record_states(1, {("readings", "0"): PartitionState(next_offset=1)})
    again = Ledger(tmp_path)
    assert unsynced(disk, ledger.folder / "watermarks")
    again.commit(record, taken(again, record))
    assert unsynced(disk, ledger.folder / "watermarks") == []


def test_work_goes_with_the_batch_and_not_with_what_lies_behind_it(ledger, monkeypatch):
    counts, sync = [], os.fsync
    run(ledger)
    for _ in range(6):
        done: list[int] = []
        monkeypatch.setattr(os, "fsync", lambda opened, done=done: (done.append(opened), sync(opened)))
        run(ledger)
        counts.append(len(done))
    assert counts[1:] == counts[1:2] * 5


def test_a_disk_that_cannot_write_stops_the_commit(ledger, monkeypatch):
    (record,) = plan_run(ledger, [[landed("1.json")]])

    def broken(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", broken)
        with pytest.raises(OSError, match="Input/output error"):
            ledger.commit(record, taken(ledger, record))
    assert ledger.last().committed_through == 0
    ledger.commit(record, taken(ledger, record))
    assert ledger.last().committed_through == 1


def test_a_folder_that_cannot_be_synced_is_passed_over(ledger, monkeypatch):
    sync = os.fsync

    def no_folders(opened: int) -> None:
        if stat.S_ISDIR(os.fstat(opened).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        sync(opened)

    monkeypatch.setattr(os, "fsync", no_folders)
    commit_run(ledger, [[landed("1.json")]])
    assert ledger.last().committed_through == 1


def test_versions_and_exclusions_and_the_key_are_on_the_disk_when_they_are_written(disk, tmp_path):
    versions.first(tmp_path, NOON)
    versions.add(tmp_path, NOON)
    exclude(tmp_path, [Exclusion("readings", "1.json", "wrong", NOON)])
    write_once(tmp_path / "key", b"a key")
    assert unsynced(disk, tmp_path / "versions") == unsynced(disk, tmp_path / "exclusions") == []
    for name in ("versions.json", "key"):
        assert disk.contents[key_of((tmp_path / name).stat())] == (tmp_path / name).read_bytes()
        assert name in disk.names[key_of(tmp_path.stat())]


def test_files_that_upkeep_puts_in_the_place_of_others_are_on_the_disk(ledger, disk, monkeypatch):
    from tidemark.runner.maintenance import Maintenance

    monkeypatch.setattr(maintenance, "MANY_FILES", 2)
    monkeypatch.setattr(Maintenance, "written_by_spark", lambda _: [])
    monkeypatch.setattr(Maintenance, "_with_edges", lambda _: [])
    for _ in range(3):
        run(ledger)
    before = DeltaTable(ledger.folder / "objects").version()
    last = ledger.last().committed_through
    assert Maintenance(None, ledger, None).after(ledger.batches(last, last)) is not None
    assert DeltaTable(ledger.folder / "objects").version() > before
    assert [path for name in (*SMALL, "batches", "plans") for path in unsynced(disk, ledger.folder / name)] == []
