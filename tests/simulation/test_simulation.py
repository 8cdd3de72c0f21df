"""Random stories of a pipeline on a simulated disk: whatever fault meets whichever commit, nothing is lost or taken
twice, rows are the oracle's, and a command leads out. A failing story repeats from its `SEED`."""

from __future__ import annotations

import os

import pytest
import simulated_tables
from world import World, simulate

from tidemark.ledger.tables import store

FIRST = int(os.environ.get("SEED", "0"))
STORIES = int(os.environ.get("STORIES", "200"))
STEPS = 6
_MOST_TRIED = 60


@pytest.mark.parametrize("stories", [12, pytest.param(STORIES, marks=pytest.mark.long)])
def test_no_fault_at_any_commit_loses_or_doubles_anything(tmp_path, stories):
    for seed in range(FIRST, FIRST + stories):
        try:
            simulate(tmp_path / str(seed), seed, STEPS)
        except Exception as error:
            raise AssertionError(f"SEED={seed}: {type(error).__name__}: {error}") from error


def _without_application_versions(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(store, "has_recorded", lambda *_: False)


def _without_conflicts(patch: pytest.MonkeyPatch) -> None:
    def blind(disk, path, _based_on, retried, make):
        whole(disk, path, len(disk.tables.get(path, ())) - 1, retried, make)

    whole = simulated_tables.Disk._apply
    patch.setattr(simulated_tables.Disk, "_apply", blind)


def _without_a_look_at_the_last_batch(patch: pytest.MonkeyPatch) -> None:
    def append(self, rows, writer, _, last):
        self._write(self._ready(), rows, store.commit_properties(writer, last))

    patch.setattr(store.Store, "append_next", append)


def _without_syncs(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(World, "settle", lambda *_: None)


GUARDS = [
    _without_application_versions,
    _without_conflicts,
    _without_a_look_at_the_last_batch,
    pytest.param(_without_syncs, marks=pytest.mark.long),
]


@pytest.mark.parametrize("remove", GUARDS)
def test_without_a_guard_a_story_fails(tmp_path, monkeypatch, remove):
    remove(monkeypatch)

    def fails(seed: int) -> bool:
        try:
            simulate(tmp_path / str(seed), seed, STEPS)
        except Exception:  # noqa: BLE001 - any is a failure
            return True
        return False

    assert any(map(fails, range(_MOST_TRIED)))
