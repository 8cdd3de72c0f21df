"""Wraps every verb of a pipeline: failures become errors for people, and the caller's Spark session is left
unchanged."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

from tidemark.storage import s3_errors

P = ParamSpec("P")
T = TypeVar("T")


def explained(verb: Callable[P, T]) -> Callable[P, T]:
    """Wrap a verb: its failures become errors for people, and the process's Spark is left as it was before the
    call."""
    inner = s3_errors.explained(verb)

    @wraps(verb)
    def wrapped(*args: P.args, **options: P.kwargs) -> T:
        with _spark_kept():
            return inner(*args, **options)

    return wrapped


@contextmanager
def _spark_kept() -> Iterator[None]:
    """Restore what a verb changes of Spark in this process. Imports nothing if Spark is not imported."""
    if "pyspark" in sys.modules:
        from tidemark.spark.session.isolation import kept

        with kept():
            yield
        return
    try:
        yield
    finally:
        if "tidemark.spark.session.isolation" in sys.modules:
            from tidemark.spark.session.isolation import put_back

            put_back(None)
