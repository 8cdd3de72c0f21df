"""Spark sessions of a process and the launch of its JVM: private attributes of PySpark."""

from __future__ import annotations

import locale
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Any

from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JNetworkError
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from tidemark.spark.compat.jvm import active_context, hadoop_configuration, running

DELTA_CLASS = "org.apache.spark.sql.delta.DeltaLog"
"""A class that only Delta's jar has."""
ENDS_WITHIN = 60.0
"""Seconds that a JVM may take to end by itself."""
GONE_WITHIN = 5.0
"""Seconds within which a JVM that has been killed is gone."""


def first_session() -> SparkSession | None:
    """The application's first session; None if there is none."""
    return SparkSession._instantiatedSession


def activate(session: SparkSession) -> None:
    """Make a session the active one of this thread, in Python and in the JVM."""
    SparkSession._activeSession = session
    activate_in_jvm(session)


def activate_in_jvm(session: SparkSession) -> None:
    """Make a session the active one of the JVM's thread that serves this thread."""
    SparkSession._get_j_spark_session_class(running()).setActiveSession(session._jsparkSession)


def verify_checksums(verify: bool) -> None:
    """Set whether Hadoop compares local files with checksums beside them."""
    running().org.apache.hadoop.fs.FileSystem.getLocal(hadoop_configuration()).setVerifyChecksum(verify)


def has_jvm() -> bool:
    """True if this process has started a JVM."""
    return SparkContext._gateway is not None


def jvm_status(error: BaseException) -> int | None:
    """Exit status of the JVM that this process started, negative for a signal; None while it runs, or without one.
    After a connection `error`, first waits up to `GONE_WITHIN` seconds for the JVM to end."""
    process = getattr(SparkContext._gateway, "proc", None)
    if process is None:
        return None
    if isinstance(error, ConnectionError | Py4JNetworkError):
        with suppress(TimeoutExpired):
            process.wait(GONE_WITHIN)
    status: int | None = process.poll()
    return status


def forget_ended_jvm() -> None:
    """Forget the JVM that this process has started, if it has ended: the next session starts another one."""
    gateway = SparkContext._gateway
    process = getattr(gateway, "proc", None)
    if gateway is None or process is None or process.poll() is None:
        return
    gateway._gateway_client.is_connected = False  # no finalizer asks the JVM for anything
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None


def launch(conf: SparkConf, options: Mapping[str, Any], environ: Mapping[str, str]) -> JavaGateway:
    """Start a JVM. `options` go to PySpark's `launch_gateway` and say where output goes. The JVM gets the environment
    of this process; `environ` is added to it during the launch."""
    with _environment({**environ, **locale_of_java()}):
        return launch_gateway(conf, dict(options))  # type: ignore[no-untyped-call] # py4j has no types


def locale_of_java() -> dict[str, str]:
    """Environment variables that make a JVM encode file names as Python does; empty if none is needed. In locale C,
    Python uses UTF-8, but Java would not find names that are not ASCII."""
    differ = sys.getfilesystemencoding() == "utf-8" and locale.getencoding().upper() != "UTF-8"
    return {"LC_ALL": "C.UTF-8"} if differ else {}


@contextmanager
def _environment(added: Mapping[str, str]) -> Iterator[None]:
    known = {name: os.environ.get(name) for name in added}
    os.environ.update(added)
    try:
        yield
    finally:
        for name, value in known.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


def start_context(gateway: JavaGateway, conf: SparkConf) -> None:
    """Have later sessions of this process use the gateway's JVM."""
    SparkContext._ensure_initialized(gateway=gateway, conf=conf)


def resolve_jar(jvm: Any, coordinate: str) -> Path:  # noqa: ANN401 # py4j has no types
    """Fetch a jar without its dependencies from the repositories of the user's Ivy settings, and return its file. The
    coordinate is group:artifact:version, or group:artifact:version:classifier, which Spark itself does not know."""
    if coordinate.count(":") > 2:
        return _classified_jar(jvm, *coordinate.split(":"))
    uri = jvm.java.net.URI(f"ivy://{coordinate}?transitive=false")
    return Path(jvm.org.apache.spark.util.DependencyUtils.resolveMavenDependencies(uri).mkString(","))


def _classified_jar(jvm: Any, group: str, artifact: str, version: str, classifier: str) -> Path:  # noqa: ANN401 # py4j
    ivy, maven = jvm.org.apache.ivy, jvm.org.apache.spark.util.MavenUtils
    ivy.util.Message.setDefaultLogger(ivy.util.DefaultMessageLogger(ivy.util.Message.MSG_ERR))
    given = [jvm.scala.Option.apply(jvm.System.getProperty(f"spark.jars.{name}")) for name in ("repositories", "ivy")]
    said, settings_file = jvm.System.err, jvm.System.getProperty("spark.jars.ivySettings")
    own = maven.loadIvySettings(settings_file, *given, said) if settings_file else None
    settings = own or maven.buildIvySettings(*given, True, said)
    ivy.Ivy.newInstance(settings)
    module = ivy.core.module.id.ModuleRevisionId.newInstance(group, artifact, version)
    extra = jvm.java.util.HashMap()
    extra.put("m:classifier", classifier)
    described = ivy.core.module.descriptor
    wanted = described.DefaultArtifact(module, jvm.java.util.Date(0), artifact, "jar", "jar", extra)
    resolver = settings.getDefaultResolver()
    found = resolver.locate(wanted)
    if found is None:
        raise LookupError(f"{group}#{artifact};{version}!{artifact}-{classifier}.jar was not found")
    return Path(resolver.download(found, ivy.core.resolve.DownloadOptions()).getLocalFile().getPath())


def forget_tables() -> None:
    """Have Delta forget the tables that it has read, if a session is open: a folder may hold another table now."""
    if active_context() is not None:
        running().org.apache.spark.sql.delta.DeltaLog.clearCache()


def end_jvm() -> None:
    """End the JVM that this process has started, if any, and with it the Spark application and its running jobs."""
    gateway = SparkContext._gateway
    if gateway is None or gateway.proc is None:
        return
    gateway._gateway_client.is_connected = False  # no finalizer asks the JVM for anything
    process = gateway.proc
    process.stdin.close()  # on which a JVM of PySpark ends
    try:
        process.wait(ENDS_WITHIN)
    except TimeoutExpired:
        process.kill()
        process.wait()
