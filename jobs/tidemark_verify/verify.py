"""Checks the chain of batches of a warehouse, the rows of its small tables, and files by their hashes.

`python verify.py FILE [WAREHOUSE]` checks a bundle, with nothing but Python's standard library; with the folder of the
bundle's version also that its files are those of the bundle. Exit status: 0 sound, 1 not.
"""

from __future__ import annotations

import json
import struct
import sys
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

Row = dict[str, Any]
SETTLED = ("committed", "abandoned")
LEDGER = ("objects", "watermarks", "diagnostics", "quality")
"""Small tables whose rows belong to batches."""
REPAIR = "`tidemark repair` makes the table again where that is possible; else restore it from a copy"
RESTORE = "restore the folder from a copy made after this batch was committed"


class Flaw(NamedTuple):
    """A place where a warehouse is not as recorded, and what to do."""

    kind: str
    table: str
    batch_id: int | None
    file: str | None
    message: str
    hint: str


class File(NamedTuple):
    """A file as a batch has recorded it; `log` is the id of the table for an entry of its log."""

    batch_id: int
    size: int
    sha256: str
    log: str | None


def canonical(value: Any) -> str:  # noqa: ANN401 # a row of any columns
    """A row as JSON in the form of docs/chain.md."""
    return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _plain(value: Any) -> Any:  # noqa: ANN401 # a value of any type
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return struct.pack(">d", value).hex() if isinstance(value, float) else value


def link(row: Row) -> str:
    """The place of a batch in the chain, from its row."""
    return sha256(canonical({key: value for key, value in row.items() if key != "chain"}).encode()).hexdigest()


def digest(table: str, rows: Sequence[Row]) -> str:
    """The digest of a batch's rows in a small table."""
    if table in ("watermarks", "diagnostics"):
        lines = sorted(json.dumps(row, sort_keys=True, separators=(",", ":")) for row in rows)
    else:
        lines = sorted(map(canonical, rows))
    return sha256("\n".join(lines).encode()).hexdigest()


def recorded_files(batches: Iterable[Row]) -> dict[tuple[str, str, str | None], File]:
    """By table, path and log: the files that batches have recorded, each as it was recorded last."""
    return {
        (each["table"], each["path"], each["log"]): File(row["batch_id"], each["size"], each["sha256"], each["log"])
        for row in batches
        for each in row["files"] or ()
    }


def micros(text: str) -> int:
    """A duration of the configuration in microseconds."""
    units = {"us": 1, "ms": 1000, "s": 10**6, "m": 60 * 10**6, "h": 3600 * 10**6, "d": 86_400 * 10**6}
    total, digits, unit = 0, "", ""
    for char in f"{text.lstrip('-')}0":
        if char.isdigit() and unit:
            total, digits, unit = total + int(digits) * units[unit], "", ""
        digits, unit = (digits + char, unit) if char.isdigit() else (digits, unit + char)
    return -total if text.startswith("-") else total


def horizon(batches: Iterable[Row], kept: str) -> int | None:
    """The time before which retention may have deleted rows; None if they are kept for ever."""
    found = [
        row["as_of"] - micros(age)
        for row in batches
        if row["status"] == "committed" and (age := json.loads(row["configuration"]).get("retention", {}).get(kept))
    ]
    return max(found, default=None)


class Chain:
    """The small tables of a version."""

    def __init__(self, tables: Mapping[str, Sequence[Row]]) -> None:
        self.batches = sorted(tables.get("batches", ()), key=lambda row: row["batch_id"])
        self.committed = {row["batch_id"]: row for row in self.batches if row["status"] == "committed"}
        self.known = {row["batch_id"]: row["status"] for row in self.batches}
        self.first = min(self.known, default=1)
        self.tables = {name: tables.get(name, ()) for name in LEDGER}
        self.kept_from = horizon(self.batches, "ledger")

    @property
    def head(self) -> str | None:
        """The place in the chain of the last batch that is committed or abandoned."""
        return next((row["chain"] for row in reversed(self.batches) if row["status"] in SETTLED), None)

    def expired(self, row: Row) -> bool:
        """True if retention may have deleted rows of a batch from small tables."""
        return self.kept_from is not None and row["as_of"] < self.kept_from

    def flaws(self, head: str | None = None) -> Iterator[Flaw]:
        """Every flaw of the chain and of rows. `head` is one that was noted before: the chain must still have it."""
        yield from self._chain()
        if head is not None and head not in {row["chain"] for row in self.batches}:
            last = self.batches[-1]["batch_id"] if self.batches else None
            yield Flaw("chain", "batches", last, None, f"no batch has the noted head {head}", RESTORE)
        by_batch = {table: grouped(rows) for table, rows in self.tables.items()}
        for row in self.committed.values():
            yield from self._digests(row, by_batch)

    def _chain(self) -> Iterator[Flaw]:
        before: Row | None = None
        for at, row in enumerate(self.batches):
            number, settled = row["batch_id"], row["status"] in SETTLED
            expected = self.batches[at - 1]["batch_id"] + 1 if at else number if self.kept_from else 1
            if number != expected:
                gone = f"{expected} to {number - 1}" if number > expected else f"{number}, once more,"
                what = f"the batches {gone} are missing" if number > expected else f"batch {number} is there twice"
                yield _broken(expected if number > expected else number, what)
            if row["chain"] is None:
                if settled and before is not None and before["chain"]:
                    yield _broken(number, "its row has no place in the chain")
                before = row if settled else before
                continue
            if link(row) != row["chain"]:
                yield _broken(number, "its row is not as it was committed")
            if not settled:
                yield _broken(number, f"its row says {row['status']}, but it is of the chain")
            if row["chain_before"] != (before["chain"] if before else None) and (at or number == 1):
                yield _broken(number, "the batch before it is not the one that it was chained to")
            before = row

    def _digests(self, row: Row, by_batch: Mapping[str, Mapping[int, list[Row]]]) -> Iterator[Flaw]:
        for each in (*(row["digests"] or ()), *(row["ledger_digests"] or ())):
            table, number = each["table"], row["batch_id"]
            if table not in LEDGER:
                continue
            rows = by_batch[table].get(number, [])
            if digest(table, rows) != each["digest"] and not (self.expired(row) and len(rows) < each["rows"]):
                what = f"its {len(rows)} rows are not the {each['rows']} that the batch recorded"
                yield Flaw("digest", table, number, None, what, REPAIR)


