"""Checks the chain of batches of a warehouse, the rows of its small tables by digests and laws, and files by hashes.

`python verify.py FILE` checks a bundle with nothing but Python's standard library. Exit status: 0 sound, 1 not.
"""

from __future__ import annotations

import json
import re
import struct
import sys
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from hashlib import sha256
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

Row = dict[str, Any]
Key = tuple[str, str, str | None]
LEDGER = ("objects", "watermarks", "diagnostics", "quality")
"""Small tables whose rows belong to batches."""
ADDED = ("files", "ledger_digests", "chain_before", "chain")  # columns that older ledgers lack
SETTLED = ("committed", "abandoned")
FATES = ("on_time", "adjusted", "dropped", "quarantined")
_RISING = ("watermark", "floor", "high", "last_arrival", "next_offset")
_UNITS = {"us": 1, "ms": 10**3, "s": 10**6, "m": 60 * 10**6, "h": 3600 * 10**6, "d": 86_400 * 10**6}


class Flaw(NamedTuple):
    """A place where a warehouse is not as recorded."""

    kind: str
    table: str
    batch_id: int | None
    file: str | None
    message: str


def canonical(value: Any) -> str:  # noqa: ANN401 # a row of any columns
    """A row as JSON in the form of docs/chain.md."""
    return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _plain(value: Any) -> Any:  # noqa: ANN401 # a value of any type
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return struct.pack(">d", value).hex() if isinstance(value, float) else value


def settings(row: Row) -> Row:
    """The configuration of a batch; empty if it cannot be read."""
    with suppress(ValueError, TypeError):
        return dict(json.loads(row["configuration"]))
    return {}


def digest(table: str, rows: Iterable[Row]) -> str:
    """The digest of a batch's rows in a small table."""
    plain = table in ("watermarks", "diagnostics")
    lines = (json.dumps(row, sort_keys=True, separators=(",", ":")) if plain else canonical(row) for row in rows)
    return sha256("\n".join(sorted(lines)).encode()).hexdigest()


def micros(text: str) -> int:
    """A duration of the configuration in microseconds, without its sign."""
    return sum(int(number) * _UNITS[unit] for number, unit in re.findall(r"(\d+)(us|ms|[smhd])", text))


def grouped(rows: Iterable[Row], *names: str) -> dict[Any, list[Row]]:
    """Rows by the values of columns, by default by their batch."""
    found: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        found[tuple(row[name] for name in names) if names else row["batch_id"]].append(row)
    return found


