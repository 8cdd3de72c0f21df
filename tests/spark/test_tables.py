"""Appends to Delta tables: once a batch, at a cost that does not grow with the table."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pyarrow.parquet as pq
import pytest
from delta.exceptions import ConcurrentTransactionException
from deltalake import DeltaTable

from tidemark.spark.compat.plain import Way, _lacks_class, plain
from tidemark.spark.tables import delta
from tidemark.spark.tables.delta import append


def batch(spark, number):
    return spark.range(10).selectExpr("id", f"CAST({number} AS BIGINT) AS _batch_id")


def rows_in(place):
    return DeltaTable(place).to_pyarrow_dataset().count_rows()


@pytest.mark.usefixtures("ways")
def test_an_append_is_made_once(spark, tmp_path):
    place = str(tmp_path / "t")
    for number in (1, 2):
        written = append(batch(spark, number), place, number)
        assert written is not None
        assert (written.rows().count(), written.number) == (10, 10)
        assert append(batch(spark, number), place, number) is None
    assert append(batch(spark, 1), place, 1) is None
    assert append(batch(spark, 1), place, 1, application="another") is not None
    assert rows_in(place) == 30
    assert DeltaTable(place).transaction_version("tidemark") == 2


def test_an_append_is_made_in_public_where_a_class_is_missing(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(Way.APPEND, "_value_", ("tidemark.plans.NoSuchClass",))
    monkeypatch.setattr(delta, "session_of", None)
    _lacks_class.cache_clear()
    try:
        assert append(batch(spark, 1), str(tmp_path / "t"), 1) is not None
    finally:
        _lacks_class.cache_clear()
    assert [plain(way) for way in Way if way is not Way.APPEND] == [False] * 3
    assert rows_in(tmp_path / "t") == 10


def test_numbers_in_order_are_kept_as_differences(spark, tmp_path):
    place = str(tmp_path / "t")
    rows = spark.range(100_000).selectExpr(
        "id AS _offset", "timestamp_micros(id * 1000) AS _arrival_time", "'landing/a' AS _file", "1L AS _batch_id"
    )
    append(rows.coalesce(1), place, 1)
    [path] = DeltaTable(place).file_uris()
    kept = pq.ParquetFile(path).metadata.row_group(0)
    columns = {kept.column(index).path_in_schema: kept.column(index) for index in range(kept.num_columns)}
    for name in ("_offset", "_arrival_time", "_batch_id"):
        assert columns[name].encodings == ("DELTA_BINARY_PACKED",)
        assert columns[name].statistics.has_min_max
        assert columns[name].total_compressed_size < 20_000, "eight bytes a row would be 800,000"
    assert "RLE_DICTIONARY" in columns["_file"].encodings
    assert columns["_file"].statistics.null_count == 0, "without statistics, second pages would say -1"


def test_an_append_does_not_list_the_live_files(spark, tmp_path):
    place = str(tmp_path / "t")
    for number in (1, 2, 3):
        append(batch(spark, number), place, number)
    spark.sparkContext.setJobGroup("append", "one more")
    try:
        append(batch(spark, 4), place, 4)
        jobs = spark.sparkContext.statusTracker().getJobIdsForGroup("append")
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    assert len(jobs) == 1  # the write; Delta's state of a table takes three more


@pytest.mark.usefixtures("ways")
def test_of_two_appends_of_one_batch_at_once_one_is_made(spark, tmp_path):
    place = str(tmp_path / "t")
    append(batch(spark, 1), place, 1)
    together = Barrier(2)

    def attempt(_):
        together.wait()
        try:
            return (
                append(spark.range(200_000).repartition(8).selectExpr("id", "2L AS _batch_id"), place, 2) is not None
            )
        except ConcurrentTransactionException:
            return "conflict"

    with ThreadPoolExecutor(2) as threads:
        told = list(threads.map(attempt, range(2)))
    assert told.count(True) == 1, told
    assert rows_in(place) == 200_010
