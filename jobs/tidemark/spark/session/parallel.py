"""Runs several actions at once that wait for Spark most of the time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

from pyspark import inheritable_thread_target
from pyspark.sql import SparkSession

from tidemark.spark.compat.sessions import activate_in_jvm

Result = TypeVar("Result")


def side_by_side(spark: SparkSession, actions: Sequence[Callable[[], Result]]) -> list[Result]:
    """Run the actions in threads and return their results, in order, once all have ended. Raises the error of the
    first action, in order, that failed. If the wait is interrupted, all Spark jobs are cancelled."""
    if len(actions) < 2:
        return [action() for action in actions]
    with ThreadPoolExecutor(len(actions)) as pool:
        begun = [pool.submit(inheritable_thread_target(spark)(_in_session(spark, action))) for action in actions]
        try:
            wait(begun)
        except BaseException:
            spark.sparkContext.cancelAllJobs()
            raise
    return [each.result() for each in begun]


def _in_session(spark: SparkSession, action: Callable[[], Result]) -> Callable[[], Result]:
    """The action, run with this session active: a new thread has no session, and without one it would have other
    settings."""

    def run() -> Result:
        activate_in_jvm(spark)
        return action()

    return run
