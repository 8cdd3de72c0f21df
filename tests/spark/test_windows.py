"""What windows say does not depend on how rows are spread over tasks, and which of them pay for that."""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from pyspark.errors import SparkRuntimeException
from pyspark.sql import functions as F

from tidemark.config.models.streams import StreamSpec
from tidemark.core.times import MAX_TIME
from tidemark.core.windows import FixedWindows
from tidemark.errors import ConfigError
from tidemark.spark.columns import JUDGED, OPEN_UNTIL, RANK, WINDOW
from tidemark.spark.streams.windows import AFTER, BEFORE, aggregated, bounded, closing, late, outside, pulled_back
from tidemark.spark.times import divided

MINUTE = 60_000_000
MINUTES = FixedWindows(MINUTE, MINUTE)
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
    found = aggregated(closing(spread, MINUTES, complete=False), step, MINUTES, dict(TYPES))
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


@pytest.mark.parametrize("windows", [10_000_000, 10_000_001])
def test_a_row_in_too_many_windows_for_an_array_is_named_with_its_life(spark, windows):
    own = ("p", 0, None, 0, True, None, windows, "a", 1.0, 1)
    row = spark.createDataFrame([(at(0), at(windows), None, *own)], SYSTEM)
    counted = closing(row, FixedWindows(1, 1), complete=False)
    if windows == 10_000_000:
        assert counted.count() == windows
        return
    said = "lives from 1970-01-01 00:00:00 to 1970-01-01 00:00:10.000001 is in 10,000,001 windows"
    with pytest.raises(SparkRuntimeException, match=said):
        counted.count()


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
    numbers = [row[WINDOW] for row in closing(frame, window, complete=False).collect()]
    assert numbers == [2, 3]  # [4, 10) and [6, 12) close at 11 and 13; [8, 14) stays open
    open_still = closing(frame, window, complete=True).collect()
    assert [row[WINDOW] for row in open_still] == [2, 3, 4]
    passed = frame.withColumn(BEFORE, F.lit(11).cast("long"))
    assert [row[WINDOW] for row in late(passed, window).collect()] == [2]


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


SIZES = [
    pytest.param(FixedWindows(6, 2, offset=1, lateness=1), id="overlapping"),
    pytest.param(FixedWindows(4, 4, offset=3), id="tumbling"),
    pytest.param(FixedWindows(4, 4, lateness=3), id="closing later"),
    pytest.param(FixedWindows(2, 5, offset=1, lateness=2), id="with gaps"),
]


def lives(points):
    """Random rows: start, end, own watermark, if it was judged, and the times passed before and after."""
    dice = Random(3)  # noqa: S311 - the same rows each time
    for _ in range(200):
        start = dice.randint(-12, 30)
        end = start + (1 if points else dice.choice((1, 2, 5, 9)))
        mark, before, after = (dice.choice((None, dice.randint(-12, 40))) for _ in range(3))
        yield start, end, mark, dice.random() < 0.8, before, after


def frame_of(spark, rows):
    made = [
        (
            at(start),
            at(end),
            None if mark is None else at(mark),
            "p",
            number,
            None,
            0,
            judged,
            before,
            after,
            "a",
            1.0,
            1,
        )
        for number, (start, end, mark, judged, before, after) in enumerate(rows)
    ]
    return spark.createDataFrame(made, SYSTEM)


def numbers(found):
    return sorted((row["_offset"], row[WINDOW]) for row in found.select("_offset", WINDOW).collect())


def over(window, rows):
    """Row by row, each window that it overlaps, with the time at which it closes, and the times that were passed."""
    for number, (start, end, mark, judged, before, after) in enumerate(rows):
        own = mark if judged else None
        for n in range(-30, 60):
            begin = n * window.hop + window.offset
            if start < begin + window.size and end > begin:
                yield number, n, begin + window.size + window.lateness, judged, own, before, after


@pytest.mark.parametrize("window", SIZES)
@pytest.mark.parametrize("points", [True, False], ids=["points", "lifetimes"])
@pytest.mark.parametrize("kept", [True, False], ids=["kept", "not behind"])
@pytest.mark.parametrize("complete", [True, False], ids=["complete", "going on"])
def test_windows_close_between_the_time_passed_before_and_after(spark, window, points, kept, complete):
    rows = list(lives(points))
    wanted = [
        (number, n)
        for number, n, closes, _, own, before, after in over(window, rows)
        if (before is None or closes > before)
        and (not kept or own is None or closes > own)
        and (complete or (after is not None and closes <= after))
    ]
    frame = frame_of(spark, rows)
    told_ = {} if kept else {"kept": False}
    assert numbers(closing(frame, window, complete, points=points, **told_)) == wanted
    assert wanted


