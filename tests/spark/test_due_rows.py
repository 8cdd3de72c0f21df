"""Which outputs are due, and which rows a run passes, at the very times that it goes from and to."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import functions as F

from tidemark.core.stream_output import Due
from tidemark.core.streams import StepRules, StreamState
from tidemark.core.times import MAX_TIME, MIN_TIME
from tidemark.core.windows import FixedWindows, SessionWindows
from tidemark.spark.columns import CAME, OPEN_UNTIL, WAS
from tidemark.spark.plans.parameters import constant
from tidemark.spark.streams.due import cut_open, not_due, passing, passing_span
from tidemark.spark.tables.time_range import Span

ROWS = StepRules("s", ("a",), ("a",))
SIZED = FixedWindows(10, 10, lateness=3)
WINDOWS = replace(ROWS, windows=SIZED)
FROM_10, TO_20 = StreamState(watermark=10, reached=10), StreamState(watermark=20, reached=20)
DUE = Due(ROWS, FROM_10, TO_20, 7, 9)
OF_WINDOWS = replace(DUE, step=WINDOWS, before=replace(FROM_10, watermark=0), after=replace(TO_20, watermark=0))
IDLE = replace(WINDOWS, windows=replace(SIZED, idle_timeout=5))
BY_PART = replace(WINDOWS, windows=replace(SIZED, partition_by="partition"))
SESSIONS = replace(WINDOWS, windows=SessionWindows(5, 20, lateness=3))


def at(micros):
    return None if micros is None else datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


def wrong(spark, due, ends, column):
    """Of these ends, those that are not due."""
    given = spark.createDataFrame(list(enumerate(ends)), "n INT, end BIGINT")
    frame = given.select("n", F.timestamp_micros("end").alias(column)).where(not_due(due, constant))
    return [ends[row["n"]] for row in frame.orderBy("n").select("n").collect()]


@pytest.mark.parametrize(
    ("due", "ends", "found"),
    [
        pytest.param(DUE, (9, 10, 11, 20, 21, None), [9, 10, 21, None], id="rows"),
        pytest.param(OF_WINDOWS, (7, 8, 17, 18), [7, 18], id="windows, that close later than they end"),
        pytest.param(replace(OF_WINDOWS, step=IDLE), (7, 8, 17, 18), [7], id="closed by time alone"),
        pytest.param(replace(OF_WINDOWS, step=BY_PART), (7, 18), [], id="by part"),
        pytest.param(replace(OF_WINDOWS, step=SESSIONS), (7, 8, 17, 18), [18], id="sessions"),
        pytest.param(replace(DUE, straggling=True), (10, 11, 20, 21), [21], id="rows may be behind"),
        pytest.param(replace(DUE, after=replace(TO_20, complete=True)), (10, 11, 21), [10], id="complete"),
        pytest.param(replace(DUE, before=StreamState()), (10, 11, 20, 21), [21], id="nothing passed before"),
        pytest.param(replace(DUE, before=StreamState(), after=StreamState()), (10, 21), [], id="nothing passed"),
        pytest.param(replace(DUE, before=replace(FROM_10, complete=True)), (10, 21), [21], id="complete before"),
    ],
)
def test_an_output_is_due_if_it_ends_after_what_was_passed_before_and_by_what_is_passed_now(spark, due, ends, found):
    assert wrong(spark, due, ends, "_end_time" if due.step is ROWS else "_window_end") == found


def test_a_time_at_the_bound_of_the_years_may_be_one_beyond(spark):
    """The first cannot be too late, nor the last too early; the others are compared."""
    below = replace(DUE, before=StreamState(watermark=MIN_TIME - 9), after=StreamState(watermark=MIN_TIME - 5))
    assert wrong(spark, below, (MIN_TIME, MIN_TIME + 1), "_end_time") == [MIN_TIME + 1]
    above = replace(DUE, before=StreamState(watermark=MAX_TIME + 5), after=StreamState(watermark=MAX_TIME + 9))
    assert wrong(spark, above, (MAX_TIME - 1, MAX_TIME), "_end_time") == [MAX_TIME - 1]


ENDS = ((0, 10, 1), (1, 11, 1), (2, 20, 1), (3, 21, 9), (4, None, 1), (5, 5, 6), (6, 5, 7), (7, 5, 8))
"""Number, end and batch of rows."""


def passed(spark, before, after, more="", extra=()):
    made = [(number, at(end), batch, *extra[number : number + 1]) for number, end, batch in ENDS]
    frame = spark.createDataFrame(made, f"n INT, _end_time TIMESTAMP, _batch_id BIGINT{more}")
    return sorted(row["n"] for row in passing(frame, DUE, before, after).collect())


def test_a_run_passes_rows_that_end_by_its_watermark_and_were_not_passed_or_there_before(spark):
    assert passed(spark, 10, 20) == [1, 2, 6, 7]
    assert passed(spark, None, 20) == [0, 1, 2, 5, 6, 7]
    assert passed(spark, 10, None) == [1, 2, 3, 4, 6, 7]
    was = [(at(end),) for end in (None, None, None, None, None, 11, None, None)]
    assert passed(spark, 10, 20, f", {WAS} TIMESTAMP", [value for (value,) in was]) == [1, 2, 5, 6, 7]
    assert passed(spark, 10, 20, f", {CAME} BIGINT", [7, 6, 6, 6, 6, None, 6, 8]) == [0, 1, 2, 7]


def test_rows_that_a_run_brought_are_looked_for_only_where_they_may_be_behind():
    assert passing_span(DUE, 10, 20) == Span(10, 20)
    assert passing_span(replace(DUE, straggling=True), 10, 20) == Span(10, 20, since=7, behind=True)


@pytest.mark.parametrize(("reached", "until"), [(None, 16), (9, 16), (30, 31)])
def test_open_lifetimes_have_windows_up_to_the_last_time_that_is_known(spark, reached, until):
    frame = spark.createDataFrame(
        [(at(12), at(13)), (at(15), None), (at(14), at(MAX_TIME))], "_system_timestamp TIMESTAMP, _end_time TIMESTAMP"
    )
    due = replace(DUE, after=StreamState(reached=reached, complete=True))
    assert {row[OPEN_UNTIL] for row in cut_open(frame, due).collect()} == {until}
    last = spark.createDataFrame([(at(12), at(18)), (at(15), None)], frame.schema)
    assert {row[OPEN_UNTIL] for row in cut_open(last, due).collect()} == {max(19, until)}


def test_nothing_is_cut_where_no_time_is_known(spark):
    frame = spark.createDataFrame([], "_system_timestamp TIMESTAMP, _end_time TIMESTAMP")
    assert OPEN_UNTIL not in cut_open(frame, replace(DUE, after=StreamState(complete=True))).columns
