"""A real Airflow for tests: a home of its own, SQLite or a given database, free ports on loopback, our DAGs."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loopback import free_port
from short_lived import SHORT_LIVED
from tidemark.config.scheduling.placement import CONF_VARIABLE

ROOT = Path(__file__).parents[2]
SERVICES = ("api-server", "scheduler", "dag-processor")
_LONGEST_START, _LONGEST_WAIT = 180, 400


@dataclass
class AirflowHome:
    """An Airflow under `folder`, with the pipeline files of `folder`/pipelines."""

    folder: Path
    database: str | None = None
    services: Sequence[str] = SERVICES
    users: Mapping[str, str] = field(default_factory=lambda: {"admin": "admin"})
    """Users by name with the role of each; every password is `password`."""
    interpreter: Path = Path(sys.executable)
    dag_folder: Path = ROOT / "dags"
    connection: Mapping[str, str] = field(default_factory=dict)
    """More keys of the Spark connection's extra."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """More settings of Airflow, as variables of its environment."""
    port: int = 0
    token: str = ""
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        (self.folder / "pipelines").mkdir(parents=True, exist_ok=True)
        self.port, self._logs, self._trigger_logs = free_port(), free_port(), free_port()
        self._secrets = {name: secrets.token_urlsafe(24) for name in ("jwt", "api", "password")}

    @property
    def password(self) -> str:
        return self._secrets["password"]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environ(self) -> dict[str, str]:
        extra = {"deploy-mode": "client"} | self.connection
        connection = {"conn_type": "spark", "host": "local[2]", "extra": extra}
        given = {
            "AIRFLOW_HOME": str(self.folder),
            "AIRFLOW__CORE__DAGS_FOLDER": str(self.dag_folder),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__PARALLELISM": "4",
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{self.url}/execution/",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": ",".join(":".join(each) for each in self.users.items()),
            "AIRFLOW__API__BASE_URL": self.url,
            "AIRFLOW__API__HOST": "127.0.0.1",
            "AIRFLOW__API__PORT": str(self.port),
            "AIRFLOW__API__SECRET_KEY": self._secrets["api"],
            "AIRFLOW__API__WORKERS": "1",
            "AIRFLOW__API_AUTH__JWT_SECRET": self._secrets["jwt"],
            "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "5",
            "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "3600",  # `switch_on` asks for what came later
            "AIRFLOW__SCHEDULER__ENABLE_HEALTH_CHECK": "False",
            "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(self._logs),
            "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": str(self._trigger_logs),
            "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps(connection),
            "TIDEMARK_PIPELINES": str(self.folder / "pipelines"),
            "TIDEMARK_REPORTS": str(self.folder / "reports"),
            "NO_PROXY": "*",
        }
        if self.database is not None:
            given["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"] = self.database
        foreign = ("AIRFLOW", CONF_VARIABLE)
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(foreign)}
        return inherited | given | self.settings | SHORT_LIVED

    def tested(self, dag: str, *arguments: str, **settings: str) -> str:
        """What `airflow dags test` prints, with a database of its own: a scheduler that sees the run takes it for its
        own, and two carry out its tasks."""
        database = self.folder / "tested.db"
        apart = {"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{database}"}
        if not database.exists():
            self.command("db", "migrate", **apart)
        return self.command("dags", "test", dag, *arguments, **apart, **settings)

    def command(self, *arguments: str, **settings: str) -> str:
        """What `airflow ...` prints, with more `settings` of its environment; it must succeed."""
        done = subprocess.run(  # noqa: S603 - the project's own Airflow
            [self.interpreter.with_name("airflow"), *arguments],
            env=self.environ | settings,
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    def python(self, code: str) -> Any:
        """What a script prints last, read as JSON, in a process that has this Airflow's settings."""
        return json.loads(self.said(code).splitlines()[-1])

    def said(self, code: str) -> str:
        """What such a script prints, its errors first."""
        done = subprocess.run(  # noqa: S603 - the tests' own interpreter
            [self.interpreter, "-c", code],
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stderr + done.stdout

    def start(self) -> None:
        passwords = dict.fromkeys(self.users, self.password)
        (self.folder / "simple_auth_manager_passwords.json.generated").write_text(json.dumps(passwords))
        self.command("db", "migrate")
        for service in self.services:
            self.serve(service)
        self.until(self._logged_in, _LONGEST_START)

    def serve(self, service: str) -> None:
        """Start one of Airflow's services."""
        with (self.folder / f"{service}.log").open("wb") as log:
            self.started.append(
                subprocess.Popen(  # noqa: S603 - the project's own Airflow
                    [self.interpreter.with_name("airflow"), service],
                    env=self.environ,
                    stdout=log,
                    stderr=log,
                    cwd=self.folder,
                    start_new_session=True,
                )
            )

    def stop(self) -> None:
        for process in self.started:
            process.terminate()
        for process in self.started:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def until(self, found: Callable[[], Any], seconds: float = _LONGEST_WAIT) -> Any:
        """The first thing found that is true; what the services said, if there is none in time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if value := found():
                return value
            time.sleep(1)
        said = {path.name: path.read_text()[-1500:] for path in self.folder.glob("*.log")}
        raise AssertionError(f"nothing in {seconds} s: {json.dumps(said, indent=1)}")

    def get(self, path: str) -> Any:
        return self._call("GET", path)

    def page(self, path: str) -> str:
        """What a page of the dashboard says."""
        return self._text("GET", path).decode()

    def post(self, path: str, body: dict[str, Any]) -> Any:
        return self._call("POST", path, body)

    def patch(self, path: str, body: dict[str, Any]) -> Any:
        return self._call("PATCH", path, body)

    def connect(self, **connections: Mapping[str, Any]) -> None:
        """Make connections."""
        for name, found in connections.items():
            extra = {"extra": json.dumps(found["extra"])} if "extra" in found else {}
            self.post("/api/v2/connections", {"connection_id": name, **found, **extra})

    def dags(self) -> dict[str, dict[str, Any]]:
        """The DAGs that Airflow has read, by name."""
        return {found["dag_id"]: found for found in self.get("/api/v2/dags?limit=100")["dags"]}

    def switch_on(self, dag: str) -> None:
        """Wait for a DAG and let it run. DAG files are read again if none that was read has it."""
        if dag not in self.dags():
            self.read_again()
        self.until(lambda: dag in self.dags())
        self.patch(f"/api/v2/dags/{dag}", {"is_paused": False})

    def read_again(self) -> None:
        """Have all DAG files read again."""
        for token in {found["file_token"] for found in self.dags().values()}:
            self._call("PUT", f"/api/v2/parseDagFile/{token}")

    def offers(self, dag: str, pipeline: str) -> bool:
        """True if the form of a DAG offers a pipeline."""
        params = self.get(f"/api/v2/dags/{dag}/details")["params"]
        return pipeline in (params["pipeline"]["schema"]["enum"] or [])

    def run_ended(self, dag: str, run: str) -> dict[str, Any]:
        """A DAG run, once it has ended."""

        def ended() -> Any:
            found = self.get(f"/api/v2/dags/{dag}/dagRuns/{run}")
            return found if found["state"] in ("success", "failed") else None

        found: dict[str, Any] = self.until(ended)
        return found

    def tasks(self, dag: str, run: str) -> dict[str, dict[str, Any]]:
        found = self.get(f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances")["task_instances"]
        return {task["task_id"]: task for task in found}

    def states(self, dag: str, run: str) -> dict[str, str]:
        return {name: task["state"] for name, task in self.tasks(dag, run).items()}

    def log(self, dag: str, run: str, task: str, attempt: int = 1) -> str:
        """Everything that one attempt of a task said."""
        path = f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances/{task}/logs/{attempt}?full_content=true"
        return json.dumps(self.get(path)["content"])

    def _logged_in(self) -> bool:
        try:
            body = {"username": "admin", "password": self.password}
            self.token = self._call("POST", "/auth/token", body)["access_token"]
        except (OSError, AssertionError):
            return False
        return True

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        text = self._text(method, path, body)
        return json.loads(text) if text else {}

    def _text(self, method: str, path: str, body: dict[str, Any] | None = None) -> bytes:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        request = urllib.request.Request(self.url + path, data, headers, method=method)  # noqa: S310 - loopback
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - loopback
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.code} {error.read()[:500]!r}") from error


@contextmanager
def running(folder: Path, database: str | None = None, **options: Any) -> Iterator[AirflowHome]:
    """An Airflow that is up, and gone afterwards."""
    home = AirflowHome(folder, database, **options)
    try:
        home.start()
        yield home
    finally:
        home.stop()
