"""A test case: rows that land, runs, and the rows that tables must then have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tidemark.config import PipelineSpec

Row = Mapping[str, Any]
"""Values of a row by column, as a case file has them."""


@dataclass(frozen=True)
class GivenRow:
    """A row that lands. `at` and `landed` are microseconds UTC: its arrival, and the landing time of its object.
    `raw` is a line that is no row; `file` is the name of its object (None: the case gives none)."""

    at: int
    landed: int
    values: Row
    raw: str | None = None
    file: str | None = None

    @property
    def shown(self) -> Row:
        """The row for people."""
        return self.values if self.raw is None else {"raw": self.raw}


@dataclass(frozen=True)
class CaseRun:
    """One run of a case: its as_of, microseconds UTC, and the sources that are closed with it."""

    as_of: int
    closing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """A test case of `spec`. `given` has rows by source in the order of the file, `expect` rows by table."""

    name: str
    file: Path
    line: int
    spec: PipelineSpec
    given: Mapping[str, tuple[GivenRow, ...]] = field(default_factory=dict)
    runs: tuple[CaseRun, ...] = ()
    expect: Mapping[str, tuple[Row, ...]] = field(default_factory=dict)
