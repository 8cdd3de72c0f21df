"""Random edits of a warehouse, each of which an audit must find and place: table and batch."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake

UNCHAINED = {"plans", "advice"}
"""Tables that no batch records: a plan matters until its batch is committed, advice is replaced by the next."""
LEDGER = ("batches", "objects", "watermarks", "diagnostics", "quality")


@dataclass(frozen=True)
class Edit:
    """An edit in words, with the table and the batches that a finding on it may name."""

    what: str
    table: str
    batches: frozenset[int]


def copied(warehouse: Path, folder: Path) -> Path:
    """A copy that shares all files with the warehouse; edits replace files, and never write into them."""
    shutil.copytree(warehouse, folder, copy_function=os.link)
    return folder


def _replaced(path: Path, content: bytes) -> None:
    path.unlink()
    path.write_bytes(content)


@dataclass
class Drill:
    """Edits of a version's folder, by the throws of some dice."""

    folder: Path
    dice: Random

    def edit(self) -> Edit:
        """Make one edit."""
        ways: list[Callable[[], Edit | None]] = [
            self.cell, self.cell, self.row, self.swap, self.ledger_row, self.configuration, self.log_entry,
            self.batch,
        ]  # fmt: skip
        while (made := self.dice.choice(ways)()) is None:
            continue
        return made

    def _tables(self) -> list[str]:
        found = sorted(path.parent.relative_to(self.folder).as_posix() for path in self.folder.rglob("_delta_log"))
        return [name for name in found if name not in UNCHAINED]

    def _files(self, table: str) -> list[str]:
        actions = pa.table(DeltaTable(self.folder / table).get_add_actions())
        return sorted(map(str, actions["path"].to_pylist()))

    def _file(self) -> tuple[str, Path, pa.Table] | None:
        table = self.dice.choice(self._tables())
        files = self._files(table)
        if not files:
            return None
        path = self.folder / table / self.dice.choice(files)
        rows = pq.ParquetFile(path).read()
        return (table, path, rows) if len(rows) else None

    def _write(self, path: Path, rows: pa.Table) -> None:
        path.unlink()
        pq.write_table(rows, path)

    def cell(self) -> Edit | None:
        """A cell rewritten in a valid Parquet file."""
        found = self._file()
        if found is None:
            return None
        table, path, rows = found
        column, at = self.dice.choice(rows.schema.names), self.dice.randrange(len(rows))
        values = rows[column].to_pylist()
        other = _other(values[at], rows.schema.field(column).type)
        if other == values[at]:
            return None
        batches = {_batch(rows, at)} | ({other} if column.endswith("batch_id") else set())
        kind = rows.schema.field(column)
        changed = pa.array([*values[:at], other, *values[at + 1 :]], type=kind.type)
        self._write(path, rows.set_column(rows.schema.get_field_index(column), kind, changed))
        return Edit(f"{column} of row {at} of {path.name} is {other!r:.60}", table, frozenset(batches))

    def row(self) -> Edit | None:
        """A row removed from a file, or there twice."""
        found = self._file()
        if found is None:
            return None
        table, path, rows = found
        at = self.dice.randrange(len(rows))
        batch = frozenset({_batch(rows, at)})
        if self.dice.random() < 0.5:
            self._write(path, pa.concat_tables([rows[:at], rows[at + 1 :]]))
            return Edit(f"row {at} of {path.name} is removed", table, batch)
        self._write(path, pa.concat_tables([rows, rows[at : at + 1]]))
        return Edit(f"row {at} of {path.name} is there twice", table, batch)

    def swap(self) -> Edit | None:
        """A file in the place of one of another batch."""
        table = self.dice.choice(self._tables())
        files = self._files(table)
        if len(files) < 2:
            return None
        one, other = (self.folder / table / name for name in self.dice.sample(files, 2))
        contents = one.read_bytes(), other.read_bytes()
        batches = {
            _batch(rows, at)
            for path in (one, other)
            for rows in [pq.ParquetFile(path).read()]
            for at in range(len(rows))
        }
        _replaced(one, contents[1])
        if self.dice.random() < 0.5:
            _replaced(other, contents[0])
        return Edit(f"{one.name} has the content of {other.name}", table, frozenset(batches))

    def ledger_row(self) -> Edit | None:
        """A row of a ledger's table updated, deleted or added by Delta itself, in a commit like any other."""
        name = self.dice.choice(LEDGER)
        table = DeltaTable(self.folder / name)
        rows = table.to_pyarrow_table()
        if not len(rows):
            return None
        at = self.dice.randrange(len(rows))
        batch = rows["batch_id"][at].as_py()
        way = self.dice.choice(("update", "delete", "append"))
        if way == "append":
            write_deltalake(table, rows[at : at + 1], mode="append")
        elif way == "delete":
            table.delete(f"batch_id = {batch}")
        else:
            column = {"batches": "bytes", "objects": "size", "watermarks": "next_offset", "diagnostics": "count"}.get(
                name
            )
            changed = f"{column} + 1" if column else "observed + 1"
            table.update({column or "observed": changed}, predicate=f"batch_id = {batch}")
        return Edit(f"{way} of batch {batch} in {name}", name, frozenset({batch}))

    def configuration(self) -> Edit | None:
        """Another tolerance in the configuration that a batch recorded."""
        table = DeltaTable(self.folder / "batches")
        rows = table.to_pyarrow_table(columns=["batch_id", "configuration"]).to_pylist()
        chosen = self.dice.choice(rows)
        changed = json.loads(chosen["configuration"])
        source = self.dice.choice(sorted(changed["sources"]))
        changed["sources"][source]["late_arrival"] = {"tolerance": f"{self.dice.randint(60, 99)}s", "action": "drop"}
        text = json.dumps(changed, sort_keys=True).replace("'", "''")
        table.update({"configuration": f"'{text}'"}, predicate=f"batch_id = {chosen['batch_id']}")
        return Edit(f"configuration of batch {chosen['batch_id']}", "batches", frozenset({chosen["batch_id"]}))

    def log_entry(self) -> Edit | None:
        """An entry of a log removed, emptied, changed, or in the place of another."""
        table = self.dice.choice(self._tables())
        entries = sorted((self.folder / table / "_delta_log").glob("*.json"))
        entry = self.dice.choice(entries)
        text, newest = entry.read_text(), table == "batches" and entry == entries[-1]
        way = self.dice.choice(
            ("removed", "emptied", "size") if newest else ("removed", "emptied", "size", "time", "other")
        )
        batches = _batches_of(self.folder, table, entry)
        if way == "removed":
            entry.unlink()
        elif way == "emptied":
            _replaced(entry, b"")
        elif way == "other" and len(entries) > 1:
            other = self.dice.choice([each for each in entries if each != entry])
            _replaced(entry, other.read_bytes())
        else:
            changed = _changed(text, '{"add":', '"size":') if way == "size" else _changed(text, "", '"timestamp":')
            if changed == text:
                return None
            _replaced(entry, changed.encode())
        return Edit(f"{entry.name} of {table}: {way}", table, batches)

    def batch(self) -> Edit | None:
        """All rows of a batch deleted from every table, each by a commit of Delta."""
        known = DeltaTable(self.folder / "batches").to_pyarrow_table(columns=["batch_id"])["batch_id"].to_pylist()
        number = self.dice.choice(known)
        for name in self._tables():
            table = DeltaTable(self.folder / name)
            names = [field.name for field in table.schema().fields]
            table.delete(f"{'_batch_id' if '_batch_id' in names else 'batch_id'} = {number}")
        return Edit(f"batch {number} is deleted", "batches", frozenset({number, max(known) - 1}))


