"""The log of a small table. Three file look-ups show if it has new commits or was created again; listing its folder
takes longer than most reads of a run."""

from __future__ import annotations

from pathlib import Path

from deltalake import DeltaTable

from tidemark.storage import LOG, Location, delta_table

_Identity = tuple[int, ...]


class Log:
    """The log of the table in a folder.

    Commits are numbered without a gap, and a commit is removed only after a checkpoint of a later one. So a version
    is the newest if there is no commit of the next number, and no checkpoint since the last look. A table that was
    created again, as `repair` does, has another commit file for the known version, or none.
    """

    def __init__(self, table: Location) -> None:
        self._table = table
        self._folder = table / LOG if isinstance(table, Path) else None
        self._seen: _Identity | None = None
        self._known: tuple[int, _Identity | None] = (0, None)

    def open(self) -> DeltaTable:
        """The newest version of the table; TableNotFoundError when there is none."""
        seen = self._identity("_last_checkpoint")
        opened = delta_table(self._table)
        self._seen = seen
        self._know(opened.version())
        return opened

    def refresh(self, table: DeltaTable) -> bool:
        """Update the table to its newest version. False if it was created again, and must be opened again."""
        if self._folder is None:  # other threads may look, too: asking for the version now would wait for them
            table.update_incremental()
            return True
        version, commit = self._known
        if self._of_commit(version) != commit:
            return False
        seen = self._identity("_last_checkpoint")
        if seen != self._seen or self._of_commit(table.version() + 1):
            table.update_incremental()
            self._seen = seen
        if table.version() != version:
            self._know(table.version())
        return True

    def _know(self, version: int) -> None:
        self._known = version, self._of_commit(version)

    def _of_commit(self, version: int) -> _Identity | None:
        return self._identity(f"{version:020}.json")

    def _identity(self, name: str) -> _Identity | None:
        """Identity of a file of the log; empty if it is missing; None in object storage, where none is looked up."""
        if self._folder is None:
            return None
        try:
            found = (self._folder / name).stat()
        except FileNotFoundError:
            return ()
        return found.st_ino, found.st_mtime_ns, found.st_size
