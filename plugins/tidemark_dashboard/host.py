"""What the dashboard asks of the application that it is mounted in: who asks, what they may see, and DAG runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, TypeAlias

User: TypeAlias = Any
"""Whatever the host takes for a user: it is only handed back."""


@dataclass(frozen=True)
class Verified:
    """A DAG run that has replayed a run: `state` of the task that did, `success` if everything came out identical."""

    by: str
    state: str
    at: datetime | None


class Host(Protocol):
    """The application around the dashboard."""

    @property
    def user(self) -> Callable[..., User]:
        """A FastAPI dependency that gives the user of a request, and raises HTTPException for one who is none."""
        ...

    def readable(self, user: User, dags: Collection[str]) -> set[str]:
        """Those of some DAGs that a user may read; they need not exist."""
        ...

    def may_read_errors(self, user: User) -> bool:
        """Whether a user may see what is wrong with files that no DAG could be made of."""
        ...

    def runs(self, dag: str, run_ids: Collection[str]) -> Mapping[str, str]:
        """The states of those run ids that are runs of a DAG."""
        ...

    def verified(self, dag: str, run_ids: Collection[str]) -> Mapping[str, Verified]:
        """The newest DAG run that replayed each of some runs, as far as the host remembers."""
        ...
