"""Maintenance after a commit changes nothing that a reader, a later run or a replay sees."""

from __future__ import annotations

import pytest
from deltalake import DeltaTable

import oracle
from product import DAY, Product, expected, verdicts
from tidemark.runner import maintenance
from tidemark.spark.maintenance import TableMaintenance
from tidemark.spark.tables import delta

S = oracle.SECOND
BASE = 1_767_225_600 * S


def fed(folder, runs, **settings):
    source = oracle.Source(late=(60 * S, "adjust"), over=True, partitions=("0",), landing_delay=S)
    product = Product(folder, {"s": source}, settings)
    product.feed("s", runs)
    return product, oracle.judge(source, runs)


def steady(count, step=10 * S):
    """One run after the other, with one row each of two substreams that stay and one that is new."""
    runs = []
    for number in range(count):
        at = BASE + number * step
        names = ("a", "b", f"new-{number}")
        rows = tuple(oracle.Row("0", at, at, name) for name in names)
        runs.append(oracle.Run(at + S, (oracle.Obj(f"{number:03d}", at + S, rows),)))
    return tuple(runs)


@pytest.mark.usefixtures("quick")
def test_merging_keeps_the_latest_row_of_each_substream_above_its_floor(tmp_path, monkeypatch):
    """Each second batch is of a run without objects: it is due to merge, and has no JVM for that."""
    monkeypatch.setattr(maintenance, "MERGE_EVERY", 2)
    runs = [each for run in steady(4, 30 * S) for each in (run, oracle.Run(run.as_of + S))]
    product, outcome = fed(tmp_path, tuple(runs))
    assert verdicts(product.events("s")) == expected(outcome)
    kept = {(row["partition"], row["substream"]) for row in product.table("substreams")}
    rows = product.table("substreams")
    assert len(rows) == len(kept), "one row a substream"
    assert kept == set(outcome.ends[-1].substreams)
    assert len(list(product.folder_of("events/s").rglob("*.parquet"))) > 1
    assert product.pipeline().replay(all_batches=True)["identical"]


@pytest.mark.usefixtures("quick")
def test_a_first_run_of_many_batches_is_followed_by_merging(tmp_path, monkeypatch):
    monkeypatch.setattr(maintenance, "MERGE_EVERY", 2)
    product = Product(tmp_path, {"s": oracle.Source(late=(60 * S, "adjust"), over=True, partitions=("0",))})
    runs = steady(3)
    product.land("s", [landed for run in runs for landed in run.objects])
    product.run(runs[-1].as_of, max_files=1)
    rows = product.table("substreams")
    assert len(rows) == len({(row["partition"], row["substream"]) for row in rows}) == 5


@pytest.mark.long
@pytest.mark.usefixtures("quick")
def test_state_is_as_large_after_many_batches_of_new_keys_as_after_a_few(tmp_path, monkeypatch):
    """A key stays for the late tolerance: 60 s, so for the keys of six batches, however many came before."""
    monkeypatch.setattr(maintenance, "MERGE_EVERY", 3)
    source = oracle.Source(late=(60 * S, "adjust"), over=True, partitions=("0",), landing_delay=S)
    product = Product(tmp_path, {"s": source})
    sizes = []
    for number, run in enumerate(steady(16), 1):
        product.feed("s", [run])
        files = DeltaTable(product.folder_of("substreams")).file_uris()
        sizes.append((len(product.table("substreams")), len(files)))
        assert number <= 9 or sizes[-1] == sizes[number - 4], "rows and files return to what they were"
    assert len({row["_substream"] for row in product.events("s")}) == 18


@pytest.mark.long
@pytest.mark.usefixtures("quick")
def test_merging_keeps_the_rows_of_streams_and_makes_their_files_fewer(tmp_path, monkeypatch):
    streams = {
        "copy": {"from": "s", "publish": True},
        "w": {"from": "s", "tumbling": "5s", "select": {"n": "count(*)"}},
    }
    plain, _ = fed(tmp_path / "plain", steady(4, 60 * S), streams=streams)
    monkeypatch.setattr(maintenance, "MERGE_EVERY", 4)
    merged, _ = fed(tmp_path / "merged", steady(4, 60 * S), streams=streams)
    for table in ("streams/copy", "streams/w"):
        rows = [sorted(map(repr, product.table(table))) for product in (plain, merged)]
        assert rows[0] == rows[1] != []
        files = [len(DeltaTable(product.folder_of(table)).file_uris()) for product in (plain, merged)]
        assert files[1] < files[0]
    assert merged.pipeline().replay(all_batches=True)["identical"]


@pytest.mark.usefixtures("quick")
def test_retention_keeps_the_events_that_an_open_window_needs(tmp_path):
    streams = {"w": {"from": "s", "tumbling": "3d", "select": {"n": "count(*)"}}}
    product, _ = fed(tmp_path, steady(6, DAY), streams=streams, retention={"events": "1d"})
    assert [row["n"] for row in product.table("streams/w")] == [9]
    left = {row["_offset"] for row in product.events("s")}
    assert left == set(range(9, 18))


def test_retention_of_dead_letters_goes_by_batch(spark, tmp_path):
    place = tmp_path / "dead_letters" / "w"
    for number in (1, 2, 3):
        delta.append(spark.range(2).selectExpr("id", f"CAST({number} AS BIGINT) AS _batch_id"), str(place), number)
    TableMaintenance(spark, tmp_path).retain_letters(["dead_letters/w", "dead_letters/none"], 3)
    assert set(DeltaTable(place).to_pyarrow_table(columns=["_batch_id"])["_batch_id"].to_pylist()) == {3}


@pytest.mark.usefixtures("quick")
def test_retention_drops_whole_days_of_events_and_old_batches(tmp_path):
    runs = steady(4, step=DAY)
    product, outcome = fed(tmp_path, runs, retention={"events": "1d", "ledger": "1d"})
    left = {row["_offset"] for row in product.events("s")}
    assert max(left) == 11
    assert 0 not in left
    assert {row["_offset"]: row["_disposition"] for row in product.events("s")} == {
        verdict.offset: verdict.disposition for verdict in outcome.verdicts if verdict.offset in left
    }
