"""Servers of commands (`tidemark serve`) and their clients, each a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from processes import JOBS

TESTS = Path(__file__).parent
MAIN = "import sys; from tidemark.cli import main; main(sys.argv[1:])"
"""What a process runs unless a test has it do more before."""


def until(holds: Callable[[], Any], seconds: float = 600) -> Any:
    """Wait until something holds; returns what it gives."""
    last = time.monotonic() + seconds
    while not (found := holds()) and time.monotonic() < last:
        time.sleep(0.02)
    assert found, "it never held"
    return found


class Server:
    """A server with a socket in a folder of its own, and what its clients run as."""

    def __init__(self, folder: Path, code: str = MAIN, environ: Mapping[str, str] = {}) -> None:
        self.path, self.said, self.code = folder / "s" / "serve.sock", folder / "said", code
        path = f"{JOBS}{os.pathsep}{TESTS}"
        self.environ = os.environ | {"PYTHONPATH": path, "TIDEMARK_SOCKET": str(self.path)} | environ
        self.process: subprocess.Popen[str]

    def serve(self, *options: str) -> None:
        """Start the server and wait until it serves."""
        with self.said.open("w") as said:
            line = [sys.executable, "-c", self.code, "serve", *options]
            self.process = subprocess.Popen(line, env=self.environ, text=True, stderr=said)  # noqa: S603 - ours
        until(lambda: "serving" in self.said.read_text() or self.process.poll() is not None)

    def start(self, *words: str, cwd: Path | None = None, code: str | None = None, **environ: str) -> Any:
        """Start a client; its output and errors are pipes of text."""
        line = [sys.executable, "-c", code or self.code, *words]
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(line, env=self.environ | environ, cwd=cwd, **pipes)  # noqa: S603 - ours

    def call(self, *words: str, **options: Any) -> tuple[int, str, str]:
        """The status, output and errors of a client."""
        client = self.start(*words, **options)
        out, err = client.communicate(timeout=300)
        return client.returncode, out, err

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send the server a signal and wait for its end; returns its status."""
        self.process.send_signal(number)
        return self.process.wait(120)


@contextmanager
def server(code: str = MAIN, environ: Mapping[str, str] = {}) -> Iterator[Server]:
    """A server in a new folder, which is not started yet; it ends with the block."""
    with tempfile.TemporaryDirectory(prefix="s") as folder:
        made = Server(Path(folder), code, environ)
        try:
            yield made
        finally:
            if made.process.poll() is None:
                made.end()
