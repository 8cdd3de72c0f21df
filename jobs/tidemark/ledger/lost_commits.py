"""Finds tables whose log has lost commits (by a power loss, or since one table was restored from a copy), and tables
with rows that a repair has not put back.

A log records the last batch of every writer. With each committed batch the ledger records the last batch that brought
rows to a table, for every table and writer. A log that ends before that batch has lost commits. If a small table's
log has a batch that `batches` lacks, `batches` has lost commits. Only logs are read. If a log ends too early, the
rows of that one batch are counted, since rebuilt tables have fewer writers in their logs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from tidemark.core.batch_result import APPLICATION, BatchRecord, LastWrite, writer_of
from tidemark.errors import TidemarkError, first_line
from tidemark.ledger import versions
from tidemark.ledger.tables import unfinished
from tidemark.ledger.tables.schemas import batch_column
from tidemark.ledger.tables.store import Store
from tidemark.ledger.tail import ABANDONED
from tidemark.storage.damaged_files import UNREADABLE

if TYPE_CHECKING:
    from tidemark.ledger.ledger import Ledger

WRITERS = {
    "objects": ("commit",),
    "watermarks": ("record",),
    "diagnostics": ("record",),
    "quality": ("record", "streams", "release"),
}
"""Writers of the small tables that record batch ids in the log."""
HINT = "`tidemark repair` with the pipeline file makes what is lost again, from landing or the events tables"
_SUBSTREAMS = "substreams"
_AT_ONCE = 4


@dataclass(frozen=True)
class Loss:
    """A table whose log ends at batch `known`, though batch `recorded` wrote to it."""

    table: str
    writer: str
    known: int
    recorded: int
    why: str = ""
    unfinished: bool = False
    left: bool = False

    def __str__(self) -> str:
        if self.left:
            first, last = self.known + 1, self.recorded
            batches = f"batch {first}" if first == last else f"batches {first} to {last}"
            return f"repair could not put back rows of {batches}: their objects or a copy of its folder must be back"
        if self.unfinished:
            return "a repair took damaged files out of it and ended before their rows were back"
        if self.why:
            return f"its log cannot be read: {self.why}"
        ends = f"ends at batch {self.known}" if self.known else "knows no batch"
        return f"its log {ends}, and batch {self.recorded} wrote to it: its newest commits are lost"


def written_with(ledger: Ledger, before: BatchRecord | None, record: BatchRecord) -> tuple[LastWrite, ...]:
    """Last writes that tables' logs have once batch `record` is committed after the batch `before`."""
    found = {(each.table, each.writer): each for each in must_know(ledger, before)}
    for each in (*_spark(record), *_small(ledger, record.batch_id)):
        found[each.table, each.writer] = each
    return tuple(found[key] for key in sorted(found))


def must_know(ledger: Ledger, record: BatchRecord | None) -> tuple[LastWrite, ...]:
    """Last writes that tables' logs must have after a committed or abandoned batch. An old batch without `written`
    gives them by its digests; only in the first version, since a backfill writes without batch ids."""
    if record is None:
        return ()
    if record.written is not None:
        return record.written
    if ledger.version != versions.FIRST:
        return ()
    found: dict[tuple[str, str], LastWrite] = {}
    for each in ledger.digested(record.batch_id):
        found |= {(one.table, one.writer): one for one in (*_spark(each), *_digested(each))}
    return tuple(found.values())


def losses(ledger: Ledger, tables: Collection[str] | None = None) -> dict[str, Loss]:
    """Losses by table, of all tables or of `tables` alone. Raises TidemarkError if `batches` itself has lost
    commits."""
    newest, pending = ledger.stores["batches"].newest() or 0, ledger.last().pending
    if tables is None:
        _ensure_not_behind(ledger, newest)
    asked = must_know(ledger, ledger.settled_before(pending[0].batch_id if pending else newest + 1))
    if tables is None and not isinstance(ledger.folder, Path):
        tables = ledger.stores.keys()  # in object storage each log costs requests in every run, and no power is lost
    asked = tuple(each for each in asked if tables is None or each.table in tables)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = list(pool.map(lambda each: _loss(ledger.store(each.table), each), asked))
    found += _unfinished(ledger, newest, tables)
    ordered = sorted(filter(None, found), key=lambda each: (not each.left, -each.known))
    return {loss.table: loss for loss in ordered}  # the last one wins: a loss that makes runs fail hides others


