"""What the services for objects that tests start have in common: they note each request, and can refuse it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple


class Request(NamedTuple):
    """What was asked: the method, the path (/bucket/key) and the query."""

    method: str
    path: str
    query: str


Refusal = Callable[[Request], tuple[int, str] | None]
"""Says with which status and code a request is refused; None: it is not."""


@dataclass
class Refusing:
    """A service; `refuse` are asked about each request, in order."""

    refuse: list[Refusal] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)

    def refused(self, request: Request) -> tuple[int, str] | None:
        """The status and code with which a request is refused; None if it is not."""
        return next((refusal for refuse in self.refuse if (refusal := refuse(request)) is not None), None)

    @contextmanager
    def refusing(self, refusal: Refusal) -> Iterator[None]:
        """Requests inside are refused as it says."""
        self.refuse.append(refusal)
        try:
            yield
        finally:
            self.refuse.remove(refusal)

    @contextmanager
    def counted(self) -> Iterator[list[Request]]:
        """The requests that are made inside."""
        found: list[Request] = []
        before = len(self.requests)
        yield found
        found += self.requests[before:]
