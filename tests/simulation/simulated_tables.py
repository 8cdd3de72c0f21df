"""Delta tables in memory, for the ledger's real code: what delta-rs promises of commits, and faults at any of them.

A commit is applied whole or not at all. One that is not based on the newest version is refused, unless it is an
append that may be tried again and no commit in between has recorded one of its writers. Faults at a commit: it is
refused (`refused`), applied with the reply lost (`lost`), not applied for an error of the storage (`error`), the
process ends before or after it (`before`, `after`), or the process stalls before it while another acts (`stalled`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from history import READ, PipelineHistory
from table_logs import SMALL, Commit, Rows

FAULTS = ("refused", "lost", "error", "before", "after", "stalled", "stalled", "stalled")
_BOUNDS = {
    re.compile(r"true"): lambda _: (None, None),
    re.compile(r"batch_id = (\d+)"): lambda m: (int(m[1]), int(m[1])),
    re.compile(r"batch_id <= (\d+)"): lambda m: (0, int(m[1])),
    re.compile(r"batch_id >= (\d+) AND batch_id <= (\d+)"): lambda m: (int(m[1]), int(m[2])),
}


class Crash(BaseException):
    """The sudden end of a process."""


@dataclass(frozen=True)
class File:
    """Rows that one commit added, with the bounds that the ledger's files have."""

    path: str
    data: pa.Table
    size: int = 1000

    @property
    def rows(self) -> int:
        return int(self.data.num_rows)

    @property
    def first(self) -> int | None:
        return self._bound("batch_id", pc.min)

    @property
    def last(self) -> int | None:
        return self._bound("batch_id", pc.max)

    @property
    def low(self) -> None:
        """Bounds of URIs are not recorded."""
        return

    high = low

    def _bound(self, name: str, of: Callable[[Any], Any]) -> int | None:
        return of(self.data[name]).as_py() if name in self.data.column_names else None

    def meets(self, first: int, last: int) -> bool:
        return (self.first is None or self.first <= last) and (self.last is None or self.last >= first)

    def overlaps(self, *_: str) -> bool:
        return True


@dataclass(frozen=True)
class Version:
    """A version of a table: its files and the last version of each writer."""

    schema: pa.Schema
    files: tuple[File, ...] = ()
    writers: Mapping[str, int] = field(default_factory=dict)
    wrote: frozenset[str] = frozenset()
    """Writers that the commit of this version recorded."""
    number: int = 0
    """Its place among all versions of all tables."""


@dataclass
class Disk:
    """Tables by path, every version of each, and the newest one that would outlast a loss of power."""

    tables: dict[str, list[Version]] = field(default_factory=dict)
    synced: dict[str, int] = field(default_factory=dict)
    commits: int = 0
    applied: int = 0
    faults: dict[int, str] = field(default_factory=dict)
    """Kinds of faults by the number of the commit that they meet."""
    stall: Callable[[], None] = lambda: None
    lost: bool = False
    """A loss of power has taken commits away."""

    def sync(self, path: object) -> None:
        """All commits to a table so far outlast a loss of power."""
        self.synced[str(path)] = len(self.tables.get(str(path), ()))

    def lose_power(self, kept: Callable[[int, int], int]) -> None:
        """End each table at a version from the last synced one to the newest, as `kept` chooses between the two."""
        for path in list(self.tables):
            number = kept(self.synced.get(path, 0), len(self.tables[path]))
            self.lost = self.lost or number < len(self.tables[path])
            self.tables[path] = self.tables[path][:number]
            if not number:
                del self.tables[path]

    def commit(self, path: str, based_on: int, retried: bool, make: Callable[[Version], Version]) -> None:
        """Apply a commit that was made on top of a version."""
        self.commits += 1
        fault = self.faults.pop(self.commits, None)
        if fault == "error":
            raise DeltaError("the storage does not answer")
        if fault == "before":
            raise Crash("before a commit")
        if fault == "stalled":
            self.stall()
        if fault == "refused":
            newest = self.tables[path][-1]
            self.tables[path].append(replace(newest, wrote=frozenset()))
        self._apply(path, based_on, retried and fault != "refused", make)
        if fault == "lost":
            raise CommitFailedError("the commit exists already")
        if fault == "after":
            raise Crash("after a commit")

    def _apply(self, path: str, based_on: int, retried: bool, make: Callable[[Version], Version]) -> None:
        versions = self.tables.get(path, [])
        made = make(versions[-1])
        between = [version.wrote for version in versions[based_on + 1 :]]
        if between and (not retried or any(wrote & made.wrote for wrote in between)):
            raise CommitFailedError("another commit went first")
        self.applied += 1
        versions.append(replace(made, number=self.applied))


