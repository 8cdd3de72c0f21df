"""Has files reach the disk: a file system may keep what was written in memory for half a minute, and loses it with
the power. Objects have reached it when they are written."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from tidemark.config.address import RemoteLocation

_AT_ONCE = 8
"""Files that are waited for side by side: a file system writes down what several ask for at once."""
_NO_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES, errno.EPERM, errno.EISDIR}
"""How a file system says that a folder cannot be synced, or that this user may not open it."""


def sync(files: Iterable[Path], folders: Iterable[Path]) -> None:
    """Return when files and the names in folders are on the disk. A file that is gone is passed over. OSError: the
    disk could not write one."""
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
    """Return when the names in a folder are on the disk, or at once where a file system has no such thing."""
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
