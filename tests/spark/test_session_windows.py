"""Sessions and snapshots of random rows are those of the oracle, however rows are spread, to the last bit."""

from __future__ import annotations

import struct
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from pyspark.sql import functions as F

from oracle_measured import sessions, snapshots
from tidemark.config.models.streams import StreamSpec
from tidemark.core.windows import Passed, SessionWindows, SnapshotWindows
from tidemark.spark.columns import JUDGED, RANK, TENTATIVE, WINDOW
from tidemark.spark.streams.session_windows import (
    ENDED,
    FROM,
    UNTIL,
    certain,
    closing,
    ends_about,
    in_windows,
    late,
    open_starts,
    taking_part,
    unclosed,
    with_ended,
)
from tidemark.spark.streams.windows import aggregated

SYSTEM = (
    "_system_timestamp TIMESTAMP, _end_time TIMESTAMP, _watermark TIMESTAMP, _partition STRING, _offset BIGINT,"
    f" _substream STRING, {RANK} INT, {JUDGED} BOOLEAN, k STRING, `odd.name` DOUBLE, x DOUBLE"
)
SESSION = SessionWindows(gap=5, max_duration=40)
LONG = SessionWindows(gap=5, max_duration=None)
MANY = pytest.mark.parametrize("windows", [SESSION, LONG, SnapshotWindows()], ids=["sessions", "long", "snapshots"])
GROUPS = ("k", "odd.name")
TOLD = {"total": "sum(x)", "mean": "avg(x)", "first": "first(x)", "every": "collect_list(_offset)"}


def at(micros):
    return None if micros is None else datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


