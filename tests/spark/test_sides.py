"""Things done at once."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from tidemark.spark.session.parallel import side_by_side


def test_what_is_done_at_once_comes_in_order_and_each_has_begun_before_any_ends(spark):
    both = threading.Barrier(2, timeout=60)

    def counting(rows: int) -> Callable[[], int]:
        def count() -> int:
            both.wait()
            return spark.range(rows).count()

        return count

    assert side_by_side(spark, [counting(3), counting(2)]) == [3, 2]
    assert side_by_side(spark, []) == []


def test_each_has_the_sessions_settings(spark):
    def ansi() -> str:
        return spark._jvm.org.apache.spark.sql.internal.SQLConf.get().getConfString("spark.sql.ansi.enabled")

    assert side_by_side(spark, [ansi, ansi]) == [spark.conf.get("spark.sql.ansi.enabled")] * 2 == ["false"] * 2


def test_what_the_first_of_them_raises_is_raised_once_all_have_ended(spark):
    ended = []

    def failing() -> None:
        raise ValueError("the first")

    with pytest.raises(ValueError, match="the first"):
        side_by_side(spark, [failing, lambda: ended.append("the second")])
    assert ended == ["the second"]


def test_a_wait_that_is_broken_off_ends_their_jobs(spark, monkeypatch):
    def broken(_: object) -> None:
        raise KeyboardInterrupt

    cancelled = threading.Event()
    monkeypatch.setattr("tidemark.spark.session.parallel.wait", broken)
    monkeypatch.setattr(spark.sparkContext, "cancelAllJobs", cancelled.set)
    with pytest.raises(KeyboardInterrupt):
        side_by_side(spark, [lambda: cancelled.wait(60)] * 2)
    assert cancelled.is_set()
