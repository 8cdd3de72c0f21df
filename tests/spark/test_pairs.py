"""Pairs of rows: which keys are equal, each pair once, in an order of their own."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from itertools import product
from random import Random
from typing import Any

import pytest

from tidemark.config.models.streams import StreamSpec
from tidemark.errors import ConfigError
from tidemark.spark.streams.joins import Side, paired

SCHEMA = "_system_timestamp TIMESTAMP, _end_time TIMESTAMP, _offset BIGINT, _batch_id BIGINT, k {kind}, n INT"
TIMES = ("unix_micros(_system_timestamp) AS start", "unix_micros(_end_time) AS end")
NOT_BROADCAST = "spark.sql.autoBroadcastJoinThreshold"


def at(micros: int | None) -> datetime | None:
    return None if micros is None else datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


def step(**more: Any) -> StreamSpec:
    select = {"a": "left.n", "b": "right.n"}
    return StreamSpec.model_validate({"name": "j", "join": ["left", "right"], "on": ["k"], "select": select, **more})


def side(spark, name, rows, longest=None, kind="DOUBLE"):
    made = [(at(start), at(end), number, 1, key, number) for number, (start, end, key) in enumerate(rows)]
    frame = spark.createDataFrame(made, SCHEMA.format(kind=kind))
    return Side(name, frame, ["_system_timestamp", "_offset"], longest)


def pairs(spark, left, right, longest=(None, None), **more):
    sides = [side(spark, *each) for each in zip(("left", "right"), (left, right), longest, strict=True)]
    found = paired(step(**more), *sides, 0).selectExpr("a", "b", *TIMES).collect()
    assert len({(row["a"], row["b"]) for row in found}) == len(found)
    return {(row["a"], row["b"]): (row["start"], row["end"]) for row in found}


@pytest.mark.parametrize("broadcast", ["-1", "10485760"], ids=["sorted", "broadcast"])
def test_null_equals_nothing_and_numbers_are_equal_as_in_sql(spark, broadcast):
    keys = [None, math.nan, 0.0, -0.0, 1.5, math.inf]
    rows = [(0, 10, key) for key in keys]
    before = spark.conf.get(NOT_BROADCAST)
    spark.conf.set(NOT_BROADCAST, broadcast)
    found = set(pairs(spark, rows, rows))
    spark.conf.set(NOT_BROADCAST, before)
    assert found == {(1, 1), (2, 2), (2, 3), (3, 2), (3, 3), (4, 4), (5, 5)}


def test_a_pair_lives_in_the_intersection_and_rows_that_only_touch_are_none(spark):
    left = [(0, 10, 1.0), (10, 20, 1.0), (-5, -1, 1.0)]
    right = [(5, 10, 1.0), (9, 11, 1.0), (19, None, 1.0)]
    found = pairs(spark, left, right)
    assert found == {
        (0, 0): (5, 10),
        (0, 1): (9, 10),
        (1, 1): (10, 11),
        (1, 2): (19, 20),
    }
    open_ones = pairs(spark, [(0, None, 1.0)], [(5, None, 1.0)])
    assert open_ones == {(0, 0): (5, None)}


@pytest.mark.parametrize("longest", [(7, 5), (1, 6), (1, 1), (7, None), (None, None)])
def test_cells_of_time_change_no_pair(spark, longest):
    dice = Random(5)  # noqa: S311 - the same rows each time

    def rows(most):
        starts = [dice.randint(-40, 40) for _ in range(60)]
        return [(start, start + dice.randint(1, most or 9), float(dice.randint(0, 1))) for start in starts]

    left, right = (rows(most) for most in longest)
    wanted = {
        (a, b): (max(one[0], other[0]), min(one[1], other[1]))
        for (a, one), (b, other) in product(enumerate(left), enumerate(right))
        if one[2] == other[2] and max(one[0], other[0]) < min(one[1], other[1])
    }
    assert len(wanted) > 5
    assert pairs(spark, left, right, longest) == wanted


def test_where_and_select_see_both_sides_and_what_cannot_be_computed_is_null(spark):
    rows = [(0, 5, 1.0), (1, 5, 1.0)]
    assert set(pairs(spark, rows, rows, where="left.n < right.n")) == {(0, 1)}
    assert pairs(spark, rows, rows, where="timestamp_seconds(left.n + 1000000000000000) > right._end_time") == {}


def test_pairs_are_ordered_by_the_left_row_then_the_right(spark):
    sides = [side(spark, name, [(0, 5, 1.0), (0, 5, 1.0)]) for name in ("left", "right")]
    found = paired(step(), *sides, 3)
    order = sorted(name for name in found.columns if name.startswith("__tidemark_order_0003"))
    assert len(order) == 4
    assert [(row["a"], row["b"]) for row in found.orderBy(*order).collect()] == [(0, 0), (0, 1), (1, 0), (1, 1)]


@pytest.mark.parametrize(("kind", "message"), [("STRING", "cast it"), ("ARRAY<INT>", "not one value")])
def test_columns_that_cannot_be_equal_are_a_configuration_error(spark, kind, message):
    left = side(spark, "left", [], kind=kind)
    right = side(spark, "right", [], kind="DOUBLE" if kind == "STRING" else kind)
    with pytest.raises(ConfigError) as caught:
        paired(step(), left, right, 0)
    (problem,) = caught.value.problems
    assert problem.key == "streams.j.on"
    assert message in problem.message


def test_only_the_columns_that_are_needed_are_moved(spark):
    sides = [side(spark, name, [(0, 5, 1.0)]) for name in ("left", "right")]

    def moved(text):
        plan = paired(step(select={"a": text}), *sides, 0).select("a")._jdf.queryExecution().optimizedPlan()
        return {name for name in ("n#", "k#") if name in plan.toString().split("LogicalRDD")[0]}

    assert moved("left.k") == {"k#"}
    assert moved("left.n") == {"k#", "n#"}
