"""Interface to the application that the dashboard is mounted in: users, their rights, and DAG runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, TypeAlias

User: TypeAlias = Any
"""The host's own representation of a user; it is only passed back to the host."""


@dataclass(frozen=True)
class Verified:
    """A DAG run that has replayed a run. `state` is the state of its task: `success` if no digest differed."""

    by: str
    state: str
    at: datetime | None


class Host(Protocol):
    """The application around the dashboard."""

    @property
    def user(self) -> Callable[..., User]:
        """Return a FastAPI dependency that gives the user of a request; it raises HTTPException if there is none."""
        ...

    def readable(self, user: User, dags: Collection[str]) -> set[str]:
        """Return the DAGs of `dags` that a user may read; they need not exist."""
        ...

    def may_read_errors(self, user: User) -> bool:
        """True if a user may see the errors of files that have no DAG."""
        ...

    def runs(self, dag: str, run_ids: Collection[str]) -> Mapping[str, str]:
        """Return the states of the run ids that belong to runs of a DAG."""
        ...

    def waiting(self, dag: str) -> Mapping[str, str]:
        """Return the runs of a DAG in which a task waits for a person's answer, each with this task."""
        ...

    def users(self, dag: str, run_ids: Collection[str]) -> Mapping[str, str]:
        """Return, for some runs of a DAG, the users who started them or answered their questions."""
        ...

    def verified(self, dag: str, run_ids: Collection[str]) -> Mapping[str, Verified]:
        """Return, for each run, the newest DAG run that replayed it, as far back as the host's records go."""
        ...
