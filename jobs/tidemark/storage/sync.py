"""Syncs files to the disk: a file system may keep written data in memory for half a minute, and a power failure loses
it. Objects in object storage are durable once they are written."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from tidemark.config.address import RemoteLocation

_AT_ONCE = 8
"""Number of files synced in parallel: the file system then writes them together."""
_NO_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES, errno.EPERM, errno.EISDIR}
"""Errors of a file system for a folder that it cannot sync, or that this user may not open."""


def sync(files: Iterable[Path], folders: Iterable[Path]) -> None:
    """Return when files and the names in folders are on the disk. Files that are gone are skipped. Raises OSError if
    the disk could not write a file."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(sync_file, sorted(set(files))))
        list(pool.map(sync_folder, sorted(set(folders))))


def sync_tree(location: Path | RemoteLocation) -> None:
    """Return when every file below a folder, and every folder up to the disk's own, is on the disk."""
    if isinstance(location, Path):
        below = [(Path(folder), names) for folder, _, names in os.walk(location)]
        files = [folder / name for folder, names in below for name in names]
        sync(files, [*(folder for folder, _ in below), *location.absolute().parents])


def sync_file(path: Path) -> None:
    """Return when a file is on the disk, or at once if it is gone."""
    with suppress(FileNotFoundError):
        _sync(path)


def sync_folder(path: Path) -> None:
    """Return when the names in a folder are on the disk, or at once if the file system cannot sync folders."""
    try:
        _sync(path)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise


def _sync(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
