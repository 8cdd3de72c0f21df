"""A command on S3 that is killed at one of its steps, in a process of its own that shares the JVM of the tests."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Mapping

from pyspark.sql import SparkSession

PROCESSES = multiprocessing.get_context("forkserver")


def _command(environ: Mapping[str, str], step: int, line: list[str], port: int, secret: str) -> None:
    from e2e import stopped

    os.environ |= environ  # the server that forks was started before this test's S3
    stopped.command(step, int(signal.SIGKILL), line, port, secret)


def killed(spark: SparkSession, step: int, line: list[str]) -> bool:
    """Whether the command was killed at its n-th step; else it has ended well."""
    gateway = spark.sparkContext._gateway.gateway_parameters
    environ = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
    process = PROCESSES.Process(target=_command, args=(environ, step, line, gateway.port, gateway.auth_token))
    process.start()
    process.join(120)
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode != 0
