"""What windows say does not depend on how rows are spread over tasks, and which of them pay for that."""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import functions as F

from tidemark.config.models.streams import StreamSpec
from tidemark.core.windows import FixedWindows
from tidemark.spark.columns import JUDGED, RANK
from tidemark.spark.streams.windows import AFTER, BEFORE, aggregated, closing, late, outside
from tidemark.spark.times import divided

MINUTE = 60_000_000
WINDOW = FixedWindows(MINUTE, MINUTE)
SYSTEM = (
    "_system_timestamp TIMESTAMP, _end_time TIMESTAMP, _watermark TIMESTAMP, _partition STRING, _offset BIGINT,"
    f" _substream STRING, {RANK} INT, {JUDGED} BOOLEAN, {BEFORE} BIGINT, {AFTER} BIGINT, k STRING, x DOUBLE, n INT"
)
SENSITIVE = {
    "total": "sum(x)",
    "mean": "avg(x)",
    "spread": "stddev(x)",
    "first": "first(n)",
    "last": "last(n)",
    "every": "collect_list(n)",
    "tied": "max_by(n, k)",
}
INSENSITIVE = {
    "rows": "count(*)",
    "least": "min(x)",
    "most": "max(n)",
    "whole": "sum(n)",
    "distinct": "count(DISTINCT n)",
}
TYPES = {"k": "STRING", "x": "DOUBLE", "n": "INT"}


def at(micros):
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


@pytest.fixture(scope="module")
def rows(spark):
    """Two windows of rows whose sum of doubles depends on their order; many share an instant."""
    numbers = [1e16, 1.0, -1e16, 0.1, 3.0, -7e15]
    made = []
    for number in range(600):
        start = number * 199_999 // 10 * 10 % (2 * MINUTE)
        value = numbers[number * 7 % 6]
        own = (f"p{number % 3}", number, None, 0, True, None, 2 * MINUTE)
        made.append((at(start), at(start + 1), None, *own, "ab"[number % 2], value, number % 50))
    return spark.createDataFrame(made, SYSTEM).cache()


def bits(row):
    """A row with its doubles as bytes: equal only if every bit is."""
    return tuple(struct.pack(">d", value) if isinstance(value, float) else repr(value) for value in row)


def told(rows, select, tasks, by="_offset"):
    step = StreamSpec(name="w", from_="s", tumbling="1m", group_by=("k",), select=select)
    spread = rows.repartition(tasks, by).sortWithinPartitions(F.xxhash64("_offset", F.lit(tasks)))
    found = aggregated(closing(spread, WINDOW, complete=False), step, WINDOW, dict(TYPES))
    return found.orderBy("_window_start", "k")


@pytest.mark.parametrize("select", [SENSITIVE, INSENSITIVE], ids=["sensitive", "insensitive"])
def test_every_bit_is_the_same_for_any_number_of_tasks_and_any_order_of_rows(rows, select):
    first, *others = ([bits(row) for row in told(rows, select, tasks).collect()] for tasks in (1, 2, 7))
    assert len(first) == 4
    assert all(other == first for other in others)


def test_a_plain_aggregate_of_the_same_rows_does_depend_on_their_order(rows):
    plain = [
        rows.repartition(tasks, "_offset").groupBy("k").agg(F.sum("x")).orderBy("k").collect()
        for tasks in (1, 2, 7, 11)
    ]
    assert len({tuple(bits(row) for row in found) for found in plain}) > 1


def test_sorted_windows_are_those_of_a_fold_in_the_order_of_the_sort_key(rows):
    found = told(rows, SENSITIVE, 5).collect()
    ordered = sorted(rows.collect(), key=lambda row: (row["_system_timestamp"], row["_partition"], row["_offset"]))
    for row in found:
        start, end = row["_window_start"], row["_window_end"]
        mine = [one for one in ordered if start <= one["_system_timestamp"] < end and one["k"] == row["k"]]
        total = 0.0
        for one in mine:
            total += one["x"]
        assert row["total"] == total
        assert row["every"] == [one["n"] for one in mine]
        assert (row["first"], row["last"]) == (mine[0]["n"], mine[-1]["n"])


def test_only_aggregates_that_depend_on_order_are_sorted(rows):
    def plan(select):
        return told(rows, select, 3)._jdf.queryExecution().toString()

    assert "SortAggregate" in plan(SENSITIVE)
    insensitive = plan(INSENSITIVE)
    assert "SortAggregate" not in insensitive
    assert "partial_count" in insensitive


def test_what_cannot_be_computed_is_null_and_stops_nothing(rows):
    """Neither a time that no calendar has, nor a time of day that would be completed with today's date."""
    select = {
        "overflow": "max(timestamp_seconds(x))",
        "last": "max(timestamp_seconds(n))",
        "today": "max(CAST(concat('0', '1:00', k) AS TIMESTAMP))",
        "after": "timestamp_seconds(max(x) * 1000000)",
        "quantiles": "percentile(n, array(0.0, 1.0))",
        "zones": "collect_list(from_utc_timestamp(timestamp_seconds(n), k))",
        "few": "count(DISTINCT n % 2) FILTER (WHERE n < 10)",
    }
    for row in told(rows, select, 2).collect():
        assert row["last"].timestamp() in (48, 49)
        assert row["today"] is None
        assert row["zones"] == []
        beyond = row["k"] == "a"  # its greatest x is 1e16
        assert (row["overflow"] is None, row["after"] is None) == (beyond, beyond)
        assert row["quantiles"][1] >= 48
        assert row["few"] <= 2


def test_a_row_counts_in_each_window_that_it_overlaps_and_is_late_for_those_that_were_passed(spark):
    window = FixedWindows(size=6, hop=2, lateness=1)
    known = (None, "p", 0, None, 0, True, 9, 13, "a", 1.0, 1)
    frame = spark.createDataFrame([(at(8), at(9), *known)], SYSTEM)
    numbers = [row["__tidemark_window"] for row in closing(frame, window, complete=False).collect()]
    assert numbers == [2, 3]  # [4, 10) and [6, 12) close at 11 and 13; [8, 14) stays open
    open_still = closing(frame, window, complete=True).collect()
    assert [row["__tidemark_window"] for row in open_still] == [2, 3, 4]
    passed = frame.withColumn(BEFORE, F.lit(11).cast("long"))
    assert [row["__tidemark_window"] for row in late(passed, window).collect()] == [2]


def test_rows_in_the_gaps_between_windows_are_outside(spark):
    window = FixedWindows(size=2, hop=5)
    known = (None, "p", 0, None, 0, True, None, None, "a", 1.0, 1)
    frame = spark.createDataFrame([(at(start), at(start + 1), *known) for start in range(10)], SYSTEM)
    starts = [row["_system_timestamp"] for row in outside(frame, window).collect()]
    assert sorted(time.microsecond for time in starts) == [2, 3, 4, 7, 8, 9]


def test_the_number_of_a_window_is_exact_at_the_ends_of_time(spark):
    hops = (3, 7, 1_000_003)
    micros = [sign * (253_402_300_799_999_999 - step) for sign in (1, -1) for step in range(40)]
    frame = spark.createDataFrame([(time,) for time in micros], "t BIGINT")
    found = frame.select("t", *[divided(F.col("t"), hop).alias(str(hop)) for hop in hops]).collect()
    assert [tuple(row) for row in found] == [(time, *(time // hop for hop in hops)) for time in micros]
