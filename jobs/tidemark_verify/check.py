"""Checks a version of a warehouse: logs, files, digests, offsets, fates and the chain of batches."""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidemark_verify import content, verify
from tidemark_verify.delta import LOG, UNREADABLE, Table, tables_below
from tidemark_verify.judge import COLUMNS, FIRST_INSTANT, Judge
from tidemark_verify.verify import FATES, LEDGER, Chain, Flaw, Row

T = TypeVar("T")
_FATE = ("_batch_id", "_partition", "_disposition")
SAMPLE = 100_000  # rows of a source that are judged again if not all are


class Warehouse:
    """The live version of the pipeline at `root`. With `everything` each row is judged again, else a sample is."""

    def __init__(self, root: Path, everything: bool = False) -> None:
        self.everything, self.found, self.left = everything, list[Flaw](), list[str]()
        versions = {row["version"]: row for row in self._versions(root)}
        self.version = next((number for number, row in versions.items() if row["live"]), max(versions, default=1))
        self.folder, self.rebuilt = root / f"v{self.version}", list(_rebuilt(versions, self.version))
        self.restarts = [first for first, _ in self.rebuilt]
        self.tables = dict[str, Table]()
        for name in tables_below(self.folder):
            if table := self._guarded(name, partial(Table, self.folder, name)):
                self.tables[name] = table
        self.found += [flaw for table in self.tables.values() for flaw in table.flaws]
        self.small = {name: self._rows(self.tables.get(name)) for name in ("batches", *LEDGER)}
        self.chain = Chain(self.small)
        self.files, self.judged, self.counted = list[Row](), 0, 0

    def check(self, head: str | None = None) -> None:
        """Find every flaw. The chain must have a `head` that was noted before."""
        for table in self.tables.values():
            self._hash(table)
        self._take("batches", self.chain.flaws(self.files, head))
        self._take("batches", verify.unlawful(self.chain, self.restarts))
        for name, table in self.tables.items():
            if name.partition("/")[0] in content.KINDS:
                self._content(table)
        self.found = list(dict.fromkeys(map(self._located, self.found)))

    def _versions(self, root: Path) -> list[Row]:
        """The rows of the table of versions, which a file beside it copies after each change."""
        copy = root / "versions.json"
        known = json.loads(copy.read_bytes()) if copy.is_file() else None
        table = self._guarded("versions", partial(Table, root, "versions"))
        rows = sorted(self._rows(table), key=lambda row: row["version"]) if table else []
        if known and (not table or known["number"] == table.written.get("versions")) and known["rows"] != rows:
            self.found.append(Flaw("rows", "versions", None, None, "its rows are not those of the copy beside it"))
        return rows or (known["rows"] if known else [])

    def _rows(self, table: Table | None) -> list[Row]:
        return (self._guarded(table.name, table.rows) if table else None) or []

    def _guarded(self, table: str, read: Callable[[], T]) -> T | None:
        """What can be read; that it cannot be is a flaw, too."""
        try:
            return read()
        except UNREADABLE as error:
            self.found.append(Flaw("file", table, None, None, f"it cannot be read: {type(error).__name__}: {error}"))
            return None

    def _hash(self, table: Table) -> None:
        """Hash each live file and each entry of the log."""
        for path, add in table.added.items():
            try:
                found = table.hashed(path)
                rows = pq.ParquetFile(table.path(path)).metadata.num_rows
            except UNREADABLE as error:
                self.found.append(Flaw("file", table.name, None, path, f"it cannot be read: {error}"))
                continue
            self.files.append(found)
            said = json.loads(add.get("stats") or "{}").get("numRecords", rows)
            if (found["size"], rows) != (add["size"], said) or add.get("deletionVector"):
                self.found.append(Flaw("file", table.name, None, path, "its size or rows are not those of the log"))
        log = table.metadata.get("id") or "unknown"
        self.files += [table.hashed(f"{LOG}/{name}", log) for name in table.entries.values()]

    def _content(self, table: Table) -> None:
        """Compute the digests of a table's rows again, and look into those of events."""
        source = table.name.removeprefix("events/") if table.name.startswith("events/") else None
        judged, kept = self._sample(), list[pa.RecordBatch]()

        def see(columns: content.Columns) -> None:
            if source is not None:
                plain = {name: (a.cast(pa.int64()) if of == "timestamp" else a) for name, (a, of) in columns.items()}
                kept.append(pa.record_batch({name: plain[name] for name in COLUMNS}))

        self._take(table.name, self._digests(table, see))
        if source is not None and kept:
            rows = pa.Table.from_batches(kept).sort_by([("_partition", "ascending"), ("_offset", "ascending")])
            rows = rows.filter(_among(rows["_batch_id"], self.chain.committed))
            self._take(table.name, self._events(source, rows))
            if self.chain.committed:
                self._take(table.name, self._judged(source, rows.filter(_among(rows["_batch_id"], judged)), judged))

    def _take(self, table: str, flaws: Iterable[Flaw]) -> None:
        self._guarded(table, lambda: self.found.extend(flaws))

    def _digests(self, table: Table, see: Callable[[content.Columns], None]) -> Iterator[Flaw]:
        sums = content.sums_by_batch(table, see)
        self.counted += sum(each[0] for each in sums.values())
        for number, row in self.chain.committed.items():
            for each in (each for each in row["digests"] or () if each["table"] == table.name):
                found, second = sums.pop(number, content.NONE), each["digest"].startswith("2:")
                if not second and found[0]:
                    self._leave(f"{table.name}: digests of version 1, of batches up to {number}")
                if found[0] == each["rows"] and (not second or content.text(found) == each["digest"]):
                    continue
                if found[0] < each["rows"] and self._expired(table, row):
                    self._leave(f"{table.name}: batches up to {number}, of which retention has deleted rows")
                elif not second or each["digest"] not in content.digests_before(table, number):
                    what = f"its {found[0]} rows are not the {each['rows']} that the batch recorded"
                    yield Flaw("digest", table.name, number, None, what)
        for number in {*self.chain.strays(sums), *(sums.keys() & self.chain.committed.keys())}:
            what = f"it has {sums[number][0]} rows of a batch that recorded none"
            yield Flaw("rows", table.name, number, None, what)

    def _leave(self, what: str) -> None:
        self.left = [*(each for each in self.left if each.partition(":")[0] != what.partition(":")[0]), what]

    def _expired(self, table: Table, row: Row) -> bool:
        """True if retention may have deleted rows of a batch from a table: of events and lifetimes by their day."""
        kind = table.name.partition("/")[0]
        if kind not in ("events", "lifetimes") or "events" not in self.chain.horizons:
            return kind == "dead_letters" and self.chain.expired(row, kind)
        day = str(np.datetime64(self.chain.horizons["events"], "us").astype("datetime64[D]"))
        written = [each["path"] for each in row["files"] or () if each["table"] == table.name and not each["log"]]
        return not written or any(path.partition("=")[2][:10] < day for path in written)

    def _events(self, source: str, rows: pa.Table) -> Iterator[Flaw]:
        """Rows of each fate and object are as many as were counted; offsets of each partition are 0 to n - 1, but for
        rows before the first that `start` skips or retention has deleted."""
        name, gone = f"events/{source}", self.chain.horizons.get("events")
        skips = gone is not None or any(verify.settings(row).get("start") for row in self.chain.batches)
        fates = Counter(zip(*(rows[each].to_pylist() for each in _FATE), strict=True))
        for number, row in self.chain.committed.items():
            counts = [each for each in row["counts"] or () if each["source"] == source]
            if gone is None and any(fates.get((number, e["partition"], f), 0) != e[f] for e in counts for f in FATES):
                yield Flaw("conservation", name, number, None, "its rows have other fates than were counted")
        offsets, partitions = np.asarray(rows["_offset"]), rows["_partition"].combine_chunks().dictionary_encode()
        first = np.diff(np.asarray(partitions.indices), prepend=-1) != 0
        wrong = np.where(first, (offsets != 0) & (not skips), np.diff(offsets, prepend=0) != 1)
        if skips:  # rows without an arrival are kept among those that are skipped; retention leaves some of a day
            arrivals = np.asarray(rows["_arrival_time"].fill_null(pa.scalar(FIRST_INSTANT - 1)))
            wrong[1:] &= arrivals[:-1] >= (FIRST_INSTANT if gone is None else gone)
        for at in np.flatnonzero(wrong)[:100].tolist():
            what = f"offset {offsets[at]} of partition {rows['_partition'][at]} does not follow the one ahead"
            yield Flaw("offsets", name, rows["_batch_id"][at].as_py(), None, what)

    def _sample(self) -> set[int]:
        """Batches whose rows are judged again: a sample has some that are evenly spread, with the last one."""
        kept = [number for number in self.chain.committed if not any(a <= number <= b for a, b in self.rebuilt)]
        chosen, rows = set(kept if self.everything else kept[-1:]), 0
        for number in kept[:: -max(1, len(kept) // 8)]:
            rows += self.chain.committed[number]["rows"]
            chosen |= {number} if rows <= SAMPLE else set()
        return chosen

    def _judged(self, source: str, rows: pa.Table, judged: set[int]) -> Iterator[Flaw]:
        newest = verify.settings(self.chain.committed[max(self.chain.committed)])["sources"]
        if source not in newest or newest[source]["punctuation"] is not None:
            self._leave(f"events/{source}: punctuated sources are not judged again; `tidemark replay` does")
            return
        self.judged += len(rows)
        if len(judged) < len(self.chain.committed) and self.everything:
            self._leave(f"events/{source}: batches that a backfill merged are not judged again")
        columns = (rows[name].to_pylist() for name in COLUMNS)
        yield from Judge(self.chain, source, judged).flaws(zip(*columns, strict=True))

    def _located(self, flaw: Flaw) -> Flaw:
        """A flaw with the batch that recorded its file, or else the next entry of the log."""
        mine = {path: number for (of, path, _), (number, _) in self.chain.recorded.items() if of == flaw.table}
        later = [number for path, number in mine.items() if path.startswith(LOG) and path > (flaw.file or "")]
        near = mine.get(flaw.file or "", min(later, default=max(self.chain.known, default=None)))
        return flaw if flaw.batch_id is not None else flaw._replace(batch_id=near)

    def bundle(self, file: Path) -> None:
        """Write what an auditor needs to check the warehouse without it, with the program that does: one zip file."""
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
            packed.write(verify.__file__, "verify.py")
            packed.writestr("about.json", json.dumps({"findings": self.found, "rebuilt": self.restarts}))
            for name, rows in {**self.small, "files": self.files}.items():
                packed.writestr(f"{name}.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
            for each in self.files:
                if each["log"]:
                    path = self.folder / each["table"] / each["path"]
                    packed.write(path, f"logs/{each['table']}/{path.name}")


def _rebuilt(versions: dict[int, Row], version: int | None) -> Iterator[tuple[int, int]]:
    """First and last of the batches that backfills have judged anew, on the way to a version."""
    while row := versions.get(version or 0):
        known = row.get("backfilled")
        own = [] if row.get("rebuilt") is None else [(row["rebuilt"], row["through"])]
        yield from own if known is None else json.loads(known)
        version = row.get("base") if known is None else None


def _among(column: Any, values: Iterable[int]) -> Any:  # noqa: ANN401 # arrays of Arrow
    return pc.is_in(column, value_set=pa.array(sorted(values), pa.int64()))
