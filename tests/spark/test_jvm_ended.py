"""A JVM that ends before its command is named in the command's error."""

from __future__ import annotations

import subprocess
import threading
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark import SparkContext

from tidemark.cli.failures import failure_of


@pytest.mark.parametrize("error", [ConnectionRefusedError(111, "Connection refused"), Py4JNetworkError("no answer")])
def test_a_jvm_that_was_killed_is_named_instead_of_its_connection(monkeypatch, error):
    jvm = subprocess.Popen(["sleep", "60"])  # noqa: S607
    monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=jvm))
    assert failure_of(ValueError("of another kind")).message == "ValueError: of another kind"
    threading.Timer(0.1, jvm.kill).start()
    said = "Spark's JVM has ended by signal 9, as the system ends processes when memory is short"
    assert (failure_of(error).message, failure_of(error).exit_code) == (said, 4)
