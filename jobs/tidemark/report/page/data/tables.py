"""The input of a report: the tables of one pipeline, limited to committed batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import duckdb
import pyarrow.compute as pc
from pyarrow.dataset import Dataset, dataset

from tidemark.config import PipelineSpec
from tidemark.core.policy import Policy
from tidemark.records.status import StatusRecord
from tidemark.report.causes.causes import Cause
from tidemark.report.scan import Condition, both, sql, stream

Row = dict[str, Any]

READ = (
    "_partition",
    "_substream",
    "_offset",
    "_arrival_time",
    "_event_time",
    "_system_timestamp",
    "_disposition",
    "_reasons",
    "_watermark",
    "_end_time",
    "_batch_id",
)
"""Columns of events that a report reads."""

HELD = 2_000_000
"""Most rows of a source that is read once and kept in memory (about 100 bytes a row). A larger source is read again
for each query, with equal results."""


@dataclass(frozen=True)
class SourceTable:
    """One source: its events (None: none written yet) and the policy that judged its newest rows. `timed`: it has its
    own event time. `punctuated`: punctuations replace the policy. `others`: other policies that judged rows of the
    scope."""

    name: str
    events: Dataset | None
    policy: Policy
    timed: bool = True
    punctuated: bool = False
    substreams: bool = False
    others: tuple[Policy, ...] = ()

    def held(self, scope: Scope, rows: int) -> SourceTable:
        """Return the source with its rows of a scope in memory, if they are few: opening files takes most time."""
        if self.events is None or rows > HELD:
            return self
        table = self.events.to_table(columns=list(READ), filter=scope.of("_batch_id"))
        return replace(self, events=dataset(table))


@dataclass(frozen=True)
class Scope:
    """The batches that a report covers, first and last included, and a description in words."""

    first: int
    last: int
    words: str = "everything that is recorded"

    def of(self, column: str) -> pc.Expression:
        """Return the condition for rows of these batches."""
        return (pc.field(column) >= self.first) & (pc.field(column) <= self.last)

    def __contains__(self, batch_id: int) -> bool:
        return self.first <= batch_id <= self.last

    @property
    def empty(self) -> bool:
        return self.last < self.first


@dataclass(frozen=True)
class Tables:
    """The whole input of a page. `status`: record of the command `status` (None: only charts, no page). `letters`:
    dead letters by stream. `quality` includes uncommitted batches: a run that quality blocks is committed later or
    never. `causes`: causes of abnormal rows, the heaviest first (None: not searched). `samples`: the page may show
    the text of rows that cannot be read. `ran`: time of each run by its first batch, microseconds UTC, if known."""

    spec: PipelineSpec
    config: str
    scope: Scope
    sources: Sequence[SourceTable]
    batches: Dataset
    watermarks: Dataset
    diagnostics: Dataset
    letters: Mapping[str, Dataset] = field(default_factory=dict)
    quality: Dataset | None = None
    advice: Dataset | None = None
    versions: Sequence[Row] = ()
    status: StatusRecord | None = None
    causes: Sequence[Cause] | None = None
    samples: bool = True
    ran: Mapping[int, int] = field(default_factory=dict)


@contextmanager
def registered(dataset: Dataset, columns: Sequence[str], where: Condition = None) -> Iterator[Query]:
    """Register the rows of a dataset as the relation `t` of a private DuckDB; they can be read once."""
    with sql() as connection:
        connection.register("t", stream(dataset, columns, where))
        yield Query(connection)


@dataclass(frozen=True)
class Query:
    """Runs SQL and returns rows as dicts."""

    connection: duckdb.DuckDBPyConnection

    def rows(self, text: str, *values: object) -> list[Row]:
        """Return the rows of a result as dicts by column."""
        answer = self.connection.execute(text, list(values))
        names = [column[0] for column in answer.description or ()]
        return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]


def ask(dataset: Dataset, columns: Sequence[str], text: str, *values: object, where: Condition = None) -> list[Row]:
    """Run one query over a dataset; only the given columns are read."""
    with registered(dataset, columns, where) as query:
        return query.rows(text, *values)


def in_scope(scope: Scope, *conditions: Condition, column: str = "_batch_id") -> Condition:
    """Return the condition of a scope, combined with other conditions."""
    return both(scope.of(column), *conditions)
