"""Files of this machine: made without a process for each, with the permissions and links that Hadoop gives them."""

from __future__ import annotations

import pytest

from tidemark.spark.tables.delta import append


@pytest.fixture
def path_of(spark):
    return lambda file: spark.sparkContext._jvm.org.apache.hadoop.fs.Path(str(file))


@pytest.fixture
def files(spark, path_of):
    return path_of("file:/").getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())


def processes_for(spark, folder, work):
    """The commands about `folder` that the JVM runs during `work`. Others are not the work's: Spark deletes folders
    of sessions that are gone by `rm`, whenever the JVM collects them."""
    jvm = spark.sparkContext._jvm
    recording = jvm.jdk.jfr.Recording()
    recording.enable("jdk.ProcessStart").withoutThreshold()
    recording.start()
    work()
    recording.stop()
    file = jvm.java.io.File(str(folder / "recording.jfr")).toPath()
    recording.dump(file)
    recording.close()
    commands = [event.getString("command") for event in jvm.jdk.jfr.consumer.RecordingFile.readAllEvents(file)]
    return [each for each in commands if str(folder) in each]


def test_an_append_starts_no_process(spark, tmp_path):
    rows = spark.range(10).selectExpr("id", "1L AS _batch_id", "id % 5 AS part")
    place = str(tmp_path / "t")
    append(rows, str(tmp_path / "first"), 1, partition_by="part")  # Hadoop asks the system what it is, once
    assert processes_for(spark, tmp_path, lambda: append(rows, place, 1, partition_by="part")) == []
    runtime = spark.sparkContext._jvm.java.lang.Runtime.getRuntime()
    assert processes_for(spark, tmp_path, lambda: runtime.exec(f"ls {tmp_path}")) == [f"ls {tmp_path}"]


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o1777])
def test_permissions_are_those_that_are_set(spark, files, path_of, tmp_path, mode):
    folder = tmp_path / "folder"
    folder.mkdir()
    files.setPermission(path_of(folder), spark.sparkContext._jvm.org.apache.hadoop.fs.permission.FsPermission(mode))
    assert folder.stat().st_mode & 0o7777 == mode


def test_new_files_have_the_permissions_that_the_umask_leaves(files, path_of, tmp_path):
    files.create(path_of(tmp_path / "new" / "file")).close()
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "new" / "file").stat().st_mode & 0o777 == 0o644


def test_links_are_told_from_files(files, path_of, tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    raw = files.getRawFileSystem()
    assert not raw.getFileLinkStatus(path_of(tmp_path / "file")).isSymlink()
    link = raw.getFileLinkStatus(path_of(tmp_path / "link"))
    assert link.isSymlink()
    assert link.getSymlink().toUri().getPath() == str(tmp_path / "file")
