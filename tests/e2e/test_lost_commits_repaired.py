"""Tables that lost commits are made again by `repair`, each batch proven, and runs go on as before."""

from __future__ import annotations

import json
import shutil
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

import lost
import stored
from damages import DAMAGES, emptied, ending_with_rows, removed
from tidemark.cli import invoke
from tidemark.pipeline import Pipeline
from tidemark.storage import is_table

pytestmark = pytest.mark.usefixtures("quick")
PARTICULAR = (
    "timings",
    "plan",
    "configuration",
    "engine",
    "written",
    "suites",
    "files",
    "ledger_digests",
    "chain_before",
    "chain",
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    return lost.unpacked(tmp_path_factory.mktemp("lost"))


@pytest.fixture
def folder(whole, tmp_path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "copy"))


def repaired(folder: Path, capsys: Any, code: int = 0) -> dict[str, Any]:
    capsys.readouterr()
    assert invoke(["repair", str(folder / "pipeline.yml"), "--json"]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def rows(folder: Path, table: str) -> list[str]:
    """The rows of a table, without what is particular to one attempt."""
    where = lost.place(folder, table)
    found = DeltaTable(where).to_pyarrow_table().to_pylist() if is_table(str(where)) else []
    kept = [{name: value for name, value in row.items() if name not in PARTICULAR} for row in found]
    return sorted(json.dumps(row, default=str, sort_keys=True) for row in kept)


def ends(folder: Path) -> list[dict[str, Any]]:
    """What `batches` says of each batch, streams by name; without digests, which may be of another version. A column
    that an earlier version did not have is null."""
    found = [{"further_reasons": None} | json.loads(row) for row in rows(folder, "batches")]
    by_name = [sorted(row.pop("streams") or (), key=lambda each: each["stream"]) for row in found]
    return [
        {name: row[name] for name in row if name != "digests"} | {"streams": s}
        for row, s in zip(found, by_name, strict=True)
    ]


def hold_as_before(folder: Path, whole: Path, but: tuple[str, ...] = ()) -> None:
    for table in {*lost.SPARK, *lost.SMALL} - {*but, "substreams"}:  # which keep no more than what counts
        assert rows(folder, table) == rows(whole, table), table
    again = Pipeline.load(folder / "pipeline.yml", {})
    assert again.status()["damaged"] == []
    assert again.replay()["identical"]


def test_all_that_can_be_made_again_is_after_each_table_lost_its_newest_commit(folder, whole, capsys):
    tables = (*lost.SPARK, "watermarks", "diagnostics", "versions")
    for table in tables:
        emptied(ending_with_rows(lost.place(folder, table)))
    found = repaired(folder, capsys)
    assert {each["table"] for each in found["repaired"]} == set(tables)
    assert not found["left"]
    hold_as_before(folder, whole)
    done = Pipeline.load(folder / "pipeline.yml", {}).run(stored.as_of(lost.RUNS + 1))
    assert len(done["batches"]) == 1


def test_objects_are_told_from_the_plan_and_quality_is_let_go(folder, whole, capsys):
    for table in ("objects", "quality"):
        removed(lost.place(folder, table))
    found = repaired(folder, capsys, 1)
    assert [each["table"] for each in found["repaired"]] == ["objects"]
    assert [each["table"] for each in found["left"]] == ["quality"]
    hold_as_before(folder, whole, but=("quality",))


@pytest.mark.long
@pytest.mark.parametrize(
    ("table", "damage"),
    list(zip([*lost.SPARK, "objects", "watermarks", "diagnostics"], cycle(DAMAGES), strict=False)),
    ids=lambda each: each if isinstance(each, str) else each.__name__,
)
def test_each_table_alone(folder, whole, capsys, table, damage):
    damage(ending_with_rows(lost.place(folder, table)))
    assert not repaired(folder, capsys)["left"]
    hold_as_before(folder, whole)


def test_a_run_whose_end_batches_has_lost_is_ended_once_more(folder, whole):
    """The newest commit of `batches` is the run's own: without it the run is one that crashed at its end."""
    removed(lost.place(folder, "batches"))
    pipeline = Pipeline.load(folder / "pipeline.yml", {})
    assert pipeline.run(stored.as_of(lost.RUNS), run_id=f"run-{lost.RUNS}")["repaired"] == [f"run-{lost.RUNS}"]
    hold_as_before(folder, whole)
    assert ends(folder) == ends(whole)
