"""Tables of the ledger that are opened and written beside each other."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import Any

import pytest

from ledger_samples import commit_run, finding, landed, plan_run
from tidemark.core.batch import ObjectState
from tidemark.core.watermarks import PartitionState
from tidemark.errors import TidemarkError
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.tables.store import Store

STATES = {("readings", "0"): PartitionState(high=5)}
OBJECT = replace(landed("a.json"), state=ObjectState.READ, rows=1)


def standing(ledger: Ledger, batch_id: int) -> dict[str, int]:
    names = ("watermarks", "diagnostics", "objects")
    return {name: len(Ledger(ledger.root).stores[name].read(batch_id, batch_id)) for name in names}


@pytest.fixture
def ledger(tmp_path) -> Ledger:
    found = Ledger(tmp_path)
    plan_run(found, [[landed("a.json")]])
    return found


@pytest.mark.parametrize("broken", ["watermarks", "diagnostics", "objects"])
def test_a_table_that_cannot_be_written_stops_the_record_and_repeated_it_is_whole(ledger, monkeypatch, broken):
    whole = Store.append

    def failing(store: Store, *given: Any) -> None:
        if store.path.name == broken:
            raise OSError("the disk is gone")
        whole(store, *given)

    monkeypatch.setattr(Store, "append", failing)
    with pytest.raises(OSError, match="the disk is gone"):
        ledger.record(1, STATES, [finding()], [OBJECT])
    monkeypatch.setattr(Store, "append", whole)
    assert standing(ledger, 1)[broken] == 0
    again = Ledger(ledger.root)
    apart = again.record_states(1, STATES), again.record_findings(1, [finding()])
    assert tuple(again.record(1, STATES, [finding()], [OBJECT])) == apart
    assert standing(ledger, 1) == {"watermarks": 1, "diagnostics": 1, "objects": 1}


def test_objects_recorded_before_their_batch_is_committed_stand_once(ledger):
    record = ledger.last().pending[0]
    ledger.record(1, STATES, [], [OBJECT])
    assert ledger.last().committed_through == 0
    ledger.commit(record, [OBJECT])
    assert ledger.objects_of(ledger.batches(1, 1)[0]) == (OBJECT,)
    assert standing(ledger, 1) == {"watermarks": 1, "diagnostics": 0, "objects": 1}


def test_a_damaged_table_is_told_when_it_is_asked_for(tmp_path):
    commit_run(Ledger(tmp_path), [[landed("a.json")]])
    Ledger(tmp_path).record_states(1, STATES)
    log = Ledger(tmp_path).folder / "watermarks" / "_delta_log"
    shutil.rmtree(log)
    log.mkdir()
    (log / f"{0:020d}.json").write_text("{")
    ledger = Ledger(tmp_path)
    ledger.open()
    assert ledger.last().committed_through == 1
    with pytest.raises(TidemarkError, match=r"log of the table watermarks cannot be read: .*Truncated record"):
        ledger.states(2)
