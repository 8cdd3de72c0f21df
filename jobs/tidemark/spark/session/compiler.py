"""Compiles our Java functions from `jvm/*.java` once, at installation. The compiler is the one that Spark brings for
its own code, so that a Java without a compiler will do."""

from __future__ import annotations

import hashlib
import os
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from tidemark.errors import TidemarkError

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway

SOURCES = Path(__file__).parents[1] / "jvm"
JAR = "tidemark-functions.jar"


def is_current(jar: Path) -> bool:
    """True if the jar was compiled from the present sources."""
    if not jar.is_file():
        return False
    with zipfile.ZipFile(jar) as found:
        return found.comment == _fingerprint()


def compile_into(folder: Path) -> Path:
    """Put our jar into the folder, which holds Delta's jars; a current one is left alone. Raises TidemarkError with
    the compiler's message."""
    jar = folder / JAR
    if not is_current(jar):
        with tempfile.TemporaryDirectory() as classes:
            _compile(Path(classes), [each for each in folder.glob("*.jar") if each.name != JAR])
            partial = jar.with_suffix(".partial")
            with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as packed:
                for file in sorted(Path(classes).rglob("*.class")):
                    packed.writestr(zipfile.ZipInfo(file.relative_to(classes).as_posix()), file.read_bytes())
                packed.comment = _fingerprint()
            partial.replace(jar)
    return jar


@contextmanager
def quiet_jvm(jars: Sequence[Path] = ()) -> Iterator[tuple[JavaGateway, IO[str]]]:
    """Start a JVM for set-up, with the classes of Spark and of `jars` but no session. Gives its gateway and its
    log."""
    from pyspark import SparkConf
    from pyspark.java_gateway import launch_gateway

    conf = SparkConf(loadDefaults=False).set("spark.driver.extraClassPath", os.pathsep.join(map(str, jars)))
    with tempfile.TemporaryFile("w+") as log:
        gateway = launch_gateway(conf, {"stderr": log})  # type: ignore[no-untyped-call] # py4j has no types
        try:
            yield gateway, log
        finally:
            gateway.shutdown()


def _fingerprint() -> bytes:
    content = b"".join(source.read_bytes() for source in _sources())
    return hashlib.sha256(content).hexdigest().encode()


def _sources() -> list[Path]:
    return sorted(SOURCES.glob("*.java"))


def _compile(classes: Path, jars: Sequence[Path]) -> None:
    from py4j.protocol import Py4JJavaError

    with quiet_jvm(jars) as (gateway, _):
        try:
            file = gateway.jvm.java.io.File
            compiler = gateway.jvm.org.codehaus.janino.CompilerFactory().newCompiler()
            compiler.setDestinationDirectory(file(str(classes)), False)
            sources = gateway.new_array(file, len(_sources()))
            for index, source in enumerate(_sources()):
                sources[index] = file(str(source))
            compiler.compile(sources)
        except Py4JJavaError as error:
            said = error.java_exception.getMessage()
            raise TidemarkError(f"the functions for the JVM do not compile: {said}", where=str(SOURCES)) from error
