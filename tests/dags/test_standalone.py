"""`make airflow`: PostgreSQL and Airflow in one folder, on loopback alone, and nothing left of them at its end."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from loopback import free_port
from tidemark.airflow.standalone import services, settings
from tidemark.errors import UsageError

pytestmark = [pytest.mark.spark, pytest.mark.long]
STANDALONE = [sys.executable, "-m", "tidemark.airflow.standalone"]


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder that every user may read, without the demo's landing files."""
    folder = Path(tempfile.mkdtemp(prefix="tidemark-standalone-"))
    folder.chmod(0o755)
    (folder / "pipelines").mkdir()
    (folder / "pipelines" / "flights.yml").write_text("pipeline: flights\n")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def port(place) -> Iterator[int]:
    port = free_port()
    with (place / "said").open("w") as said:
        process = subprocess.Popen([*STANDALONE, place, str(port)], stdout=said)  # noqa: S603 - the project's own
    try:
        end = time.monotonic() + 400
        while "Ctrl-C stops it" not in (place / "said").read_text():
            assert process.poll() is None and time.monotonic() < end, (place / "airflow.log").read_text()[-3000:]  # noqa: PT018
            time.sleep(1)
        yield port
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
    assert process.returncode == 0
    assert services._of(place) == []
    assert not (place / "postgres" / "postmaster.pid").exists()


def called(port: int, path: str, body: dict | None = None, token: str = "") -> dict:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, headers)
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - loopback
        return json.load(answer)


def listeners(place: Path) -> set[str]:
    """Addresses at which processes of a standalone Airflow listen, as the kernel writes them."""
    inodes = set()
    for process in services._of(place):
        for number in (Path("/proc") / str(process) / "fd").glob("*"):
            with suppress(OSError):  # it has just been closed
                inodes.add(str(number.readlink()).removeprefix("socket:[").removesuffix("]"))
    lines = [
        line.split() for name in ("tcp", "tcp6") for line in Path("/proc/net", name).read_text().splitlines()[1:]
    ]
    return {line[1].partition(":")[0] for line in lines if line[3] == "0A" and line[9] in inodes}


def test_it_listens_on_loopback_alone_and_has_postgresql(place, port):
    assert listeners(place) == {"0100007F"}
    login = {"username": "admin", "password": settings.password(place)}
    token = called(port, "/auth/token", login)["access_token"]
    health = called(port, "/api/v2/monitor/health", token=token)
    assert health["metadatabase"]["status"] == "healthy"
    assert (place / "postgres" / "PG_VERSION").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="PostgreSQL runs as the user who starts it")
def test_root_opens_no_folder_to_others(tmp_path):
    mode = tmp_path.stat().st_mode
    with pytest.raises(UsageError, match="PostgreSQL does not run as root, and nobody else may read"):
        services.database(tmp_path / "postgres").__enter__()
    assert tmp_path.stat().st_mode == mode


def test_a_second_one_is_refused_in_its_folder_and_on_its_port(place, port, tmp_path):
    for folder, other, said in ((place, free_port(), "already: stop it"), (tmp_path, port, "is taken: use another")):
        done = subprocess.run([*STANDALONE, folder, str(other)], capture_output=True, text=True, check=False)  # noqa: S603
        assert done.returncode == 2
        assert said in done.stderr
    with socket.create_connection(("127.0.0.1", port), timeout=5):
        pass