def _batches_of(folder: Path, table: str, entry: Path) -> frozenset[int]:
    """The batches that recorded an entry of a log, or that it is about."""
    rows = DeltaTable(folder / "batches").to_pyarrow_table(columns=["batch_id", "files"]).to_pylist()
    path = f"_delta_log/{entry.name}"
    found = {
        row["batch_id"]
        for row in rows
        for each in row["files"] or ()
        if (each["table"], each["path"]) == (table, path)
    }
    return frozenset(found or {max(row["batch_id"] for row in rows)})


def _changed(text: str, begin: str, key: str) -> str:
    """The text with the first number after a key one higher, looked for where an action begins."""
    ahead = text.partition(begin)[0] if begin else ""
    before, found, after = text[len(ahead) :].partition(key)
    before = ahead + before
    digits = "".join(_leading_digits(after))
    return text if not found or not digits else f"{before}{key}{int(digits) + 1}{after[len(digits) :]}"


def _leading_digits(text: str) -> Iterator[str]:
    for char in text:
        if not char.isdigit():
            return
        yield char


def _batch(rows: pa.Table, at: int) -> Any:
    return rows["_batch_id" if "_batch_id" in rows.schema.names else "batch_id"][at].as_py()


def _other(value: Any, kind: pa.DataType) -> Any:
    """Another value of a type; a null stays one where none is at hand."""
    if pa.types.is_boolean(kind):
        return not value
    if pa.types.is_integer(kind):
        return (value or 0) + 1
    if pa.types.is_floating(kind):
        return (value or 0.0) + 1.5
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return (value or "") + "x"
    if pa.types.is_timestamp(kind):
        return value.replace(microsecond=(value.microsecond + 1) % 1_000_000) if value is not None else None
    return None
