"""Selects recorded rows for a case: the rows of a run, or rows that arrived in a range of time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidemark.commands.cases.case import CaseRun, Row
from tidemark.commands.read import Reader
from tidemark.errors import UsageError
from tidemark.ledger.tables.schemas import TIME, with_integer_times
from tidemark.storage import is_table

MOST_ROWS = 1_000
MOST_RUNS = 100
"""Maximum numbers of rows and runs of a recorded case: people must be able to read it, and it must be quick."""
_NARROW = "record fewer rows: --source, --since and --until choose some"


@dataclass(frozen=True)
class RecordedRows:
    """Rows of events tables by source, in log order, with the landing time of each; and the runs that took them.
    Times are microseconds UTC."""

    name: str
    schemas: dict[str, pa.Schema]
    rows: dict[str, list[tuple[int, Row]]]
    runs: tuple[CaseRun, ...]


def of_run(reader: Reader, sources: Sequence[str], run: str | None) -> RecordedRows:
    """The rows of a run, by default of the last one with a row."""
    tail = reader.ledger.last().committed_through
    if run is None:
        mine = pc.field("source").isin([*sources])
        last = pc.max(reader.table("objects").to_table(columns=["batch_id"], filter=mine)["batch_id"]).as_py()
        if last is None:
            raise UsageError("no run has taken a row of it yet", hint="run the pipeline first")
        record = reader.ledger.batches(last, last)[0]
        return _stretch(reader, sources, _batches(record.run_first, record.run_last), f"run {record.run_id}")
    known = reader.ledger.run(run)
    if known is None or known.last > tail:
        raise UsageError(f"there is no committed run {run!r}", hint="`tidemark status` lists the last runs")
    return _stretch(reader, sources, _batches(known.first, known.last), f"run {run}")


def of_time(reader: Reader, sources: Sequence[str], since: int | None, until: int | None, name: str) -> RecordedRows:
    """The rows that arrived in [since, until), microseconds UTC. The runs are all from the first run that took such a
    row, to the last that did, or without `until` to the last committed run."""
    bounds = [pc.field("_arrival_time") >= pa.scalar(since, TIME)] if since is not None else []
    bounds += [pc.field("_arrival_time") < pa.scalar(until, TIME)] if until is not None else []
    where = bounds[0]
    for each in bounds[1:]:
        where &= each
    return _stretch(reader, sources, where, name, to_end=until is None)


def _batches(first: int, last: int) -> pc.Expression:
    return (pc.field("_batch_id") >= first) & (pc.field("_batch_id") <= last)


def _stretch(
    reader: Reader, sources: Sequence[str], where: pc.Expression, name: str, to_end: bool = False
) -> RecordedRows:
    present = [each for each in sources if is_table(reader.folder_of(f"events/{each}"))]
    tables = {each: reader.table(f"events/{each}") for each in present}
    number = sum(table.count_rows(filter=where) for table in tables.values())
    if not 0 < number <= MOST_ROWS:
        what = f"{name}: no row" if number == 0 else f"{name}: {number:,} rows, and a case has {MOST_ROWS:,} at most"
        raise UsageError(what, hint="`tidemark rows` shows which there are" if number == 0 else _NARROW)
    found = {each: table.to_table(filter=where) for each, table in tables.items()}
    rows = {each: table.cast(with_integer_times(table.schema)).to_pylist() for each, table in found.items()}
    numbers = [row["_batch_id"] for each in rows.values() for row in each]
    schemas = {each: table.schema for each, table in found.items()}
    last = reader.ledger.last().committed_through if to_end else max(numbers)
    runs = (*_runs(reader, min(numbers), last),)
    if len(runs) > MOST_RUNS:
        raise UsageError(f"{name}: {len(runs):,} runs, and a case has {MOST_RUNS} at most", hint=_NARROW)
    return RecordedRows(name, schemas, {each: _landed(reader, each, own) for each, own in rows.items()}, runs)


def _landed(reader: Reader, source: str, rows: Sequence[dict[str, Any]]) -> list[tuple[int, Row]]:
    """Rows in log order with their landing times."""
    mine = pc.field("source") == source
    objects = reader.table("objects").to_table(columns=["uri", "modified"], filter=mine)
    whole = objects.cast(with_integer_times(objects.schema)).to_pylist()
    times = {each["uri"]: each["modified"] for each in whole}
    landed = [(times[row["_file"]], row) for row in rows]
    return sorted(landed, key=lambda each: (each[0], each[1]["_file"], each[1]["_partition"], each[1]["_offset"]))


def _runs(reader: Reader, first: int, last: int) -> Iterator[CaseRun]:
    end = reader.ledger.batches(last, last)[0].run_last
    for record in reader.ledger.batches(first, end):
        if record.ends_run:
            yield CaseRun(record.as_of, record.closing)
