"""One small Delta table: appended to once a batch, replaced in one commit, read by file statistics."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from tidemark.errors import Held
from tidemark.ledger.tables.answers import ReadRows
from tidemark.ledger.tables.commits import commit_properties, has_recorded, writer_properties
from tidemark.ledger.tables.file_rows import FileRows
from tidemark.ledger.tables.file_sizes import size_due
from tidemark.ledger.tables.files import DataFile, live_files, read_all, read_hits
from tidemark.ledger.tables.log import Log
from tidemark.ledger.tables.rows import Row
from tidemark.ledger.tables.schemas import properties, with_integer_times
from tidemark.storage import Location, dataset_of, make, reachable, storage_options
from tidemark.storage.damaged_files import UNREADABLE, unreadable_log

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset

_AT_ONCE = 4
"""Number of files searched in parallel: most of the time is waiting, or is spent in Arrow."""
_EVERYTHING = "true"


class Store:
    """A Delta table in a folder. Its first write makes it; before that it reads as empty.

    Only one process writes at a time (the pipeline's lock). If two do, Delta refuses the second commit, and Held is
    raised.
    """

    def __init__(self, path: Location, schema: pa.Schema) -> None:
        self.path = path
        self.schema = schema
        self._integers = with_integer_times(schema)
        self._writer = writer_properties(path.name)
        self._opened: DeltaTable | None = None
        self._log = Log(path)
        self._known = ReadRows()
        self._parts = FileRows()

    def open(self) -> DeltaTable | None:
        """The newest state of the table; None if nothing was ever written."""
        if (opened := self._opened) is not None:
            if self._log.refresh(opened):
                return opened
            self.close()
        if not reachable(self.path):
            return None
        try:
            self._opened = opened = self._log.open()
        except TableNotFoundError:
            return None
        except (DeltaError, *UNREADABLE) as error:
            raise unreadable_log(self.path, error) from error
        return opened

    def files(self) -> list[DataFile]:
        """The live files, oldest batches first."""
        table = self.open()
        return [] if table is None else self._answered(table).files

    def paths(self) -> list[str]:
        """Paths of the live files as the log has them, whoever writes the table."""
        table = self.open()
        return [] if table is None else list(map(str, pa.table(table.get_add_actions())["path"].to_pylist()))

    def newest(self) -> int | None:
        """The greatest batch id in the table, from file statistics alone."""
        return max((file.last for file in self.files() if file.last is not None), default=None)

    def dataset(self) -> Dataset:
        """The table as a pyarrow dataset, which skips files by the statistics of every column."""
        table = self.open()
        if table is not None:
            return dataset_of(self.path, table)
        from pyarrow.dataset import dataset

        return dataset(self.schema.empty_table())

    def read(self, first: int, last: int, columns: Sequence[str] | None = None) -> list[Row]:
        """The rows of batches first..last; files without any are not opened. Times are integers."""
        table = self.open()
        if table is None:
            return []
        names, known = list(columns or self.schema.names), self._answered(table)
        files = [file for file in known.files if file.meets(first, last)]

        def rows() -> list[Row]:
            return self._rows(names, [self._parts.read(file, first, last, names) for file in files])

        return known.answer((first, last, *names), rows)

    def lookup(
        self, column: str, values: pa.Array[Any], columns: Sequence[str], uris: tuple[str, str] | None = None
    ) -> list[Row]:
        """The rows whose `column` is one of `values`. Of files without such rows, only that column is read. Files
        without a URI in the range `uris` (first, last) are not opened."""
        files = [file for file in self.files() if uris is None or file.overlaps(*uris)]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            found = list(pool.map(lambda file: read_hits(file, column, values, columns), files))
        return self._rows(columns, [table for table in found if table is not None])

    def number(self, writer: str) -> int:
        """The last version that a writer has recorded in the table's log; 0 if there is none, or no table."""
        table = self.open()
        return 0 if table is None else table.transaction_version(writer) or 0

    def close(self) -> None:
        """Forget what was read: others have changed the table's folder."""
        self._opened, self._known, self._parts, self._log = None, ReadRows(), FileRows(), Log(self.path)

    def put_back(self, batch_id: int, rows: Sequence[Row], writer: str) -> None:
        """Replace the rows of a batch that a writer had recorded by these."""
        table = self._ready()
        again = None if has_recorded(table, writer, batch_id) else writer
        self._write(table, rows, commit_properties(again, batch_id), f"batch_id = {batch_id}")

    def append(self, rows: Sequence[Row], writer: str | None = None, version: int = 0) -> None:
        """Append in one commit. With a `writer`, does nothing if its recorded version is `version` or more."""
        table = self._ready()
        if not has_recorded(table, writer, version):
            self._write(table, rows, commit_properties(writer, version))

    def append_next(self, rows: Sequence[Row], writer: str, first: int, last: int) -> None:
        """Append batches first..last in one commit on top of a table that ends at first - 1.

        Raises Held if the table has batch `first`, or if anybody has committed since this was checked.
        """
        table = self._ready()
        newest = max((file.last or 0 for file in live_files(table, self.path)), default=0)
        if newest != first - 1:
            raise Held(
                f"batch {first} cannot be planned: the ledger ends at batch {newest}",
                where=str(self.path),
                hint="another run went first; run again",
            )
        self._write(table, rows, commit_properties(writer, last, retries=0))

    def replace(self, predicate: str, rows: Sequence[Row], writer: str, version: int) -> None:
        """Replace the rows that `predicate` (SQL) selects, in one commit. Repeated for a version, it changes
        nothing."""
        table = self._ready()
        if not has_recorded(table, writer, version):
            self._write(table, rows, commit_properties(writer, version), predicate)

    def turn(self, first: int, last: int, rows: Sequence[Row], writer: str, begins: Collection[str]) -> None:
        """Replace the rows of batches first..last, whose status must be one of `begins`, in one commit. If all have
        the status of the new rows, nothing changes.

        Raises Held if a row has another status, or if somebody else has committed since the statuses were read.
        """
        table, after = self._ready(), {row["status"] for row in rows}
        now = {row["status"] for row in self.read(first, last, ["batch_id", "status"])}
        if now == after:
            return
        if not now <= set(begins):
            raise Held(
                f"batches {first} to {last} are {', '.join(sorted(now))}: another command went first",
                where=str(self.path),
                hint="nothing was done twice; run again",
            )
        where = f"batch_id >= {first} AND batch_id <= {last}"
        self._write(table, rows, commit_properties(writer, last), where)

    def all(self) -> list[Row]:
        """Every row; for tiny tables only."""
        return self._rows(self.schema.names, map(read_all, self.files()))

    def commits(self) -> int:
        """The number of the table's newest commit; -1 if there is no table."""
        table = self.open()
        return -1 if table is None else int(table.version())

    def rewrite(
        self,
        change: Callable[[list[Row]], list[Row]],
        writer: str | None = None,
        version: int = 0,
        since: int | None = None,
        also: Mapping[str, int] | None = None,
    ) -> list[Row]:
        """Replace all rows of a tiny table by the result of `change`, in one commit; returns the new rows. With a
        `writer` the commit records its `version`, and the versions in `also` for others.

        Raises Held if somebody else has committed in between, or since commit number `since`.
        """
        table = self._ready()
        if since is not None and table.version() != since:
            raise _overtaken(self.path)
        rows = self._rows(self.schema.names, map(read_all, live_files(table, self.path)))
        changed = change(rows)
        commit = commit_properties(writer, version, retries=0, also=also)
        self._write(table, changed, commit, _EVERYTHING)
        return changed

    def delete(self, predicate: str, commit: CommitProperties | None = None) -> None:
        """Delete the rows that `predicate` (SQL) selects."""
        table = self.open()
        if table is not None:
            self._guarded(lambda: table.delete(predicate, self._writer, commit_properties=commit))

    def withdraw(self, first: int, last: int, writer: str, others: Sequence[str]) -> None:
        """Delete the rows of batches first..last, in a commit that records `last` for `writer`.

        It also records `last` for the `others`, so that a stalled process cannot append these batches.
        """
        table = self._ready()
        if not has_recorded(table, writer, last):
            behind = {each: last for each in others if not has_recorded(table, each, last)}
            where = f"batch_id >= {first} AND batch_id <= {last}"
            self._write(table, [], commit_properties(writer, last, also=behind), where)

    def compact(self, more_than: int) -> bool:
        """Compact small files if there are more than `more_than`; no data changes. False: nothing was done.

        Small files become files of MIDDLE_BYTES, and these become files of FULL_BYTES, which stay. Replaced files are
        removed a day later.
        """
        table = self.open()
        target = None if table is None else size_due([file.size for file in live_files(table, self.path)], more_than)
        if table is None or target is None:
            return False
        try:
            table.optimize.compact(target_size=target, writer_properties=self._writer)
            table.vacuum(dry_run=False, full=True)
        except CommitFailedError:
            self._opened = None
            return False
        return True

    def _rows(self, names: Sequence[str], parts: Iterable[pa.Table]) -> list[Row]:
        kinds = pa.schema([self.schema.field(name) for name in names])
        integers = pa.schema([self._integers.field(name) for name in names])
        same = [_widened(part, kinds).select(list(names)).cast(kinds) for part in parts]
        return pa.concat_tables([kinds.empty_table(), *same]).cast(integers).to_pylist()

    def _answered(self, table: DeltaTable) -> ReadRows:
        known = self._known
        if known.version != table.version():
            self._known = known = ReadRows(table.version(), live_files(table, self.path))
        return known

    def _ready(self) -> DeltaTable:
        return self.open() or self._create()

    def _create(self) -> DeltaTable:
        make(self.path)
        settings, options = properties(self.path.name), storage_options(self.path)
        try:
            self._opened = DeltaTable.create(
                str(self.path), schema=self.schema, configuration=settings, storage_options=options
            )
        except DeltaError:
            self._opened = self._log.open()
        return self._opened

    def _write(
        self, table: DeltaTable, rows: Sequence[Row], commit: CommitProperties, instead_of: str | None = None
    ) -> None:
        data = pa.Table.from_pylist(list(rows), schema=self._integers).cast(self.schema).combine_chunks()
        options: dict[str, Any] = {"writer_properties": self._writer, "commit_properties": commit}
        if len(table.schema().fields) < len(self.schema):
            options["schema_mode"] = "merge"  # the table is older than some columns
        if instead_of is None:
            self._guarded(lambda: write_deltalake(table, data, mode="append", **options))
        else:
            self._guarded(lambda: write_deltalake(table, data, mode="overwrite", predicate=instead_of, **options))

    def _guarded(self, commit: Callable[[], object]) -> None:
        try:
            commit()
        except CommitFailedError as error:
            self._opened = None
            raise _overtaken(self.path) from error


def _overtaken(path: Location) -> Held:
    return Held(
        "another run wrote to the ledger at the same moment",
        where=str(path),
        hint="nothing was done twice; run again",
    )


def _widened(part: pa.Table, kinds: pa.Schema) -> pa.Table:
    """Rows of a file, with nulls in columns that were added after it was written."""
    for known in kinds:
        if known.name not in part.column_names:
            part = part.append_column(known, pa.nulls(part.num_rows, known.type))
    return part
