"""How rows are shared out to tasks: chunks of hot partitions, cells, ranges of arrivals."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F

from tidemark.spark.partitioning.layout import (
    FilePiece,
    Layout,
    RunningState,
    assigned_by,
    balanced,
    skewed_share,
    tasks_of,
)
from tidemark.spark.partitioning.ranges import Ranges


def test_each_cell_has_the_state_that_the_cells_before_it_left():
    states = [RunningState(4, 10, 3, 2), RunningState(4, None, 0, None), RunningState(4, 9, 4, 1)]
    cells = [FilePiece("p", (0, 0, number), each) for number, each in enumerate(states)]
    layout = Layout(tasks=1, bits=1).with_cells(reversed(cells), lambda _: RunningState(100, 7, 5, None))
    before = [layout.before["p", cell.position] for cell in cells]
    assert before == [RunningState(100, 7, 5, None), RunningState(104, 10, 8, 2), RunningState(108, 10, 8, 2)]
    assert [chunk.before for chunk in layout.chunks.values()] == before


def test_a_row_that_counts_is_in_the_period_of_an_earlier_arrival_that_is_later_than_its_own():
    cells = [FilePiece("p", (0, 0, 0), RunningState(1, 50)), FilePiece("p", (0, 0, 1), RunningState(1, 20, 1, 2))]
    cells.append(FilePiece("p", (0, 0, 2), RunningState(1)))
    layout = Layout(tasks=1, bits=0).with_cells(cells, lambda _: RunningState(), every=10)
    assert [layout.before["p", cell.position].period for cell in cells] == [None, None, 5]


def test_the_largest_go_to_the_task_that_has_least():
    assert balanced({"a": 5, "b": 4, "c": 3, "d": 3}, 2) == {"a": 0, "b": 1, "c": 1, "d": 0}


MIB = 1 << 20


@pytest.mark.parametrize(
    ("size", "text", "partitioned", "tasks"),
    [
        (4 * MIB, False, True, 1),
        (5 * MIB, False, True, 4),
        (16 * MIB, False, False, 1),
        (17 * MIB, False, False, 4),
        (32 * MIB, True, True, 1),
        (33 * MIB, True, True, 4),
        (320 * MIB, False, True, 10),
    ],
)
def test_one_task_judges_what_is_not_worth_a_shuffle(size, text, partitioned, tasks):
    assert tasks_of(size, 4, text, partitioned) == tasks


@pytest.mark.parametrize(
    ("size", "cores", "largest", "cut"),
    [
        (640 * MIB, 4, 26, False),
        (640 * MIB, 4, 37, False),
        (640 * MIB, 4, 38, True),
        (640 * MIB, 2, 75, False),
        (640 * MIB, 2, 76, True),
        (20 * MIB, 8, 79, False),
        (20 * MIB, 8, 81, True),
        (10 * MIB, 8, 100, False),
    ],
)
def test_a_partition_is_cut_where_that_pays_for_reading_its_rows_twice(size, cores, largest, cut):
    """Four partitions with a quarter of the rows each, on four cores: a percent more than its share cuts none."""
    sizes = {"large": largest, "others": 100 - largest} if largest < 100 else {"large": 100}
    layout = assigned_by(sizes, 100, Layout(cores), skewed_share(size, cores, text=False))
    assert ("large" in layout.skewed) == cut


def test_ranges_have_about_as_many_rows_each_and_crowded_times_are_apart():
    ranges = Ranges.cut([(time, 1.0) for time in range(12)], 4)
    assert ranges == Ranges(4, (3, 6, 9))
    assert Ranges.cut([(7, 1.0)] * 9, 3) == Ranges(3, (), (7,))
    assert Ranges.cut([(1, 1.0), (2, 1.0), (3, 1.0), *[(9, 1.0)] * 9], 2) == Ranges(2, (3,), (9,))
    assert Ranges.cut([], 4) == Ranges(4)
    assert ranges.starts == (3, 6, 9)
    assert Ranges(2, (3,), (9,)).starts == (3, 10)


def test_a_row_is_in_the_range_of_its_arrival_and_anywhere_at_a_crowded_one(spark):
    ranges = Ranges(3, (10, 20), (15,))
    rows = spark.range(0, 60).select("id", F.when(F.col("id") != 40, F.col("id") % 30).alias("time"))
    shared = ranges.shared_range(F.col("time"), F.col("id"))
    found = rows.select("id", "time", ranges.range_of(F.col("time")).alias("place"), shared.alias("shared"))
    for row in found.collect():
        expected = 0 if row["time"] is None else (row["time"] >= 10) + (row["time"] >= 20)
        assert row["place"] == expected
        assert row["shared"] == (row["id"] % 3 if row["time"] in (15, None) else expected)
