"""Finds causes of abnormal values in a run, for a page: once for each run, and only if it has few enough rows."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from tidemark.commands.explain.why import UNSEEN, scope_of_batches, why
from tidemark.commands.read import Reader
from tidemark.core.batch_result import BatchRecord
from tidemark.core.shell import command
from tidemark.errors import TidemarkError
from tidemark.ledger.tables.cache import Cache
from tidemark.records.causes import CauseRecord
from tidemark.report.causes.cells import RowScope
from tidemark.storage import Location, delta_table, is_table

MOST_ROWS, MOST_FILES = 3_000_000, 1_000
"""Maximum numbers of rows (with the rows that they are compared with) and of files in events tables for which a page
looks for causes."""


@dataclass(frozen=True)
class Causes:
    """Causes of abnormal values in a run, the heaviest first; `unseen`: the reason why its rows were not read."""

    causes: tuple[CauseRecord, ...] = ()
    unseen: str | None = None


_FOUND: Cache[tuple[str, int, str, int, str], Causes] = Cache(256)
"""Causes by root, version, plan of a run, its last batch and status; apart from these a judged run never changes. The
plan's token is unique, also if a new warehouse has a run with an equal id."""


def causes_of_run(reader: Reader, run_id: str | None) -> Causes:
    """Causes of abnormal values in a run (default: the last judged one); none if there is no such run."""
    record = _last_batch(reader, run_id)
    if record is None:
        return Causes()
    run = record.plan, record.batch_id, record.status
    key = (str(reader.ledger.root), reader.ledger.version, *run)
    known = _FOUND.get(key)
    if known is None:
        known = _look(reader, record)
        if known.unseen is None:
            _FOUND.put(key, known)
    return known


def _last_batch(reader: Reader, run_id: str | None) -> BatchRecord | None:
    """The last judged batch of the run."""
    through = reader.judged_through()
    last = through
    if run_id is not None:
        known = reader.ledger.run(run_id)
        if known is None or known.first > through:
            return None
        last = min(known.last, through)
    return next(iter(reader.ledger.batches(last, last)), None)


def _look(reader: Reader, record: BatchRecord) -> Causes:
    asked = scope_of_batches(reader.ledger, record.run_first, record.batch_id)
    try:
        rows, files = _size(reader, asked)
        if rows > MOST_ROWS or files > MOST_FILES:
            looks = command("why", reader.spec.path, options=("--run", record.run_id))
            return Causes(
                unseen=f"{rows:,} rows in {files:,} files are too many to look at here: {looks} looks at them."
            )
        return Causes(tuple(why(reader, None, None, record.run_id)["causes"]))
    except TidemarkError as error:
        return Causes(unseen=f"The run's rows could not be looked at: {error.message}.")
    except UNSEEN:
        return Causes(unseen="The run's rows could not be looked at now.")


def _size(reader: Reader, asked: RowScope) -> tuple[int, int]:
    """Numbers of rows that would be read, and of files in the events tables, from the tables' logs."""
    locations = [reader.ledger.folder / "events" / name for name in reader.declared.sources]
    found = [_read_of(location, asked) for location in locations if is_table(location)]
    return sum(rows for rows, _ in found), sum(files for _, files in found)


def _read_of(location: Location, asked: RowScope) -> tuple[int, int]:
    log = pa.table(delta_table(location).get_add_actions(flatten=True))
    files = log.num_rows
    if asked.history is not None and "max._arrival_time" in log.column_names:
        last = log["max._arrival_time"].cast(pa.timestamp("us", "UTC")).cast(pa.int64())
        log = log.filter(pc.greater_equal(last.combine_chunks().fill_null(asked.history), pa.scalar(asked.history)))
    return sum(each or 0 for each in log["num_records"].to_pylist()), files
