"""Planning, recording and committing runs."""

from __future__ import annotations

from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from ledger_samples import (
    FIRST_INSTANT,
    LAST_INSTANT,
    NOON,
    commit_run,
    finding,
    full,
    landed,
    plan_run,
    planned,
    taken,
)
from tidemark.core.batch import ObjectState
from tidemark.core.batch_result import Diagnostic, FindingSample
from tidemark.core.watermarks import Combined, PartitionState
from tidemark.errors import Held, TidemarkError
from tidemark.ledger.digest import digest_findings, digest_states
from tidemark.ledger.full_states import records_all
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.plans import Noticed
from tidemark.ledger.tables.schemas import WATERMARKS
from tidemark.ledger.tail import RunRange, Tail

A, B, C = landed("a.json"), landed("b.json", modified=NOON + 1), landed("c.json", modified=NOON + 2)


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path)


def test_a_pipeline_that_never_ran_has_an_empty_ledger_and_reading_writes_nothing(ledger, tmp_path):
    assert ledger.last() == Tail()
    assert ledger.states(1) == {}
    assert ledger.batches(1, 10) == []
    assert ledger.run("r") is None
    assert ledger.findings(1) == ()
    assert list(tmp_path.iterdir()) == []


def test_a_planned_run_is_pending_with_its_objects_in_log_order(ledger):
    records = plan_run(ledger, [[B, A], [C]])
    tail = ledger.last()
    assert tail.next_batch_id == 3
    assert tail.committed_through == 0
    assert tail.pending == tuple(records)
    assert tail.last_run is None
    assert tail.as_of == records[0].as_of
    assert ledger.objects_of(records[0]) == (A, B)
    assert ledger.objects_of(records[1]) == (C,)


def test_a_run_of_three_batches_of_which_one_is_committed_has_two_pending(ledger):
    before = commit_run(ledger, [[]], run_id="before")
    records = plan_run(ledger, [[A], [B], [C]], run_id="now")
    ledger.commit(replace(records[0], combined={}), taken(ledger, records[0]))
    tail = ledger.last()
    assert tail.committed_through == 2
    assert [record.batch_id for record in tail.pending] == [3, 4]
    assert tail.last_run == RunRange("before", 1, 1)
    assert tail.as_of == records[0].as_of > before[0].as_of
    assert Ledger(ledger.root).objects_of(tail.pending[0]) == (B,)


def test_tables_are_read_by_a_file_system_that_is_not_written_in_python(ledger):
    """Arrow's threads call one that is while Python ends, which aborted four of ten scripts."""
    commit_run(ledger, [[A]])
    assert ledger.table("batches").filesystem.type_name == "subtree"


def test_the_tail_has_the_combined_watermarks_of_the_last_run_that_ended(ledger):
    first = plan_run(ledger, [[A]])[0]
    ledger.commit(replace(first, combined={"readings": Combined(5)}), taken(ledger, first))
    second = plan_run(ledger, [[B]], run_id="second")[0]
    assert ledger.last().combined == {"readings": Combined(5)}
    assert ledger.last().last_run == RunRange("r", 1, 1)
    ledger.commit(replace(second, combined={"readings": Combined(5, True)}), taken(ledger, second))
    assert ledger.last().combined == {"readings": Combined(5, True)}
    assert ledger.last().configuration == '{"run": "second"}'


def test_a_committed_record_comes_back_as_it_was(ledger):
    record = full(plan_run(ledger, [[A]])[0])
    ledger.commit(record, [A])
    (found,) = ledger.batches(1, 1)
    chained = {"written": None, "files": None, "ledger_digests": None, "chain": None}
    assert replace(found, **chained) == record
    assert found.chain is not None
    assert found.chain_before is None
    assert [each.table for each in found.written] == ["events/readings", "objects"]
    row = ledger.stores["batches"].read(1, 1)[0]
    assert (row["rows"], row["on_time"], row["adjusted"], row["dropped"], row["quarantined"]) == (
        9,
        5,
        2,
        1,
        1,
    )
    assert row["by_reason"]["late"] == 2
    assert row["by_reason"]["early"] == 0


def test_an_empty_run_is_one_batch_without_objects(ledger):
    record = commit_run(ledger, [[]])[0]
    assert ledger.objects_of(ledger.batches(1, 1)[0]) == ()
    assert ledger.last().committed_through == record.batch_id
    assert not ledger.stores["objects"].files()


def test_objects_whose_batch_was_never_planned_are_void(ledger, monkeypatch):
    plan, records = planned([[A, B]], plan_id="lost")
    monkeypatch.setattr(ledger.stores["batches"], "append_next", _crash)
    with pytest.raises(_Crash):
        ledger.plan(plan, records, Noticed((finding(),), (replace(C, state=ObjectState.CHANGED),)))
    again = Ledger(ledger.root)
    assert again.last() == Tail()
    record = plan_run(again, [[C]], plan_id="second")[0]
    assert again.objects_of(record) == (C,)
    assert again.noticed(record) == Noticed()


