"""Reads the logs of Delta tables in folders: commits as JSON, and checkpoints."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from hashlib import file_digest
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from tidemark_verify.verify import Flaw, Row

LOG = "_delta_log"
UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError, pa.ArrowException)
_ENTRY = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\.parquet")


class Table:
    """A table of a version as its log has it: live files by path, the last batch of each writer, its metadata.
    `entries` are the commits that are still there, by their numbers; `mended` batches whose rows were put back."""

    def __init__(self, root: Path, name: str) -> None:
        self.name, self.folder, self.flaws = name, root / name, list[Flaw]()
        names = sorted(path.name for path in (self.folder / LOG).iterdir())
        self.entries = {int(found[1]): name for name in names if (found := _ENTRY.fullmatch(name))}
        self.added, self.written, self.metadata = dict[str, Row](), dict[str, int](), dict[str, Any]()
        self.mended = list[int]()
        self._read({int(found[1]): name for name in names if (found := _CHECKPOINT.fullmatch(name))})

    @property
    def columns(self) -> list[Row]:
        """Names and types of the columns, as Spark names them."""
        found: list[Row] = json.loads(self.metadata["schemaString"])["fields"]
        return found

    def path(self, file: str) -> Path:
        """The location of a file, given its path in the log."""
        return self.folder / unquote(file)

    def hashed(self, file: str, log: str | None = None) -> Row:
        """A file of the table with its size and SHA-256."""
        with self.path(file).open("rb") as opened:
            sha256 = file_digest(opened, "sha256").hexdigest()
            found = {"table": self.name, "path": file, "size": opened.tell(), "sha256": sha256, "log": log}
            return {**found, "mended": self.mended} if log and self.name != "batches" else found

    def rows(self) -> list[Row]:
        """The rows of a small table: every column, times as integers of microseconds."""
        names, found = [each["name"] for each in self.columns], list[Row]()
        for path in self.added:
            rows = pq.ParquetFile(self.path(path)).read()
            integers = pa.schema([each.with_type(_integers(each.type)) for each in rows.schema])
            found += [dict.fromkeys(names) | row for row in rows.cast(integers).to_pylist()]
        return found

    def _read(self, points: dict[int, str]) -> None:
        """Read the log from its first entry, or else from its last checkpoint, which must be as the entries say."""
        base = max(points, default=-1)
        first, last = min(self.entries, default=base + 1), max(self.entries, default=base)
        for version in [each for each in range(first, last + 1) if each not in self.entries]:
            self._flaw(version, "the entry of the log is missing, and later ones are there")
        if first > base + 1:
            self._flaw(first - 1, "the log lacks its first entries, and no checkpoint has what they said")
        if base >= 0:
            self._take(base, _rows(self.folder / LOG / points[base]))
        pointed = self._seen()
        if first == 0:
            self.added, self.written, self.metadata = {}, {}, {}
        for version in sorted(each for each in self.entries if each > base or first == 0):
            self._take(version, self._entry(version))
            if version == base and self._seen() != pointed:
                self._flaw(base, "the checkpoint says otherwise than the entries before it", points[base])

    def _seen(self) -> tuple[object, ...]:
        """What must be equal however a log is read."""
        sizes = {path: add["size"] for path, add in self.added.items()}
        return sizes, dict(self.written), self.metadata.get("id"), self.metadata.get("schemaString")

    def _take(self, version: int, actions: Iterable[Row]) -> None:
        try:
            for action in actions:
                if (add := action.get("add")) is not None:
                    self.added[add["path"]] = add
                elif (remove := action.get("remove")) is not None:
                    self.added.pop(remove["path"], None)
                elif (txn := action.get("txn")) is not None:
                    if txn["version"] < self.written.get(txn["appId"], 0):
                        self._flaw(version, f"writer {txn['appId']} goes back to batch {txn['version']}")
                    self.written[txn["appId"]] = txn["version"]
                self.metadata = action.get("metaData") or self.metadata
                done = (action.get("commitInfo") or {}).get("operationParameters") or {}
                self.mended += map(int, re.findall(r"batch_id = (\d+)", str(done.get("predicate"))))
        except UNREADABLE as error:
            self._flaw(version, f"it cannot be read: {error}")

    def _entry(self, version: int) -> Iterator[Row]:
        content = (self.folder / LOG / self.entries[version]).read_bytes()
        yield from map(json.loads, content.splitlines())

    def _flaw(self, version: int, message: str, name: str | None = None) -> None:
        self.flaws.append(Flaw("log", self.name, None, f"{LOG}/{name or f'{version:020d}.json'}", message))


def tables_below(root: Path) -> list[str]:
    """Names of the tables of a version; not of those that a backfill keeps beside them."""
    found = (path.parent.relative_to(root).as_posix() for path in root.rglob(LOG) if path.is_dir())
    return sorted(name for name in found if not name.startswith(("_slice/", "difference/")))


def _rows(file: Path) -> Iterator[Row]:
    rows = pq.ParquetFile(file)
    kinds = [name for name in ("metaData", "txn", "add") if name in rows.schema_arrow.names]
    for batch in rows.iter_batches(columns=kinds):
        yield from batch.to_pylist(maps_as_pydicts="lossy")


def _integers(kind: Any) -> Any:  # noqa: ANN401 # types of Arrow
    if pa.types.is_timestamp(kind):
        return pa.int64()
    if pa.types.is_struct(kind):
        return pa.struct([each.with_type(_integers(each.type)) for each in kind])
    return pa.list_(_integers(kind.value_type)) if pa.types.is_list(kind) else kind
