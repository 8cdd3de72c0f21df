"""A clone is a table of its own over the same files: whatever Delta reads of the first it reads of the second."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from tidemark.commands.maintain import retain_versions
from tidemark.ledger import versions
from tidemark.ledger.tables.clone import clone
from tidemark.ledger.tables.schemas import VERSIONS
from tidemark.ledger.tables.store import Store

COLUMNS = {"day": pa.string(), "n": pa.int64(), "text": pa.string()}


def table_of(folder: Path, commits: int) -> DeltaTable:
    """A partitioned table of so many commits, with names that have to be quoted, some of them deleted again."""
    for number in range(commits):
        rows = [{"day": day, "n": number, "text": f"row {number}"} for day in ("a b%", None)]
        known = CommitProperties(app_transactions=[Transaction("tidemark", number)])
        properties = {"delta.checkpointInterval": "4", "delta.dataSkippingStatsColumns": "n"}
        data = pa.Table.from_pylist(rows, schema=pa.schema(COLUMNS))
        write_deltalake(
            folder, data, mode="append", partition_by=["day"], commit_properties=known, configuration=properties
        )
    table = DeltaTable(folder)
    table.delete("n = 0")
    return table


def rows(table: DeltaTable) -> list[dict[str, object]]:
    return sorted(table.to_pyarrow_table().to_pylist(), key=str)


@pytest.mark.parametrize("commits", [2, 11], ids=["commits alone", "a checkpoint and commits"])
def test_a_clone_has_rows_properties_statistics_and_the_last_batch_of_each_writer(tmp_path, commits):
    table = table_of(tmp_path / "one", commits)
    if commits > 4:
        table.create_checkpoint()
        table.delete("n = 1")
    clone(tmp_path / "one", tmp_path / "two")
    copy = DeltaTable(tmp_path / "two")
    assert copy.version() == 0
    assert rows(copy) == rows(table)
    assert copy.schema() == table.schema()
    assert copy.protocol() == table.protocol()
    assert copy.metadata().configuration == table.metadata().configuration
    assert copy.metadata().partition_columns == ["day"]
    assert copy.transaction_version("tidemark") == commits - 1
    told = [pa.table(each.get_add_actions(flatten=True)).select(["min.n", "max.n"]) for each in (copy, table)]
    assert sorted(told[0].to_pylist(), key=str) == sorted(told[1].to_pylist(), key=str)


def test_files_are_shared_and_outlive_what_happens_to_either_table(tmp_path):
    table = table_of(tmp_path / "one", 3)
    clone(tmp_path / "one", tmp_path / "two")
    kept = rows(table)
    shared = list((tmp_path / "two").rglob("*.parquet"))
    assert shared
    assert all(path.stat().st_nlink == 2 for path in shared)
    DeltaTable(tmp_path / "two").delete("n = 1")
    assert rows(DeltaTable(tmp_path / "one")) == kept
    table.delete()
    table.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)
    left = [row for row in kept if row["n"] != 1]
    assert rows(DeltaTable(tmp_path / "two")) == left


def test_versions_recorded_before_backfills_were_are_read_and_gain_the_columns(tmp_path):
    old = pa.schema([field for field in VERSIONS if field.name in ("version", "created", "promoted", "live")])
    Store(tmp_path / "versions", old).append([{"version": 1, "created": 5, "promoted": 6, "live": True}])
    assert versions.listed(tmp_path) == (versions.Version(1, 5, 6, live=True),)
    made = versions.Made(7, None, "f", "{}", 1, 3, 2, 10, "{}")
    assert versions.add(tmp_path, 8, made) == 2
    assert versions.found(tmp_path, 2) == versions.Version(2, 8, None, live=False, made=made)
    assert versions.found(tmp_path, 1) == versions.Version(1, 5, 6, live=True)


def test_retention_keeps_the_live_version_and_the_newest_others(tmp_path):
    versions.first(tmp_path, 1)
    for number in (2, 3, 4):
        versions.add(tmp_path, number, versions.Made(7, None, "f", "{}", 1, 3, None, 0, "{}"))
        (tmp_path / f"v{number}").mkdir()
    versions.promote(tmp_path, 2, 9)
    assert retain_versions(tmp_path, None) == []
    versions.add(tmp_path, 10, versions.Made(7, None, "f", "{}", 1, 3, None, 0, "{}"))
    assert retain_versions(tmp_path, 3) == [3, 4]
    assert [each.version for each in versions.listed(tmp_path)] == [1, 2, 5], "1 was live until 2 was promoted"
    assert retain_versions(tmp_path, 2) == [1]
    assert not (tmp_path / "v3").exists()
    assert (tmp_path / "v2").is_dir()
    assert retain_versions(tmp_path, 2) == []
    versions.add(tmp_path, 3, versions.Made(7, None, "f", "{}", 1, 3, None, 0, "{}"))
    assert retain_versions(tmp_path, 2) == [5], "version 6 is newer, though the clock has gone back"
