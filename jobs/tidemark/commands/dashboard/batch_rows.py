"""Lists rows of one batch with one fate, a page at a time. Only files of the batch are opened, from the newest
arrivals on, and only as many as the page needs. Starts no JVM."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidemark.core.policy import Fate
from tidemark.records.rows import ListedRow
from tidemark.report.words import iso, signed
from tidemark.storage import Location, at_once, delta_table, seen
from tidemark.storage.damaged_files import UNREADABLE, damaged

_KEYS = ["_partition", "_offset", "_arrival_time", "_disposition", "_batch_id"]
_SHOWN = [*_KEYS, "_event_time", "_system_timestamp", "_reasons", "_file"]
_TIMES = ("_arrival_time", "_event_time", "_system_timestamp")
_ROUNDED = 1_000
"""Microseconds by which a bound in the log may be below the true time: the log has milliseconds."""
_LAST = 1 << 62
"""A time after all others, for files without a bound in the log. Negated, it is the arrival of rows without one."""
_FIRST_CHUNK = 4
"""Number of files that the first step reads; each further step reads twice as many."""

_Key = tuple[int, str, int]
"""A row: the number of its file, its partition and its offset."""


@dataclass(frozen=True)
class BatchRows:
    """Rows of a batch with a fate, newest first. `found`: number of rows seen; `whole`: these are all rows with the
    fate."""

    rows: list[ListedRow]
    found: int
    whole: bool


@dataclass(frozen=True)
class _File:
    """A file that may have rows of the batch; no row of it arrives after `newest` (microseconds UTC)."""

    source: str
    location: Location
    path: str
    newest: int

    def read(self, columns: Sequence[str], batch: int, fate: Fate) -> pa.Table | None:
        """Read columns of the batch's rows with the fate; None if the file's statistics exclude such rows."""
        try:
            parquet = pq.ParquetFile(seen(str(self.location / self.path)))
            groups = [n for n in range(parquet.num_row_groups) if _may_have(parquet, n, fate)]
            found = parquet.read_row_groups(groups, columns=list(columns), use_threads=False) if groups else None
        except UNREADABLE as error:
            raise damaged(f"events/{self.source}", self.path) from error
        if found is None:
            return None
        mine = pc.equal(found["_disposition"].cast(pa.string()), pa.scalar(fate.value))
        return _plain(found.filter(pc.and_(mine, pc.equal(found["_batch_id"], pa.scalar(batch)))))


def _may_have(parquet: pq.ParquetFile, group: int, fate: Fate) -> bool:
    """False if the statistics of a row group exclude rows with the fate."""
    location = parquet.metadata.schema.names.index("_disposition")
    bounds = parquet.metadata.row_group(group).column(location).statistics
    if bounds is None or bounds.min is None or bounds.max is None:
        return True
    return bool(bounds.min <= fate.value <= bounds.max)


def _plain(rows: pa.Table) -> pa.Table:
    """Rows with times as microseconds, and texts as plain strings."""
    kinds = {name: pa.string() for name in ("_partition", "_file", "_disposition")}
    fields = [field.with_type(kinds.get(field.name, field.type)) for field in rows.schema]
    zoned = [each.with_type(pa.timestamp("us", each.type.tz)) if each.name in _TIMES else each for each in fields]
    whole = [each.with_type(pa.int64()) if each.name in _TIMES else each for each in zoned]
    return rows.cast(pa.schema(zoned)).cast(pa.schema(whole))


def batch_rows(tables: Mapping[str, Location], batch: int, fate: Fate, begin: int, most: int) -> BatchRows:
    """Return `most` rows of a batch with a fate from row `begin` on; `tables` are events tables by source.

    Order: arrival (newest first, rows without an arrival last), source, partition, offset (descending).
    """
    files = sorted((file for each in tables.items() for file in _files(*each, batch)), key=lambda file: -file.newest)
    remote = not all(isinstance(location, Path) for location in tables.values())
    kept: list[pa.Table] = []
    done, step = 0, _FIRST_CHUNK
    while done < len(files) and _later(kept, files[done].newest) < begin + most:
        chunk = list(enumerate(files))[done : done + step]
        read = at_once(lambda each: _keys(*each, batch, fate), chunk, remote=remote)
        kept += [table for table in read if table is not None and table.num_rows]
        done, step = done + step, 2 * step
    chosen = _window(pa.concat_tables(kept), begin, most) if kept else []
    found = sum(table.num_rows for table in kept)
    return BatchRows(list(_whole(files, chosen, batch, fate)), found, done >= len(files))


def _files(source: str, location: Location, batch: int) -> Iterator[_File]:
    """Yield the files of a table that may have rows of a batch, by the bounds in its log."""
    log = pa.table(delta_table(location).get_add_actions(flatten=True))
    names = ("min._batch_id", "max._batch_id", "max._arrival_time")
    bounds = [
        log[name].cast(pa.int64()).to_pylist() if name in log.column_names else [None] * log.num_rows
        for name in names
    ]
    for path, low, high, last in zip(log["path"].to_pylist(), *bounds, strict=True):
        if (low is None or low <= batch) and (high is None or high >= batch):
            yield _File(source, location, str(path), _LAST if last is None else last + _ROUNDED)


def _later(kept: Iterable[pa.Table], newest: int) -> int:
    """Number of rows in `kept` that arrive after `newest`, the newest arrival in the files that are not read yet."""
    return sum(_after(table, newest) for table in kept)


def _after(rows: pa.Table, arrival: int) -> int:
    return len(pc.indices_nonzero(pc.greater(rows["arrival"], pa.scalar(arrival))))


def _keys(number: int, file: _File, batch: int, fate: Fate) -> pa.Table | None:
    """Keys of the rows with the fate in a file, with the number of the file; rows without an arrival count as the
    oldest."""
    found = file.read(_KEYS, batch, fate)
    if found is None:
        return None
    arrival = found["_arrival_time"].combine_chunks().fill_null(-_LAST)
    locations = pa.array([number] * found.num_rows, pa.int64())
    source = pa.array([file.source] * found.num_rows, pa.string())
    columns = [locations, arrival, source, found["_partition"].combine_chunks(), found["_offset"].combine_chunks()]
    return pa.Table.from_arrays(columns, names=["file", "arrival", "source", "partition", "offset"])


def _window(rows: pa.Table, begin: int, most: int) -> list[_Key]:
    """The keys of `most` rows from row `begin` on, in order."""
    order = [("arrival", "descending"), ("source", "ascending"), ("partition", "ascending"), ("offset", "descending")]
    count = min(begin + most, rows.num_rows)
    first = pc.select_k_unstable(rows, k=count, sort_keys=order)  # type: ignore[call-overload] # takes tables, too
    return [(row["file"], row["partition"], row["offset"]) for row in rows.take(first.slice(begin)).to_pylist()]


def _whole(files: Sequence[_File], chosen: Sequence[_Key], batch: int, fate: Fate) -> Iterator[ListedRow]:
    """Yield the chosen rows, each named by its file, partition and offset."""
    rows: dict[_Key, ListedRow] = {}
    for number in {number for number, _, _ in chosen}:
        table = files[number].read(_SHOWN, batch, fate)
        if table is None:
            continue
        offsets = pa.array([offset for at, _, offset in chosen if at == number], pa.int64())
        for row in table.filter(pc.is_in(table["_offset"], value_set=offsets)).to_pylist():
            rows[number, row["_partition"], row["_offset"]] = _listed(files[number].source, row)
    yield from (rows[key] for key in chosen)


def _listed(source: str, row: Mapping[str, object]) -> ListedRow:
    arrival, event, system = (value if isinstance(value := row[name], int) else None for name in _TIMES)
    moved = None if event is None or system is None else system - event
    reasons = row["_reasons"]
    return {
        "source": source,
        "partition": str(row["_partition"]),
        "offset": int(str(row["_offset"])),
        "arrival_time": iso(arrival),
        "event_time": iso(event),
        "system_timestamp": iso(system),
        "reasons": [str(each) for each in reasons] if isinstance(reasons, list) else [],
        "moved_by": None if moved is None else signed(moved),
        "moved_micros": moved,
        "lag_micros": None if event is None or arrival is None else arrival - event,
        "file": None if row["_file"] is None else str(row["_file"]),
    }
