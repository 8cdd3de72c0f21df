"""Rebuilds the table of versions from the copy beside it, or else from the versions' folders."""

from __future__ import annotations

from tidemark.ledger import versions
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.tables import integrity
from tidemark.ledger.versions import Version
from tidemark.storage import Location


def rebuild(root: Location, now: int) -> tuple[int, str | None] | None:
    """Rebuild the table if it has lost commits. Returns the number of versions, and a note if the live one is
    uncertain. Returns None if nothing was lost."""
    if versions.lost(root) is None:
        return None
    found, doubt = versions.remembered(root), None
    if found is None:
        found, doubt = _of_folders(root, now)
    integrity.put_aside(root / "versions", root / "damaged" / "versions")
    versions.restore(root, found)
    return len(found), doubt


def _of_folders(root: Location, now: int) -> tuple[list[Version], str | None]:
    """A version for each folder, and a note if it is uncertain which is live. The version with the most committed
    batches counts as live; of several such, the first."""
    ends = {number: Ledger(root, number).last().committed_through for number in versions.numbers(root)}
    live = max(ends, key=lambda number: (ends[number], -number))
    found = [Version(number, now, now if number == live else None, live=number == live) for number in ends]
    if len(found) == 1:
        return found, None
    return found, (
        f"which of the versions {sorted(ends)} was live is recorded nowhere else: version {live} was taken, which "
        "runs have taken furthest; `tidemark promote` switches to another"
    )
