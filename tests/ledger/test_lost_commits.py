"""A table that lost its newest commit is noticed by whatever goes on from it, before anything is done."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

import lost
import stored
from damages import DAMAGES, emptied, ending_with_rows, entries, removed, restored
from tidemark.cli import invoke
from tidemark.commands.backfill import build
from tidemark.pipeline import Pipeline
from tidemark.runner import planner
from tidemark.spark.session import session

NEXT = stored.as_of(lost.RUNS + 1)
COMMANDS = (
    ("run", "--as-of", NEXT),
    ("run", "--as-of", NEXT, "--dry-run"),
    ("close", "--as-of", NEXT),
    ("replay",),
    ("backfill", "--from", stored.FROM.isoformat()),
    ("promote", "1"),
)


@pytest.fixture(autouse=True)
def no_jvm(monkeypatch) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise AssertionError("a JVM was started")

    monkeypatch.setattr(session, "open_session", refused)
    for module in (planner, build):  # of a configuration that another engine judged
        monkeypatch.setattr(module, "analyse", lambda *_, **__: None)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    return lost.unpacked(tmp_path_factory.mktemp("lost"))


@pytest.fixture
def folder(whole, tmp_path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "copy"))


@pytest.fixture
def said(capsys) -> Callable[..., tuple[int, dict[str, Any]]]:
    def said_(folder: Path, command: str, *more: str) -> tuple[int, dict[str, Any]]:
        capsys.readouterr()
        code = invoke([command, str(folder / "pipeline.yml"), *more, "--json"])
        return code, json.loads(capsys.readouterr().out)

    return said_


def test_every_table_has_rows_and_nothing_is_lost(whole, said):
    for table in (*lost.SPARK, *lost.SMALL):
        assert DeltaTable(lost.place(whole, table)).to_pyarrow_dataset().count_rows(), table
    assert said(whole, "status")[1]["damaged"] == []
    assert said(whole, "run", "--as-of", NEXT, "--dry-run")[0] == 0


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("table", [*lost.SPARK, *lost.SMALL, "versions"])
def test_a_table_that_lost_its_newest_commit_is_named_before_anything_is_done(folder, said, table, damage):
    damage(ending_with_rows(lost.place(folder, table)))
    for command in COMMANDS:
        code, answer = said(folder, *command)
        assert code == 4, command
        assert f"the table {table} is damaged" in answer["error"]["message"]
        assert "tidemark repair" in answer["error"]["hint"]
        assert answer["error"]["where"] == str(lost.place(folder, table))


@pytest.mark.parametrize("table", [*lost.SPARK, *lost.SMALL, "versions"])
def test_readers_are_told_too(folder, said, table):
    emptied(ending_with_rows(lost.place(folder, table)))
    if table == "versions":
        assert said(folder, "status")[0] == 4
        return
    assert [each["table"] for each in said(folder, "status")[1]["damaged"]] == [table]
    if table.startswith("before_start/"):
        return
    with pytest.raises(Exception, match=f"the table {table} is damaged"):
        Pipeline.load(folder / "pipeline.yml", {}).table(table)
    if table.startswith("events/"):
        assert said(folder, "rows")[0] == 4


def test_where_batches_lost_a_whole_run_it_says_what_to_restore(folder, said):
    """A run's last commits are its plan and its end."""
    restored(lost.place(folder, "batches"))
    code, answer = said(folder, "run", "--as-of", NEXT)
    assert code == 4
    assert "the table batches is damaged: it ends at batch 3" in answer["error"]["message"]
    assert "a copy made after batch 4 was committed" in answer["error"]["hint"]
    assert said(folder, "repair") == (code, answer)


def test_state_of_an_earlier_version_is_compared_by_the_digests_that_it_recorded(tmp_path, said):
    import tarfile

    with tarfile.open(sorted(stored.DATA.glob("*.tar.gz"))[0]) as archive:
        archive.extractall(tmp_path, filter="data")
    assert said(tmp_path, "status")[1]["damaged"] == []
    for table in ("events/readings", "streams/good", "substreams", "watermarks", "objects"):
        copy = Path(shutil.copytree(tmp_path, tmp_path.parent / f"{tmp_path.name}-{table.replace('/', '-')}"))
        while "damaged" not in said(copy, "run", "--dry-run")[1].get("error", {}).get("message", ""):
            removed(lost.place(copy, table))
            assert entries(lost.place(copy, table)), table


@pytest.mark.parametrize("table", ["batches", "objects", "plans", "events/readings", "streams/good", "versions"])
def test_a_log_that_is_cut_off_is_named_with_the_command(folder, said, table):
    newest = entries(lost.place(folder, table))[-1]
    newest.write_bytes(newest.read_bytes()[:-40])
    commands = [("run", "--as-of", NEXT), ("repair",) if table == "batches" else ("status",)]
    for command in commands[: 1 if table == "plans" else 2]:
        code, answer = said(folder, *command)
        told = answer.get("error") or answer["damaged"][0]
        assert code == 4 or command == ("status",), command
        assert table in json.dumps(told), command
        if command[0] == "run":
            assert "tidemark repair" in told["hint"]
