"""Records, in a file, the tables from which a repair took damaged files, until their rows are back.

Without this file, a repair that dies, or that cannot put rows back, would leave tables that lack rows but look sound.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from tidemark.storage import Location, make, read_if_there, remove, write_bytes

Batches = tuple[int, int] | None
"""The first and the last batch whose rows may be missing; None: any."""
_NAME = "unfinished.json"
_LEFT = "left"


class Opened(NamedTuple):
    """The batches of a table whose rows may be missing. `left`: a repair has ended without them."""

    batches: Batches
    left: bool = False


def tables(kept: Location) -> dict[str, Opened]:
    """The recorded tables. `kept` is a version's folder for files that were taken out."""
    content = read_if_there(kept / _NAME)
    found = json.loads(content) if content else {}
    left = found.pop(_LEFT, {})
    opened = {table: Opened(batches and (batches[0], batches[1])) for table, batches in found.items()}
    return {table: Opened((first, last), left=True) for table, (first, last) in left.items()} | opened


def add(kept: Location, table: str, batches: Batches) -> None:
    """Record a table before files are taken out of it; batches that are recorded for it already stay."""
    known = tables(kept)
    before = known[table].batches if table in known else batches
    whole = batches and before and (min(batches[0], before[0]), max(batches[1], before[1]))
    _write(kept, known | {table: Opened(whole)})


def end(kept: Location, left: Mapping[str, tuple[int, int]]) -> None:
    """Record that the repair has ended. Only the tables in `left`, with the batches whose rows are missing, stay
    recorded, for the next repair and for reports."""
    if left:
        _write(kept, {table: Opened(batches, left=True) for table, batches in left.items()})
    else:
        remove(kept / _NAME)


def carry(kept: Location, to: Location, before: int | None = None) -> None:
    """Record for a clone of a version what is left of it: of batches before `before`, by default of all."""
    left = {
        table: (each.batches[0], min(each.batches[1], (before or each.batches[1] + 1) - 1))
        for table, each in tables(kept).items()
        if each.left and each.batches is not None and each.batches[0] < (before or each.batches[0] + 1)
    }
    end(to, left)


def _write(kept: Location, opened: Mapping[str, Opened]) -> None:
    make(kept)
    left = {table: each.batches for table, each in opened.items() if each.left}
    content = {table: each.batches for table, each in opened.items() if not each.left} | (
        {_LEFT: left} if left else {}
    )
    write_bytes(kept / _NAME, json.dumps(content).encode(), lasting=True)
