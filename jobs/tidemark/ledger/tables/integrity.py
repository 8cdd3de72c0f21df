"""Finds damage to the files of a Delta table, and takes files that cannot be read out of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from tidemark.errors import TidemarkError, first_line
from tidemark.storage import Location, delta_table, is_table, open_file
from tidemark.storage.damaged_files import damaged, unreadable_log
from tidemark.storage.folders import files_below, move, move_tree, tables_below

_NUMBERS = ("_batch_id", "batch_id")
_DAMAGED = (pa.ArrowException, OSError, ValueError)


@dataclass(frozen=True)
class Corruption:
    """Damage to a table. `log`: why its log cannot be read. `files`: missing or unreadable files. `lost`: how far its
    log is behind. None or empty means no such damage. `batches`: first and last batch whose rows may be missing
    (None: any batch)."""

    log: str | None = None
    files: tuple[str, ...] = ()
    batches: tuple[int, int] | None = None
    lost: str | None = None

    def __bool__(self) -> bool:
        return self.log is not None or bool(self.files) or self.lost is not None

    def __str__(self) -> str:
        if self.log is not None:
            return f"its log cannot be read: {self.log}"
        if self.lost is not None:
            return self.lost
        return f"{len(self.files)} of its files cannot be read, the first {self.files[0]}"

    @property
    def keeps(self) -> bool:
        """True if repair leaves files that could not be read."""
        return self.log is not None or bool(self.files)

    def behind(self, known: int, recorded: int, why: str) -> Corruption:
        """This damage, with the loss of batches `known` + 1 to `recorded` added."""
        if self.log is not None:
            return self
        ends: tuple[int, int] | None = (known + 1, recorded)
        if self.files:
            ends = None if self.batches is None else (min(self.batches[0], known + 1), max(self.batches[1], recorded))
        return replace(self, batches=ends, lost=why)

    def meets(self, batch_id: int) -> bool:
        """True if rows of a batch may be missing."""
        return self.batches is None or self.batches[0] <= batch_id <= self.batches[1]


def first_damage(folder: Path) -> TidemarkError | None:
    """Return the error for the first damaged table below a folder: its log cannot be read, or a file is missing or
    has another size than in the log. None if no table is damaged. No data file is opened."""
    for name in tables_below(folder):
        try:
            files = _files(folder / name)
        except (DeltaError, *_DAMAGED) as error:
            return unreadable_log(folder / name, error)
        for file in files:
            location = folder / name / file["path"]
            if not location.is_file() or location.stat().st_size != file["size_bytes"]:
                return damaged(name, file["path"])
    return None


def examined(location: Location) -> Corruption:
    """Read a table's log and each of its files to the end, and return the damage found."""
    try:
        actions = _files(location)
    except (DeltaError, *_DAMAGED) as error:
        return Corruption(log=first_line(error))
    broken = [action for action in actions if not _sound(location / action["path"])]
    if not broken:
        return Corruption()
    ends = [_batches(action) for action in broken]
    known = [each for each in ends if each is not None]
    whole = (min(low for low, _ in known), max(high for _, high in known)) if len(known) == len(ends) else None
    return Corruption(files=tuple(action["path"] for action in broken), batches=whole)


def _files(location: Location) -> list[dict[str, Any]]:
    """Files of the table, as its log describes them. Raises what delta-rs raises if the log cannot be read."""
    return pa.table(delta_table(location).get_add_actions(flatten=True)).to_pylist()


def take_out(location: Location, damage: Corruption, aside: Location) -> None:
    """Take the damaged files out of the table; those that exist are moved to `aside`."""
    if not damage.files:
        return
    there = set(files_below(location))
    for path in damage.files:
        if path in there:
            move(location / path, aside / path)
    DeltaTable.repair(delta_table(location))


def put_aside(location: Location, aside: Location) -> None:
    """Move a whole table to `aside`: it is rebuilt from the beginning."""
    move_tree(location, aside)


def damage_of(location: Location) -> Corruption:
    """Damage to the table that should be at `location`. A missing log is damage, too."""
    return examined(location) if is_table(location) else Corruption(log="it is not there")


def _sound(location: Location) -> bool:
    try:
        with open_file(str(location)) as file:
            for _ in pq.ParquetFile(file).iter_batches():
                pass
    except _DAMAGED:
        return False
    return True


def _batches(action: dict[str, int]) -> tuple[int, int] | None:
    for name in _NUMBERS:
        low, high = action.get(f"min.{name}"), action.get(f"max.{name}")
        if low is not None and high is not None:
            return low, high
    return None
