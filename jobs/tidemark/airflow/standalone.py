"""Runs a whole Airflow on this machine, with the demo's pipeline on a schedule: `make airflow`, for a first look.

Everything it writes is in one folder: Airflow's home with an SQLite database, the pipeline file, landing files,
tables and reports. Its pages and API listen on loopback only. Airflow's two servers of log files (ports 8793 and
8794) listen on every interface, and no setting binds them; they answer only requests with a token signed with this
folder's secret. The password is generated for each folder. For more than a look see docker-compose.yml.
"""

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
from pathlib import Path

BIN = Path(sys.executable).parent
_PASSWORDS = "simple_auth_manager_passwords.json.generated"
_KEYS = "keys.json"
_DAG_FILES = {
    "pipelines": "from tidemark.airflow import pipeline_dags\n\nglobals().update(pipeline_dags())\n",
    "operations": "from tidemark.airflow import operation_dags\n\nglobals().update(operation_dags())\n",
    "broken_pipelines": "from tidemark.airflow import refuse_broken_files  # no DAG\n\nrefuse_broken_files()\n",
}
_LONGEST_START = 300


def environment(folder: Path, port: int) -> dict[str, str]:
    """Return the settings of an Airflow in `folder` that listens on `port` of loopback. A variable that is already
    set wins, except for AIRFLOW_HOME and PATH."""
    keys = _keys(folder)
    spark = {"conn_type": "spark", "host": "local[*]", "extra": {"deploy-mode": "client"}}
    settings = {
        "AIRFLOW_HOME": str(folder),
        "AIRFLOW__CORE__DAGS_FOLDER": str(folder / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": "admin:admin",
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__API__SECRET_KEY": keys["api"],
        "AIRFLOW__API__WORKERS": "1",
        "AIRFLOW__API_AUTH__JWT_SECRET": keys["jwt"],
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps(spark),
        "TIDEMARK_PIPELINES": str(folder / "pipelines"),
        "TIDEMARK_REPORTS": str(folder / "reports"),
        "PATH": os.pathsep.join([str(BIN), os.environ.get("PATH", os.defpath)]),
    }
    return settings | os.environ | {"AIRFLOW_HOME": str(folder), "PATH": settings["PATH"]}


def password(folder: Path) -> str:
    """Return the password of the user admin; it is generated once for each folder."""
    return _kept(folder / _PASSWORDS, {"admin": secrets.token_urlsafe(12)})["admin"]


def _keys(folder: Path) -> dict[str, str]:
    return _kept(folder / _KEYS, {name: secrets.token_urlsafe(32) for name in ("api", "jwt")})


def _kept(path: Path, made: dict[str, str]) -> dict[str, str]:
    """Return the content of a file that only its owner may read; `made` is written first if there is no file."""
    if not path.exists():
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:  # noqa: PTH123 - with its mode
            json.dump(made, file)
    found: dict[str, str] = json.loads(path.read_text())
    return found


def write_dags(folder: Path) -> None:
    """Write the DAG files, each anew."""
    (folder / "dags").mkdir(exist_ok=True)
    for name, text in _DAG_FILES.items():
        (folder / "dags" / f"tidemark_{name}.py").write_text(text)


def write_demo(folder: Path) -> None:
    """Write the demo's pipeline with a schedule, and its landing files, unless they are there already."""
    from tidemark.demo.flights import write_landing, write_pipeline
    from tidemark.demo.weather import write_weather

    pipelines = folder / "pipelines"
    if (pipelines / "flights.yml").exists():
        return
    write_landing(pipelines / "landing")
    write_weather(pipelines / "landing")
    path = write_pipeline(pipelines)
    path.write_text('schedule: "*/15 * * * *"\nairflow: {catchup: false}\n' + path.read_text())


def serve(folder: Path, port: int) -> int:
    """Start Airflow, print its address and login, and wait until it is stopped. Returns the exit status."""
    folder.mkdir(parents=True, exist_ok=True)
    print("writing the demo's landing files and starting Airflow; this takes a minute or two", flush=True)
    write_dags(folder)
    write_demo(folder)
    secret, environ = password(folder), environment(folder, port)
    with (folder / "airflow.log").open("wb") as log:
        airflow = subprocess.Popen([BIN / "airflow", "standalone"], env=environ, stdout=log, stderr=log, cwd=folder)
        try:
            if not _answers(airflow, port):
                print(f"error: Airflow did not start: see {folder / 'airflow.log'}", file=sys.stderr)
                return 4
            print(f"Airflow: http://127.0.0.1:{port}   user admin, password {secret}")
            print(f"The dashboard: http://127.0.0.1:{port}/plugin/tidemark, or Pipelines in the navigation")
            print(f"The DAG tidemark_flights runs every 15 minutes; pipeline files are in {folder / 'pipelines'}.")
            print("Ctrl-C stops it.", flush=True)
            airflow.wait()
        except KeyboardInterrupt:
            print("stopping", flush=True)
        finally:
            _stop(airflow)
    return 0


def _answers(airflow: subprocess.Popen[bytes], port: int) -> bool:
    """True once Airflow answers; False if it stops or does not answer in time."""
    end = time.monotonic() + _LONGEST_START
    while time.monotonic() < end and airflow.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v2/monitor/health", timeout=5):
                return True
        except (urllib.error.URLError, OSError):
            time.sleep(1)
    return False


def _stop(airflow: subprocess.Popen[bytes]) -> None:
    if airflow.poll() is None:
        airflow.send_signal(signal.SIGINT)
        try:
            airflow.wait(60)
        except subprocess.TimeoutExpired:
            airflow.kill()
            airflow.wait()


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _interrupted)
    sys.exit(serve(Path(sys.argv[1]).absolute(), int(sys.argv[2])))
