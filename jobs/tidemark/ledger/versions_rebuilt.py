"""Makes the table of versions again: from what stands beside it, else from the versions' folders."""

from __future__ import annotations

from tidemark.ledger import versions
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.tables import integrity
from tidemark.ledger.versions import Version
from tidemark.storage import Place


def mend(root: Place, now: int) -> tuple[int, str | None] | None:
    """Make the table again if it has lost commits; returns how many versions it has, and what is not sure. None: it
    was whole."""
    if versions.lost(root) is None:
        return None
    found, doubt = versions.remembered(root), None
    if found is None:
        found, doubt = _of_folders(root, now)
    integrity.put_aside(root / "versions", root / "damaged" / "versions")
    versions.restore(root, found)
    return len(found), doubt


def _of_folders(root: Place, now: int) -> tuple[list[Version], str | None]:
    """A version for each folder; live is the one that runs have taken furthest, which is the first one's if no other
    is ahead."""
    ends = {number: Ledger(root, number).last().committed_through for number in versions.numbers(root)}
    live = max(ends, key=lambda number: (ends[number], -number))
    found = [Version(number, now, now if number == live else None, live=number == live) for number in ends]
    if len(found) == 1:
        return found, None
    return found, (
        f"which of the versions {sorted(ends)} was live is recorded nowhere else: version {live} was taken, which "
        "runs have taken furthest; `tidemark promote` switches to another"
    )
