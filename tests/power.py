"""What a disk has when the power goes: the content that files had, and the names that folders had, when each was last
synced."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

Key = tuple[int, int]


def key_of(found: os.stat_result) -> Key:
    """What a file's content goes by, whatever it is renamed to; a folder's names go by its number alone."""
    return found.st_ino, 0 if stat.S_ISDIR(found.st_mode) else found.st_mtime_ns


class Disk:
    """Takes note of what is synced; in the place of `os.fsync`."""

    def __init__(self) -> None:
        self.contents: dict[Key, bytes] = {}
        self.names: dict[Key, dict[str, Key]] = {}

    def fsync(self, opened: int) -> None:
        """Take note of what a file or folder has now."""
        found = os.fstat(opened)
        if stat.S_ISDIR(found.st_mode):
            named = {name: os.stat(name, dir_fd=opened, follow_symlinks=False) for name in os.listdir(opened)}
            self.names[key_of(found)] = {name: key_of(each) for name, each in named.items()}
        else:
            self.contents[key_of(found)] = os.pread(opened, found.st_size, 0)

    def left(self, folder: Path, target: Path, emptied: bool) -> Path:
        """What a folder has after the power went. `emptied`: names not synced are there, without content."""
        self._left(folder, key_of(folder.stat()), target, emptied)
        return target

    def _left(self, folder: Path | None, key: Key, target: Path, emptied: bool) -> None:
        target.mkdir(parents=True)
        names = dict(self.names.get(key, {}))
        if emptied and folder is not None:
            names = {path.name: key_of(path.stat()) for path in folder.iterdir()}
        for name, each in names.items():
            if each[1] == 0:
                self._left(folder and folder / name, each, target / name, emptied)
            elif emptied or each in self.contents:
                (target / name).write_bytes(self.contents.get(each, b""))
                os.utime(target / name, ns=(each[1], each[1]))


def watched(monkeypatch: Any) -> Disk:
    """A disk of which every sync is noted from now on."""
    disk = Disk()
    monkeypatch.setattr(os, "fsync", disk.fsync)
    return disk
