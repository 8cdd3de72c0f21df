"""An environment of its own for Flink: a venv with what its SQL needs, and the jar that reads and writes Parquet.

Of what PyFlink asks for, only functions written in Python need most (Beam, pandas, an old pyarrow): left out. Flink's
Parquet needs Hadoop's classes, which come with Spark.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pyspark

from tidemark.errors import TidemarkError
from tidemark.spark.session.jars import install

LOCK, JARS = (Path(__file__).with_name(name) for name in ("flink.lock", "flink-jars.lock"))


def environment(cache: Path, say: Callable[[str], None]) -> Path | None:
    """The folder of Flink's environment, made when it is first asked for, kept under `cache`; None where it can't be
    made: without a network, or where there are no wheels for the machine."""
    content = LOCK.read_bytes() + JARS.read_bytes()
    folder = cache / f"flink-{hashlib.sha256(content).hexdigest()[:12]}"
    made = folder / "made"
    if not made.exists():
        say("installing Flink into an environment of its own, about 340 MB")
        try:
            _install(folder)
        except (subprocess.CalledProcessError, TidemarkError) as error:
            say(f"Flink could not be installed: {error}")
            return None
        made.touch()
    return folder


def _install(folder: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    asked = ["--quiet", "--no-deps", "--only-binary", ":all:", "--require-hashes", "-r", LOCK]
    subprocess.run([folder / "bin" / "python", "-m", "pip", "install", *asked], check=True)
    install(JARS, folder / "jars")


def settings(folder: Path, memory: str, work: Path) -> Mapping[str, str]:
    """Environment variables under which the environment's Python runs Flink, with a heap of so much memory."""
    logs = work / "flink-logs"
    logs.mkdir(parents=True, exist_ok=True)
    hadoop = (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-*.jar")
    return {
        "HADOOP_CLASSPATH": ":".join(map(str, sorted([*hadoop, *(folder / "jars").glob("*.jar")]))),
        "JVM_ARGS": f"-Xmx{memory} -Djava.io.tmpdir={logs}",
        "FLINK_LOG_DIR": str(logs),
        "_python_worker_execution_mode": "process",  # or else Beam is started, for functions that nobody has
    }
