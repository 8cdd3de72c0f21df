"""A job's JVM takes its classes from the archive of the installation, and does without a damaged one."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from pyspark import SparkContext

from tidemark.spark.compat.jvm import running
from tidemark.spark.session import class_archive


@pytest.mark.usefixtures("spark")
def test_the_sessions_jvm_maps_the_archive_of_the_installation():
    process = running().java.lang.ProcessHandle.current().pid()
    assert class_archive.archive().is_file(), "make install makes it"
    assert str(class_archive.archive()) in Path(f"/proc/{process}/maps").read_text()


def test_no_option_names_an_archive_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setenv("TIDEMARK_JARS", str(tmp_path / "my jars" / "jars"))
    assert class_archive.java_options() == ""
    class_archive.archive().parent.mkdir()
    class_archive.archive().write_bytes(b"classes")
    assert class_archive.java_options() == f'"-XX:SharedArchiveFile={tmp_path}/my jars/classes.jsa"'


def test_a_java_that_writes_no_archive_is_installed_without_one(tmp_path, monkeypatch):
    monkeypatch.setenv("TIDEMARK_JARS", str(tmp_path / "jars"))
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "pyspark-shell")
    for name in ("_active_spark_context", "_gateway"):
        monkeypatch.setattr(SparkContext, name, None)
    with class_archive.recorded():
        assert f"-XX:ArchiveClassesAtExit={tmp_path}" in os.environ["PYSPARK_SUBMIT_ARGS"]
    assert class_archive.archive().is_file(), "make would make it anew with each command"
    assert class_archive.java_options() == ""


def test_java_starts_with_an_archive_that_is_damaged(tmp_path):
    damaged = tmp_path / "classes.jsa"
    with class_archive.archive().open("rb") as whole:
        damaged.write_bytes(whole.read(100_000)[::-1])
    java = shutil.which("java") or "java"
    ran = subprocess.run([java, f"-XX:SharedArchiveFile={damaged}", "-version"], capture_output=True, check=False)  # noqa: S603
    assert ran.returncode == 0
