"""What state a pipeline is in: a blocked, a running and an interrupted run are told apart."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ledger_samples import NOON
from tidemark.commands.state import PipelineState, _commands, standing
from tidemark.core.batch_result import BatchRecord
from tidemark.core.quality import Check, Severity
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.lock import hold, holder
from tidemark.ledger.tables.rows import batch_row

PLANNED = BatchRecord(1, "r 1", 1, 1, NOON, "planned", "{}", "f", "{}", "token")


@pytest.fixture
def ledger(tmp_path):
    found = Ledger(tmp_path)
    found.stores["batches"].append([batch_row(PLANNED)])
    return found


def test_a_pipeline_without_a_run_is_new_and_one_whose_run_is_committed_is_ready(tmp_path):
    assert standing(Ledger(tmp_path / "none"), "toll.yml")["state"] == "new"
    done = Ledger(tmp_path)
    done.stores["batches"].append([batch_row(replace(PLANNED, status="committed"))])
    assert standing(done, "toll.yml")["state"] == "ready"


def test_a_planned_run_is_under_way_while_its_process_holds_the_lock_and_interrupted_after(ledger):
    with hold(ledger.root):
        found = standing(ledger, "toll.yml")
        assert (found["state"], found["commands"]) == ("running", [])
        assert "process " in found["sentence"]
    found = standing(ledger, "toll.yml")
    assert found["state"] == "interrupted"
    assert found["commands"] == ["tidemark run toll.yml", "tidemark abandon toll.yml 'r 1' --reason ..."]


def test_a_blocked_run_is_told_with_the_checks_that_failed_and_what_releases_it(ledger):
    failed = Check("events/readings", "max_dropped", 0.5, 0.01, False, Severity.BLOCK, (), "look")
    ledger.record_checks(PLANNED, [failed])
    ledger.block(PLANNED)
    found = standing(Ledger(ledger.root), "toll.yml")
    assert (found["state"], found["run_id"]) == ("blocked", "r 1")
    assert found["failed"] == ["events/readings: max_dropped is 0.5, limit 0.01"]
    verbs = [f"tidemark {verb} toll.yml 'r 1' --reason ..." for verb in ("release", "abandon")]
    assert found["commands"] == ["tidemark rows toll.yml --batch 1", *verbs]
    dashed = replace(PLANNED, run_id="-r")
    commands = list(_commands(PipelineState.BLOCKED, dashed, "toll.yml"))
    assert commands[1] == "tidemark release --reason ... -- toll.yml -r"
    ledger.release(PLANNED, "it is right")
    assert standing(Ledger(ledger.root), "toll.yml")["state"] == "released"


def test_looking_at_the_lock_takes_it_from_nobody(ledger):
    assert holder(ledger.root) is None
    with hold(ledger.root):
        assert holder(ledger.root) is not None
    with hold(ledger.root):
        pass
