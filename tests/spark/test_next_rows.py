"""Ends that the next row gives are those of literal Python: which keys are equal, what was known before a batch."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from pyspark.sql import functions as F

from tidemark.config.models.streams import StreamSpec
from tidemark.core.times import MAX_TIME
from tidemark.spark.columns import RANK, TENTATIVE, WAS
from tidemark.spark.streams.lives.next_rows import Known
from tidemark.spark.streams.operators.steps import stepped

SCHEMA = (
    "_system_timestamp TIMESTAMP, _end_time TIMESTAMP, _partition STRING, _offset BIGINT, _batch_id BIGINT,"
    f" {RANK} INT, k DOUBLE"
)
TIMES = (
    "unix_micros(_system_timestamp) AS start",
    "unix_micros(_end_time) AS end",
    f"unix_micros({TENTATIVE}) AS maybe",
)
SINCE = 3


def at(micros):
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


def made(count=120):
    """(start, partition, offset, batch, key) of few starts, before and after 1970, and of few keys, some of which are
    equal though their bits differ."""
    dice = Random(5)  # noqa: S311 - the same rows each time
    keys = (0.0, -0.0, math.nan, 1.0, None)
    return [(dice.randint(-9, 30), dice.choice("pq"), n, dice.randint(1, 4), dice.choice(keys)) for n in range(count)]


def ended(spark, rows, known, *, emptied=False, tentative=None, **keys):
    """By offset: end, and what it was before."""
    whole = [(at(start), at(start + 1), part, number, batch, 0, key) for start, part, number, batch, key in rows]
    frame = spark.createDataFrame(whole, SCHEMA).withColumn("_substream", F.lit(None).cast("string"))
    if tentative is not None:
        frame = frame.withColumn(TENTATIVE, F.when(F.col("_offset").isin(*tentative), F.col("_system_timestamp")))
    lifetime = {"until": "next", "by": ["k"], **keys}
    step = StreamSpec.model_validate({"name": "s", "from": "rates", "lifetime": lifetime})
    found, names = stepped(frame, step, ["k"], last=False, emptied=emptied, known=known)
    assert names == ["k"]
    assert set(found.columns) <= {*frame.columns, TENTATIVE, WAS}
    was = f"unix_micros({WAS})" if WAS in found.columns else "NULL"
    shown = found.selectExpr("_offset", *(TIMES if not emptied else TIMES[:2]), f"{was} AS was").collect()
    if not emptied:
        assert all(row["maybe"] == row["start"] for row in shown)
    return {row["_offset"]: (row["end"], row["was"]) for row in shown}


def alike(one, other):
    both = isinstance(one, float) and isinstance(other, float) and math.isnan(one) and math.isnan(other)
    return both or one == other


def end_of(row, rows, most):
    """Where the next row starts among `rows`, `most` after the start at the latest; None: never."""
    later = [each for each in rows if each[:3] > row[:3] and alike(each[4], row[4])]
    ends = [min(later)[0]] if later else []
    return min([*ends, *([] if most is None else [row[0] + most])], default=None)


@pytest.mark.parametrize("most", [None, 4], ids=["unbounded", "bounded"])
def test_a_row_ends_with_the_next_one_of_equal_values_and_of_one_time_the_last_stays(spark, most):
    rows = made()
    keys = {} if most is None else {"at_most": f"{most}us"}
    found = ended(spark, rows, Known(), **keys)
    ends = {row[2]: (end_of(row, rows, most), row[0]) for row in rows}
    stay = {number: (end, None) for number, (end, start) in ends.items() if end is None or end > start}
    assert found == stay
    assert {number: end for number, (end, _) in ended(spark, rows, Known(), emptied=True, **keys).items()} == {
        number: start + 1 for number, (end, start) in ends.items() if end == start
    }


@pytest.mark.parametrize("most", [None, 4], ids=["unbounded", "bounded"])
def test_an_end_was_another_before_the_rows_of_later_batches(spark, most):
    rows = made()
    keys = {} if most is None else {"at_most": f"{most}us"}
    found = ended(spark, rows, Known(SINCE), **keys)
    for row in rows:
        if row[2] in found:
            before = end_of(row, [each for each in rows if each[3] < SINCE], most)
            was = None if before == found[row[2]][0] else MAX_TIME if before is None else before
            assert found[row[2]][1] == was, row
    assert any(was not in (None, MAX_TIME) for _, was in found.values())


def test_a_row_that_may_turn_out_to_be_none_ends_others_once_its_time_has_passed(spark):
    rows = [(1, "p", 0, 1, 1.0), (5, "p", 1, 1, 1.0), (9, "p", 2, 1, 1.0)]
    held = {}
    for certain in ((0, 5), (0, 6), (5, 6), (6, 9), (0, None)):
        held[certain] = ended(spark, rows, Known(2, certain), tentative=[1])[0]
    assert held == {
        (0, 5): (9, None), (0, 6): (5, 9), (5, 6): (5, 9), (6, 9): (5, None), (0, None): (5, 9),
    }  # fmt: skip
