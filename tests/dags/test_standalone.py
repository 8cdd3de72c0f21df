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
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest
from dag_pipelines import land_day, write_pipeline

from loopback import free_port
from tidemark.airflow.standalone import services, settings
from tidemark.errors import UsageError

STANDALONE = [sys.executable, "-m", "tidemark.airflow.standalone"]
LOOPBACK = {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
TODAY = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
DAG = "tidemark_toll"


@dataclass
class Standalone:
    """A standalone Airflow, in a folder that every user may read."""

    folder: Path
    port: int
    begun: subprocess.Popen[bytes]
    token: str = ""

    @property
    def processes(self) -> list[psutil.Process]:
        """Processes that it has started."""
        return psutil.Process(self.begun.pid).children(recursive=True)

    @property
    def said(self) -> str:
        return (self.folder / "said").read_text()

    def call(self, path: str, body: dict[str, Any] | None = None, method: str | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - loopback
            return json.load(answer)

    def log_in(self) -> None:
        """Wait until it is up."""
        self.until(lambda: "Ctrl-C stops it" in self.said)
        login = {"username": "admin", "password": settings.password(self.folder)}
        self.token = self.call("/auth/token", login)["access_token"]

    def until(self, found: Callable[[], Any], seconds: float = 400) -> Any:
        """The first thing found that is true."""
        end = time.monotonic() + seconds
        while not (value := found()):
            if self.begun.poll() is not None or time.monotonic() > end:
                raise AssertionError(self.said + (self.folder / "airflow.log").read_text()[-3000:])
            time.sleep(1)
        return value

    def healthy(self) -> bool:
        health = self.call("/api/v2/monitor/health")
        return all(health[name]["status"] == "healthy" for name in ("metadatabase", "scheduler", "dag_processor"))

    def runs(self) -> list[dict[str, Any]]:
        """Runs of the pipeline's DAG, the first interval first."""
        found: list[dict[str, Any]] = self.call(f"/api/v2/dags/{DAG}/dagRuns?order_by=logical_date")["dag_runs"]
        return found

    def switch_on(self) -> None:
        self.until(lambda: DAG in [each["dag_id"] for each in self.call("/api/v2/dags")["dags"]])
        self.call(f"/api/v2/dags/{DAG}", {"is_paused": False}, "PATCH")

    def end(self, number: int) -> None:
        """Send a signal to its group, as a terminal does; nothing is left of it then."""
        found = self.processes
        os.killpg(self.begun.pid, number)
        assert self.begun.wait() == 0
        assert len(found) > 5
        assert [each for each in found if each.is_running() and each.status() != psutil.STATUS_ZOMBIE] == []
        assert not (self.folder / "postgres" / "postmaster.pid").exists()


def begin(folder: Path) -> Standalone:
    """Start an Airflow with a pipeline that takes its first interval tomorrow, and without the demo's files."""
    folder.chmod(0o755)
    asked = {"start_date": (TODAY + timedelta(days=1)).isoformat(), "paused": True}
    write_pipeline(folder / "pipelines", schedule="0 0 * * *", streams={}, airflow=asked)
    (folder / "pipelines" / "flights.yml").write_text("pipeline: flights\n")
    (folder / "landing").mkdir()
    port = free_port()
    with (folder / "said").open("w") as said:
        begun = subprocess.Popen(  # noqa: S603 - the project's own
            [*STANDALONE, folder, str(port)], stdout=said, stderr=said, start_new_session=True
        )
    return Standalone(folder, port, begun)


@pytest.fixture(scope="module")
def pair() -> Iterator[list[Standalone]]:
    """Two standalone Airflows side by side."""
    begun = [begin(Path(tempfile.mkdtemp(prefix="tidemark-standalone-"))) for _ in range(2)]
    try:
        for each in begun:
            each.log_in()
        yield begun
        for each in begun:
            if each.begun.poll() is None:
                each.end(signal.SIGTERM)
    finally:
        for each in begun:
            each.begun.terminate()
            each.begun.wait()
            shutil.rmtree(each.folder)


@pytest.fixture
def airflow(pair) -> Standalone:
    return pair[0]


def listeners(airflow: Standalone) -> dict[str, set[str]]:
    """Addresses at which processes of a standalone Airflow listen, by the name of the process."""
    found: dict[str, set[str]] = {}
    for each in airflow.processes:
        with suppress(psutil.NoSuchProcess):  # it has ended since
            for one in each.net_connections("inet"):
                if one.status == psutil.CONN_LISTEN:
                    found.setdefault(each.name(), set()).add(one.laddr.ip)
    return found


@pytest.mark.spark
@pytest.mark.long
def test_two_beside_each_other_listen_on_loopback_alone_and_have_a_postgresql_each(pair):
    for each in pair:
        assert set().union(*listeners(each).values()) == {"127.0.0.1"}
        each.until(each.healthy)
        assert (each.folder / "postgres" / "PG_VERSION").exists()
        assert "pgserver" not in each.said


@pytest.mark.spark
@pytest.mark.long
def test_the_first_backfill_of_a_fresh_pipeline_runs_alone_once_its_dag_is_switched_on(airflow):
    """By the command line that it has written: the first day of the schedule is tomorrow, so that no run of the
    schedule takes everything."""
    airflow.until(lambda: DAG in [each["dag_id"] for each in airflow.call("/api/v2/dags")["dags"]])
    days = [TODAY - timedelta(days=1), TODAY]
    span = ["--from-date", days[0].isoformat(), "--to-date", days[1].isoformat(), "--max-active-runs", "1"]
    line = [airflow.folder / "airflow", "backfill", "create", "--dag-id", DAG, *span]
    done = subprocess.run(line, capture_output=True, text=True, check=False)  # noqa: S603 - the project's own
    assert done.returncode == 0, done.stdout + done.stderr
    time.sleep(5)  # a scheduler that starts them would
    assert [run["state"] for run in airflow.runs()] == ["queued", "queued"]
    airflow.switch_on()
    airflow.until(lambda: {run["state"] for run in airflow.runs()} == {"success"})
    ended = airflow.runs()
    assert [(run["run_type"], run["logical_date"][:10]) for run in ended] == [
        ("backfill", f"{day:%Y-%m-%d}") for day in days
    ]
    assert ended[0]["end_date"] <= ended[1]["start_date"]
    assert not (airflow.folder / "airflow.db").exists()


@pytest.mark.spark
@pytest.mark.long
def test_the_end_of_one_ends_a_task_with_its_spark_session_and_leaves_the_other(pair):
    left, ended = pair
    land_day(ended.folder / "landing", TODAY - timedelta(days=3))
    ended.switch_on()
    ended.call(f"/api/v2/dags/{DAG}/dagRuns", {"logical_date": None})
    found = ended.until(lambda: found if "java" in (found := listeners(ended)) else None)
    assert set().union(*found.values()) <= LOOPBACK
    ended.end(signal.SIGINT)
    assert ended.said.splitlines()[-2:] == ["stopping Airflow and the tasks that run", "stopped"]
    assert left.healthy()


def test_the_command_line_has_the_settings_of_its_airflow_for_the_owner_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(settings, "BIN", tmp_path / "bin")
    monkeypatch.setenv("TIDEMARK_PIPELINES", "/else where/$HOME")
    (tmp_path / "bin").mkdir()
    shown = '#!/bin/sh\nprintf "%s\\n" "$AIRFLOW__DATABASE__SQL_ALCHEMY_CONN" "$TIDEMARK_PIPELINES" "$@"\n'
    (tmp_path / "bin" / "airflow").write_text(shown)
    (tmp_path / "bin" / "airflow").chmod(0o755)
    path = settings.write_command(tmp_path, 8080, "postgresql://it's")
    assert path.stat().st_mode & 0o777 == 0o700
    said = subprocess.check_output([path, "dags", "a b"], env={}, text=True)  # noqa: S603 - just written
    assert said.splitlines() == ["postgresql://it's", "/else where/$HOME", "dags", "a b"]


@pytest.mark.skipif(os.geteuid() != 0, reason="PostgreSQL runs as the user who starts it")
def test_root_opens_no_folder_to_others(tmp_path):
    mode = tmp_path.stat().st_mode
    with pytest.raises(UsageError, match="PostgreSQL does not run as root, and nobody else may read"):
        services.database(tmp_path / "postgres").__enter__()
    assert tmp_path.stat().st_mode == mode


def test_a_folder_with_a_blank_in_its_path_is_refused(tmp_path):
    with pytest.raises(UsageError, match="its path has blanks"):
        services.database(tmp_path / "my code" / "postgres").__enter__()


@pytest.mark.spark
@pytest.mark.long
def test_a_second_one_is_refused_in_its_folder_and_on_its_port(airflow, tmp_path):
    taken, used = "is taken: use another", "already: stop it"
    for folder, other, said in ((airflow.folder, free_port(), used), (tmp_path, airflow.port, taken)):
        done = subprocess.run([*STANDALONE, folder, str(other)], capture_output=True, text=True, check=False)  # noqa: S603
        assert done.returncode == 2
        assert said in done.stderr
    with socket.create_connection(("127.0.0.1", airflow.port), timeout=5):
        pass


FAKE = """#!{python}
import sys, time
from http.server import BaseHTTPRequestHandler, HTTPServer

def say(text):
    with open({said!r}, "a") as file:
        file.write(text + "\\n")

class Health(BaseHTTPRequestHandler):
    def do_GET(self):
        say("healthy")
        self.send_response(200)
        self.end_headers()

say(sys.argv[1])
if sys.argv[1] == "api-server":
    time.sleep(0.5)
    HTTPServer(("127.0.0.1", {port}), Health).serve_forever()
if sys.argv[1] != "db":
    time.sleep(100)
"""


def test_other_services_start_once_the_api_server_is_healthy(tmp_path, monkeypatch):
    said, fake, port = tmp_path / "said", tmp_path / "airflow", free_port()
    fake.write_text(FAKE.format(python=sys.executable, said=str(said), port=port))
    fake.chmod(0o755)
    monkeypatch.setattr(services, "BIN", tmp_path)
    with services.services({"AIRFLOW_HOME": str(tmp_path)}, tmp_path / "log", port) as server:
        while len(said.read_text().splitlines()) < 6:
            assert server.poll() is None
            time.sleep(0.05)
    order = said.read_text().splitlines()
    assert order[:3] == ["db", "api-server", "healthy"]
    assert sorted(order[3:]) == ["dag-processor", "scheduler", "triggerer"]
    assert server.poll() is not None


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
