"""The socket of a server and its clients, in a folder that only their user may enter."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tidemark.errors import TidemarkError, UsageError

VARIABLE = "TIDEMARK_SOCKET"
LONGEST = 107
"""Most bytes that Linux allows for the path of a socket."""


def socket_path(environ: Mapping[str, str] = os.environ) -> Path:
    """The path in $TIDEMARK_SOCKET; by default `tidemark/serve.sock` in the user's runtime folder, or, without such a
    folder, in a temporary folder of the user. Raises UsageError for a path that is too long."""
    if given := environ.get(VARIABLE):
        path = Path(given).absolute()
    elif runtime := environ.get("XDG_RUNTIME_DIR"):
        path = Path(runtime, "tidemark", "serve.sock")
    else:
        path = Path(tempfile.gettempdir(), f"tidemark-{os.geteuid()}", "serve.sock")
    if len(os.fsencode(path)) > LONGEST:
        raise UsageError(
            f"the path of the server's socket has more than {LONGEST} bytes, the most that a socket's path may have",
            where=str(path),
            hint=f"name a shorter one in {VARIABLE}",
        )
    return path


def require_private(path: Path) -> None:
    """Raise TidemarkError unless the socket's folder, and the socket if it exists, belong to this user and are closed
    to others."""
    for each, is_kind, kind in ((path.parent, stat.S_ISDIR, "folder"), (path, stat.S_ISSOCK, "socket")):
        if not os.path.lexists(each):
            continue
        found = each.lstat()
        if not is_kind(found.st_mode):
            raise TidemarkError(f"it is no {kind}", where=str(each), hint=f"move it away, or set {VARIABLE}")
        if found.st_uid != os.geteuid():
            raise TidemarkError(f"the {kind} belongs to another user", where=str(each), hint=f"set {VARIABLE}")
        if found.st_mode & 0o077:
            raise TidemarkError(
                f"the {kind} is open to other users", where=str(each), hint=f"chmod go= it, or set {VARIABLE}"
            )
