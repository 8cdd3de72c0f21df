"""Finds the objects of a batch that cannot be read, by reading them and never by skipping errors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tidemark.config import SourceSpec
from tidemark.core.batch import LandedObject
from tidemark.spark import formats

SPARK_ERRORS = (Py4JJavaError, PySparkException)
_CAUSE = re.compile(r"^(?:Caused by: )?((?:[a-z][\w$]*\.)+[A-Z]\w*(?:Exception|Error)): ?(.*)$", re.MULTILINE)
_LONGEST_NOTE = 500


@dataclass(frozen=True)
class Damage:
    """Objects that cannot be read, with the reason, and objects that are no longer what was listed."""

    unreadable: dict[str, str] = field(default_factory=dict)
    gone: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.unreadable or self.gone)


def tag_of(path: str) -> str | None:
    """What tells one content of a file from another; None when there is no such file."""
    try:
        found = Path(path).stat()
    except FileNotFoundError:
        return None
    return f"{found.st_mtime_ns}-{found.st_size}"


def gone(objects: Sequence[LandedObject]) -> frozenset[str]:
    """URIs of objects that vanished or changed since they were listed."""
    return frozenset(item.uri for item in objects if tag_of(item.path) != item.tag)


def find_unreadable(spark: SparkSession, source: SourceSpec, objects: Sequence[LandedObject]) -> dict[str, str]:
    """URI -> why it cannot be read, for all such objects at once; halving finds a few among many."""
    if not objects:
        return {}
    try:
        formats.read(spark, source, [item.path for item in objects]).write.format("noop").mode("overwrite").save()
    except SPARK_ERRORS as error:
        if len(objects) == 1:
            return {objects[0].uri: explain(error)}
        middle = len(objects) // 2
        return find_unreadable(spark, source, objects[:middle]) | find_unreadable(spark, source, objects[middle:])
    return {}


def explain(error: Exception) -> str:
    """The innermost cause of a Spark error, in one line."""
    causes = _CAUSE.findall(str(error))
    text = f"{causes[-1][0].rsplit('.', 1)[-1]}: {causes[-1][1]}" if causes else str(error).splitlines()[0]
    return text.strip()[:_LONGEST_NOTE]
