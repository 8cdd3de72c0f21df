"""Starts a standalone Airflow: `python -m tidemark.airflow.standalone FOLDER PORT`. It writes in FOLDER alone.

For more than a look see docker-compose.yml.
"""

from __future__ import annotations

import fcntl
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tidemark.airflow.standalone.services import adopt, database, services
from tidemark.airflow.standalone.settings import environment, password, write_command, write_dags, write_demo
from tidemark.cli.failures import failure_of
from tidemark.errors import TidemarkError, UsageError

_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that end it: a key, a command, and the end of its terminal."""


def serve(folder: Path, port: int) -> None:
    """Start Airflow, print its address and login, and wait until it is stopped."""
    folder.mkdir(parents=True, exist_ok=True)
    adopt()
    with _alone(folder, port):
        print("writing the demo's landing files and starting Airflow; this takes a minute or two", flush=True)
        write_dags(folder)
        write_demo(folder)
        secret, log = password(folder), folder / "airflow.log"
        with (
            database(folder / "postgres") as address,
            services(environment(folder, port, address), log, port) as server,
        ):
            print(f"Airflow: http://127.0.0.1:{port}   user admin, password {secret}")
            print(f"The dashboard: http://127.0.0.1:{port}/plugin/tidemark, or Pipelines in the navigation")
            print(f"The DAG tidemark_flights runs every 15 minutes; pipeline files are in {folder / 'pipelines'}.")
            print(f"Airflow's command line: {write_command(folder, port, address)}")
            print("Ctrl-C stops it.", flush=True)
            if server.wait():
                raise TidemarkError("Airflow's API server has ended", where=str(log), hint="its log says why")


@contextmanager
def _alone(folder: Path, port: int) -> Iterator[None]:
    """Context manager: no other Airflow is in the folder, and nothing listens on the port."""
    with (folder / "lock").open("w") as lock, socket.socket() as tried:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise UsageError(f"an Airflow runs in {folder} already", hint="stop it, or use another PORT") from error
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", port))
        except OSError as error:
            raise UsageError(f"the port {port} is taken", hint="use another: make airflow PORT=8081") from error
        tried.close()
        yield


def _interrupted(*_: object) -> None:
    for number in _ENDS:
        signal.signal(number, signal.SIG_IGN)  # the end of the services is not cut short
    raise KeyboardInterrupt


def main(folder: str, port: str) -> int:
    """Serve until a signal. Returns the exit status."""
    for number in _ENDS:
        signal.signal(number, _interrupted)
    try:
        serve(Path(folder).absolute(), int(port))
    except KeyboardInterrupt:
        print("stopped", flush=True)
    except TidemarkError as error:
        failure = failure_of(error)
        print(failure.text(), file=sys.stderr)
        return failure.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
