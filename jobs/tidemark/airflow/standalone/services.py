"""The services of a standalone Airflow: PostgreSQL and Airflow's four, started in order, and ended with all processes
that they started.

PostgreSQL listens on a socket in the folder, Airflow's pages and API on loopback. Nothing else listens: log files are
read from the folder, so that Airflow's log servers are not needed.
"""

from __future__ import annotations

import ctypes
import logging
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from tidemark.airflow.standalone.settings import BIN
from tidemark.errors import TidemarkError, UsageError, missing_parts_named

_LONGEST_START, _LONGEST_END = 300, 10
_LONGEST_PATH = 80
"""Number of characters up to which PostgreSQL's socket is in the folder of its data."""
_SET_CHILD_SUBREAPER = 36
"""Number of prctl's option in Linux."""
_AFTER = (("scheduler", "--skip-serve-logs"), ("dag-processor",), ("triggerer", "--skip-serve-logs"))
"""Services that start once the API server is healthy: each of them, and each task, calls it."""


@contextmanager
def database(folder: Path) -> Iterator[str]:
    """Context manager: a PostgreSQL server with its data in a folder; gives the address for Airflow. Raises
    UsageError for a folder in which it cannot start."""
    with missing_parts_named():
        import pgserver
        from pgserver.postgres_server import get_server
    _check_path(folder, Path(pgserver.__file__))
    logging.getLogger(pgserver.__name__).setLevel(logging.WARNING)  # it prints each command with all its output
    server = get_server(folder)
    try:
        yield server.get_uri().replace("postgresql://", "postgresql+psycopg2://", 1)
    finally:
        server.cleanup()


def _check_path(folder: Path, programs: Path) -> None:
    """Raise UsageError for a path with blanks, which pgserver does not quote.

    PostgreSQL does not run as root. For root, pgserver would run it as another user, make all folders above readable,
    and open a long path's socket to everyone: UsageError is raised instead.
    """
    if len(str(folder).split()) > 1:
        raise UsageError(f"PostgreSQL does not start in {folder}: its path has blanks", hint="use another folder")
    if os.geteuid() == 0:
        closed = [each for each in (*folder.parents, *programs.parents) if each.stat().st_mode & 5 != 5]
        if closed or len(str(folder)) > _LONGEST_PATH:
            why = f"nobody else may read {closed[0]}" if closed else f"the path {folder} is too long"
            raise UsageError(f"PostgreSQL does not run as root, and {why}", hint="start it as another user")


@contextmanager
def services(environ: Mapping[str, str], log: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Context manager: Airflow's services. Gives the process of the API server; at exit every process has ended.

    Raises TidemarkError if the database cannot be made or the API server does not answer.
    """
    home, earlier = environ["AIRFLOW_HOME"], psutil.Process().children()
    started: list[subprocess.Popen[bytes]] = []
    with log.open("ab") as said:

        def start(*command: str) -> subprocess.Popen[bytes]:
            line = [str(BIN / "airflow"), *command]
            started.append(
                subprocess.Popen(line, env=environ, stdout=said, stderr=said, cwd=home, start_new_session=True)
            )
            return started[-1]

        try:
            if start("db", "migrate").wait():
                raise TidemarkError("Airflow's database could not be made", where=str(log))
            server = start("api-server")
            _await(server, port, log)
            for command in _AFTER:
                start(*command)
            yield server
        finally:
            with suppress(OSError):  # its terminal may be gone
                print("stopping Airflow and the tasks that run", flush=True)
            _end(started, earlier)


def _await(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + _LONGEST_START
    while time.monotonic() < end and server.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v2/monitor/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(1)
    raise TidemarkError("Airflow did not start", where=str(log), hint="its log says why")


def _end(started: list[subprocess.Popen[bytes]], earlier: list[psutil.Process]) -> None:
    """End services, the last first, and then the processes that they left: tasks and their Spark sessions."""
    for each in reversed(started):
        if each.poll() is None:
            each.terminate()
    for each in reversed(started):
        with suppress(subprocess.TimeoutExpired):
            each.wait(_LONGEST_END)
    for ended in (psutil.Process.terminate, psutil.Process.kill):
        left = _descendants(earlier)
        for process in left:
            with suppress(psutil.NoSuchProcess):
                ended(process)
        psutil.wait_procs(left, _LONGEST_END / 3)


def _descendants(earlier: list[psutil.Process]) -> list[psutil.Process]:
    """Return the descendants of this process, without the processes in `earlier` and their descendants."""
    kept = {each for one in earlier if one.is_running() for each in (one, *one.children(recursive=True))}
    return [each for each in psutil.Process().children(recursive=True) if each not in kept]


def adopt() -> None:
    """Make this process the parent of descendants whose own parent has ended, so that they are found at the end."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
