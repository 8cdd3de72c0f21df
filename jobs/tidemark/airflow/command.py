"""Runs commands of tidemark with Spark as child processes of a task, in this environment or in another one.

The Spark connection may name, as `tidemark` in its extra, the command that starts tidemark elsewhere: the script of
another virtual environment (`/opt/tidemark/bin/tidemark`), a container (`docker run --rm ... tidemark`), or
spark-submit with a packed environment. It is called with the arguments of `tidemark`. If its extra has
`tidemark_warm`, the task `process` runs in the session of `tidemark serve`, where there is one.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator, Connection
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowNotFoundException

from tidemark.airflow import aws, pinned
from tidemark.config.scheduling.placement import CONF_VARIABLE, Placement
from tidemark.records import LOG_VARIABLE

if TYPE_CHECKING:
    from airflow.providers.openlineage.extractors import OperatorLineage
    from airflow.sdk import Context

KEY = "tidemark"
"""Key of a connection's extra: the command that starts tidemark in the environment that has Spark."""
WARM_KEY, WARM_JOB = "tidemark_warm", "process"
"""Key of a connection's extra that, if true, has this command use a server (`--warm`)."""
HOPELESS = {1: "the check failed", 2: "the configuration or the call is wrong"}
"""Exit statuses of failures that a retry would only repeat."""
_RECORD = '{"schema_version": '
"""Beginning of the line that is a command's record."""
_REMEMBERED = 50
"""Number of last lines in which an error is looked for."""
_OF_THIS_PYTHON = ("PYTHONPATH", "PYTHONHOME")
"""Variables that would give another environment the packages of this one."""


def has_spark() -> bool:
    """True if this environment has the distribution tidemark-spark."""
    return find_spec("tidemark.spark") is not None


def connection(name: str) -> Connection | None:
    """Return a connection; None if there is none of this name."""
    try:
        found: Connection = Connection.get(name)
    except AirflowNotFoundException:
        return None
    return found


