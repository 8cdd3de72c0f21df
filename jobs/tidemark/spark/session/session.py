"""The Spark session that every job shares, and the settings that results and readers rely on."""

from __future__ import annotations

import os
import re
import signal
import tempfile
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pyspark
from py4j.protocol import Py4JError
from pyspark import SparkConf
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tidemark.config.address import RemoteLocation
from tidemark.config.scheduling.placement import conf_of_environment
from tidemark.errors import TidemarkError, first_line
from tidemark.spark.compat.jvm import running
from tidemark.spark.compat.plain import Way, plain
from tidemark.spark.compat.py4j_cache import remember
from tidemark.spark.compat.sessions import has_jvm, launch, start_context
from tidemark.spark.session import class_archive, object_stores
from tidemark.spark.session.isolation import own_session, refuse_connect, session_of_caller
from tidemark.spark.session.jars import installed_jars, require_java, require_stores, store_jars
from tidemark.spark.session.settings import RESULT_SETTINGS
from tidemark.spark.session.versions import require_spark

_TIMES = ("_offset", "_arrival_time", "_event_time", "_end_time", "_system_timestamp", "_watermark", "_batch_id")
_COST_SETTINGS = {
    **{f"parquet.enable.dictionary#{name}": "false" for name in _TIMES},  # nearly all values differ, or all are equal
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.databricks.delta.optimize.minFileSize": str(64 << 20),
    "spark.databricks.delta.optimize.maxFileSize": str(256 << 20),
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000000",
    "spark.sql.maxConcurrentOutputFileWriters": "16",
    "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "8m",
    "spark.sql.ui.explainMode": "simple",  # each query and each of its stages is described at length otherwise
    "spark.sql.dataFrameQueryContext.enabled": "false",  # each call of a function takes its stack trace otherwise
    "spark.sql.codegen.hugeMethodLimit": "8000",  # HotSpot never compiles larger methods; many columns make such
}

_STATIC_SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.delta.logStore.s3.impl": "tidemark.storage.ObjectLog",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.python.sql.dataFrameDebugging.enabled": "false",  # each call of a function asks the JVM four times more
    "spark.sql.codegen.cache.maxEntries": "1000",  # 100 do not hold two batches' code: it would be compiled anew
}
_CATALOG = ("spark.sql.catalog.__tidemark", "tidemark.plans.CatalogFunctions")
"""Setting by which functions of `jvm/` are called through a catalog: the public way."""
COMPILING = (
    "-XX:Tier4InvocationThreshold=20000 -XX:Tier4MinInvocationThreshold=2400 "
    "-XX:Tier4CompileThreshold=60000 -XX:Tier4BackEdgeThreshold=160000"
)
"""Four times Java's thresholds for its optimising compiler. Most code that plans queries runs too seldom to be worth
that, and the compiler took two fifths of a command's first minutes."""
BUFFERS = f"-Djdk.nio.maxCachedBufferSize={1 << 20}"
"""Limit, in bytes, of the memory outside the heap that a thread keeps for its next read or write. Without it Java
keeps as much as the largest piece took: 100 MiB more where rows are sorted on disk."""
_EXECUTOR_OPTIONS = "spark.executor.extraJavaOptions"
_LOOPBACK = re.compile(r"^local-cluster\[|://(127\.|localhost)")
_LOOPBACK_SETTINGS = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
_FOLDERS = ("fs.defaultFS", "file:///")
"""Makes a path without a scheme a folder for Spark, too, whatever file system a cluster has as its default."""
_ALONE = {"SPARK_LOCAL_IP": "127.0.0.1"}
_NOT_STARTED = (
    "mend that and repeat the command. SPARK_HOME, SPARK_CONF_DIR, SPARK_LOCAL_DIRS and PYSPARK_SUBMIT_ARGS of the"
    " environment count; TIDEMARK_DEBUG=1 shows all that Spark says"
)
_ERROR = re.compile(r"(Exception|Error)\b|\bERROR\b")
_LOCAL_SETTINGS = {
    **_LOOPBACK_SETTINGS,
    "spark.hadoop.fs.file.impl": "tidemark.storage.LocalFiles",
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "tidemark.storage.LocalLogFiles",
}
_CHECKSUMS = [
    f"spark.sql.shuffle.orderIndependentChecksum.{name}" for name in ("enabled", "enableFullRetryOnMismatch")
]


