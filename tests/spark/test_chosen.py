"""The files that may have rows of a span, told from a table's log."""

from __future__ import annotations

import shutil

import pytest
from delta import tables as deltas
from deltalake import DeltaTable
from pyspark.sql import functions as F

from tidemark.spark.plans.bind import bound
from tidemark.spark.tables import file_pruning
from tidemark.spark.tables.delta import append
from tidemark.spark.tables.file_pruning import rows_of
from tidemark.spark.tables.time_range import Span, needed

pytestmark = pytest.mark.usefixtures("quick")
START = "_system_timestamp"


@pytest.fixture(scope="module")
def place(spark, tmp_path_factory):
    """Batch n has rows that start at n seconds, 250 us later and at none; batch 4 has none that starts at all."""
    found = str(tmp_path_factory.mktemp("chosen") / "a table: 100%")
    for number in (1, 2, 3, 4):
        times = (None,) if number == 4 else (number * 1_000_000, number * 1_000_000 + 250, None)
        told = spark.createDataFrame([(time,) for time in times], "at BIGINT")
        rows = told.select(F.timestamp_micros("at").alias(START))
        columns = (START, F.lit(number).cast("long").alias("_batch_id"), F.col(START).cast("date").alias("day"))
        append(rows.coalesce(1).select(*columns), found, number, partition_by="day", statistics=f"{START},_batch_id")
    return found


SPANS = {
    "all": Span(),
    "after, of a part of a millisecond": Span(after=2_000_250),
    "just after that": Span(after=2_000_252),
    "before": Span(before=2_000_000),
    "between": Span(after=1_500_000, before=2_500_000),
    "between, and brought since": Span(after=1_500_000, before=1_600_000, since=3),
    "brought since, alone": Span(after=1_500_000, before=1_600_000, since=3, only=True),
    "beyond all times": Span(after=-(1 << 62), before=1 << 62),
}


@pytest.mark.parametrize("span", SPANS.values(), ids=SPANS)
@pytest.mark.parametrize(("begin", "length", "last"), [(0, 1, 4), (0, 1, 2), (-400_000, 1, 4), (300, 900_000, 3)])
def test_no_row_of_a_span_is_missed(spark, place, monkeypatch, span, begin, length, last):
    def found():
        rows = rows_of(spark, place, START, begin, length, span, last)
        kept = rows.where(F.col(START).isNotNull() & (F.col("_batch_id") <= last))
        if span.before != 1 << 62:
            kept = kept.where(needed(F.col(START), F.col(START), begin, length, span))
        return rows.columns, sorted(kept.collect())

    told = found()
    monkeypatch.setattr(file_pruning, "MOST", 0)
    assert told == found()


def files(place, **span):
    return file_pruning._files(DeltaTable(place), START, 0, 1, Span(**span), 4).num_rows


def test_files_of_other_times_are_left_out(place):
    unknown = 4  # each batch has a file of the day null, whose rows start at no time
    assert files(place) == 3 + unknown
    assert files(place, after=1_500_000) == 2 + unknown
    assert files(place, after=1_500_000, before=2_500_000) == 1 + unknown
    assert files(place, since=4, only=True) == 1


def test_a_file_without_bounds_may_have_any_row(spark, tmp_path):
    place = str(tmp_path / "t")
    rows = spark.sql("SELECT TIMESTAMP_MICROS(5000000) AS _system_timestamp, 1L AS _batch_id")
    append(rows, place, 1, statistics="_batch_id")
    assert file_pruning._files(DeltaTable(place), START, 0, 1, Span(after=9_000_000), 1).num_rows == 1


def test_a_table_whose_files_are_not_read_as_they_are_is_read_by_delta(spark, tmp_path):
    place = str(tmp_path / "t")
    append(spark.sql("SELECT 1L AS id, TIMESTAMP_MICROS(0) AS _system_timestamp, 1L AS _batch_id"), place, 1)
    append(spark.sql("SELECT 2L AS id, TIMESTAMP_MICROS(0) AS _system_timestamp, 2L AS _batch_id"), place, 2)
    spark.sql(f"ALTER TABLE delta.`{place}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = true)")
    spark.sql(f"OPTIMIZE delta.`{place}`")
    deltas.DeltaTable.forPath(spark, place).delete("id = 1")
    rows = rows_of(spark, place, START, 0, 1, Span(), 2)
    assert [row["id"] for row in rows.collect()] == [2]


def test_a_plan_of_chosen_files_serves_those_of_a_table_elsewhere(spark, place, tmp_path):
    """As that of the live version does after another one is promoted."""
    here, other = str(tmp_path / "here"), str(tmp_path / "elsewhere")
    for copy in (here, other):
        shutil.copytree(place, copy)
    known = file_pruning.few_of(here, START, 0, 1, Span(), 4)
    found = file_pruning.few_of(other, START, 0, 1, Span(since=3, only=True), 4)
    rows = bound(known.read(spark), found.whole, base=found.base)
    shutil.rmtree(here)
    assert rows.columns == [START, "_batch_id", "day"]
    assert sorted(rows.collect(), key=str) == sorted(found.read(spark).collect(), key=str)
    assert {row["_batch_id"] for row in rows.collect()} == {3, 4}


def test_few_files_are_read_without_asking_spark_for_them(spark, place):
    spark.sparkContext.setJobGroup("chosen", "rows of a span")
    try:
        rows_of(spark, place, START, 0, 1, Span(after=1_500_000), 4).collect()
        jobs = spark.sparkContext.statusTracker().getJobIdsForGroup("chosen")
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    assert len(jobs) == 1
