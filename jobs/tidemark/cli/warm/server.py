"""The server: runs the commands of clients, one at a time, in the Spark session of this process.

A server starts anew in the same process: it executes itself and keeps the listening socket, so that nothing of the
old session is left and waiting clients lose nothing. It does so after a number of runs, when the JVM's heap is full,
after a command that was interrupted or failed, and before a command whose settings differ from the session's.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, chdir, contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any, NoReturn, TextIO

import click

import tidemark
from tidemark.cli.failures import Terminated
from tidemark.cli.invocation import invoke
from tidemark.cli.warm.address import VARIABLE, require_private, socket_path
from tidemark.config.secrets import forget
from tidemark.errors import Held

PATIENCE = 10.0
"""Seconds that a client may take for its request."""
FULL = 0.6
"""Share of the JVM's heap that may be in use after a collection."""
FAILED = 4
"""The least exit status after which the session is ended: a failure that is no answer, or an interruption."""
KEPT = "TIDEMARK_SERVER"
"""Variable with the listening socket and the lock of a server that starts anew."""
_OF_JVM = (
    "AWS_",
    "AZURE_",
    "GOOGLE_",
    "STORAGE_EMULATOR_",
    "HADOOP_",
    "JAVA_",
    "JDK_",
    "_JAVA_",
    "PYSPARK_",
    "SPARK_",
)
_NAMES = ("HOME", "TIDEMARK_DEBUG", "TIDEMARK_JARS", "TIDEMARK_MASTER", "TIDEMARK_PLAIN")
"""Variables that a JVM or a library reads only once: prefixes of names (`_OF_JVM`) and whole names."""


def serve(runs: int) -> NoReturn:
    """Serve clients until a signal ends the process. Raises Held if another server has the socket."""
    from tidemark.spark.session.settings import engine
    from tidemark.spark.session.versions import require_engine

    require_engine()
    path = socket_path()
    listener, lock = _kept() or _opened(path)
    click.echo(f"serving at {path}", err=True)
    session = _Session(runs, engine())
    try:
        while True:
            with listener.accept()[0] as connection:
                session.answer(connection)
            if reason := session.over():
                click.echo(f"the session ends, since {reason}; the next run starts another", err=True)
                _start_anew(listener, lock)
    finally:
        path.unlink(missing_ok=True)


