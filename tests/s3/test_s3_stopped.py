"""Runs on S3 that are killed on the way, also as Airflow submits them: the next one comes to what there would be."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from airflow_home import AirflowHome
from s3_product import Remote, hold_same
from s3_service import KEY, SECRET, Request, Service, touch

from e2e.samples import KEYED, PLAIN, at, hold_replay, obj
from e2e.stopped import killed
from product import Product
from tidemark.cli import invoke
from tidemark.config.address import RemoteLocation
from tidemark.core.times import format_time

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.usefixtures("quick")]
ROOT = Path(__file__).parents[2]
OBJECTS = [obj(f"{number}.json", 10 + number) for number in range(3)]
RUN = ["--as-of", format_time(at(60)), "--run-id", "the one"]
HELD = 3
SUBMITTED = """
import sys
from tidemark.airflow.submit import TidemarkSubmitOperator
TidemarkSubmitOperator(task_id="process", job="process", application_args=sys.argv[1:]).execute({})
"""


def lock_ends(remote: Remote) -> None:
    """A minute passes for the lock of a holder that was killed."""
    touch(remote.bucket, "warehouse/tested/lock", at(0))


def test_a_run_that_is_killed_step_by_step_comes_to_what_one_in_a_folder_does(tmp_path, service, bucket):
    from tidemark.spark.session.session import open_session

    local = Product(tmp_path / "local", {"readings": KEYED})
    remote = Remote(tmp_path / "remote", {"readings": KEYED}, bucket=bucket, service=service)
    line = ["run", str(remote.config), *RUN, "--max-files", "2"]
    for product in (local, remote):
        product.land("readings", OBJECTS)
    assert invoke([line[0], str(local.config), *line[2:]]) == 0
    spark = open_session(buckets=[RemoteLocation(f"s3://{bucket}")])
    for step in (2, 4):
        assert killed(spark, step, line)
        assert invoke(line) == HELD
        lock_ends(remote)
    assert invoke(line) == 0
    hold_same(remote, local)
    hold_replay(remote)


class Submitted:
    """A run as the task `process` of a DAG submits it, whose S3 is that of the connection `aws_default`."""

    def __init__(self, remote: Remote, folder: Path) -> None:
        assert remote.service is not None
        home = AirflowHome(folder)
        extra = {"endpoint_url": remote.service.url, "region_name": "us-east-1"}
        connection = {"conn_type": "aws", "login": KEY, "password": SECRET, "extra": extra}
        environ = {name: value for name, value in home.environ.items() if not name.startswith("AWS_")}
        environ["AIRFLOW_CONN_AWS_DEFAULT"] = json.dumps(connection)
        environ["PYTHONPATH"] = os.pathsep.join(str(ROOT / name) for name in ("jobs", "dags"))
        self.command: list[str] = [sys.executable, "-c", SUBMITTED, str(remote.config), *RUN]
        self.options: dict[str, Any] = {"env": environ, "cwd": folder, "text": True, "start_new_session": True}

    def start(self) -> subprocess.Popen[str]:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.Popen(self.command, **pipes, **self.options)  # noqa: S603 - the project's own


def killed_at(service: Service, submitted: Submitted, key: str) -> str:
    """What a run says whose processes are all killed when it writes an object whose key ends so."""
    running = submitted.start()

    def kill(request: Request) -> tuple[int, str] | None:
        if request.method != "PUT" or not request.path.endswith(key):
            return None
        os.killpg(running.pid, signal.SIGKILL)
        return 503, "SlowDown"

    with service.refusing(kill):
        said, _ = running.communicate(timeout=300)
    assert running.returncode == -signal.SIGKILL, said[-3000:]
    return said


def test_a_submitted_run_that_is_killed_is_finished_by_the_one_that_is_submitted_next(tmp_path, service, bucket):
    local = Product(tmp_path / "local", {"readings": PLAIN}, {"micro_batch": {"max_files": 2}})
    settings = {"micro_batch": {"max_files": 2}}
    remote = Remote(tmp_path / "remote", {"readings": PLAIN}, settings, bucket=bucket, service=service)
    for product in (local, remote):
        product.land("readings", OBJECTS)
    local.run(at(60), run_id="the one")
    submitted = Submitted(remote, tmp_path / "airflow")
    said = killed_at(service, submitted, "/v1/events/readings/_delta_log/00000000000000000001.json")
    assert len({row["batch_id"] for row in remote.table("objects")}) == 1
    lock_ends(remote)
    running = submitted.start()
    more, _ = running.communicate(timeout=300)
    assert running.returncode == 0, more[-3000:]
    assert SECRET not in said + more
    hold_same(remote, local)
