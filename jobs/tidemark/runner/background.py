"""Work that goes on beside its caller, one step behind."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Generic, Self, TypeVar

T = TypeVar("T")


class Behind(Generic[T]):
    """Does jobs in the order in which they are given, one at a time, while its caller goes on to the next. What one
    of them raises is raised where the next is given, or at the end; nothing is begun after it."""

    def __init__(self) -> None:
        self.done: list[T] = []
        self._pool = ThreadPoolExecutor(1)
        self._going_on: Future[T] | None = None

    def __enter__(self) -> Self:
        return self

    def begin(self, job: Callable[[], T]) -> None:
        """Begin a job, once the one before it is done."""
        self.wait()
        self._going_on = self._pool.submit(job)

    def do(self, job: Callable[[], T]) -> None:
        """Do a job here, once the one before it is done."""
        self.wait()
        self.done.append(job())

    def wait(self) -> None:
        """Wait until everything that was begun is done."""
        if self._going_on is not None:
            going_on, self._going_on = self._going_on, None
            self.done.append(going_on.result())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """What was begun is done before anything else happens, and came before what its caller met since."""
        self._pool.shutdown(wait=True)
        if kind is None or issubclass(kind, Exception):
            self.wait()
