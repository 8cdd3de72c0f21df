"""Things done at once."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from tidemark.spark.sides import side_by_side


def test_what_is_done_at_once_comes_in_order_and_each_has_begun_before_any_ends(spark):
    both = threading.Barrier(2, timeout=60)

    def counting(rows: int) -> Callable[[], int]:
        def count() -> int:
            both.wait()
            return spark.range(rows).count()

        return count

    assert side_by_side(spark, [counting(3), counting(2)]) == [3, 2]
    assert side_by_side(spark, []) == []


def test_what_the_first_of_them_raises_is_raised_once_all_have_ended(spark):
    ended = []

    def failing() -> None:
        raise ValueError("the first")

    with pytest.raises(ValueError, match="the first"):
        side_by_side(spark, [failing, lambda: ended.append("the second")])
    assert ended == ["the second"]
