"""Any Delta reader reads every small table, years 0001 and 9999 included."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from deltalake import DeltaTable

from ledger_samples import FIRST_INSTANT, LAST_INSTANT, NOON, finding, full, landed, plan_run
from tidemark.core.batch_result import FindingSample
from tidemark.core.streams import StreamEnd, StreamState
from tidemark.core.watermarks import Combined, PartitionState
from tidemark.core.windows import Passed
from tidemark.ledger import versions
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.plans import Noticed
from tidemark.ledger.tables.schemas import BATCHES

EXTREMES = (FIRST_INSTANT, LAST_INSTANT)
TIMES = {
    "batches": "as_of",
    "objects": "modified",
    "plans": "modified",
    "watermarks": "watermark",
    "diagnostics": "first_time",
    "versions": "created",
}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Every table with the first and the last microsecond there is, and an ordinary one."""
    root = tmp_path_factory.mktemp("readers")
    ledger = Ledger(root)
    for time in (*EXTREMES, NOON + 1):
        versions.add(root, time)
        found = finding(first_time=time, last_time=time, sample=FindingSample(1, time, time, "f"))
        record = plan_run(ledger, [[landed("a", modified=time)]], Noticed((found,)))[0]
        ledger.record_states(record.batch_id, {("readings", "0"): PartitionState(watermark=time)})
        ledger.record_findings(record.batch_id, [found])
        done = replace(full(record), as_of=time, combined={"readings": Combined(time)})
        ledger.commit(done, ledger.objects_of(record))
    return root


def _folder(root, table):
    return root / "versions" if table == "versions" else root / "v1" / table


@pytest.mark.parametrize("table", TIMES)
def test_polars_reads(root, table):
    frame = pl.scan_delta(str(_folder(root, table)))
    time = pl.col(TIMES[table])
    micros = set(frame.select(time.dt.epoch("us")).collect().to_series().drop_nulls().to_list())
    assert micros == {*EXTREMES, NOON + 1}
    bound = pl.lit(NOON + 1).cast(pl.Datetime("us", "UTC"))
    assert frame.filter(time == bound).collect().height == 1


@pytest.mark.parametrize("table", TIMES)
def test_duckdb_reads_through_delta_rs(root, table):
    rows = DeltaTable(str(_folder(root, table))).to_pyarrow_dataset()
    column = TIMES[table]
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        found = connection.sql(f"SELECT epoch_us({column}) FROM rows WHERE {column} IS NOT NULL").fetchall()  # noqa: S608
        exact = f"SELECT count(*) FROM rows WHERE {column} = make_timestamptz({NOON + 1})"  # noqa: S608
        assert connection.sql(exact).fetchall() == [(1,)]
        assert connection.sql("SELECT * FROM rows").fetchall()
    assert {time for (time,) in found} == {*EXTREMES, NOON + 1}


def test_duckdb_reads_nested_columns(root):
    ledger = Ledger(root)
    with duckdb.connect() as connection:
        connection.register("batches", ledger.table("batches"))
        connection.register("diagnostics", ledger.table("diagnostics"))
        late = connection.sql("SELECT by_reason.late, counts[1].shifts.largest, digests[1].digest FROM batches")
        assert set(late.fetchall()) == {(2, 9, "ab")}
        samples = connection.sql("SELECT epoch_us(sample.arrival_time) FROM diagnostics").fetchall()
        combined = connection.sql("SELECT epoch_us(combined[1].watermark) FROM batches").fetchall()
    assert {time for (time,) in samples} == {time for (time,) in combined} == {*EXTREMES, NOON + 1}


def test_progress_of_streams_beyond_the_years_is_shown_at_their_bound_and_comes_back_as_it_was(tmp_path):
    ledger = Ledger(tmp_path)
    early = StreamState(FIRST_INSTANT - 4, reached=FIRST_INSTANT - 2, bounds=(Passed(1, FIRST_INSTANT - 3),))
    late = StreamState(LAST_INSTANT + 7, complete=True)
    known = {"early": early, "late": late, "within": StreamState(NOON), "nothing": StreamState()}
    record = plan_run(ledger, [[]])[0]
    done = replace(full(record), streams={name: StreamEnd(state, 1, 2, 3) for name, state in known.items()})
    committed = ledger.commit(done, [])
    [batch] = DeltaTable(str(_folder(tmp_path, "batches"))).to_pyarrow_table().to_pylist()
    shown = {stream["stream"]: stream["watermark"] for stream in batch["streams"]}
    least, most = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    assert shown["early"] == batch["streams"][0]["bounds"][0]["time"] == least
    assert shown["late"] == most
    assert json.loads(batch["beyond"]).keys() == {"early", "late"}
    assert ledger.batches(1, 1) == [committed]
    assert committed.streams == done.streams


def test_batches_recorded_before_a_column_was_are_read_and_gain_it(tmp_path):
    later = ("beyond", "written", "reason", "files", "ledger_digests", "chain_before", "chain")
    made_before = pa.schema([field for field in BATCHES if field.name not in later])
    DeltaTable.create(str(_folder(tmp_path, "batches")), schema=made_before)
    ledger = Ledger(tmp_path)
    record = plan_run(ledger, [[]])[0]
    assert ledger.batches(1, 1) == [record]
    done = replace(full(record), streams={"early": StreamEnd(StreamState(FIRST_INSTANT - 4))})
    committed = ledger.commit(done, [])
    assert Ledger(tmp_path).batches(1, 1) == [committed]
    assert committed.streams == done.streams


def test_the_ledger_reads_them_too(root):
    ledger = Ledger(root)
    assert [record.as_of for record in ledger.batches(1, 3)] == [*EXTREMES, NOON + 1]
    assert ledger.findings(1)[0].sample.event_time == FIRST_INSTANT
    assert ledger.states(3)[("readings", "0")].watermark == LAST_INSTANT
    assert {each.created for each in versions.listed(root)} == {*EXTREMES, NOON + 1}
