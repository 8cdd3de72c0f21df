"""Compiles the project's Java module, `jvm/`, into one jar when the project is installed.

The compiler is Eclipse's, a jar that `jvm/tools.lock` pins: a Java runtime is enough. A wheel has the compiled jar
and no sources.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from tidemark.errors import TidemarkError
from tidemark.spark.compat.plain import Way

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway

MODULE = Path(__file__).parents[4] / "jvm"
SOURCES = MODULE / "src" / "main" / "java"
TOOLS = MODULE / "tools.lock"
JAR = "tidemark-functions.jar"
PREBUILT = Path(__file__).with_name(JAR)
FINGERPRINT = "tidemark/fingerprint"
"""The jar's file that holds the SHA-256 sum of the sources it was compiled from."""
_JAVA = "17"
OPTIONAL = frozenset(name for way in Way for name in way.value if name.startswith("tidemark."))
"""Classes with a public alternative. They are left out if they do not compile against this Spark and Delta."""
_ERROR = re.compile(r"ERROR in (.+)\.java \(at line")


def is_current(jar: Path) -> bool:
    """True if the jar was compiled from the present sources."""
    return jar.is_file() and read_fingerprint(jar) == fingerprint()


def fingerprint() -> str:
    """The SHA-256 sum of the sources; in a wheel, the sum that its jar records."""
    if not SOURCES.is_dir():
        return read_fingerprint(PREBUILT)
    summed = hashlib.sha256()
    for source in _sources(SOURCES):
        summed.update(source.relative_to(SOURCES).as_posix().encode() + b"\0" + source.read_bytes() + b"\0")
    return summed.hexdigest()


def read_fingerprint(jar: Path) -> str:
    """The fingerprint that a jar records; empty if it has none."""
    with zipfile.ZipFile(jar) as packed:
        return packed.read(FINGERPRINT).decode() if FINGERPRINT in packed.namelist() else ""


def compile_into(folder: Path, tools: Path) -> Path:
    """Put the module's jar into `folder`, which holds Delta's jars, unless a current jar is there. `tools` is the
    folder of the compiler's jar. Classes of `OPTIONAL` that do not compile are left out. Raises TidemarkError with
    the compiler's message."""
    jar = folder / JAR
    if is_current(jar):
        return jar
    partial = jar.with_suffix(".partial")
    if not SOURCES.is_dir():
        shutil.copyfile(PREBUILT, partial)
        return partial.replace(jar)
    with tempfile.TemporaryDirectory() as made:
        classes = Path(made)
        compile_java(_sources(SOURCES), classes, spark_jars(folder), tools)
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as packed:
            packed.writestr(zipfile.ZipInfo(FINGERPRINT), fingerprint())
            for file in sorted(classes.rglob("*.class")):
                packed.writestr(zipfile.ZipInfo(file.relative_to(classes).as_posix()), file.read_bytes())
    return partial.replace(jar)


def spark_jars(folder: Path) -> list[Path]:
    """The jars that the module is compiled against: Spark's, and Delta's in `folder`."""
    import pyspark

    bundled = Path(pyspark.__file__).parent / "jars"
    return [*bundled.glob("*.jar"), *(each for each in folder.glob("*.jar") if each.name != JAR)]


def compile_java(sources: Sequence[Path], classes: Path, classpath: Sequence[Path], tools: Path) -> None:
    """Compile sources into a folder, without classes of `OPTIONAL` that have errors. Raises TidemarkError with the
    compiler's message if any other class has errors."""
    (compiler,) = tools.glob("*ecj*.jar")
    path = os.pathsep.join(map(str, classpath))
    command = [
        java_command(),
        "-jar",
        str(compiler),
        f"-{_JAVA}",
        "-proc:none",
        "-nowarn",
        "-proceedOnError",
        "-cp",
        path,
        "-d",
        str(classes),
    ]
    ended = subprocess.run([*command, *map(str, sources)], capture_output=True, text=True, check=False)  # noqa: S603 - pinned
    if not ended.returncode:
        return
    failed = {".".join(Path(source).parts[-3:]) for source in _ERROR.findall(ended.stderr)}
    if not failed or not failed <= OPTIONAL:
        raise TidemarkError(f"the Java module does not compile: {ended.stderr.strip()}", where=str(MODULE))
    for name in failed:
        file = classes.joinpath(*name.split("."))
        for made in [file.with_suffix(".class"), *file.parent.glob(f"{file.name}$*.class")]:
            made.unlink(missing_ok=True)


def left_out(jar: Path) -> list[str]:
    """The classes of `OPTIONAL` that the module's jar lacks."""
    with zipfile.ZipFile(jar) as packed:
        there = set(packed.namelist())
    return sorted(name for name in OPTIONAL if f"{name.replace('.', '/')}.class" not in there)


def java_command(environ: Mapping[str, str] = os.environ) -> str:
    """The command that starts Java, as Spark finds it: from JAVA_HOME, else from PATH."""
    home = environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else "java"


@contextmanager
def quiet_jvm(jars: Sequence[Path] = ()) -> Iterator[tuple[JavaGateway, IO[str]]]:
    """Start a JVM for set-up, with the classes of Spark and of `jars` but no session. Gives its gateway and its
    log."""
    from pyspark import SparkConf

    from tidemark.spark.compat.sessions import launch  # imports pyspark, which may not be there yet

    conf = SparkConf(loadDefaults=False).set("spark.driver.extraClassPath", os.pathsep.join(map(str, jars)))
    with tempfile.TemporaryFile("w+") as log:
        gateway = launch(conf, {"stderr": log}, {})
        try:
            yield gateway, log
        finally:
            gateway.shutdown()


def _sources(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.java"))
