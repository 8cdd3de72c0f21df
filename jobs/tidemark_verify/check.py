"""Checks a version of a warehouse: logs, files, digests, offsets, fates and the chain of batches."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidemark_verify import content, laws
from tidemark_verify.delta import LOG, UNREADABLE, Table, tables_below
from tidemark_verify.judge import COLUMNS, Judge
from tidemark_verify.verify import LEDGER, Chain, Flaw, Row

SAMPLE = 100_000
"""Rows of a source that are judged again if not all are."""


class Warehouse:
    """The live version of the pipeline at `root`. With `everything` each row is judged again, else a sample is."""

    def __init__(self, root: Path, everything: bool = False) -> None:
        self.everything, self.found, self.left = everything, list[Flaw](), list[str]()
        versions = {row["version"]: row for row in self._versions(root)}
        self.version = next((number for number, row in versions.items() if row["live"]), max(versions, default=1))
        self.folder, self.rebuilt = root / f"v{self.version}", list(_rebuilt(versions, self.version))
        self.tables = {name: table for name in tables_below(self.folder) for table in self._table(name)}
        self.small = {name: list(self._rows(name)) for name in ("batches", *LEDGER)}
        self.chain = Chain(self.small)
        self.files, self.judged, self.counted = list[Row](), 0, 0

    def check(self, head: str | None = None) -> None:
        """Find every flaw. The chain must have a `head` that was noted before."""
        for table in self.tables.values():
            self._hash(table)
        self._take("batches", self.chain.flaws(self.files, head))
        self._take("batches", laws.flaws(self.chain, [first for first, _ in self.rebuilt]))
        for name, table in self.tables.items():
            if name.partition("/")[0] in content.KINDS:
                self._content(table)
        self.found = list(dict.fromkeys(map(self._located, self.found)))

    def _versions(self, root: Path) -> list[Row]:
        """The rows of the table of versions, which a file beside it copies after each change."""
        copy = root / "versions.json"
        known = json.loads(copy.read_bytes()) if copy.is_file() else None
        try:
            table = Table(root, "versions")
            self.found += table.flaws
            rows = sorted(table.rows(), key=lambda row: row["version"])
        except UNREADABLE as error:
            self.found.append(Flaw("log", "versions", None, None, f"it cannot be read: {error}"))
            return known["rows"] if known else []
        if known and known["number"] == table.written.get("versions") and known["rows"] != rows:
            self.found.append(Flaw("rows", "versions", None, None, "its rows are not those of the copy beside it"))
        return rows

    def _table(self, name: str) -> Iterator[Table]:
        try:
            table = Table(self.folder, name)
            self.found += table.flaws
            yield table
        except UNREADABLE as error:
            self.found.append(Flaw("log", name, None, None, f"its log cannot be read: {error}"))

    def _rows(self, name: str) -> Iterator[Row]:
        try:
            yield from self.tables[name].rows() if name in self.tables else ()
        except UNREADABLE as error:
            self.found.append(Flaw("file", name, None, None, f"its rows cannot be read: {error}"))

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
        log = table.metadata.get("id")
        self.files += [table.hashed(f"{LOG}/{name}", log) for name in table.entries.values()]

    def _content(self, table: Table) -> None:
        """Compute the digests of a table's rows again, and look into those of events."""
        source = table.name.removeprefix("events/") if table.name.startswith("events/") else None
        judged, kept = self._sample(source), list[pa.RecordBatch]()

        def see(columns: content.Columns) -> None:
            if source is not None:
                arrays = {name: _integers(array) for name, array, _ in columns if name in (*COLUMNS, "_file")}
                kept.append(pa.record_batch(arrays))

        self._take(table.name, self._digests(table, see))
        if source is not None and kept:
            rows = pa.Table.from_batches(kept).sort_by([("_partition", "ascending"), ("_offset", "ascending")])
            rows = rows.filter(_among(rows["_batch_id"], self.chain.committed))
            self._take(table.name, self._events(source, rows))
            self._take(table.name, self._judged(source, rows.filter(_among(rows["_batch_id"], judged)), judged))

    def _take(self, table: str, flaws: Iterable[Flaw]) -> None:
        """Keep flaws; that they cannot be looked for is one, too."""
        try:
            self.found += flaws
        except UNREADABLE as error:
            self.found.append(Flaw("file", table, None, None, f"its rows cannot be read: {error}"))

    def _digests(self, table: Table, see: Callable[[content.Columns], None]) -> Iterator[Flaw]:
        sums = content.sums_by_batch(table, see)
        self.counted += sum(each.rows for each in sums.values())
        for number, row in self.chain.committed.items():
            for each in (each for each in row["digests"] or () if each["table"] == table.name):
                found, second = sums.pop(number, content.Sums()), each["digest"].startswith("2:")
                if not second and found.rows:
                    self._leave(f"{table.name}: digests of version 1, of batches up to {number}")
                if found.rows == each["rows"] and (not second or str(found) == each["digest"]):
                    continue
                if found.rows < each["rows"] and self._expired(table, row):
                    self._leave(f"{table.name}: batches up to {number}, of which retention has deleted rows")
                elif not second or each["digest"] not in content.digests_before(table, number):
                    what = f"its {found.rows} rows are not the {each['rows']} that the batch recorded"
                    yield Flaw("digest", table.name, number, None, what)
        for number, rows in sums.items():
            status = self.chain.known.get(number)
            if status in ("committed", "abandoned") or (
                status is None and number >= min(self.chain.known, default=1)
            ):
                yield Flaw("rows", table.name, number, None, f"it has {rows.rows} rows of a batch that recorded none")

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
        name, gone = f"events/{source}", "events" in self.chain.horizons
        skips = gone or any(json.loads(row["configuration"])["start"] for row in self.chain.batches)
        counts = ((row, each) for row in self.chain.committed.values() for each in row["counts"] or ())
        mine = [(row["batch_id"], each) for row, each in counts if each["source"] == source]
        wanted = {(number, each["partition"], fate): each[fate] for number, each in mine for fate in laws.FATES}
        yield from _unlike(name, _counts(rows, "_batch_id", "_partition", "_disposition"), {} if gone else wanted)
        taken = [each for each in self.chain.tables["objects"] if each["source"] == source and each["rows"]]
        files = {
            (each["batch_id"], each["uri"]): each["rows"]
            for each in taken
            if each["batch_id"] in self.chain.committed
        }
        yield from _unlike(name, _counts(rows, "_batch_id", "_file"), {} if skips else files)
        offsets, partitions = np.asarray(rows["_offset"]), rows["_partition"].combine_chunks().dictionary_encode()
        first = np.diff(np.asarray(partitions.indices), prepend=-1) != 0
        wrong = np.where(first, (offsets != 0) & (not skips), np.diff(offsets, prepend=0) != 1)
        if skips:  # rows without an arrival are kept among those that are skipped
            wrong[1:] &= ~np.asarray(rows["_arrival_time"].is_null())[:-1]
        for at in np.flatnonzero(wrong)[:100].tolist():
            what = f"offset {offsets[at]} of partition {rows['_partition'][at]} does not follow the one ahead"
            yield Flaw("offsets", name, rows["_batch_id"][at].as_py(), None, what)

    def _sample(self, source: str | None) -> set[int]:
        """Batches whose rows are judged again: a sample has some that are evenly spread, with the last one."""
        committed = [
            row for number, row in self.chain.committed.items() if not any(a <= number <= b for a, b in self.rebuilt)
        ]
        counts = {
            row["batch_id"]: sum(e["rows"] for e in row["counts"] or () if e["source"] == source) for row in committed
        }
        numbers, chosen, rows = [number for number, count in counts.items() if count], set[int](), 0
        for number in numbers[:: -max(1, len(numbers) // 8)]:
            if not rows or rows + counts[number] <= SAMPLE:
                chosen, rows = chosen | {number}, rows + counts[number]
        return set(counts) if self.everything else chosen

    def _judged(self, source: str, rows: pa.Table, judged: set[int]) -> Iterator[Flaw]:
        newest = json.loads(self.chain.committed[max(self.chain.committed)]["configuration"])["sources"]
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
        if flaw.batch_id is not None:
            return flaw
        mine = [
            (path, log, number)
            for (table, path, log), (number, _) in self.chain.recorded.items()
            if table == flaw.table
        ]
        known = [number for path, _, number in mine if path == flaw.file]
        later = [number for path, log, number in mine if log and path > (flaw.file or "")]
        return flaw._replace(batch_id=known[0] if known else min(later, default=max(self.chain.known, default=None)))


def _rebuilt(versions: dict[int, Row], version: int | None) -> Iterator[tuple[int, int]]:
    """First and last of the batches that backfills have judged anew, on the way to a version."""
    while version in versions:
        row = versions[version]
        if row.get("rebuilt") is not None:
            yield row["rebuilt"], row["through"]
        version = row.get("base")


def _unlike(name: str, found: dict[Any, int], wanted: dict[Any, int]) -> Iterator[Flaw]:
    for key in sorted(wanted, key=str):
        if found.get(key, 0) != wanted[key]:
            what = f"{found.get(key, 0)} rows are of {', '.join(map(str, key[1:]))}, and {wanted[key]} were counted"
            yield Flaw("conservation", name, key[0], None, what)


def _counts(rows: pa.Table, *names: str) -> dict[Any, int]:
    found = rows.group_by(list(names)).aggregate([([], "count_all")])
    keys = zip(*(found[name].to_pylist() for name in names), strict=True)
    return dict(zip(keys, found["count_all"].to_pylist(), strict=True))


def _among(column: Any, values: Iterable[int]) -> Any:  # noqa: ANN401 # arrays of Arrow
    return pc.is_in(column, value_set=pa.array(sorted(values), pa.int64()))


def _integers(array: Any) -> Any:  # noqa: ANN401 # arrays of Arrow
    return array.cast(pa.int64()) if pa.types.is_timestamp(array.type) else array
