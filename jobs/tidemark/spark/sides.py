"""Does several things at once that wait for Spark most of the time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from pyspark import inheritable_thread_target
from pyspark.sql import SparkSession

Result = TypeVar("Result")


def side_by_side(spark: SparkSession, actions: Sequence[Callable[[], Result]]) -> list[Result]:
    """What the actions return, in their order, once all have ended; raises what the first of them raised."""
    if len(actions) < 2:
        return [action() for action in actions]
    with ThreadPoolExecutor(len(actions)) as pool:
        begun = [pool.submit(inheritable_thread_target(spark)(action)) for action in actions]
    return [each.result() for each in begun]
