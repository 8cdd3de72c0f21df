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
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from loopback import free_port
from tidemark.airflow.standalone import services, settings
from tidemark.errors import UsageError

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


@dataclass
class Standalone:
    """A standalone Airflow that is up."""

    port: int
    process: psutil.Process


@pytest.fixture(scope="module")
def airflow(place) -> Iterator[Standalone]:
    port = free_port()
    with (place / "said").open("w") as said:
        started = subprocess.Popen([*STANDALONE, place, str(port)], stdout=said)  # noqa: S603 - the project's own
    found: list[psutil.Process] = []
    try:
        end = time.monotonic() + 400
        while "Ctrl-C stops it" not in (place / "said").read_text():
            assert started.poll() is None and time.monotonic() < end, (place / "airflow.log").read_text()[-3000:]  # noqa: PT018
            time.sleep(1)
        yield Standalone(port, psutil.Process(started.pid))
        found = psutil.Process(started.pid).children(recursive=True)
    finally:
        started.send_signal(signal.SIGTERM)
        started.wait()
    assert started.returncode == 0
    assert len(found) > 5
    assert [each for each in found if each.is_running() and each.status() != psutil.STATUS_ZOMBIE] == []
    assert not (place / "postgres" / "postmaster.pid").exists()


def called(port: int, path: str, body: dict | None = None, token: str = "") -> dict:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, headers)
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - loopback
        return json.load(answer)


def listeners(airflow: Standalone) -> set[str]:
    """Addresses at which processes of a standalone Airflow listen."""
    found = [each.net_connections("inet") for each in airflow.process.children(recursive=True)]
    return {each.laddr.ip for some in found for each in some if each.status == psutil.CONN_LISTEN}


@pytest.mark.spark
@pytest.mark.long
def test_it_listens_on_loopback_alone_and_has_postgresql(place, airflow):
    assert listeners(airflow) == {"127.0.0.1"}
    login = {"username": "admin", "password": settings.password(place)}
    token = called(airflow.port, "/auth/token", login)["access_token"]
    health = called(airflow.port, "/api/v2/monitor/health", token=token)
    assert health["metadatabase"]["status"] == "healthy"
    assert (place / "postgres" / "PG_VERSION").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="PostgreSQL runs as the user who starts it")
def test_root_opens_no_folder_to_others(tmp_path):
    mode = tmp_path.stat().st_mode
    with pytest.raises(UsageError, match="PostgreSQL does not run as root, and nobody else may read"):
        services.database(tmp_path / "postgres").__enter__()
    assert tmp_path.stat().st_mode == mode


@pytest.mark.spark
@pytest.mark.long
def test_a_second_one_is_refused_in_its_folder_and_on_its_port(place, airflow, tmp_path):
    taken, used = "is taken: use another", "already: stop it"
    for folder, other, said in ((place, free_port(), used), (tmp_path, airflow.port, taken)):
        done = subprocess.run([*STANDALONE, folder, str(other)], capture_output=True, text=True, check=False)  # noqa: S603
        assert done.returncode == 2
        assert said in done.stderr
    with socket.create_connection(("127.0.0.1", airflow.port), timeout=5):
        pass


LEFT = """
import json, subprocess, time, psutil
from pathlib import Path
from tidemark.airflow.standalone import services
services.adopt()
kept = subprocess.Popen(["sleep", "100"])
earlier = psutil.Process().children()
stubborn = "trap '' TERM; touch {ready}; while :; do sleep 1; done"
service = subprocess.Popen(["bash", "-c", 'setsid -f sleep 101; setsid -f bash -c "$0"', stubborn])
service.wait()
while not Path({ready!r}).exists():
    time.sleep(0.1)
left = len(services._descendants(earlier))
services._LONGEST_END = 1
services._end([service], earlier)
print(json.dumps([left > 1, len(services._descendants(earlier)), kept.poll()]))
kept.kill()
"""


def test_at_the_end_nothing_is_left_of_a_service_whose_processes_went_their_own_way(tmp_path):
    """One has a session of its own, one ignores SIGTERM; what was started before the services stays."""
    code = LEFT.format(ready=str(tmp_path / "ready"))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert json.loads(done.stdout) == [True, 0, None]
