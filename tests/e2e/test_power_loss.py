"""After a power loss at any step, runs go on from what is on the disk: nothing committed is lost or taken twice."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from samples import Crash
from test_lost_commits_repaired import ends, hold_as_before

import lost
import power
import stored
from tidemark.errors import TidemarkError
from tidemark.pipeline import Pipeline
from tidemark.storage.sync import sync_tree

pytestmark = pytest.mark.usefixtures("quick")
NEXT = stored.as_of(lost.RUNS + 1)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    return lost.unpacked(tmp_path_factory.mktemp("lost"))


@pytest.fixture(scope="module")
def twin(whole, tmp_path_factory, quick) -> Path:  # noqa: ARG001 - it sets what the run is made with
    """The pipeline after a run that nothing disturbed."""
    folder = Path(shutil.copytree(whole, tmp_path_factory.mktemp("twin") / "copy"))
    run(folder)
    return folder


def run(folder: Path, **hooks) -> dict:
    return Pipeline.load(folder / "pipeline.yml", {}, **hooks).run(NEXT, run_id="next")


def dying(step: str) -> Callable[[str], None]:
    """A hook by which a run ends at a step."""

    def on_checkpoint(name: str) -> None:
        if name == step:
            raise Crash(name)

    return on_checkpoint


def after_power_loss(whole: Path, tmp_path: Path, monkeypatch, step: str, emptied: bool) -> Path:
    """A pipeline whose run got as far as a step (none: to its end) before the power went."""
    folder = Path(shutil.copytree(whole, tmp_path / "copy"))
    with monkeypatch.context() as patched:
        disk = power.watched(patched)
        sync_tree(folder)
        try:
            run(folder, on_checkpoint=dying(step))
        except Crash:
            assert step
        else:
            assert not step
    return disk.left(folder, tmp_path / "left", emptied)


@pytest.mark.parametrize("emptied", [False, True], ids=["gone", "emptied"])
def test_nothing_of_a_run_that_has_ended_is_lost(whole, twin, tmp_path, monkeypatch, emptied):
    left = after_power_loss(whole, tmp_path, monkeypatch, "", emptied)
    pipeline = Pipeline.load(left / "pipeline.yml", {})
    assert pipeline.status()["damaged"] == []
    assert pipeline.ledger.last().committed_through == lost.RUNS + 1
    hold_as_before(left, twin)
    assert ends(left) == ends(twin)


def error_of(folder: Path) -> TidemarkError | None:
    """Why the next run stops; None: it has run."""
    try:
        run(folder)
    except TidemarkError as error:
        return error
    return None


@pytest.mark.parametrize(
    ("step", "emptied"),
    [("planned", False), ("planned", True), pytest.param("events", False, marks=pytest.mark.long)],
)
def test_a_run_goes_on_from_what_is_on_the_disk(whole, twin, tmp_path, monkeypatch, step, emptied):
    """Where what no commit relies on yet is there without content, the error names the command that leads on."""
    left = after_power_loss(whole, tmp_path, monkeypatch, step, emptied)
    if stopped := error_of(left):
        assert (emptied, "repair" in stopped.hint) == (True, True), stopped
        Pipeline.load(left / "pipeline.yml", {}).repair()
        run(left)
    hold_as_before(left, twin)
    assert ends(left) == ends(twin)
