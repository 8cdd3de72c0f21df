"""Reads the Parquet files of a small table: only the files, and only the parts of them, that a query needs.

Datasets would cost ten times as much for the many small files of a ledger.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable

from tidemark.ledger.tables.cache import Cache
from tidemark.storage import Location, seen
from tidemark.storage.damaged_files import UNREADABLE, damaged

_FOOTERS: Cache[str, pq.FileMetaData] = Cache(64)
"""Footers of files, by path: they never change, and one run opens some files several times."""


@dataclass(frozen=True)
class DataFile:
    """A live file, with the bounds of its batch ids and URIs from the log (None: unknown)."""

    path: Location
    size: int
    rows: int
    first: int | None
    last: int | None
    low: str | None
    high: str | None

    def meets(self, first: int, last: int) -> bool:
        """True if the file may have rows of batches first..last."""
        return (self.first is None or self.first <= last) and (self.last is None or self.last >= first)

    def within(self, first: int, last: int) -> bool:
        """True if all rows of the file are of batches first..last."""
        return self.first is not None and self.last is not None and first <= self.first and self.last <= last

    def overlaps(self, low: str, high: str) -> bool:
        """True if the file may have URIs of low..high (by code points, as Delta's bounds are)."""
        return (self.low is None or self.low <= high) and (self.high is None or self.high >= low)


def live_files(table: DeltaTable, folder: Location) -> list[DataFile]:
    """The files of a table's present version, oldest batches first."""
    actions = pa.table(table.get_add_actions(flatten=True))
    names = ("size_bytes", "num_records", "min.batch_id", "max.batch_id", "min.uri", "max.uri")
    columns = [_column(actions, name) for name in names]
    found = zip(_column(actions, "path"), *columns, strict=True)
    files = [DataFile(folder / path, *values) for path, *values in found]
    return sorted(files, key=lambda file: (file.first or 0, file.last or 0))


def read_all(file: DataFile, columns: Sequence[str] | None = None) -> pa.Table:
    """Every row of a file."""
    with _named(file):
        return _plain(_parquet(file).read(None if columns is None else list(columns)))


def read_batches(file: DataFile, first: int, last: int, columns: Sequence[str]) -> pa.Table:
    """The rows of batches first..last in a file, from the row groups that have such rows."""
    if file.within(first, last):
        return read_all(file, columns)
    with _named(file):
        parquet = _parquet(file)
        groups = [group for group in range(parquet.num_row_groups) if _has_batches(parquet, group, first, last)]
        found = _plain(parquet.read_row_groups(groups, columns=[*columns, "batch_id"]))
    batch = found["batch_id"]
    early, late = pc.less(batch, pa.scalar(first)), pc.greater(batch, pa.scalar(last))
    return found.filter(pc.invert(pc.or_(early, late)))


def read_hits(file: DataFile, column: str, values: pa.Array[Any], columns: Sequence[str]) -> pa.Table | None:
    """The rows whose `column` is one of `values`. If there are none, returns None and reads no other column."""
    with _named(file):
        parquet = _parquet(file)
        keys = _plain(parquet.read([column], use_threads=False))[column]
        hits = pc.indices_nonzero(pc.is_in(keys, value_set=values)).to_pylist()
        if not hits:
            return None
        sizes = [parquet.metadata.row_group(group).num_rows for group in range(parquet.num_row_groups)]
        ends = list(accumulate(sizes))
        groups = sorted({bisect_right(ends, hit) for hit in hits if hit is not None})
        found = _plain(parquet.read_row_groups(groups, columns=[*columns, column]))
    return found.filter(pc.is_in(found[column], value_set=values))


def _plain(rows: pa.Table) -> pa.Table:
    """Rows with text as plain strings: files written by delta-rs give string views, which Arrow cannot filter."""
    return rows.cast(pa.schema([field.with_type(_without_views(field.type)) for field in rows.schema]))


def _without_views(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_without_views(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_without_views(kind.value_type)))
    return kind


def _column(actions: pa.Table, name: str) -> list[object]:
    return actions[name].to_pylist() if name in actions.column_names else [None] * actions.num_rows


def _has_batches(parquet: pq.ParquetFile, group: int, first: int, last: int) -> bool:
    """True if a row group may have batches first..last, by the bounds of `batch_id`, the first column of small
    tables."""
    bounds = parquet.metadata.row_group(group).column(0).statistics
    if bounds is None or bounds.min is None or bounds.max is None:
        return True
    return bool(bounds.min <= last and bounds.max >= first)


@contextmanager
def _named(file: DataFile) -> Iterator[None]:
    """Context manager: a failure to read the file inside becomes an error that names the file."""
    try:
        yield
    except UNREADABLE as error:
        folder, _, name = str(file.path).rpartition("/")
        raise damaged(folder.rpartition("/")[2], name) from error


def _parquet(file: DataFile) -> pq.ParquetFile:
    path = str(file.path)
    opened = pq.ParquetFile(seen(path), metadata=_FOOTERS.get(path))
    _FOOTERS.put(path, opened.metadata)
    return opened
