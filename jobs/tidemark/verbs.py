"""Wraps every verb of a pipeline: failures become errors for people, and the caller's Spark session is left
unchanged."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from tidemark.errors import TidemarkError, missing_parts_named
from tidemark.storage import object_errors
from tidemark.storage.disk_errors import disk_fault_of

P = ParamSpec("P")
T = TypeVar("T")


def explained(verb: Callable[P, T]) -> Callable[P, T]:
    """Wrap a verb: its failures become errors for people, and the process's Spark is left as it was before the
    call."""
    inner = object_errors.explained(_with_damage_named(verb))

    @wraps(verb)
    def wrapped(*args: P.args, **options: P.kwargs) -> T:
        with _spark_kept():
            return inner(*args, **options)

    return wrapped


def _with_damage_named(verb: Callable[P, T]) -> Callable[P, T]:
    """Wrap a verb: if it fails for no known reason and a table on a local disk is damaged, raise the error that names
    the table. Libraries name a file at most, and say what is wrong in many ways."""

    @wraps(verb)
    def wrapped(*args: P.args, **options: P.kwargs) -> T:
        try:
            with missing_parts_named():
                return verb(*args, **options)
        except (TidemarkError, ModuleNotFoundError):
            raise
        except Exception as error:
            known = object_errors.fault_of(error) or disk_fault_of(error)
            if known is None and args and (damage := _damage(args[0])) is not None:
                raise damage from error
            raise

    return wrapped


def _damage(called: Any) -> TidemarkError | None:  # noqa: ANN401 # a pipeline, a context, or what `init` is given
    """The damage to tables of the pipeline that was called; None if there is none."""
    from tidemark.context import RunContext  # only where something has failed

    context = getattr(called, "context", called)
    return context.damage() if isinstance(context, RunContext) else None


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
