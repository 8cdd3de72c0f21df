"""Advisory lock of a pipeline, which spares runs useless work; correctness comes from the ledger's conditional
commits."""

from __future__ import annotations

import fcntl
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tidemark.config.address import RemoteLocation
from tidemark.errors import Held, TidemarkError
from tidemark.ledger import versions
from tidemark.ledger.lease import hold_lease, lease_holder
from tidemark.storage import Location

_TRIES, _PAUSE = 5, 0.02  # seconds


@contextmanager
def hold(root: Location, wait: bool = False) -> Iterator[Callable[[], None] | None]:
    """Hold `<root>/lock` while the block runs. A lease in object storage may be lost: then the function that the
    block gets raises Held. A lock on a file is never lost: the block gets None.

    Without `wait` a lock held by another process raises Held, within a tenth of a second. The operating system drops
    the lock when its process ends, so a dead process never blocks. The file itself stays.
    """
    if isinstance(root, RemoteLocation):
        with hold_lease(root / "lock", wait, fence=partial(versions.fence, root)) as still_held:
            yield still_held
        return
    path = root / "lock"
    handle = _opened(path)
    try:
        _take(handle, path, wait)
        os.truncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()} {socket.gethostname()}\n".encode(), 0)
        yield None
    finally:
        os.close(handle)


def holder(root: Location) -> str | None:
    """The holder of the lock, in words; None if there is none. Does not wait."""
    if isinstance(root, RemoteLocation):
        return lease_holder(root / "lock")
    try:
        handle = os.open(root / "lock", os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _named(handle)
    finally:
        os.close(handle)
    return None


def _named(handle: int) -> str:
    found = os.pread(handle, 200, 0).decode("utf-8", "replace").split()
    return f"process {found[0]} on {found[1]}" if len(found) == 2 else "another process"


def _opened(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except (IsADirectoryError, FileExistsError, NotADirectoryError) as error:
        folder = path.is_dir()
        raise TidemarkError(
            "the pipeline's lock is a folder" if folder else "the warehouse is a file, not a folder",
            where=str(path if folder else error.filename or path.parent),
            hint="move it away: nothing that is kept lies there"
            if folder
            else "correct `warehouse`, or move it away",
        ) from error


def _take(handle: int, path: Path, wait: bool) -> None:
    """Take the lock. `holder` holds a shared lock for a moment; several attempts outlast that."""
    for left in reversed(range(_TRIES)):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError as error:
            if not left:
                said, hint = f"{_named(handle)} holds the pipeline", "run again when it has ended, or use --wait"
                raise Held(said, where=str(path), hint=hint) from error
            time.sleep(_PAUSE)
        else:
            return
