"""The client of a server: sends a command with its folder, environment and output streams, and waits for its end.

The request is one byte, which carries the two streams, and a line of JSON. Answers are lines of JSON: `refused` with
the reason, `again` (the server starts anew first), or `begun` and, at the end, `status`. In between, the client may
send a byte, the number of a signal: it interrupts the command. Closing the connection interrupts it, too.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import tidemark
from tidemark.cli.failures import SAFE, Terminated
from tidemark.cli.warm.address import require_private, socket_path
from tidemark.errors import TidemarkError

OPTION = "--warm"


def ask(arguments: Sequence[str]) -> int | None:
    """Let the server run a command that prints to the streams of this process; return its exit status.

    None: the command must run here, since there is no server, or none that can be used (then a line on standard error
    has the reason). Raises TidemarkError if the server ends during the command.
    """
    try:
        server = _begun(arguments)
    except (FileNotFoundError, ConnectionRefusedError):
        return None
    except (TidemarkError, OSError) as error:
        where = f" ({error.where})" if isinstance(error, TidemarkError) else ""
        sys.stderr.write(f"note: no server is used: {error}{where}\n")
        return None
    with server:
        return server.status()


class Server:
    """A connection to the server, over which the request was sent."""

    def __init__(self, path: Path, arguments: Sequence[str]) -> None:
        self._path, self._connection = path, socket.socket(socket.AF_UNIX)
        self._connection.connect(str(path))
        socket.send_fds(self._connection, [b"\n"], [1, 2])
        self._connection.sendall(json.dumps(_request(arguments)).encode() + b"\n")
        self._answers = self._connection.makefile("r")

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self._answers.close()
        self._connection.close()

    def answer(self) -> dict[str, Any]:
        """The next answer; empty if the server has ended."""
        try:
            found: dict[str, Any] = json.loads(self._answers.readline() or "{}")
        except ConnectionResetError:
            return {}
        return found

    def status(self) -> int:
        """Wait for the end of the command and return its status. A signal is passed on to the command."""
        while True:
            try:
                ended = self.answer()
            except KeyboardInterrupt as error:
                number = signal.SIGTERM if isinstance(error, Terminated) else signal.SIGINT
                with suppress(OSError):  # the server has ended, as the next answer will say
                    self._connection.send(bytes([number]))
                continue
            if "status" not in ended:
                raise TidemarkError("the server ended during the command", where=str(self._path), hint=SAFE)
            return int(ended["status"])


def _begun(arguments: Sequence[str]) -> Server:
    """Return a connection to the server after it has begun the command. Raises OSError if there is no server,
    TidemarkError if it cannot be used."""
    path = socket_path()
    require_private(path)
    while True:
        server = Server(path, arguments)
        first = server.answer()
        if "begun" in first:
            return server
        server.__exit__()
        if "again" not in first:
            raise TidemarkError(first.get("refused", "it ended before the command began"), where=str(path))


def _request(arguments: Sequence[str]) -> dict[str, Any]:
    mask = os.umask(0o077)
    os.umask(mask)
    return {
        "version": tidemark.__version__,
        "arguments": list(arguments),
        "folder": os.getcwd(),  # noqa: PTH109 # a text
        "environment": dict(os.environ),
        "umask": mask,
    }
