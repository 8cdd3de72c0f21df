"""Settings of a standalone Airflow, and the content of its folder: keys, its command line, DAG files and the demo's
pipeline."""

from __future__ import annotations

import json
import os
import secrets
import shlex
import sys
from pathlib import Path

BIN = Path(sys.executable).parent
_PASSWORDS = "simple_auth_manager_passwords.json.generated"
_KEYS = "keys.json"
_COMMAND = "airflow"
_DAG_FILES = {
    "pipelines": "from tidemark.airflow import pipeline_dags\n\nglobals().update(pipeline_dags())\n",
    "operations": "from tidemark.airflow import operation_dags\n\nglobals().update(operation_dags())\n",
    "broken_pipelines": "from tidemark.airflow import refuse_broken_files  # no DAG\n\nrefuse_broken_files()\n",
}


def environment(folder: Path, port: int, database: str) -> dict[str, str]:
    """Return the environment of an Airflow in `folder` that listens on `port` of loopback. Variables that are already
    set win, except for AIRFLOW_HOME, the database and PATH."""
    return dict(os.environ) | _settings(folder, port, database)


def write_command(folder: Path, port: int, database: str) -> Path:
    """Write the command `airflow` with the settings of this Airflow, as a script that only its owner may read; return
    its path. Without these settings, the command would make an SQLite database of its own."""
    path = folder / _COMMAND
    lines = [f"export {name}={shlex.quote(value)}" for name, value in _settings(folder, port, database).items()]
    text = "\n".join(["#!/bin/sh", *lines, f'exec {shlex.quote(str(BIN / "airflow"))} "$@"', ""])
    path.unlink(missing_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o700), "w") as file:  # noqa: PTH123 - with its mode
        file.write(text)
    return path


def _settings(folder: Path, port: int, database: str) -> dict[str, str]:
    keys = _keys(folder)
    spark = {"conn_type": "spark", "host": "local[*]", "extra": {"deploy-mode": "client"}}
    settings = {
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
        "AIRFLOW__SCHEDULER__ENABLE_HEALTH_CHECK": "False",
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps(spark),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "TIDEMARK_PIPELINES": str(folder / "pipelines"),
        "TIDEMARK_REPORTS": str(folder / "reports"),
    }
    own = {
        "AIRFLOW_HOME": str(folder),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": database,
        "PATH": os.pathsep.join([str(BIN), os.environ.get("PATH", os.defpath)]),
    }
    return {name: os.environ.get(name, value) for name, value in settings.items()} | own


def password(folder: Path) -> str:
    """Return the password of the user admin; it is generated once for each folder."""
    return _kept(folder / _PASSWORDS, {"admin": secrets.token_urlsafe(12)})["admin"]


def _keys(folder: Path) -> dict[str, str]:
    return _kept(folder / _KEYS, {name: secrets.token_urlsafe(48) for name in ("api", "jwt")})


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
    path.write_text('schedule: "*/15 * * * *"\n' + path.read_text())
