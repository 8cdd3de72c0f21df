"""Archive of the classes that a job's JVM loads; it saves a quarter of the time of a first command.

This is Java's application class data sharing: classes are mapped from one file instead of being read from jars and
verified. Java uses the archive only if it was made by this version of Java and with these jars. Else, or if the file
is damaged, it loads classes from the jars. A Java that writes no archive leaves an empty file, which is not used.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tidemark.spark.compat.sessions import end_jvm
from tidemark.spark.session.jars import jars_folder


def archive() -> Path:
    """The archive's file, beside the folder of the jars."""
    return jars_folder().with_name("classes.jsa")


def java_options() -> str:
    """The JVM's option that names the archive, quoted as Spark reads it; empty if there is none to use."""
    path = archive()
    return f'"-XX:SharedArchiveFile={path}"' if path.is_file() and path.stat().st_size else ""


@contextmanager
def recorded() -> Iterator[None]:
    """Context manager: make the archive anew, from the classes of the JVM that starts inside it and ends at exit.

    The process must not have started a JVM before.
    """
    archive().unlink(missing_ok=True)
    partial = archive().with_suffix(".partial")
    os.environ["PYSPARK_SUBMIT_ARGS"] = (
        f"--driver-java-options '\"-XX:ArchiveClassesAtExit={partial}\"' pyspark-shell"
    )
    yield
    end_jvm()
    partial.touch()
    partial.replace(archive())
