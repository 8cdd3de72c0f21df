"""Operations on whole folders of tables: list, share files with another folder, remove."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from tidemark.config.address import RemoteLocation
from tidemark.storage import Location, at_once
from tidemark.storage.stores import store_of
from tidemark.storage.sync import sync_folder

_NO_LINKS = {errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.EACCES}
"""Errors with which a file system refuses a link: another device, no support for links, or too many links to one
file."""

_NO_SYMBOLIC_LINKS = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS}


def files_below(location: Location) -> Iterator[str]:
    """Paths of all files or objects below a location, relative to it, in no order; none if it does not exist."""
    if isinstance(location, RemoteLocation):
        yield from (found.key.removeprefix(location.prefix) for found in store_of(location).listed(location))
        return
    for folder, _, names in os.walk(location):
        yield from (str((Path(folder) / name).relative_to(location)) for name in names)


def tables_below(location: Location) -> list[str]:
    """Delta tables below a location, by their paths relative to it."""
    found = (path.partition("/_delta_log/") for path in files_below(location))
    return sorted({table for table, log, _ in found if log})


def share(source: Location, target: Location, paths: Iterable[str]) -> None:
    """Share files of one location with another, at equal relative paths: as hard links, which take no space and
    outlive the removal of either; as copies where links are impossible. Existing files are kept."""
    wanted = list(paths)
    if isinstance(target, Path):
        for folder in {(target / path).parent for path in wanted}:
            folder.mkdir(parents=True, exist_ok=True)
    at_once(lambda path: _share(source / path, target / path), wanted, remote=isinstance(source, RemoteLocation))


def link(location: Path, target: str) -> None:
    """Make or replace a symbolic link, in one step. Does nothing if the file system has no links."""
    fresh = location.with_name(f"{location.name}.partial")
    fresh.unlink(missing_ok=True)
    try:
        fresh.symlink_to(target)
    except OSError as error:
        if error.errno not in _NO_SYMBOLIC_LINKS:
            raise
        return
    fresh.replace(location)
    sync_folder(location.parent)


def remove_tree(location: Location) -> None:
    """Delete everything below a location, and its folder, if it exists."""
    if isinstance(location, RemoteLocation):
        delete = store_of(location).delete
        at_once(lambda path: delete(location / path), list(files_below(location)), remote=True)
    elif location.is_dir():
        shutil.rmtree(location)


def move(source: Location, target: Location) -> None:
    """Move a file to another path."""
    if isinstance(source, RemoteLocation) and isinstance(target, RemoteLocation):
        store_of(source).copy(source, target)
        store_of(source).delete(source)
        return
    Path(str(target)).parent.mkdir(parents=True, exist_ok=True)
    Path(str(source)).replace(Path(str(target)))


def move_tree(source: Location, target: Location) -> None:
    """Move everything below a location to another location."""
    for path in list(files_below(source)):
        move(source / path, target / path)
    remove_tree(source)


def _share(source: Location, target: Location) -> None:
    if isinstance(source, RemoteLocation) and isinstance(target, RemoteLocation):
        store_of(source).copy(source, target)
        return
    try:
        os.link(str(source), str(target))
    except FileExistsError:
        return
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        shutil.copy2(str(source), str(target))
