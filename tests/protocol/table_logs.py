"""Reads the logs of Delta tables in a folder: which rows each commit has added and removed, by batch."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidemark_verify import content, delta

Rows = Counter[tuple[Any, ...]]
"""Rows of a table, each as the values of its `COLUMNS`, with how often they occur."""
SMALL = {
    "batches": ("batch_id", "status", "run_first", "run_last", "plan"),
    "objects": ("batch_id", "source", "uri", "state"),
    "plans": ("batch_id", "source", "uri", "state", "plan"),
    "quality": ("batch_id", "expectation", "success", "severity"),
    "watermarks": ("batch_id",),
    "versions": ("version", "live", "base", "from_landing"),
}
"""Columns that are read of the small tables; of others the number of the batch is."""
OF_SPARK = ("_batch_id",)


class Commit(NamedTuple):
    """A commit of a table. `how`: its operation in small letters, or `withdraw` or `put back`. `changed`: batches
    whose rows it was not to change, and did. `ends`: of a deletion, by batch, the latest end of a deleted row. `time`
    is in milliseconds, as the log has it; never less than that of the commit before."""

    table: str
    number: int
    time: float
    how: str
    writers: dict[str, int]
    gained: Rows
    lost: Rows
    changed: frozenset[Any]
    ends: Mapping[int, int] = {}


class TableLog:
    """The log of the table in a folder. `base` has the rows before its first commit: those of a checkpoint if earlier
    commits are no longer there. `first` is the time from which it has every commit, None if it is whole. `known` has
    the last number of each writer before, `id` the table's identity."""

    def __init__(self, root: Path, name: str) -> None:
        self.name, self.folder, self.columns = name, root / name, SMALL.get(name, OF_SPARK)
        self.base, self.first, self.id = Rows(), None, ""
        self.known: dict[str, int] = {}
        self._files: dict[str, Rows | None] = {}
        self.live: dict[str, Any] = {}
        self.commits = list(self._read())

    def records(self, columns: Sequence[str]) -> list[dict[str, Any]]:
        """Some columns of the newest version, as far as its files have them."""
        files = [pq.ParquetFile(self.folder / unquote(path)) for path in self.live]
        there = [[name for name in columns if name in file.schema_arrow.names] for file in files]
        return [row for file, names in zip(files, there, strict=True) for row in file.read(names).to_pylist()]

    def _read(self) -> Iterable[Commit]:
        log, time = self.folder / delta.LOG, 0.0
        entries = {int(path.stem): path for path in log.glob("*.json") if path.stem.isdecimal()}
        begin = self._checkpointed(log, min(entries, default=0))
        for number in sorted(each for each in entries if each >= begin):
            actions = [json.loads(line) for line in entries[number].read_text(encoding="utf-8").splitlines()]
            said = next((each["commitInfo"] for each in actions if "commitInfo" in each), {})
            time = max(time, said.get("timestamp", time))
            if begin and self.first is None:
                self.first = time
            yield self._commit(number, time, said, actions)

    def _checkpointed(self, log: Path, first: int) -> int:
        """Read the first checkpoint from which on all commits are there; returns the number of the next commit."""
        points = {int(path.name.partition(".")[0]): path for path in log.glob("*.checkpoint.parquet")}
        base = min((each for each in points if each >= first - 1), default=-1) if first else -1
        if base >= 0:
            for row in pq.read_table(points[base]).to_pylist(maps_as_pydicts="lossy"):
                self._take({kind: value for kind, value in row.items() if value is not None})
                if row["txn"] is not None:
                    self.known[row["txn"]["appId"]] = row["txn"]["version"]
            self.base = self._all(self.live)
        return base + 1

    def _take(self, action: dict[str, Any]) -> None:
        if (add := action.get("add")) is not None:
            self.live[add["path"]] = add
        elif (remove := action.get("remove")) is not None:
            self.live.pop(remove["path"], None)
        elif (about := action.get("metaData")) is not None:
            self.id = about["id"]

    def _commit(self, number: int, time: float, said: dict[str, Any], actions: list[Any]) -> Commit:
        added = {each["add"]["path"]: each["add"] for each in actions if "add" in each}
        gone = {
            path: self.live.get(path, {}) for each in actions if "remove" in each for path in [each["remove"]["path"]]
        }
        gone |= {path: self.live[path] for path in added if path in self.live}  # a file has its rows once
        writers = {each["txn"]["appId"]: each["txn"]["version"] for each in actions if "txn" in each}
        same = not any(
            each.get("dataChange", True) for kind in actions for each in kind.values() if "dataChange" in each
        )
        before, after = self._all(gone), self._all(added)
        old, new = (self._content(files) for files in (gone, added)) if same and gone else (None, None)
        changed = frozenset(of for of in {*old, *new} if old.get(of) != new.get(of)) if old and new else frozenset()
        if any(self._rows(path, add) is None for path, add in gone.items()):
            before = after  # removed files are no longer there: what they had is not known
        for action in actions:
            self._take(action)
        predicate = str((said.get("operationParameters") or {}).get("predicate"))
        how = str(said.get("operation", "write")).lower()
        if "batch_id = " in predicate and self.name != "batches":
            how = "put back"
        if "abandoned" in writers:
            how = "withdraw"
        ends = self._ends(gone) - self._ends(added) if how == "delete" and self.columns == OF_SPARK else Rows()
        return Commit(
            self.name, number, time, how, writers, after - before, before - after, changed, dict(sorted(ends))
        )

    def _all(self, files: dict[str, Any]) -> Rows:
        found = Rows()
        for path, add in files.items():
            found.update(self._rows(path, add) or ())
        return found

    def _rows(self, path: str, add: dict[str, Any]) -> Rows | None:
        """The rows of a file, None if it is not there; from its statistics if these say enough."""
        if path not in self._files:
            self._files[path] = self._by_statistics(add) or self._from_file(self.folder / unquote(path))
        return self._files[path]

    def _by_statistics(self, add: dict[str, Any]) -> Rows | None:
        if len(self.columns) > 1:
            return None
        said = json.loads(add.get("stats") or "{}")
        low, high = ((said.get(each) or {}).get(self.columns[0]) for each in ("minValues", "maxValues"))
        return Rows({(low,): said["numRecords"]}) if low is not None and low == high else None

    def _from_file(self, path: Path) -> Rows | None:
        if not path.is_file():
            return None
        file = pq.ParquetFile(path)
        there = [name for name in self.columns if name in file.schema_arrow.names]
        rows = file.read(columns=there)
        values = [rows[name].to_pylist() if name in there else [None] * len(rows) for name in self.columns]
        return Rows(zip(*values, strict=True))

    def _ends(self, files: dict[str, Any]) -> Rows:
        """Batch and end, in microseconds, of the rows that have one."""
        found = Rows()
        for path in (self.folder / unquote(each) for each in files):
            rows = pq.ParquetFile(path).read() if path.is_file() else pa.table({})
            names = [name for name in ("_end_time", "_system_timestamp") if name in rows.column_names]
            if names:
                ends = pc.coalesce(*(rows[name] for name in names)).cast(pa.int64()).to_pylist()
                found.update(
                    each for each in zip(rows["_batch_id"].to_pylist(), ends, strict=True) if each[1] is not None
                )
        return found

    def _content(self, files: dict[str, Any]) -> dict[Any, Any] | None:
        """What is equal for equal rows, by batch: digests, of small tables the rows. None if a file is gone."""
        places = [self.folder / unquote(path) for path in files]
        if not all(place.is_file() for place in places):
            return None
        if self.columns != OF_SPARK:
            rows = [row for place in places for row in pq.read_table(place).to_pylist()]
            by_batch: dict[Any, Rows] = defaultdict(Rows)
            for row in rows:
                by_batch[row[self.columns[0]]][repr(sorted(row.items())),] += 1
            return by_batch
        table = delta.Table(self.folder.parent, self.folder.name)
        table.added = files
        sums = content.sums_by_batch(table, lambda _: None)
        return {number: (found[0], content.text(found)) for number, found in sums.items()}
