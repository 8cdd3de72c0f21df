"""One-slot background worker: runs one job beside its caller."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Generic, Self, TypeVar

T = TypeVar("T")


class Behind(Generic[T]):
    """Runs jobs in the order given, one at a time, while the caller goes on. An error of a job is raised at the next
    call or at exit; after an error no job is begun."""

    def __init__(self) -> None:
        self.done: list[T] = []
        self._pool = ThreadPoolExecutor(1)
        self._going_on: Future[T] | None = None

    def __enter__(self) -> Self:
        return self

    def begin(self, job: Callable[[], T]) -> None:
        """Begin a job in the background, after the job before it has ended."""
        self.wait()
        self._going_on = self._pool.submit(job)

    def do(self, job: Callable[[], T]) -> None:
        """Run a job in the calling thread, after the job before it has ended."""
        self.wait()
        self.done.append(job())

    def wait(self) -> None:
        """Wait until the last job has ended."""
        if self._going_on is not None:
            going_on, self._going_on = self._going_on, None
            self.done.append(going_on.result())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait for the last job. Its error replaces an error of the caller, except an interrupt, since the job began
        earlier."""
        self._pool.shutdown(wait=True)
        if kind is None or issubclass(kind, Exception):
            self.wait()