def grouped(rows: Iterable[Row], *names: str) -> dict[Any, list[Row]]:
    """Rows by the values of columns, by default by their batch."""
    found: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        found[tuple(row[name] for name in names) if names else row["batch_id"]].append(row)
    return found


def _broken(batch_id: int, what: str) -> Flaw:
    return Flaw("chain", "batches", batch_id, None, what, RESTORE)


def differing(files: Iterable[Row], batches: Sequence[Row]) -> Iterator[Flaw]:
    """Files and log entries that are not as batches have recorded them. A log begins anew when a version is made, or
    when a table is repaired: what was recorded of another log is compared only if that log is known by an entry."""
    recorded = recorded_files(batches)
    there = {(each["table"], each["path"], each["log"]): each for each in files}
    logs = {(each["table"], each["log"]) for each in there.values() if each["log"]}
    for (table, path, log), known in recorded.items():
        found = there.get((table, path, log))
        if found is not None and (found["size"], found["sha256"]) != (known.size, known.sha256):
            kind = "log" if log else "file"
            yield Flaw(kind, table, known.batch_id, path, "its content is not that which the batch recorded", REPAIR)
        elif found is None and log and (table, log) in logs and path >= _oldest(there, table, log):
            yield Flaw("log", table, known.batch_id, path, "the entry of the log is missing", REPAIR)


def _oldest(there: Iterable[tuple[str, str, str | None]], table: str, log: str) -> str:
    return min(path for of, path, each in there if (of, each) == (table, log))


def check_bundle(file: Path, warehouse: Path | None = None) -> tuple[list[Flaw], str | None]:
    """The flaws of a bundle, and the head of its chain."""
    with zipfile.ZipFile(file) as packed:
        lines = {
            name: packed.read(name).decode().splitlines() for name in packed.namelist() if name.endswith(".jsonl")
        }
        logs = {name: sha256(packed.read(name)).hexdigest() for name in packed.namelist() if name.startswith("logs/")}
        about = json.loads(packed.read("about.json"))
    tables = {name.removesuffix(".jsonl"): [json.loads(line) for line in found] for name, found in lines.items()}
    chain = Chain(tables)
    files = tables["files"]
    flaws = [*chain.flaws(), *differing(files, chain.batches), *map(lambda each: Flaw(*each), about["findings"])]
    for each in files:
        name = f"logs/{each['table']}/{each['path'].rpartition('/')[2]}"
        if each["log"] and logs.get(name) != each["sha256"]:
            flaws.append(
                Flaw("log", each["table"], None, each["path"], "the bundle has another entry of the log", RESTORE)
            )
        if warehouse is not None and (place := warehouse / each["table"] / unquote(each["path"])).is_file():
            with place.open("rb") as opened:
                if file_digest(opened, "sha256").hexdigest() != each["sha256"]:
                    flaws.append(Flaw("file", each["table"], None, each["path"], "it is not the bundle's", RESTORE))
        elif warehouse is not None:
            flaws.append(Flaw("file", each["table"], None, each["path"], "it is missing", RESTORE))
    return list(dict.fromkeys(flaws)), chain.head


def main(arguments: Sequence[str]) -> int:
    """Check a bundle and print what was found; returns the exit status."""
    if not arguments:
        sys.stderr.write("usage: python verify.py FILE [WAREHOUSE]\n")
        return 2
    flaws, head = check_bundle(Path(arguments[0]), Path(arguments[1]) if len(arguments) > 1 else None)
    sys.stdout.write(f"{'NOT SOUND' if flaws else 'Sound'}. Head of the chain of batches: {head}\n")
    for each in flaws:
        where = f"{each.table}, batch {each.batch_id}" if each.batch_id else each.table
        sys.stdout.write(f"{where}{f', {each.file}' if each.file else ''}: {each.message}\n")
    return int(bool(flaws))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