def ensure_whole(ledger: Ledger, tables: Collection[str] | None = None) -> None:
    """Raise TidemarkError for the first table that has lost commits, with what to do. Rows that a repair could not
    put back, and has reported, do not count."""
    for loss in losses(ledger, tables).values():
        if not loss.left:
            raise TidemarkError(
                f"the table {loss.table} is damaged: {loss}", where=_location(ledger, loss.table), hint=HINT
            )


def ensure_events(ledger: Ledger, first: int) -> None:
    """Raise TidemarkError if events of batch `first` or a later one lack rows that a repair could not put back:
    whatever is made from them would lack these rows without a trace."""
    newest = ledger.stores["batches"].newest() or 0
    for loss in _unfinished(ledger, newest, None):
        if loss.left and loss.table.startswith("events/") and loss.recorded >= first:
            raise TidemarkError(
                f"the table {loss.table} is damaged: {loss}",
                where=_location(ledger, loss.table),
                hint="put them back and run `tidemark repair` with the pipeline file; or begin after these batches",
            )


def left_notes(ledger: Ledger) -> list[str]:
    """Sentences on rows that a repair could not put back."""
    newest = ledger.stores["batches"].newest() or 0
    return [f"the table {loss.table} is damaged: {loss}" for loss in _unfinished(ledger, newest, None) if loss.left]


def _spark(record: BatchRecord) -> Iterator[LastWrite]:
    """Writes of a batch to tables that Spark writes, from its digests."""
    for digest in record.digests:
        kind, _, name = digest.table.partition("/")
        if digest.rows and name:
            of_source = kind == _SUBSTREAMS
            table, writer = (kind, writer_of(name)) if of_source else (digest.table, APPLICATION)
            yield LastWrite(table, writer, record.batch_id, digest.rows)


def _digested(record: BatchRecord) -> Iterator[LastWrite]:
    """Writes of a batch to small tables, by the digests and the number of objects in its row."""
    rows = {digest.table: digest.rows for digest in record.digests} | {"objects": record.objects}
    for table in ("watermarks", "diagnostics", "objects"):
        if rows.get(table):
            yield LastWrite(table, WRITERS[table][0], record.batch_id)


def _small(ledger: Ledger, batch_id: int) -> Iterator[LastWrite]:
    for table, writers in WRITERS.items():
        withdrawn = ledger.stores[table].number(ABANDONED)  # recorded for all writers, who have written none of it
        for writer in writers:
            number = min(ledger.stores[table].number(writer), batch_id)
            if number > withdrawn:
                yield LastWrite(table, writer, number)


def _ensure_not_behind(ledger: Ledger, newest: int) -> None:
    for table, writers in WRITERS.items():
        known = max(_number(ledger.stores[table], writer) for writer in writers)
        if known > newest:
            raise TidemarkError(
                f"the table batches is damaged: it ends at batch {newest}, and the table {table} knows batch "
                f"{known}: its newest commits are lost",
                where=_location(ledger, "batches"),
                hint=f"restore this folder from a copy made after batch {known} was committed; or restore all of "
                f"{ledger.folder} from one copy",
            )


def _loss(store: Store, each: LastWrite) -> Loss | None:
    try:
        known = store.number(each.writer)
        if known >= each.batch_id or has_rows(store, each):
            return None
        return Loss(each.table, each.writer, known, each.batch_id)
    except (TidemarkError, *UNREADABLE) as error:
        return Loss(each.table, each.writer, 0, each.batch_id, first_line(error.__cause__ or error))


def _unfinished(ledger: Ledger, newest: int, tables: Collection[str] | None) -> Iterator[Loss]:
    """Losses of tables with rows that a repair has not put back; `newest` is the newest batch."""
    for table, (batches, left) in unfinished.tables(ledger.damaged).items():
        first, last = batches or (1, newest)
        if tables is None or table in tables:
            yield Loss(table, "", first - 1, last, unfinished=True, left=left)


def has_rows(store: Store, each: LastWrite) -> bool:
    """True if a table that was rebuilt has all rows of the batch."""
    if each.rows is None or store.open() is None:
        return False
    whole = store.dataset()
    rows = whole.filter(pc.field(batch_column(whole.schema.names)) == pa.scalar(each.batch_id))
    return bool(rows.count_rows() == each.rows)


def _number(store: Store, writer: str) -> int:
    try:
        return store.number(writer)
    except TidemarkError:
        return 0  # damage is reported where the table is read


def _location(ledger: Ledger, table: str) -> str:
    return str(ledger.folder / table)