def micros(time):
    return (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def row(offset, start, end, watermark=None, k="a", number=1.0, value=1.0):
    return (at(start), at(end), at(watermark), "p", offset, None, 0, True, k, number, value)


@pytest.fixture(scope="module")
def drawn():
    """Rows of groups whose names are null, not a number and zeros of both signs; points and lifetimes."""
    dice = Random(5)  # noqa: S311 - the same rows each time
    made = []
    for offset in range(500):
        start = dice.randint(0, 400)
        length = dice.choice((1, 1, 1, 2, 7, 30))
        number = dice.choice((0.0, -0.0, float("nan"), None))
        value = dice.choice((1e16, 1.0, -1e16, 0.1, 3.0))
        made.append(row(offset, start, start + length, None, dice.choice(("a", None)), number, value))
    return made


@pytest.fixture(scope="module")
def rows(spark, drawn):
    return taking_part(spark.createDataFrame(drawn, SYSTEM), 0).cache()


def earliest(rows, measured, groups, settled):
    """The start of the earliest window that ends after a time."""
    return open_starts(rows, measured, groups, settled).agg(F.min(WINDOW)).collect()[0][0]


def by_group(drawn):
    """Lives by group, as Spark groups: both zeros are one, and so are all that are not a number."""
    found = defaultdict(list)
    for each in drawn:
        number = "nan" if each[9] is not None and each[9] != each[9] else None if each[9] is None else abs(each[9])
        found[each[8], number].append((micros(each[0]), micros(each[1]), each[4]))
    return found


def held(found):
    """Rows in windows as (start, end, offset)."""
    told = found.select(F.unix_micros("_window_start"), F.unix_micros("_window_end"), "_offset", WINDOW).collect()
    assert all(each[0] == each[3] for each in told)
    return sorted((each[0], each[1], each[2]) for each in told)


def made(lives, windows):
    return sessions(lives, 5, windows.max_duration) if isinstance(windows, SessionWindows) else snapshots(lives)


def wanted(drawn, windows, after=None, until=None):
    groups = by_group(drawn).values()
    whole = [(*span, each) for lives in groups for span, of in made(lives, windows).items() for each in of]
    return sorted(
        each for each in whole if (after is None or each[1] > after) and (until is None or each[1] <= until)
    )


@MANY
@pytest.mark.parametrize(("after", "until"), [(None, None), (120, 300), (None, 77), (250, None)])
def test_rows_are_in_the_windows_of_the_oracle(rows, drawn, windows, after, until):
    found = in_windows(rows.repartition(3), windows, GROUPS, after, until)
    assert held(found) == wanted(drawn, windows, after, until)


@MANY
def test_equal_values_in_nested_groups_name_one_group(rows, drawn, windows):
    nested = {"k": F.array(F.col("k").cast("binary")), "odd.name": F.struct(F.array("`odd.name`"))}
    found = in_windows(rows.withColumns(nested).repartition(3), windows, GROUPS, None, None)
    assert held(found) == wanted(drawn, windows)


@MANY
def test_without_groups_all_rows_are_in_one(rows, drawn, windows):
    lives = [life for group in by_group(drawn).values() for life in group]
    expected = sorted((*span, each) for span, of in made(lives, windows).items() for each in of)
    assert held(in_windows(rows, windows, (), None, None)) == expected


@MANY
def test_every_bit_is_the_same_for_any_number_of_tasks_and_any_order_of_rows(rows, windows):
    select = {name: text for name, text in TOLD.items() if name != "every"}
    step = StreamSpec(name="w", from_="s", session=None, group_by=GROUPS, select=select)
    told = []
    for tasks in (1, 2, 7):
        spread = rows.repartition(tasks, "_offset").sortWithinPartitions(F.xxhash64("_offset", F.lit(tasks)))
        found = aggregated(in_windows(spread, windows, GROUPS, None, None), step, None, {"x": "DOUBLE"}).collect()
        told.append(
            sorted(tuple(struct.pack(">d", v).hex() if isinstance(v, float) else repr(v) for v in r) for r in found)
        )
    assert told[0] == told[1] == told[2]


def test_what_is_selected_is_a_fold_in_the_order_of_the_sort_key(rows, drawn):
    step = StreamSpec(name="w", from_="s", group_by=GROUPS, select=TOLD)
    for windows in (SESSION, SnapshotWindows()):
        for found in aggregated(in_windows(rows, windows, GROUPS, None, None), step, None, {"x": "DOUBLE"}).collect():
            times = [drawn[offset][0] for offset in found["every"]]
            assert list(zip(times, found["every"], strict=True)) == sorted(zip(times, found["every"], strict=True))
            values = [drawn[offset][10] for offset in found["every"]]
            total = 0.0
            for value in values:
                total += value
            assert (found["total"], found["first"]) == (total, values[0])


def test_rows_of_closed_sessions_are_known_by_what_was_written_of_them(spark, rows, drawn):
    """Rows from a time on, cut out of the middle of sessions, make the same open ones as all of them."""
    closed = [each for each in wanted(drawn, SESSION) if each[1] <= 200]
    groups = {each[4]: (each[8], each[9]) for each in drawn}
    written = spark.createDataFrame(
        [(at(start), at(end), *groups[offset]) for start, end, offset in closed],
        "_window_start TIMESTAMP, _window_end TIMESTAMP, k STRING, `odd.name` DOUBLE",
    )
    begun = min(each[0] for each in wanted(drawn, SESSION) if each[1] > 200)
    rest = unclosed(rows.where(F.col(FROM) >= begun), written.where(F.unix_micros("_window_end") > begun), GROUPS)
    assert held(in_windows(rest, SESSION, GROUPS, 200, None)) == wanted(drawn, SESSION, 200)
    assert earliest(rest, SESSION, GROUPS, 200) == begun
    kept = rows.where(F.col(FROM) >= begun)
    assert held(in_windows(kept, SESSION, GROUPS, 200, None)) != wanted(drawn, SESSION, 200)


def test_the_earliest_open_window_begins_before_what_is_settled_or_is_none(rows, drawn):
    first = min(each[0] for each in wanted(drawn, SnapshotWindows(), 200))
    assert earliest(rows, SnapshotWindows(), GROUPS, 200) == first
    assert earliest(rows, SnapshotWindows(), GROUPS, -1) is None
    assert earliest(rows, SESSION, GROUPS, 10_000) is None


def test_a_row_that_begins_at_what_is_settled_bounds_the_window_before_it(spark):
    made = taking_part(spark.createDataFrame([row(0, 0, 10), row(1, 5, 6), row(2, 6, 7)], SYSTEM), 0)
    assert [earliest(made, SnapshotWindows(), GROUPS, settled) for settled in (4, 5, 6, 8)] == [0, 5, 6, 7]


def test_a_row_takes_part_from_its_watermark_on_and_before_that_it_is_late(spark):
    made = [row(0, 10, 11, 10), row(1, 10, 11, 14), row(2, 10, 20, 14), row(3, 10, 11, None), row(4, 10, 12, 13)]
    made.append(row(5, 10, 11, 13))
    frame = spark.createDataFrame(made, SYSTEM)
    found = {each["_offset"]: (each[FROM], each[UNTIL]) for each in taking_part(frame, 2).collect()}
    assert found == {0: (10, 11), 2: (12, 20), 3: (10, 11), 4: (11, 12)}
    bounds = [F.unix_micros(name).alias(name) for name in ("_window_start", "_window_end")]
    told = {each[0]: (each[1], each[2]) for each in late(frame, 2).select("_offset", *bounds).collect()}
    assert told == {1: (10, 11), 2: (10, 12), 4: (10, 11), 5: (10, 11)}
    unjudged = frame.withColumn(JUDGED, F.lit(False))
    assert taking_part(unjudged, 2).count() == 6
    assert late(unjudged, 2).isEmpty()


def test_a_lifetime_without_an_end_is_open_until_all_is_complete(spark):
    made = taking_part(spark.createDataFrame([row(0, 10, None), row(1, 14, 15)], SYSTEM), 0)
    assert held(in_windows(made, SESSION, GROUPS, None, None)) == [(10, 50, 0), (10, 50, 1)]
    assert {each[2] for each in held(in_windows(made, LONG, GROUPS, 10**17, None))} == {0, 1}
    assert held(in_windows(made, LONG, GROUPS, None, 10**17)) == []
    assert earliest(made, LONG, GROUPS, 10**17) == 10
    assert held(in_windows(made, SnapshotWindows(), GROUPS, None, 1_000)) == [(10, 14, 0), (14, 15, 0), (14, 15, 1)]
    assert earliest(made, SnapshotWindows(), GROUPS, 1_000) == 15


def test_a_row_takes_part_from_what_the_step_had_passed_when_it_came(spark):
    """That is known of the batches from one on; of several such times, and its own watermark, the latest counts."""
    made = spark.createDataFrame([row(0, 10, 20, 12), row(1, 10, 20), row(2, 10, 20, 18)], SYSTEM)
    bounds = (Passed(5, 16), Passed(7, 17))

    def found(batch):
        frame = made.withColumn("_batch_id", F.lit(batch))
        parts = {each["_offset"]: each[FROM] for each in taking_part(frame, 2, bounds).collect()}
        ended = late(frame, 2, bounds).select("_offset", F.unix_micros("_window_end"))
        ends = {each[0]: each[1] for each in ended.collect()}
        return parts, ends

    assert found(4) == ({0: 10, 1: 10, 2: 16}, {2: 16})
    assert found(5) == ({0: 14, 1: 14, 2: 16}, {0: 14, 1: 14, 2: 16})
    assert found(7) == ({0: 15, 1: 15, 2: 16}, {0: 15, 1: 15, 2: 16})


@pytest.mark.parametrize(
    ("ended", "begun", "found"),
    [(None, None, [0, 1]), (None, 0, [0, 1]), (None, 5, [1]), (10, None, [1]), (0, None, [0, 1]), (0, 5, [1])],
)
def test_a_snapshot_that_ends_in_the_moment_passed_before_is_open_if_it_begins_after_the_last_closed(
    spark, ended, begun, found
):
    made = taking_part(spark.createDataFrame([row(0, 0, 10), row(1, 10, 20)], SYSTEM), 0)
    known = made.withColumn(ENDED, F.lit(ended).cast("long"))
    assert [each[2] for each in held(closing(known, SnapshotWindows(), (), begun, 10, 20))] == found
    by_row = known.withColumns({"before": F.lit(10).cast("long"), "after": F.lit(20).cast("long")})
    assert [each[2] for each in held(closing(by_row, SnapshotWindows(), (), begun, "before", "after"))] == found
    never = known.withColumn("before", F.lit(None).cast("long"))
    assert [each[2] for each in held(closing(never, SnapshotWindows(), (), begun, "before", 20))] == [0, 1]
    assert [each[2] for each in held(closing(known, SnapshotWindows(), (), begun, None, 20))] == [0, 1]


def test_a_session_that_ends_in_the_moment_passed_before_closes_and_one_before_does_not(spark):
    made = taking_part(spark.createDataFrame([row(0, 0, 6), row(1, 30, 31)], SYSTEM), 0)
    assert held(closing(made, SESSION, (), None, 10, 30)) == [(0, 10, 0)]
    assert held(closing(made, SESSION, (), None, 11, 35)) == [(30, 35, 1)]
    assert held(closing(made, SESSION, (), None, 11, 34)) == []


def test_the_last_closed_window_is_that_of_the_same_group_or_of_all(spark):
    made = spark.createDataFrame([row(0, 0, 1, k="a"), row(1, 0, 1, k="b"), row(2, 0, 1, k=None)], SYSTEM)
    ends = [(at(3), "a"), (at(5), "a"), (at(4), None)]
    closed = spark.createDataFrame(ends, "_window_end TIMESTAMP, k STRING")

    def found(*given):
        return {each["_offset"]: each[ENDED] for each in with_ended(*given).collect()}

    assert found(made, closed, ("k",)) == {0: 5, 1: None, 2: 4}
    assert found(made, closed, ()) == {0: 5, 1: 5, 2: 5}
    assert found(made, None, ("k",)) == {0: None, 1: None, 2: None}
    assert with_ended(made, closed, ("k",)).columns == [*made.columns, ENDED]
    begun = made.withColumn(FROM, F.when(F.col("k") == "a", 5).otherwise(3))
    assert sorted(each["_offset"] for each in unclosed(begun, closed, ("k",)).collect()) == [0, 1]
    assert unclosed(begun, closed.where("k = 'a'"), ()).select("_offset").collect() == [(0,)]


def test_a_lifetime_that_may_turn_out_to_be_empty_bounds_nothing_before_its_moment_is_passed(spark):
    made = spark.createDataFrame([(0, at(10)), (1, at(12)), (2, None)], f"n INT, {TENTATIVE} TIMESTAMP")

    def found(until):
        return [each["n"] for each in certain(made, 2, until).orderBy("n").collect()]

    assert [found(until) for until in (8, 9, 10, 11, None)] == [[2], [0, 2], [0, 2], [0, 1, 2], [0, 1, 2]]
    by_row = made.withColumn("after", F.when(F.col("n") == 0, 9))
    assert [each["n"] for each in certain(by_row, 2, "after").orderBy("n").collect()] == [0, 1, 2]
    assert certain(made.drop(TENTATIVE), 2, 8).count() == 3


@pytest.mark.parametrize(
    ("lateness", "limit", "found"),
    [
        (0, 9, (None, 10)),
        (0, 10, (10, 20)),
        (0, 19, (10, 20)),
        (0, 30, (30, None)),
        (3, 22, (20, 23)),
        (3, 23, (23, 30)),
    ],
)
def test_windows_end_and_close_up_to_a_time_and_next_after_it(spark, lateness, limit, found):
    made = spark.createDataFrame([(at(20),), (at(10),), (at(30),)], "_window_end TIMESTAMP")
    assert ends_about(made, lateness, limit) == found
