"""Pairs of rows: which keys are equal, each pair once, in an order of their own."""

from __future__ import annotations

import math
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import product
from random import Random
from typing import Any

import pytest

from tidemark.config.models.streams import StreamSpec
from tidemark.errors import ConfigError
from tidemark.spark.streams.gaps import joined
from tidemark.spark.streams.joins import Side, paired
from tidemark.spark.tables.time_range import Span

SCHEMA = "_system_timestamp TIMESTAMP, _end_time TIMESTAMP, _offset BIGINT, _batch_id BIGINT, k {kind}, n INT"
TIMES = ("unix_micros(_system_timestamp) AS start", "unix_micros(_end_time) AS end")
EVER = Span()
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


def lives(spark, left, right, how, longest=(None, None), span=EVER, **more):
    """Starts and ends by the numbers of both rows; of gaps the right one is None."""
    sides = [side(spark, *each) for each in zip(("left", "right"), (left, right), longest, strict=True)]
    select = {"a": "left.n"} | ({"b": "right.n"} if how == "left" else {})
    rows = joined(step(how=how, select=select, **more), *sides, 0, span).selectExpr("*", *TIMES).collect()
    return Counter((row["a"], row["b"] if how == "left" else None, row["start"], row["end"]) for row in rows)


def literal(left, right, how, span=EVER):
    """The same, tick by tick: a left row has a gap wherever no row that equals it is alive."""
    found = Counter()
    for a, (start, end, key) in enumerate(left):
        matches = [
            (b, max(start, s), min(end, e)) for b, (s, e, k) in enumerate(right) if k == key and key is not None
        ]
        pairs_ = [each for each in matches if each[1] < each[2]]
        alone = [t for t in range(start, end) if not any(s <= t < e for _, s, e in pairs_)]
        begins = [t for t in alone if t - 1 not in alone]
        gaps = [(None, t, next(u for u in range(t, end + 1) if u not in alone)) for t in begins]
        found.update((a, *each) for each in [*(pairs_ if how == "left" else []), *gaps])
    inside = [each for each in found if (span.after or -99) < each[3] and each[2] < (span.before or 99)]
    return Counter(inside)


@pytest.mark.parametrize("how", ["left", "anti"])
@pytest.mark.parametrize("longest", [(9, 4), (1, 6), (7, None), (None, None)])
def test_left_rows_without_a_pair_are_rows_for_as_long_as_that_lasts(spark, longest, how):
    dice = Random(6)  # noqa: S311 - the same rows each time

    def rows(most, count, keys):
        starts = [dice.randint(-30, 30) for _ in range(count)]
        return [(start, start + dice.randint(1, most or 12), dice.choice(keys)) for start in starts]

    left, right = rows(longest[0], 40, (0.0, 1.0, None)), rows(longest[1], 25, (0.0, 1.0, 2.0, None))
    wanted = literal(left, right, how)
    assert sum(each[1] is None for each in wanted) > 20
    assert lives(spark, left, right, how, longest) == wanted
    span = Span(-5, 7)
    assert lives(spark, left, right, how, longest, span) == literal(left, right, how, span) != wanted


def test_a_pair_for_which_where_is_not_true_leaves_the_gap(spark):
    rows = [(0, 5, 1.0), (3, 9, 1.0)]
    known = Counter({(0, None, 0, 3): 1, (0, 1, 3, 5): 1, (1, None, 3, 9): 1})
    assert lives(spark, rows, rows, "left", where="left.n < right.n") == known
    assert lives(spark, rows, rows, "anti", where="NULL") == Counter({(0, None, 0, 5): 1, (1, None, 3, 9): 1})


def test_open_lives_have_open_gaps(spark):
    left, right = [(0, None, 1.0), (0, None, 2.0)], [(4, 6, 1.0), (8, None, 2.0)]
    gaps = {(0, None, 0, 4), (0, None, 6, None), (1, None, 0, 8)}
    assert set(lives(spark, left, right, "anti")) == gaps
    assert set(lives(spark, left, right, "left")) == gaps | {(0, 0, 4, 6), (1, 1, 8, None)}


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