def test_of_two_planners_one_wins_and_the_other_is_held(ledger):
    rival = Ledger(ledger.root)
    commit_run(ledger, [[A]])
    assert rival.last().next_batch_id == 2
    mine, theirs = planned([[B]], 2, plan_id="mine"), planned([[C]], 2, plan_id="theirs")
    ledger.plan(*mine)
    with pytest.raises(Held):
        rival.plan(*theirs)
    assert [record.plan for record in ledger.last().pending] == ["mine"]
    assert rival.objects_of(rival.last().pending[0]) == (B,)


def test_a_planner_overtaken_between_its_look_and_its_commit_is_held(ledger, monkeypatch):
    commit_run(ledger, [[A]])
    rival, store = Ledger(ledger.root), ledger.stores["batches"]
    write = store._write

    def overtaken(*given):
        monkeypatch.setattr(store, "_write", write)
        rival.plan(*planned([[C]], 2, plan_id="theirs"))
        write(*given)

    monkeypatch.setattr(store, "_write", overtaken)
    with pytest.raises(Held):
        ledger.plan(*planned([[B]], 2, plan_id="mine"))
    assert [record.plan for record in Ledger(ledger.root).last().pending] == ["theirs"]


def test_two_planners_of_the_very_first_run_do_not_both_win(ledger, monkeypatch):
    rival, store = Ledger(ledger.root), ledger.stores["batches"]
    create = store._create

    def overtaken():
        rival.plan(*planned([[C]], plan_id="theirs"))
        return create()

    monkeypatch.setattr(store, "_create", overtaken)
    with pytest.raises(Held):
        ledger.plan(*planned([[B]], plan_id="mine"))
    assert len(ledger.batches(1, 9)) == 1


def test_a_batch_that_leaves_a_gap_is_not_planned(ledger):
    with pytest.raises(Held):
        ledger.plan(*planned([[A]], first=3))


def test_records_that_do_not_match_their_plan_are_refused(ledger):
    plan, records = planned([[A], [B]])
    with pytest.raises(TidemarkError, match="differ"):
        ledger.plan(plan, records[:1])


def test_a_repeated_commit_changes_nothing(ledger):
    record = plan_run(ledger, [[A, B]])[0]
    final = taken(ledger, record)
    ledger.commit(record, final)
    ledger.commit(replace(record, timings={"judging": 9.0}), final)
    Ledger(ledger.root).commit(record, final)
    assert len(ledger.stores["objects"].read(1, 1)) == 2
    assert [each.timings for each in ledger.batches(1, 5)] == [{}]


def test_a_crash_between_objects_and_the_commit_is_repaired_by_repeating_it(ledger, monkeypatch):
    record = plan_run(ledger, [[A, B]])[0]
    final = taken(ledger, record)
    monkeypatch.setattr(ledger.stores["batches"], "turn", _crash)
    with pytest.raises(_Crash):
        ledger.commit(record, final)
    assert ledger.settled_before(2) is None
    assert ledger._before(replace(record, batch_id=2)) is None, "a commit that failed is the one before no other"
    again = Ledger(ledger.root)
    pending = again.last().pending
    assert [each.batch_id for each in pending] == [1]
    assert again.objects_of(pending[0]) == (A, B)
    again.commit(pending[0], final)
    assert again.last().committed_through == 1
    assert again.objects_of(again.batches(1, 1)[0]) == tuple(final)


def test_a_plan_keeps_what_listing_noticed_until_its_first_batch_is_committed(ledger):
    changed = replace(landed("old.json"), tag="new", state=ObjectState.CHANGED)
    noticed = Noticed(
        (finding(Diagnostic.OBJECT_CHANGED, partition=None, sample=FindingSample(file="x\udcff")),), (changed,)
    )
    first, second = plan_run(ledger, [[A], [B]], noticed=noticed)
    assert ledger.noticed(first) == noticed
    assert ledger.noticed(second) == Noticed()
    assert ledger.objects_of(first) == (A,)
    ledger.commit(first, [*taken(ledger, first), changed])
    states = {row["uri"]: row["state"] for row in ledger.stores["objects"].read(1, 1)}
    assert states == {"a.json": "read", "old.json": "changed"}
    assert [item.uri for item in ledger.objects_of(ledger.batches(1, 1)[0])] == ["a.json"]


def test_states_are_the_latest_of_each_partition_before_a_batch(ledger):
    key, other = ("readings", "0"), ("readings", "1")
    ledger.record_states(1, {key: PartitionState(next_offset=1), other: PartitionState(next_offset=5)})
    ledger.record_states(2, {key: PartitionState(next_offset=2)})
    ledger.record_states(3, {key: PartitionState(next_offset=3)})
    assert {name: state.next_offset for name, state in ledger.states(3).items()} == {key: 2, other: 5}
    assert {name: state.next_offset for name, state in ledger.states(4).items()} == {key: 3, other: 5}
    assert ledger.states(1) == {}