def class_path() -> list[Path]:
    """The jars on a driver's class path. Java uses the archive of classes only if they are these, in this order."""
    return [*installed_jars(), *store_jars()]


def open_session(master: str | None = None, *, buckets: Collection[RemoteLocation] = ()) -> SparkSession:
    """Open tidemark's own session, with Delta, the settings above and access to `buckets` of object storage. If the
    process has a session already, the new one lies beside it and leaves it as it is.

    Under spark-submit the application's own master and memory hold; results do not depend on them. `master` defaults
    to $TIDEMARK_MASTER, else all local cores. $TIDEMARK_SPARK_CONF adds Spark settings.
    """
    require_stores({bucket.service for bucket in buckets})
    refuse_connect()
    return with_settings(session_of_caller() or _start(master), buckets)


def with_settings(beside: SparkSession, buckets: Collection[RemoteLocation] = ()) -> SparkSession:
    """Return tidemark's own session beside another one, with the settings that results and readers rely on. Settings
    that only change cost are kept if the Spark application was started with other values."""
    session = own_session(beside, {*_COST_SETTINGS, *_CHECKSUMS})
    object_stores.configure(session, buckets)
    session.conf.set(*_FOLDERS)
    for key, value in RESULT_SETTINGS.items():
        session.conf.set(key, value)
    for key, value in _COST_SETTINGS.items():
        if session.conf.get(key, None) is None:
            session.conf.set(key, value)
    if plain(Way.CALLS):
        session.conf.set(*_CATALOG)
    else:
        session.conf.unset(_CATALOG[0])
    return session


def _start(master: str | None) -> SparkSession:
    conf = SparkConf().setAppName("tidemark")
    for key, value in {**conf_of_environment(), **_STATIC_SETTINGS}.items():
        conf.set(key, value)
    conf.setIfMissing("spark.hadoop.fs.permissions.umask-mode", _umask())
    conf.setIfMissing("spark.executorEnv.LC_ALL", "C.UTF-8")  # or executors find no names that are not ASCII
    conf.set(_EXECUTOR_OPTIONS, f"{conf.get(_EXECUTOR_OPTIONS, '')} -Duser.timezone=UTC {BUFFERS}".strip())
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        session = _built(conf)
    elif has_jvm():
        return _built(conf)
    else:
        conf = _configured(conf, master)
        with _starting() as log:
            _launch(conf, log)
            session = _built(conf)
    remember(running())
    return session


def _configured(conf: SparkConf, master: str | None) -> SparkConf:
    """Add the settings that starting a JVM needs. Raises TidemarkError if no JVM can be started."""
    require_java()
    require_spark(pyspark.__version__, "pyspark")
    _require_home()
    memory = _memory()
    conf.setIfMissing("spark.driver.memory", f"{memory >> 20}m")
    options = f"-XX:G1HeapRegionSize={_region(memory)}m {BUFFERS} {COMPILING} {class_archive.java_options()}"
    conf.set("spark.driver.defaultJavaOptions", options.strip())
    where = master or os.environ.get("TIDEMARK_MASTER", "local[*]")
    conf.setMaster(where)
    jars = class_path()
    for key, value in (local_settings(where) or cluster_settings(where, jars)).items():
        conf.setIfMissing(key, value)
    return conf.set("spark.driver.extraClassPath", os.pathsep.join(map(str, jars)))


def _built(conf: SparkConf) -> SparkSession:
    heard = signal.getsignal(signal.SIGINT)
    session = SparkSession.builder.config(conf=conf).getOrCreate()
    if threading.current_thread() is threading.main_thread() and callable(heard):
        signal.signal(signal.SIGINT, heard)  # PySpark's own handler calls the JVM in the middle of a call
    return session


