"""Wraps every verb of a pipeline: it uses the present tables, its failures become errors for people, and the caller's
Spark session is left unchanged."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from tidemark.errors import TidemarkError, missing_parts_named
from tidemark.storage import object_errors
from tidemark.storage.disk_errors import disk_fault_of

if TYPE_CHECKING:
    from tidemark.context import RunContext

P = ParamSpec("P")
T = TypeVar("T")
_ISOLATION = "tidemark.spark.session.isolation"


_threads: set[int] = set()
"""Ids of the threads that run a verb."""
_turn = threading.Lock()


def explained(verb: Callable[P, T]) -> Callable[P, T]:
    """Wrap a verb: it uses the version that is live now, its failures become errors for people, and Spark in this
    process is afterwards as before. Only the outermost verb restores Spark; verbs within it do not."""
    inner = object_errors.explained(_with_damage_named(_renewed(verb)))

    @wraps(verb)
    def wrapped(*args: P.args, **options: P.kwargs) -> T:
        if threading.get_ident() in _threads:
            return inner(*args, **options)
        with _spark_kept(args):
            return inner(*args, **options)

    return wrapped


def _renewed(verb: Callable[P, T]) -> Callable[P, T]:
    """Wrap a verb: tables that an earlier call opened are opened again if they have been replaced."""

    @wraps(verb)
    def wrapped(*args: P.args, **options: P.kwargs) -> T:
        if args and (context := _context_of(args[0])) is not None:
            context.renew()
        return verb(*args, **options)

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
    context = _context_of(called)
    return None if context is None else context.damage()


def _context_of(called: Any) -> RunContext | None:  # noqa: ANN401
    """The context of a pipeline, or `called` itself if it is a context; None for anything else."""
    known = sys.modules.get("tidemark.context")  # not imported here: that is slow, and without it there is no context
    context = getattr(called, "context", called)
    return context if known is not None and isinstance(context, known.RunContext) else None


@contextmanager
def _spark_kept(args: tuple[Any, ...]) -> Iterator[None]:
    """After the outermost verb of a thread, restore Spark's state in this process. Settings of the whole JVM are
    restored once no other thread runs a verb. Imports nothing if Spark is not imported."""
    before = _isolation().session_before() if "pyspark" in sys.modules else None
    with _turn:
        _threads.add(threading.get_ident())
    try:
        yield
    finally:
        if args and (context := _context_of(args[0])) is not None:
            context.release_engine()
        with _turn:
            _threads.discard(threading.get_ident())
            if _ISOLATION in sys.modules:
                _isolation().put_back(before, whole=not _threads)


def _isolation() -> Any:  # noqa: ANN401 # a module whose import takes long
    return import_module(_ISOLATION)
