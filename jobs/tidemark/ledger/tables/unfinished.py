"""Tables that a repair took damaged files out of, recorded in a file until their rows are back.

Without it, a repair that dies in between would leave tables that lack rows and look sound.
"""

from __future__ import annotations

import json

from tidemark.storage import Location, make, read_if_there, remove, write_bytes

Batches = tuple[int, int] | None
"""The first and the last batch whose rows may be missing; None: any."""
_NAME = "unfinished.json"


def tables(kept: Location) -> dict[str, Batches]:
    """The tables, with the batches whose rows may be missing. `kept` is the folder of a version for files that
    were taken out."""
    content = read_if_there(kept / _NAME)
    found = json.loads(content) if content else {}
    return {table: batches and (batches[0], batches[1]) for table, batches in found.items()}


def add(kept: Location, table: str, batches: Batches) -> None:
    """Record a table before files are taken out of it; batches that are recorded for it already stay."""
    known = tables(kept)
    before = known.get(table, batches)
    whole = batches and before and (min(batches[0], before[0]), max(batches[1], before[1]))
    make(kept)
    write_bytes(kept / _NAME, json.dumps(known | {table: whole}).encode(), lasting=True)


def end(kept: Location) -> None:
    """Record that the repair has ended: what it could not put back it has named."""
    remove(kept / _NAME)