class Chain:
    """The small tables of a version, and the chain of its batches."""

    def __init__(self, tables: Mapping[str, Sequence[Row]]) -> None:
        rows = ({**dict.fromkeys(ADDED), **row} for row in tables.get("batches", ()))
        self.batches = sorted(rows, key=lambda row: row["batch_id"])
        self.committed = {row["batch_id"]: row for row in self.batches if row["status"] == "committed"}
        self.known = {row["batch_id"]: row["status"] for row in self.batches}
        self.tables = {name: tables.get(name, ()) for name in LEDGER}

    @property
    def head(self) -> str | None:
        """The place in the chain of the last batch that is committed or abandoned."""
        return next((row["chain"] for row in reversed(self.batches) if row["status"] in SETTLED), None)

    @property
    def recorded(self) -> dict[Key, tuple[int, Row]]:
        """Files as batches have recorded them last, with the batch: by table, path, and log for an entry of a log."""
        every = ((row["batch_id"], each) for row in self.batches for each in row["files"] or ())
        return {(each["table"], each["path"], each["log"]): (number, each) for number, each in every}

    @cached_property
    def horizons(self) -> dict[str, int]:
        """Times before which retention may have deleted rows, by what it keeps since then; events by whole days."""
        found: dict[str, int] = {}
        for row in self.committed.values():
            for kept, age in settings(row).get("retention", {}).items():
                if kept != "versions" and age is not None:
                    since, unit = row["as_of"] - micros(age), _UNITS["d" if kept == "events" else "us"]
                    found[kept] = max(found.get(kept, 0), since // unit * unit)
        return found

    def strays(self, numbers: Iterable[int]) -> list[int]:
        """Batches that may have no rows: they were abandoned, or are not in `batches` and not older than it."""
        first = min(self.known, default=1)
        return sorted(n for n in numbers if self.known.get(n, "abandoned" if n >= first else "") == "abandoned")

    def expired(self, row: Row, kept: str = "ledger") -> bool:
        """True if retention may have deleted rows of a batch, by default from small tables."""
        return bool(row["as_of"] < self.horizons.get(kept, row["as_of"]))

    def flaws(self, files: Sequence[Row], head: str | None = None) -> Iterator[Flaw]:
        """Every flaw of the chain, of small tables and of files. The chain must have a `head` noted before."""
        yield from self._links()
        if head is not None and head not in {row["chain"] for row in self.batches}:
            settled = [number for number, status in self.known.items() if status in SETTLED]
            yield _broken(max(settled, default=0) + 1, f"no batch has the noted head {head}")
        by_batch = {table: grouped(rows) for table, rows in self.tables.items()}
        for number, row in self.committed.items():
            for each in (*(row["digests"] or ()), *(row["ledger_digests"] or ())):
                rows = by_batch.get(each["table"], {}).get(number, [])
                forgotten = self.expired(row) and len(rows) < each["rows"]
                if each["table"] in by_batch and digest(each["table"], rows) != each["digest"] and not forgotten:
                    what = f"its {len(rows)} rows are not the {each['rows']} that the batch recorded"
                    yield Flaw("digest", each["table"], number, None, what)
        yield from self._files(files)

    def _links(self) -> Iterator[Flaw]:
        before: Row | None = None
        for at, row in enumerate(self.batches):
            number, settled = row["batch_id"], row["status"] in SETTLED
            expected = self.batches[at - 1]["batch_id"] + 1 if at else number if "ledger" in self.horizons else 1
            if number != expected:
                gone = f"batches {expected} to {number - 1} are missing"
                yield _broken(min(expected, number), gone if number > expected else "it is there twice")
            if row["chain"] is None and settled and before is not None and before["chain"]:
                yield _broken(number, "its row has no place in the chain")
            if row["chain"] is not None:
                content = canonical({key: value for key, value in row.items() if key != "chain"})
                if not settled or sha256(content.encode()).hexdigest() != row["chain"]:
                    yield _broken(number, "its row is not as it was committed")
                if row["chain_before"] != (before["chain"] if before else None) and (at or number == 1):
                    yield _broken(number, "the batch before it is not the one that it was chained to")
            before = row if settled else before

    def _files(self, files: Sequence[Row]) -> Iterator[Flaw]:
        """A log begins anew when a version is made or a table repaired: entries of other logs are not compared, but a
        log with an entry of another one is that one. Entries may be lost of batches whose rows were put back."""
        recorded = self.recorded
        known = {(table, path, each["sha256"]): log for (table, path, log), (_, each) in recorded.items() if log}
        entries = [(each, known.get((each["table"], each["path"], each["sha256"]))) for each in files if each["log"]]
        same = {(each["table"], each["log"]): log for each, log in entries if log}
        mended = {(each["table"], number) for each, _ in entries for number in each.get("mended", ())}
        there, oldest = dict[Key, Row](), dict[tuple[str, str | None], str]()
        for each in files:
            table, path, log = each["table"], each["path"], same.get((each["table"], each["log"]), each["log"])
            there[table, path, log] = each
            oldest[table, log] = min(path, oldest.get((table, log), path))
        for (table, path, log), (number, each) in recorded.items():
            found = there.get((table, path, log))
            lost = log is not None and (table, number) not in mended
            if found is not None and found["sha256"] != each["sha256"] and (lost or log is None):
                yield Flaw("log" if log else "file", table, number, path, "it is not as the batch recorded it")
            elif found is None and lost and path >= oldest.get((table, log), "~"):
                yield Flaw("log", table, number, path, "the entry of the log is missing")


def unlawful(chain: Chain, rebuilt: Iterable[int]) -> Iterator[Flaw]:
    """Places where a law does not hold. Backfills have judged anew from each batch in `rebuilt` on."""
    objects = grouped(chain.tables["objects"])
    for table, rows in chain.tables.items():
        for number in chain.strays({row["batch_id"] for row in rows}):
            if table != "watermarks" or number not in chain.known:  # states of an abandoned batch are kept
                yield Flaw("rows", table, number, None, "it has rows of a batch that is not there, or was abandoned")
    for row in chain.committed.values():
        yield from _conserved(row, None if chain.expired(row) else objects.get(row["batch_id"], []))
    marks = [(row["batch_id"], row["fingerprint"]) for row in chain.batches]
    restarts = {*rebuilt, *(after[0] for before, after in pairwise(marks) if before[1] != after[1])}
    yield from _progress(chain, restarts)


def _conserved(row: Row, objects: list[Row] | None) -> Iterator[Flaw]:
    """Rows in are fates out, in each partition and in total, as many as were written and as objects have (which
    `start` may skip; None: retention has forgotten them)."""
    number, counts = row["batch_id"], row["counts"] or []
    if any(each["rows"] != sum(each[fate] for fate in FATES) for each in (*counts, row)):
        yield Flaw("conservation", "batches", number, None, "rows in are not the sum of the fates")
    if any(row[name] != sum(each[name] for each in counts) for name in ("rows", *FATES)):
        yield Flaw("conservation", "batches", number, None, "totals are not the sums over partitions")
    written = {each["table"]: each["rows"] for each in row["digests"] or ()}
    skips = settings(row).get("start") is not None or objects is None
    for source in sorted({each["source"] for each in (*counts, *(objects or ()))}):
        judged = sum(each["rows"] for each in counts if each["source"] == source)
        taken = sum(each["rows"] or 0 for each in objects or () if each["source"] == source)
        if written.get(f"events/{source}", judged) != judged or (taken != judged and not skips):
            what = f"{judged} rows of {source} were judged, {taken} are in objects, or not as many were written"
            yield Flaw("conservation", "objects", number, None, what)


def _progress(chain: Chain, restarts: Iterable[int]) -> Iterator[Flaw]:
    """Watermarks, offsets and times never go back, but where a backfill begins."""
    found: list[tuple[str, str, list[Row], tuple[str, ...]]] = [("batches", "the run", chain.batches, ("as_of",))]
    for key, rows in grouped(chain.tables["watermarks"], "source", "partition").items():
        found.append(("watermarks", f"{key[0]}, partition {key[1]}", rows, _RISING))
    for kind, name in (("combined", "source"), ("streams", "stream")):
        each = [{"batch_id": number, **one} for number, row in chain.committed.items() for one in row[kind] or ()]
        found += [("batches", f"{name} {key[0]}", rows, ("watermark",)) for key, rows in grouped(each, name).items()]
    for table, what, rows, names in found:
        for before, row in pairwise(sorted(rows, key=itemgetter("batch_id"))):
            if not any(before["batch_id"] < batch <= row["batch_id"] for batch in restarts):
                for name in names:
                    if before[name] is not None and (row[name] is None or row[name] < before[name]):
                        yield Flaw("progress", table, row["batch_id"], None, f"{name} of {what} goes back")


def _broken(batch_id: int, what: str) -> Flaw:
    return Flaw("chain", "batches", batch_id, None, what)


def main(arguments: Sequence[str]) -> int:
    """Check a bundle and print what was found; returns the exit status."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python verify.py FILE\n")
        return 2
    with zipfile.ZipFile(Path(arguments[0])) as packed:
        content = {name: packed.read(name) for name in packed.namelist()}
    lines = {name: text.splitlines() for name, text in content.items() if name.endswith(".jsonl")}
    tables = {name.removesuffix(".jsonl"): [json.loads(line) for line in found] for name, found in lines.items()}
    for each in tables["files"]:
        if each["log"]:
            each["sha256"] = sha256(content.get(f"logs/{each['table']}/{Path(each['path']).name}", b"")).hexdigest()
    chain, about = Chain(tables), json.loads(content["about.json"])
    known = (Flaw(*each) for each in about["findings"])
    found = [*chain.flaws(tables["files"]), *unlawful(chain, about["rebuilt"]), *known]
    read = f"{len(chain.committed)} batches, {len(tables['files'])} files"
    sys.stdout.write(f"{'NOT SOUND' if found else 'Sound'}: {read}. Head of the chain of batches: {chain.head}\n")
    for flaw in dict.fromkeys(found):
        sys.stdout.write(f"{flaw.table}, batch {flaw.batch_id}, {flaw.file or flaw.kind}: {flaw.message}\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
