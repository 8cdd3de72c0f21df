"""Files of tables that are cut off or empty: each command that meets one names the table and what to do."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import DeltaTable

import damages
import lost
from tidemark.cli import invoke

COMMANDS = (
    ["status"],
    ["rows"],
    ["rows", "--by", "reason"],
    ["explain", "readings", "north", "0"],
    ["report", "--out", "report.html"],
    ["versions"],
    ["run", "--dry-run"],
)
OFTEN = ("events/readings", "dead_letters/per_5s", "quality", "watermarks")
TABLES = [
    pytest.param(table, marks=() if table in OFTEN else pytest.mark.long)
    for table in (*lost.SPARK, *lost.SMALL, "batches", "plans", "versions")
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lost.unpacked(tmp_path_factory.mktemp("damaged"))


def newest(table: Path) -> Path:
    """The data file that the table got last."""
    return max((table / path for path in DeltaTable(table).file_uris()), key=lambda path: path.stat().st_mtime_ns)


def halve(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def data_halved(table: Path) -> None:
    halve(newest(table))


def data_emptied(table: Path) -> None:
    newest(table).write_bytes(b"")


def log_halved(table: Path) -> None:
    halve(damages.entries(table)[-1])


@pytest.mark.parametrize("damage", [data_halved, data_emptied, log_halved, damages.emptied])
@pytest.mark.parametrize("table", TABLES)
def test_no_command_shows_an_error_of_a_library(
    whole: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    table: str,
    damage: Callable[[Path], None],
) -> None:
    folder = Path(shutil.copytree(whole, tmp_path / "copy"))
    monkeypatch.chdir(tmp_path)
    damage(lost.place(folder, table).resolve())
    wrong = []
    for command in COMMANDS:
        capsys.readouterr()
        if invoke([command[0], str(folder / "pipeline.yml"), *command[1:], "--json"]) == 0:
            continue
        said = capsys.readouterr()
        error = json.loads(said.out or said.err)["error"]
        words = json.dumps(error)
        if table not in words or not ("tidemark repair" in words or "restore" in words):
            wrong.append((command, error["code"], error["message"][:200]))
    assert not wrong, "\n".join(map(str, wrong))
