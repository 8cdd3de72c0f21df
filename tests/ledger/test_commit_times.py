"""When batches were committed, as the log of a table says: no further back than asked, and than the log goes."""

from __future__ import annotations

import json

import pytest

from ledger_samples import NOON, SECOND, commit_run, landed
from tidemark.core.times import DAY, HOUR
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.tables import commit_times as read
from tidemark.ledger.tables.commit_times import commit_times
from tidemark.ledger.tables.store import Store

TIMES = {number: NOON + number * HOUR for number in range(1, 7)}


def rewritten(log, times):
    """A table's log with these times of the commits of batches, microseconds; returns the paths by number."""
    found = {}
    for path in sorted(log.glob("*.json")):
        actions = [json.loads(line) for line in path.read_text().splitlines()]
        numbers = [each["txn"]["version"] for each in actions if each.get("txn", {}).get("appId") == "commit"]
        for each in actions:
            if "commitInfo" in each and numbers:
                each["commitInfo"]["timestamp"] = times[numbers[0]] // 1000
                found[numbers[0]] = path
        path.write_text("".join(json.dumps(each, separators=(",", ":")) + "\n" for each in actions))
    return found


@pytest.fixture
def batches(tmp_path):
    ledger = Ledger(tmp_path)
    for number in TIMES:
        commit_run(ledger, [[landed(f"{number}.json")]], run_id=f"r{number}")
    table = ledger.folder / "batches"
    rewritten(table / "_delta_log", TIMES)
    return table


@pytest.fixture
def looked_at(monkeypatch):
    """Numbers of the log's entries that are read."""
    seen, entry = [], read._read
    monkeypatch.setattr(read, "_read", lambda *given: (seen.append(given[2]), entry(*given))[1])
    return seen


def test_the_log_says_when_each_batch_was_committed(batches):
    assert commit_times(batches, "commit", 6) == TIMES
    assert commit_times(batches, "commit", 4) == {number: TIMES[number] for number in (1, 2, 3, 4)}
    assert commit_times(batches, "other", 6) == {}
    assert commit_times(batches.parent / "nothing", "commit", 6) == {}


def test_commits_before_a_time_are_left_out_but_from_a_number_on(batches):
    assert list(commit_times(batches, "commit", 6, NOON + 5 * HOUR)) == [6, 5]
    assert list(commit_times(batches, "commit", 6, NOON + 5 * HOUR, lowest=3)) == [6, 5, 4, 3]
    assert list(commit_times(batches, "commit", 4, NOON + 3 * HOUR)) == [4, 3]
    assert commit_times(batches, "commit", 6, NOON + DAY) == {}


def test_a_commit_that_the_log_has_no_more_is_not_known(batches):
    Store(batches, Ledger(batches.parent.parent).stores["batches"].schema).open().create_checkpoint()
    paths = rewritten(batches / "_delta_log", TIMES)
    for path in sorted((batches / "_delta_log").glob("*.json")):
        if path <= paths[4]:
            path.unlink()
    assert commit_times(batches, "commit", 6) == {5: TIMES[5], 6: TIMES[6]}


@pytest.mark.parametrize(
    "content", ["", "{", '{"commitInfo":{"operation":"CLONE"}}\n{"txn":{"appId":"commit","version":4}}']
)
def test_what_lies_before_a_commit_without_a_time_is_not_known(batches, content):
    paths = rewritten(batches / "_delta_log", TIMES)
    paths[4].write_text(content)
    assert commit_times(batches, "commit", 6) == {5: TIMES[5], 6: TIMES[6]}


def test_what_is_read_goes_with_what_is_asked_and_not_with_the_log(tmp_path, looked_at):
    log = tmp_path / "batches" / "_delta_log"
    log.mkdir(parents=True)
    for number in range(2_000):
        commit = {"commitInfo": {"timestamp": (NOON + number * SECOND) // 1000}}
        lines = [commit, {"txn": {"appId": "commit", "version": number}}]
        (log / f"{number:020}.json").write_text(
            "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        )
    asked = commit_times(log.parent, "commit", 700, NOON + 691 * SECOND)
    assert sorted(asked) == list(range(691, 701))
    assert len(looked_at) < 40
    assert len(commit_times(log.parent, "commit", 1_999)) == read.MOST
