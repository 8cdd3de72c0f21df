"""Commands that are sent a signal at their n-th step of another kind, in a process of their own.

Steps are the checkpoints of a pipeline, a plan whose batches are not recorded yet, and of maintenance each table
that is merged or removed. A process starts a JVM as commands do (`python stopped.py STEP SIGNAL COMMAND ...`), or
shares the one of the tests, which is up in a moment: it is the process that ends, in the middle of what it was doing.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Collection, Mapping
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

import plain_checks
from tidemark.cli import invoke, main
from tidemark.commands import maintain
from tidemark.config.address import RemoteLocation
from tidemark.context import RunContext
from tidemark.ledger import versions
from tidemark.ledger.tables.store import Store
from tidemark.spark.maintenance import TableMaintenance
from tidemark.spark.session import session

PROCESSES = multiprocessing.get_context("forkserver")
STEPS: tuple[tuple[Any, str], ...] = (
    (RunContext, "checkpoint"),
    (Store, "append"),
    (versions, "forget"),
    (maintain, "remove_tree"),
    (TableMaintenance, "_merge_days"),
    (TableMaintenance, "forget_ended"),
    (TableMaintenance, "forget_keys"),
    (TableMaintenance, "forget_substreams"),
    (TableMaintenance, "vacuum"),
)


def stop_at(step: int, number: int) -> None:
    """Have the process send itself a signal at its n-th kind of step."""
    met: set[str] = set()

    def wrapped(name: str, before: Callable[..., Any]) -> Callable[..., Any]:
        def stopping(*given: Any, **named: Any) -> Any:
            done = before(*given, **named)
            if (step_of := kind(name, given)) is not None:
                met.add(step_of)
            if len(met) == step:
                os.kill(os.getpid(), number)
            return done

        return stopping

    for owner, name in STEPS:
        setattr(owner, name, wrapped(name, getattr(owner, name)))


def kind(name: str, given: tuple[Any, ...]) -> str | None:
    """The kind of step that a call is; None if it is no step: of the small tables only `plans` counts."""
    if name == "append":
        return "plans" if given[0].path.name == "plans" else None
    return given[1] if name == "checkpoint" else name


def share(port: int, secret: str) -> SparkSession:
    """The session of a JVM that runs already."""
    os.environ |= {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
    gateway = launch_gateway()
    jvm = gateway.jvm
    java = jvm.JavaSparkContext(jvm.org.apache.spark.SparkContext.getOrCreate())
    context = SparkContext(gateway=gateway, jsc=java, conf=SparkConf(_jvm=jvm, _jconf=java.getConf()))
    return SparkSession(context, jvm.org.apache.spark.sql.classic.SparkSession.getDefaultSession().get())


def killed(spark: SparkSession, step: int, line: list[str]) -> bool:
    """Whether a command was killed at its n-th step, in a process of its own that shares the JVM; else it has ended
    well."""
    gateway = spark.sparkContext._gateway.gateway_parameters
    environ = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
    process = PROCESSES.Process(target=command, args=(step, line, gateway.port, gateway.auth_token, environ))
    process.start()
    process.join(300)
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode != 0


def command(step: int, line: list[str], port: int, secret: str, environ: Mapping[str, str]) -> None:
    """What a process does that shares a JVM: the command, which is killed; else it ends with its status."""
    os.environ |= environ  # the server that forks was started before a test's S3
    shared: list[SparkSession] = []

    def open_session(*_: Any, buckets: Collection[RemoteLocation] = ()) -> SparkSession:
        if not shared:
            shared.append(session.with_settings(share(port, secret), buckets))
        return shared[0]

    session.open_session = open_session
    plain_checks.use(setattr)
    stop_at(step, int(signal.SIGKILL))
    os._exit(invoke(line))


if __name__ == "__main__":
    stop_at(int(sys.argv[1]), int(sys.argv[2]))
    main(sys.argv[3:])