def _require_home() -> None:
    """Ensure that $SPARK_HOME, if set, has Spark of PySpark's version, which starts it. Raises TidemarkError."""
    home, version = os.environ.get("SPARK_HOME"), pyspark.__version__.partition("+")[0]
    if home and not any(Path(home, "jars").glob(f"spark-core_*-{version}*.jar")):
        raise TidemarkError(
            f"SPARK_HOME has no Spark {version}, which is PySpark's version",
            where=home,
            hint="unset SPARK_HOME: PySpark brings its own Spark; or let it name that version",
        )


def local_settings(master: str) -> dict[str, str]:
    """Settings for a master that is a single process; empty for a cluster. In one process no output of a stage is
    lost and computed again, so Spark need not check that it comes out equal."""
    here = master == "local" or master.startswith("local[")
    return dict.fromkeys(_CHECKSUMS, "false") | _LOCAL_SETTINGS if here else {}


def cluster_settings(master: str, jars: Sequence[Path]) -> dict[str, str]:
    """Settings for a cluster: the jars that executors fetch from the driver and, if the master is reached by
    loopback, the driver's address there. SPARK_LOCAL_IP and SPARK_LOCAL_HOSTNAME name another one."""
    settings = {"spark.jars": ",".join(map(str, jars))}
    if _LOOPBACK.search(master):
        settings |= _LOOPBACK_SETTINGS
    return settings


def _umask() -> str:
    """The process's umask. Hadoop does not ask for it, but takes the permissions of files from a setting."""
    mask = os.umask(0o077)
    os.umask(mask)
    return f"{mask:03o}"


def _memory() -> int:
    """Bytes for the driver: a third of the memory this process may use, from 1 to 16 GiB. Rows that do not fit are
    judged on disk."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        text = Path(limit).read_text().strip() if Path(limit).is_file() else ""
        whole = min(whole, int(text)) if text.isdigit() else whole
    return min(max(whole // 3, 1 << 30), 16 << 30)


def _region(memory: int) -> int:
    """MiB of one region of the heap. Spark's buffers take more than half of a region of Java's default size; each
    would then be allocated apart and start a collection of the whole heap."""
    return min(memory >> 28, 16)


@contextmanager
def _starting() -> Iterator[IO[str] | None]:
    """Context manager: file for the output of a JVM that starts inside it; None with TIDEMARK_DEBUG. Raises
    TidemarkError if Spark does not start."""
    log = None
    if not os.environ.get("TIDEMARK_DEBUG"):
        log = tempfile.NamedTemporaryFile("w+", prefix="tidemark-spark-", suffix=".log")  # noqa: SIM115 # the JVM's
    try:
        yield log
    except (PySparkException, Py4JError, OSError) as error:
        said = _reason(Path(log.name).read_text(errors="replace")) if log else ""
        raise TidemarkError(f"Spark did not start: {said or first_line(error)}", hint=_NOT_STARTED) from error


def _launch(conf: SparkConf, log: IO[str] | None) -> None:
    # a machine's name need not be known to its network if all is done in one process
    alone = {} if "SPARK_LOCAL_IP" in os.environ or not local_settings(str(conf.get("spark.master"))) else _ALONE
    with _signals_kept():
        start_context(launch(conf, {"stderr": log, "stdout": log}, alone), conf)


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Hold back signals that end a command until the JVM has started: a JVM whose launch is cut short never ends."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[int] = []
    ours = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)
    before = {number: signal.signal(number, lambda number, _: heard.append(number)) for number in ours}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        if heard:
            signal.raise_signal(heard[0])


def _reason(log: str) -> str:
    """The line of a log that says why Spark did not start: the last line about an error, else the last line. Indented
    lines, of a stack, are left out."""
    lines = [line.strip() for line in log.splitlines() if line.strip() and not line[0].isspace()]
    return next((line for line in reversed(lines) if _ERROR.search(line)), lines[-1] if lines else "")
