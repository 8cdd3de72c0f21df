"""A job's JVM takes its classes from the archive of the installation, and does without a damaged one."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tidemark.spark.session import class_archive
from tidemark.spark.session.isolation import running


def test_the_sessions_jvm_maps_the_archive_of_the_installation(spark):
    process = running(spark).java.lang.ProcessHandle.current().pid()
    assert class_archive.archive().is_file(), "make install makes it"
    assert str(class_archive.archive()) in Path(f"/proc/{process}/maps").read_text()


def test_no_option_names_an_archive_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setenv("TIDEMARK_JARS", str(tmp_path / "my jars" / "jars"))
    assert class_archive.java_options() == ""
    class_archive.archive().parent.mkdir()
    class_archive.archive().touch()
    assert class_archive.java_options() == f'"-XX:SharedArchiveFile={tmp_path}/my jars/classes.jsa"'


def test_java_starts_with_an_archive_that_is_damaged(tmp_path):
    damaged = tmp_path / "classes.jsa"
    with class_archive.archive().open("rb") as whole:
        damaged.write_bytes(whole.read(100_000)[::-1])
    java = shutil.which("java") or "java"
    ran = subprocess.run([java, f"-XX:SharedArchiveFile={damaged}", "-version"], capture_output=True, check=False)  # noqa: S603
    assert ran.returncode == 0
