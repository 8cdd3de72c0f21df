"""Interface between a pipeline and its inputs: the pieces of a source's log.

A piece is taken once, in order and whole, and can be read again unchanged. Files are the only kind of input so far;
their piece is an object. Another kind would implement `SourceLog` and be chosen in `log_of`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from tidemark.config import SourceSpec
from tidemark.landing.listing import LandingLocation, Listed


class SourceLog(Protocol):
    """An input as planning and recovery need it. Rows of a piece are read by its format."""

    @property
    def max_object_age(self) -> int | None:
        """Age in microseconds above which a piece is too old to be taken; None: no limit."""
        ...

    def pieces(self, as_of: int, left_out: dict[str, str] | None = None) -> Iterator[Listed]:
        """All pieces, in no particular order; pieces after `as_of` (microseconds UTC) may be missing. `left_out` gets
        the names of skipped entries that look like pieces, with the reasons.

        Raises TidemarkError if the input is missing.
        """
        ...

    def path(self, uri: str) -> str:
        """The path at which a piece is read now."""
        ...

    def refusal(self, uri: str) -> str | None:
        """The reason, from its name alone, why a piece cannot be read; None if it can."""
        ...


def log_of(source: SourceSpec, *, any_age: bool = False) -> SourceLog:
    """The log of a source; with `any_age`, no piece is too old."""
    return LandingLocation(source.landing, source.landed_at, None if any_age else source.max_object_age)