def _opened(path: Path) -> tuple[socket.socket, int]:
    """Return the listening socket, which replaces the socket of a killed server, and the lock, which is held as long
    as the server runs."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    require_private(path)
    lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise Held("another server has the socket", where=str(path), hint=f"use it, or set {VARIABLE}") from error
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    path.chmod(0o600)
    listener.listen(128)
    return listener, lock


def _kept() -> tuple[socket.socket, int] | None:
    """Return the socket and lock that the server kept when it started anew; None at the first start."""
    kept = [int(number) for number in os.environ.pop(KEPT, "").split()]
    for number in kept:
        os.set_inheritable(number, False)
    return (socket.socket(fileno=kept[0]), kept[1]) if kept else None


def _start_anew(listener: socket.socket, lock: int) -> NoReturn:
    """End the JVM, if there is one, and execute this process again."""
    from tidemark.spark.compat.sessions import end_jvm

    end_jvm()
    for number in (listener.fileno(), lock):
        os.set_inheritable(number, True)
    os.environ[KEPT] = f"{listener.fileno()} {lock}"
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 # this program


class _Session:
    """The Spark session of this process, which its first command starts, and the number of commands left to it."""

    def __init__(self, runs: int, engine: str) -> None:
        self._runs, self._left, self._engine = runs, runs, engine
        self._settings: dict[str, str] = {}
        self._reason = ""

    def answer(self, connection: socket.socket) -> None:
        """Answer one client: run its command, or say why not. Raises KeyboardInterrupt if a signal to this process
        ended the command."""
        status, client = None, _Client(connection)
        with suppress(OSError, ValueError), ExitStack() as stack:  # a client that is gone asks for nothing
            connection.settimeout(PATIENCE)
            numbers = socket.recv_fds(connection, 1, 2)[1]
            streams = [stack.enter_context(os.fdopen(each, "w", 1, errors="backslashreplace")) for each in numbers]
            request = _read(connection)
            connection.settimeout(None)
            if refusal := self._refusal(request):
                _say(connection, **refusal)
                return
            stack.enter_context(_in_force(request, streams))
            _say(connection, begun=True)
            status = invoke(request["arguments"], client)
        if status is not None:
            self._ended(status, client, connection)

    def over(self) -> str:
        """The reason why the session ends now; empty if it goes on."""
        from tidemark.spark.session.heap import is_full

        if not self._reason and self._left <= 0:
            return f"it has done {self._runs} runs"
        return self._reason or ("its JVM is full or gone" if is_full(FULL) else "")

    def _refusal(self, request: Mapping[str, Any]) -> dict[str, Any] | None:
        """The answer to a request that this process does not accept; None if it accepts."""
        from tidemark.spark.session.settings import engine

        if request.get("version") != tidemark.__version__:
            return {"refused": f"it is tidemark {tidemark.__version__}, and this is {request.get('version')}"}
        read = {name: value for name, value in request["environment"].items() if _is_read_once(name)}
        settings = read | {"umask": f"{request['umask']:03o}"}
        if self._settings not in ({}, settings):
            self._reason = "a command has other settings"
        elif engine() != self._engine:
            self._reason = "packages have changed"
        self._settings = settings
        return {"again": True} if self._reason else None

    def _ended(self, status: int, client: _Client, connection: socket.socket) -> None:
        client.end()
        self._left -= 1
        if status >= FAILED:
            self._reason = f"a command ended with status {status}"
        with suppress(OSError):  # the client is gone
            _say(connection, status=status)
        if status in (130, 143) and not client.has_interrupted:
            raise Terminated if status == 143 else KeyboardInterrupt


class _Client:
    """Context manager: inside it, the client can interrupt the command of the main thread, and does so by closing the
    connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self._has_ended = connection, False
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self.has_interrupted = False

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Stop listening."""
        self._has_ended = True
        with suppress(OSError):  # the client is gone
            self._connection.shutdown(socket.SHUT_RD)
        if self._thread.ident is not None:
            self._thread.join()

    def _listen(self) -> None:
        said = b"-"
        while said:
            try:
                said = self._connection.recv(1)
            except OSError:  # the client is gone without having read what was said to it
                said = b""
            if self._has_ended:
                return
            self.has_interrupted = True
            number = signal.SIGTERM if said == bytes([signal.SIGTERM]) else signal.SIGINT
            signal.pthread_kill(threading.main_thread().ident or 0, number)


@contextmanager
def _in_force(request: Mapping[str, Any], streams: Sequence[TextIO]) -> Iterator[None]:
    """Context manager: this process has the environment, folder, umask and output streams of a request."""
    from tidemark.spark.compat.sessions import forget_tables

    before, mask = dict(os.environ), os.umask(request["umask"])
    own = [(os.dup(number), number) for number in (1, 2)]
    try:
        for stream, number in zip(streams, (1, 2), strict=True):
            os.dup2(stream.fileno(), number)
        _replace_environment(request["environment"])
        forget()
        forget_tables()
        with chdir(request["folder"]), redirect_stdout(streams[0]), redirect_stderr(streams[1]):
            yield
    finally:
        _replace_environment(before)
        os.umask(mask)
        for kept, number in own:
            os.dup2(kept, number)
            os.close(kept)


def _replace_environment(environment: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)


def _is_read_once(name: str) -> bool:
    return name in _NAMES or name.startswith(_OF_JVM)


def _read(connection: socket.socket) -> dict[str, Any]:
    """Read a request. Raises ValueError for anything else."""
    with connection.makefile("rb") as lines:
        found = json.loads(lines.readline())
    if not isinstance(found, dict):
        raise ValueError("no request")  # noqa: TRY004 # as for text that is no JSON
    return found


def _say(connection: socket.socket, **answer: object) -> None:
    connection.sendall(json.dumps(answer).encode() + b"\n")