@pytest.mark.parametrize("window", SIZES)
def test_judged_rows_are_late_for_windows_that_were_passed_and_outside_if_they_are_in_none(spark, window):
    rows = list(lives(points=False))
    frame = frame_of(spark, rows)
    wanted = [
        (number, n)
        for number, n, closes, judged, own, before, _ in over(window, rows)
        if judged and any(time is not None and time >= closes for time in (own, before))
    ]
    assert numbers(late(frame, window)) == wanted
    inside = {number for number, *_ in over(window, rows)}
    assert {row["_offset"] for row in outside(frame, window).collect()} == set(range(len(rows))) - inside


@pytest.mark.parametrize("window", SIZES)
def test_the_watermark_of_windows_is_pulled_back_to_the_earliest_open_one(spark, window):
    times = [None, *range(-9, 30)]
    frame = spark.createDataFrame([(time,) for time in times], "t BIGINT").coalesce(1)
    found = [row[0] for row in frame.select(pulled_back(window, F.col("t"))).collect()]
    assert found == [window.pulled_back(time) for time in times]


def test_open_lifetimes_are_in_windows_up_to_where_they_are_cut(spark):
    window = FixedWindows(4, 4)
    known = (None, "p", 0, None, 0, True, None, None, "a", 1.0, 1)
    frame = spark.createDataFrame([(at(2), None, *known), (at(2), at(5), *known)], SYSTEM)
    cut = frame.withColumn(OPEN_UNTIL, F.lit(13).cast("long"))
    assert numbers(closing(cut, window, complete=True)) == [(0, 0), (0, 0), (0, 1), (0, 1), (0, 2), (0, 3)]
    assert numbers(closing(frame, window, complete=True)) == [(0, 0), (0, 1)]
    held = spark.createDataFrame([(at(2), at(MAX_TIME), *known)], SYSTEM).withColumn(
        OPEN_UNTIL, F.lit(9).cast("long")
    )
    assert numbers(closing(held, window, complete=True)) == [(0, 0), (0, 1), (0, 2)]
    found = bounded(frame.limit(1).withColumn(WINDOW, F.lit(3)), FixedWindows(6, 2, offset=1))
    bounds = [F.unix_micros(name) for name in ("_window_start", "_window_end")]
    assert tuple(found.select(*bounds).collect()[0]) == (7, 13)


def test_an_aggregate_may_read_the_bounds_of_its_window_and_there_may_be_none(rows):
    select = {"since": "unix_micros(_Window_Start)", "n": "count(*)", "until": "max(unix_micros(_window_end)) - 1"}
    found = [(row["since"], row["n"], row["until"]) for row in told(rows, select, 2).collect()]
    assert {(since, until) for since, _, until in found} == {(0, MINUTE - 1), (MINUTE, 2 * MINUTE - 1)}
    assert sum(n for _, n, _ in found) == 600
    ordered = [(row["since"], row["n"]) for row in told(rows, {**select, "first": "first(n)"}, 2).collect()]
    assert ordered == [(since, n) for since, n, _ in found]
    lengths = told(rows, {"length": "unix_micros(_window_end) - unix_micros(_window_start)"}, 2).collect()
    assert [row["length"] for row in lengths] == [MINUTE] * 4
    groups = told(rows, {}, 2).select(F.unix_micros("_window_start"), "k").collect()
    assert [tuple(row) for row in groups] == [(0, "a"), (0, "b"), (MINUTE, "a"), (MINUTE, "b")]
    with pytest.raises(ConfigError, match=r"streams\.w\.select\.n: .* cannot be resolved: \[UNRESOLVED"):
        told(rows, {"n": "sum(unknown)"}, 2)
    step = StreamSpec(name="w", from_="s", tumbling="1m", group_by=("unknown",))
    with pytest.raises(ConfigError, match=r": streams\.w\.select: cannot be resolved: \[UNRESOLVED"):
        aggregated(closing(rows, MINUTES, complete=False), step, MINUTES, dict(TYPES))


@pytest.mark.parametrize(("groups", "after"), [(("k",), False), (("x",), True), (("k", "x"), True)])
def test_groups_with_floats_are_brought_together_once_distinct_values_are_known_and_others_before(
    rows, groups, after
):
    """Else Spark would spread rows of groups with floats again; what one task has is not shuffled at all."""
    step = StreamSpec(name="w", from_="s", tumbling="1m", group_by=groups, select={"ns": "collect_list(DISTINCT n)"})

    def plan(alone):
        closed = closing(rows.coalesce(1), MINUTES, complete=False)
        found = aggregated(closed, step, MINUTES, dict(TYPES), alone=alone)
        return found._jdf.queryExecution().executedPlan().toString()

    assert "Exchange" not in plan(alone=True)
    spread = plan(alone=False)
    assert spread.count("REPARTITION_BY_COL") == 1
    assert (spread.index("REPARTITION_BY_COL") < spread.index("Window [")) == after