@dataclass
class Opened:
    """A table as one process last saw it: what the ledger needs of a `DeltaTable`."""

    disk: Disk
    path: str
    at: int

    @property
    def known(self) -> Version:
        return self.disk.tables[self.path][self.at]

    def version(self) -> int:
        return self.at

    def metadata(self) -> Any:
        return type("Metadata", (), {"id": self.path})

    def transaction_version(self, writer: str) -> int | None:
        return self.known.writers.get(writer)

    def schema(self) -> Any:
        return type("Schema", (), {"fields": list(self.known.schema)})

    def to_pyarrow_dataset(self) -> ds.Dataset:
        return ds.dataset(pa.concat_tables([self.known.schema.empty_table(), *[f.data for f in self.known.files]]))

    @property
    def optimize(self) -> Opened:
        """Compacts files."""
        return self

    def compact(self, **_: Any) -> None:
        """Put all files into one; no data changes."""

        def made(newest: Version) -> Version:
            whole = pa.concat_tables([file.data for file in newest.files])
            return replace(newest, files=(File(f"{self.path}/{self.disk.commits}", whole),), wrote=frozenset())

        self._commit(made)

    def vacuum(self, **_: Any) -> None:
        """Files that no version needs are not kept anyway."""

    def delete(self, predicate: str, **_: Any) -> None:
        """Delete the rows that a predicate selects."""
        self._commit(lambda newest: replace(newest, files=_without(newest.files, predicate), wrote=frozenset()))

    def _commit(self, made: Callable[[Version], Version], retried: bool = False) -> None:
        self.disk.commit(self.path, self.at, retried, made)
        self.at = len(self.disk.tables[self.path]) - 1

    def write(self, data: pa.Table, mode: str, commit: Mapping[str, Any], predicate: str | None) -> None:
        """Append, or replace the rows that a predicate selects."""

        def made(newest: Version) -> Version:
            files = newest.files if mode == "append" else _without(newest.files, predicate or "true")
            added = (File(f"{self.path}/{self.disk.commits}", data),) if data.num_rows else ()
            writers = dict(commit["writers"])
            return Version(newest.schema, (*files, *added), {**newest.writers, **writers}, frozenset(writers))

        self._commit(made, retried=mode == "append" and commit["retries"] != 0)


def _without(files: Sequence[File], predicate: str) -> tuple[File, ...]:
    first, last = next(bounds(found) for form, bounds in _BOUNDS.items() if (found := form.fullmatch(predicate)))
    if first is None:
        return ()
    left = []
    for file in files:
        batch = file.data["batch_id"]
        kept = file.data.filter(pc.or_(pc.less(batch, first), pc.greater(batch, last)))
        left += [replace(file, data=kept, path=f"{file.path}-{first}")] if kept.num_rows else []
    return tuple(left)


@dataclass
class Log:
    """Opens tables of a disk; in the place of `tidemark.ledger.tables.log.Log`."""

    disk: Disk
    path: str

    def open(self) -> Opened:
        if self.path not in self.disk.tables:
            raise TableNotFoundError(self.path)
        return Opened(self.disk, self.path, len(self.disk.tables[self.path]) - 1)

    def refresh(self, table: Opened) -> None:
        table.at = len(self.disk.tables[self.path]) - 1


class ReadFiles:
    """Reads rows of files; in the place of `FileRows`."""

    def read(self, file: File, first: int, last: int, columns: Sequence[str]) -> pa.Table:
        batch = file.data["batch_id"]
        kept = file.data.filter(pc.and_(pc.greater_equal(batch, first), pc.less_equal(batch, last)))
        return kept.select(list(columns))


def use(patch: pytest.MonkeyPatch, disk: Disk) -> None:
    """Have the ledger's stores keep their tables on a simulated disk."""
    from tidemark.ledger.tables import store

    def create(path: str, schema: pa.Schema, **_: Any) -> Opened:
        disk.tables.setdefault(path, [Version(schema)])
        return Log(disk, path).open()

    def write(
        table: Opened, data: pa.Table, mode: str, commit_properties: Any, predicate: str | None = None, **_: Any
    ):
        table.write(data, mode, commit_properties, predicate)

    def commit_properties(writer: str | None, version: int, retries: int | None = None, also: Any = None) -> Any:
        return {"writers": {} if writer is None else {writer: version, **(also or {})}, "retries": retries}

    def hits(file: File, column: str, values: pa.Array, columns: Sequence[str]) -> pa.Table:
        return file.data.filter(pc.is_in(file.data[column], value_set=values)).select([*columns, column])

    def live(table: Opened, _: object) -> list[File]:
        return sorted(table.known.files, key=lambda file: (file.first or 0, file.last or 0))

    patch.setattr(store, "DeltaTable", type("Creates", (), {"create": staticmethod(create)}))
    patch.setattr(store, "Log", lambda path: Log(disk, str(path)))
    patch.setattr(store, "FileRows", ReadFiles)
    patch.setattr(store, "write_deltalake", write)
    patch.setattr(store, "commit_properties", commit_properties)
    patch.setattr(store, "live_files", live)
    patch.setattr(store, "read_all", lambda file: file.data)
    patch.setattr(store, "read_hits", hits)


@dataclass
class SimulatedLog:
    """The log of a table of a disk, as the checker of conformance reads logs; in the place of `TableLog`."""

    name: str
    versions: Sequence[Version]
    base: Rows = field(default_factory=Rows)
    known: Mapping[str, int] = field(default_factory=dict)
    first: float | None = None
    id: str = ""

    @property
    def commits(self) -> list[Commit]:
        found = []
        for number, (before, after) in enumerate(pairwise(self.versions), 1):
            old, new = self._rows(before), self._rows(after)
            writers = {name: after.writers[name] for name in after.wrote}
            how = "withdraw" if "abandoned" in writers else "write"
            found.append(Commit(self.name, number, after.number, how, writers, new - old, old - new, frozenset()))
        return found

    def records(self, columns: Sequence[str]) -> list[dict[str, Any]]:
        return [row for file in self.versions[-1].files for row in file.data.select(list(columns)).to_pylist()]

    def _rows(self, version: Version) -> Rows:
        columns = SMALL.get(self.name, ("batch_id",))
        return Rows(tuple(row[name] for name in columns) for file in version.files for row in file.data.to_pylist())


def history_of(disk: Disk, root: object) -> PipelineHistory:
    """The history of the pipeline in a folder of a disk."""
    logs: dict[int, dict[str, SimulatedLog]] = defaultdict(dict)
    for path, versions in disk.tables.items():
        folder, _, name = path.removeprefix(f"{root}/v").partition("/")
        if folder.isdecimal() and name in READ:
            logs[int(folder)][name] = SimulatedLog(name, versions)
    return PipelineHistory(SimulatedLog("versions", disk.tables[f"{root}/versions"]), logs)