def test_every_field_of_a_state_comes_back(ledger):
    state = PartitionState(
        watermark=FIRST_INSTANT,
        complete=True,
        high=LAST_INSTANT,
        last_arrival=NOON,
        last_seen=NOON + 1,
        estimated_arrival=NOON + 2,
        estimated_high=NOON + 3,
        floor=FIRST_INSTANT,
        idle=True,
        next_offset=2**40,
        since=NOON + 4,
    )
    ledger.record_states(1, {("readings", "é\n"): state, ("readings", ""): PartitionState()})
    assert ledger.states(2) == {("readings", "é\n"): state, ("readings", ""): PartitionState()}


def test_every_field_of_a_state_has_a_column():
    assert set(PartitionState.__dataclass_fields__) <= set(WATERMARKS.names)


def test_a_batch_at_a_checkpoint_records_all_states():
    assert [batch_id for batch_id in range(1, 3001) if records_all(batch_id)] == [1000, 2000, 3000]


@pytest.mark.parametrize("before", [999, 1000, 1001, 1002, 1999, 2000, 2001], ids=str)
def test_states_around_a_checkpoint_are_complete(ledger, before):
    quiet, busy = ("readings", "quiet"), ("readings", "busy")
    ledger.record_states(1, {quiet: PartitionState(next_offset=1), busy: PartitionState(next_offset=1)})
    for batch_id in (998, 999, 1000, 1001, 1999, 2000):
        changed = {busy: PartitionState(next_offset=batch_id)}
        every = {quiet: PartitionState(next_offset=1)} if records_all(batch_id) else {}
        ledger.record_states(batch_id, changed | every)
    last = max(batch_id for batch_id in (1, 998, 999, 1000, 1001, 1999, 2000) if batch_id < before)
    assert {name: state.next_offset for name, state in ledger.states(before).items()} == {
        quiet: 1,
        busy: last,
    }


def test_repeated_states_and_findings_of_a_batch_are_recorded_once_with_the_same_digest(ledger):
    states, found = {("readings", "0"): PartitionState(high=5)}, [finding(), finding(Diagnostic.EARLY)]
    first = (ledger.record_states(1, states), ledger.record_findings(1, found))
    again = Ledger(ledger.root)
    assert (again.record_states(1, states), again.record_findings(1, found)) == first
    assert again.findings(1) == tuple(found)
    assert len(again.stores["watermarks"].read(1, 1)) == 1


def test_a_batch_without_findings_writes_nothing(ledger):
    assert ledger.record_findings(1, []).rows == 0
    assert not (ledger.folder / "diagnostics").exists()


def test_a_digest_depends_on_content_and_batch_but_not_on_order(ledger):
    a, b = finding(), finding(Diagnostic.EARLY)
    assert digest_findings(1, [a, b]) == digest_findings(1, [b, a]) == ledger.record_findings(1, [a, b])
    assert digest_findings(1, [a, b]) != digest_findings(2, [a, b])
    assert digest_findings(1, [a, a]) != digest_findings(1, [a])
    states = {("s", "0"): PartitionState(high=5), ("s", "1"): PartitionState()}
    turned = dict(reversed(states.items()))
    assert digest_states(1, states) == digest_states(1, turned) == ledger.record_states(1, states)
    assert digest_states(1, states) != digest_states(1, {**states, ("s", "1"): PartitionState(high=0)})


def test_a_run_is_found_by_its_id_with_its_batches(ledger):
    commit_run(ledger, [[A]], run_id="one")
    plan_run(ledger, [[B], [C]], run_id="two")
    assert ledger.run("one") == RunRange("one", 1, 1)
    assert ledger.run("two") == RunRange("two", 2, 3)
    assert ledger.run("three") is None


def test_an_object_with_an_undecodable_name_comes_back_as_it_is(ledger):
    odd, plain = landed("d/\udcff%41.json"), landed("d/\\xff é\n.json", modified=NOON + 1)
    record = plan_run(ledger, [[odd, plain]])[0]
    assert ledger.objects_of(record) == (odd, plain)
    ledger.commit(record, [odd, plain])
    assert ledger.objects_of(ledger.batches(1, 1)[0]) == (odd, plain)


def test_a_table_is_cut_at_the_last_committed_batch(ledger):
    commit_run(ledger, [[A]])
    plan_run(ledger, [[B]])
    ledger.record_states(2, {("readings", "0"): PartitionState()})
    assert ledger.table("batches").to_table()["batch_id"].to_pylist() == [1]
    assert ledger.table("watermarks").to_table().num_rows == 0
    assert ledger.table("diagnostics").to_table().num_rows == 0
    assert ledger.table("watermarks", through=2).to_table().num_rows == 1


class _Crash(Exception):
    pass


def _crash(*_given):
    raise _Crash


def test_files_have_bounds_of_the_columns_by_which_rows_are_looked_up_and_of_no_others(ledger):
    record = plan_run(ledger, [[A]])[0]
    ledger.commit(record, taken(ledger, record))
    for name, bounded in {"batches": {"batch_id", "run_id"}, "objects": {"batch_id", "uri"}}.items():
        group = pq.ParquetFile(ledger.stores[name].files()[0].path).metadata.row_group(0)
        columns = [group.column(index) for index in range(group.num_columns)]
        assert {column.path_in_schema for column in columns if column.is_stats_set} == bounded
