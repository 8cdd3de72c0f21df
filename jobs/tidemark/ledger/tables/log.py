"""The log of a small table. Two looks at its folder show if it has gone on; listing the folder takes longer than most
reads of a run."""

from __future__ import annotations

from pathlib import Path

from deltalake import DeltaTable

from tidemark.storage import LOG, Location, delta_table


class Log:
    """The log of the table in a folder.

    Commits are numbered without a gap, and one is removed only when a checkpoint of a later one has been written. So
    a version is the newest if there is no commit of the next number, and no checkpoint since it was looked up.
    """

    def __init__(self, table: Location) -> None:
        self._table = table
        self._folder = table / LOG if isinstance(table, Path) else None
        self._seen: tuple[int, ...] | None = None

    def open(self) -> DeltaTable:
        """The newest version of the table; TableNotFoundError when there is none."""
        seen = self._checkpoint()
        opened = delta_table(self._table)
        self._seen = seen
        return opened

    def refresh(self, table: DeltaTable) -> None:
        """Bring the table to its newest version."""
        seen = self._checkpoint()
        if seen is None or seen != self._seen or self._has(table.version() + 1):
            table.update_incremental()
            self._seen = seen

    def _checkpoint(self) -> tuple[int, ...] | None:
        """Identity of the last checkpoint; empty before the first. None if looking costs as much as listing."""
        if self._folder is None:
            return None
        try:
            found = (self._folder / "_last_checkpoint").stat()
        except FileNotFoundError:
            return ()
        return found.st_ino, found.st_mtime_ns, found.st_size

    def _has(self, version: int) -> bool:
        return self._folder is not None and (self._folder / f"{version:020}.json").exists()
