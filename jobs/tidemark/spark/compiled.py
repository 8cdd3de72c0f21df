"""Our own functions for the JVM, from `jvm/*.java`: compiled once at installation, by the compiler that Spark
brings for its own code, so that a Java without one will do."""

from __future__ import annotations

import hashlib
import tempfile
import zipfile
from pathlib import Path

from tidemark.errors import TidemarkError

SOURCES = Path(__file__).parent / "jvm"
JAR = "tidemark-functions.jar"


def is_current(jar: Path) -> bool:
    """The jar was compiled from the sources as they are."""
    if not jar.is_file():
        return False
    with zipfile.ZipFile(jar) as found:
        return found.comment == _fingerprint()


def compile_into(folder: Path) -> Path:
    """Put the jar into the folder; one that is current is left alone. Raises TidemarkError with what the
    compiler says."""
    jar = folder / JAR
    if not is_current(jar):
        with tempfile.TemporaryDirectory() as classes:
            _compile(Path(classes))
            partial = jar.with_suffix(".partial")
            with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as packed:
                for file in sorted(Path(classes).rglob("*.class")):
                    packed.writestr(zipfile.ZipInfo(file.relative_to(classes).as_posix()), file.read_bytes())
                packed.comment = _fingerprint()
            partial.replace(jar)
    return jar


def _fingerprint() -> bytes:
    content = b"".join(source.read_bytes() for source in _sources())
    return hashlib.sha256(content).hexdigest().encode()


def _sources() -> list[Path]:
    return sorted(SOURCES.glob("*.java"))


def _compile(classes: Path) -> None:
    from py4j.protocol import Py4JJavaError
    from pyspark.java_gateway import launch_gateway

    with tempfile.TemporaryFile("w+") as log:
        gateway = launch_gateway(popen_kwargs={"stderr": log})  # type: ignore[no-untyped-call] # py4j has no types
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
        finally:
            gateway.shutdown()
