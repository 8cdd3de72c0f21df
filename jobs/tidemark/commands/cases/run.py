"""Runs test cases, each in a landing and a warehouse of its own, and compares tables with the expected rows."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from tidemark.commands import run as runs
from tidemark.commands.cases.case import Case, GivenRow
from tidemark.commands.cases.compare import Pair, TableRows, unequal, unmatched
from tidemark.commands.cases.keys import columns_of_table
from tidemark.commands.cases.landing import land, placed
from tidemark.commands.cases.origin import Origins
from tidemark.commands.read import Reader
from tidemark.commands.run import RunRequest
from tidemark.context import RunContext
from tidemark.errors import TidemarkError
from tidemark.ledger.tables.schemas import with_integer_times
from tidemark.records.cases import CaseDifference, CaseRecord
from tidemark.storage import is_table

QUALITY = "quality"
_SHOWN = 3
"""Maximum number of given rows that a difference shows."""


@contextmanager
def one_session() -> Iterator[None]:
    """Open the session of all cases, set for runs of few rows; Delta then forgets their tables."""
    from tidemark.spark.compat.sessions import forget_tables
    from tidemark.spark.session.few_rows import INTERPRETED, settings
    from tidemark.spark.session.session import open_session

    with settings(open_session(), INTERPRETED):
        yield
    forget_tables()


@dataclass
class Ran:
    """A case that has run: its tables, and the given rows by source and object."""

    case: Case
    reader: Reader
    landed: Mapping[tuple[str, str], list[GivenRow]]
    _known: dict[str, TableRows] = field(default_factory=dict, repr=False)

    def table(self, name: str) -> TableRows:
        """The rows of a table; none if no row has been written to it."""
        if name not in self._known:
            self._known[name] = self._read(name)
        return self._known[name]

    def _read(self, name: str) -> TableRows:
        if name not in self.reader.ledger.stores and not is_table(self.reader.folder_of(name)):
            schema = columns_of_table(self.case.spec, name)
            return TableRows(pa.schema([]) if schema is None else schema, [])
        whole = self.reader.table(name).to_table()
        return TableRows(whole.schema, whole.cast(with_integer_times(whole.schema)).to_pylist())

    def difference(self, table: str, pair: Pair, columns: Sequence[str]) -> CaseDifference:
        """The record of a difference. A row that is not expected is shown with `columns`, those of expected rows."""
        found = self.table(table)
        row = None if pair.found is None else found.rows[pair.found]
        names = list(columns if pair.expected is None else pair.expected)
        given = [] if row is None else Origins(self.case.spec, self.landed, self.table).of(table, row)
        return {
            "table": table,
            "given": [dict(each) for each in given[:_SHOWN]],
            "expected": None if pair.expected is None else dict(pair.expected),
            "got": None if pair.found is None else found.written(pair.found, names),
            "columns": [] if row is None or pair.expected is None else unequal(pair.expected, row, found.schema),
        }


def run_case(case: Case, folder: Path, environ: Mapping[str, str] | None = None) -> Ran:
    """Land the rows of a case below a folder and do its runs. Quality is checked only if its table is expected."""
    spec = placed(case.spec, folder)
    landed = land(replace(case, spec=spec), folder)
    last = max(each.as_of for each in case.runs)
    context = RunContext(spec, clock=lambda: last, environ=environ, checked=QUALITY in case.expect)
    for each in case.runs:
        runs.run(context, RunRequest(each.as_of, closing=each.closing, quality="record"), wait=False)
    return Ran(replace(case, spec=spec), Reader(spec, context.ledger, context.clock), landed)


def checked_case(case: Case, folder: Path, environ: Mapping[str, str] | None = None) -> CaseRecord:
    """Run a case and compare its tables. A run that fails is the `failure` of the case."""
    begun = time.monotonic()
    differences: list[CaseDifference] = []
    failure = None
    try:
        ran = run_case(case, folder, environ)
        for table, expected in case.expect.items():
            found = ran.table(table)
            columns = list(dict.fromkeys(name for row in expected for name in row))
            differences += [ran.difference(table, pair, columns) for pair in unmatched(expected, found)]
    except TidemarkError as failed:
        failure = f"{failed.message} {failed.hint}".strip()
    return {
        "name": case.name,
        "file": str(case.file),
        "line": case.line,
        "passed": not differences and failure is None,
        "seconds": round(time.monotonic() - begun, 3),
        "failure": failure,
        "differences": differences,
    }