class Child:
    """A command of tidemark that runs as a child process, with Spark settings. Its output goes to the task's log."""

    def __init__(self, conn_id: str, log: Any, conf: Mapping[str, str] | None = None) -> None:
        self.connection, self.log, self.conf = connection(conn_id), log, dict(conf or {})
        self.record: dict[str, Any] | None = None
        self._process: subprocess.Popen[str] | None = None

    @property
    def is_elsewhere(self) -> bool:
        """True if the connection names a command, or if this environment has no Spark."""
        return self._named is not None or not has_spark()

    @property
    def _named(self) -> str | None:
        return None if self.connection is None else self.connection.extra_dejson.get(KEY) or None

    def is_warm(self, job: str) -> bool:
        """True if the connection asks for a server and the command may use one: it has no Spark settings, since a
        server's session has its own."""
        asked = None if self.connection is None else self.connection.extra_dejson.get(WARM_KEY)
        return job == WARM_JOB and not self.conf and str(asked).lower() == "true"

    def command(self) -> list[str]:
        """Return the command that starts tidemark. Raises AirflowFailException if there is none."""
        if self._named is not None:
            return shlex.split(self._named)
        if has_spark():
            return [sys.executable, "-m", "tidemark"]
        raise AirflowFailException(
            "this environment has no Spark, and the Spark connection names no other: give its extra the key "
            f'"{KEY}" with the command that starts tidemark there, such as /opt/tidemark/bin/tidemark'
            " (or `pip install tidemark-spark` here)"
        )

    def environment(self, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
        """Return the environment of the process: the task's environment, with the connection's Spark master as
        TIDEMARK_MASTER unless that is set, and with the Spark settings as TIDEMARK_SPARK_CONF."""
        given = {key: value for key, value in environ.items() if not (self.is_elsewhere and key in _OF_THIS_PYTHON)}
        given[LOG_VARIABLE] = "1"
        given |= {CONF_VARIABLE: json.dumps(self.conf)} if self.conf else {}
        if self.connection is None or not self.connection.host:
            return given
        port = f":{self.connection.port}" if self.connection.port else ""
        return {"TIDEMARK_MASTER": f"{self.connection.host}{port}"} | given

    def run(self, job: str, arguments: Sequence[str], content: str | None = None) -> None:
        """Run a command, whose first argument is a pipeline file, and wait for its end. `content` is the hash of the
        settings that the DAG run began with. The record that `--json` prints is kept. Raises AirflowFailException for
        a failure that a retry would repeat, AirflowException for another one."""
        command = [*self.command(), job, *arguments, *(["--warm"] if self.is_warm(job) else [])]
        pinned.load(arguments[0], content)
        self.log.info("running %s", shlex.join(command))
        said: deque[str] = deque(maxlen=_REMEMBERED)
        started = subprocess.Popen(
            command,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        with started as self._process:
            try:
                self._logged(started.stdout or (), said)
            except BaseException:
                self.stop()  # the block's end waits for the command; a task that has timed out must not
                raise
        if self.record is not None and not said:
            self.log.info("%s", json.dumps(self.record, indent=1))
        raise_for(self._process.returncode, said)

    def _logged(self, output: Iterable[str], said: deque[str]) -> None:
        """Log each line of a command when it comes, except its record, which is kept."""
        for line in output:
            if line.startswith(_RECORD):
                self.record = json.loads(line)
            else:
                self.log.info("%s", line.rstrip())
                said.append(line.rstrip())

    def stop(self) -> None:
        """Interrupt the command, if it runs, and wait for its end: the next run finishes what it began."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
            self._process.wait()


class TidemarkCommandOperator(BaseOperator):
    """Runs a command of tidemark as a child process. A retry recovers a run that crashed; failures that a retry
    cannot solve are final."""

    template_fields: Sequence[str] = ("application_args", "conf", "pinned")

    def __init__(
        self,
        *,
        job: str,
        application_args: Any,
        placement: Placement | None = None,
        pinned: str | None = None,
        **options: Any,
    ) -> None:
        chosen = placement or Placement()
        super().__init__(**(chosen.in_airflow | options))
        self.job, self.application_args, self.pinned = job, application_args, pinned
        self.conn_id, self.conf = chosen.conn_id, dict(chosen.conf)
        self._child: Child | None = None

    def execute(self, context: Context) -> None:  # noqa: ARG002 - the operator's signature
        self._child = Child(self.conn_id, self.log, self.conf)
        self._child.run(self.job, self.application_args, self.pinned)

    @property
    def record(self) -> dict[str, Any] | None:
        """The record of the command; None if it has printed none."""
        return None if self._child is None else self._child.record

    def on_kill(self) -> None:
        if self._child is not None:
            self._child.stop()

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> OperatorLineage[Any, Any] | None:  # noqa: ARG002
        """What Airflow's provider for OpenLineage sends when the task ends."""
        return lineage_of(self.job, self.application_args)


def lineage_of(job: str, arguments: Sequence[str]) -> OperatorLineage[Any, Any] | None:
    """Return the inputs and outputs of a command with these arguments; None for any command but `process`."""
    if job != "process":
        return None
    from tidemark.airflow.telemetry.openlineage import run_lineage

    config, *options = arguments
    return run_lineage(aws.load(config), options[options.index("--run-id") + 1])


def raise_for(status: int, said: Iterable[str]) -> None:
    """Raise the exception that a command's exit status calls for, with the error that it printed."""
    if status == 0:
        return
    words = last_words(said)
    if status in HOPELESS:
        raise AirflowFailException(f"{HOPELESS[status]}: {words}")
    raise AirflowException(f"the command ended with status {status}: {words}")


def last_words(said: Iterable[str]) -> str:
    """Return the command's message from its last output, or its last line."""
    lines = list(said)
    return " ".join(line for line in lines if line.startswith("error:")) or " ".join(lines[-1:])
