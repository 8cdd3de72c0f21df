"""Finds the objects of a batch that cannot be read, by reading them and never by skipping errors."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

from tidemark.config import SourceSpec
from tidemark.core.batch import LandedObject
from tidemark.errors import TidemarkError, first_line
from tidemark.spark.read import codecs, formats
from tidemark.spark.read.format import Sight
from tidemark.spark.read.formats import look_at, reader_of
from tidemark.storage import tag_of, tags_of

SPARK_ERRORS = (Py4JJavaError, PySparkException)
_CAUSE = re.compile(r"^(?:Caused by: |: )((?:\w+\.)+[\w$]+)(?:: (.*))?$", re.MULTILINE)
_NOT_THE_OBJECTS = re.compile(
    r"OutOfMemoryError|No space left on device|Too many open files|AccessDeniedException"
    r"|org\.apache\.hadoop\.fs\.s3a\.(?!RemoteFileChanged)|software\.amazon\.awssdk"
    r"|azurebfs\.contracts\.exceptions\.(?!.*\", (?:404|412), )|Error (?:accessing|reading) '?gs://"
)
"""Faults of this machine or of a service, not of an object. An object that changes while it is read is found by its
tag."""
_NOT_FOUND = re.compile(r"PATH_NOT_FOUND|FILE_NOT_EXIST|FileNotFoundException|NoSuchFileException")
_PATH = re.compile(
    r"\(?\b(?:file:/|s3a?:/|abfss?:/|gs:/|landed(?:\+\w+)?:/)/*\S*"
    r"|(?<![\w.:/<])/(?:[\w.@%+=-]+/)+[\w.@%+=-]+"
)
_PLAIN_WORDS = {
    r"^EOFException|[Uu]nexpected end of|ended unexpectedly|^ZipException": "it is cut off or damaged",
    r"not a gzip file|incorrect header check|invalid (stored|block|distance|code|bit)": "its compression is damaged",
    r"not a Parquet file|length is too low": "it is no Parquet file, or is cut off",
    r"Malformed ORC file|InvalidProtocolBuffer": "it is no ORC file, or is cut off",
    r"^(NullPointer|ArrayIndex|IndexOutOf|NegativeArray|BufferUnderflow)": "it is damaged inside",
    r"^ZstdIOException: Truncated": "it is cut off",
    r"^ZstdIOException": "its compression is damaged",
    r"^ClassNotFound.*Codec": "its compression cannot be read here",
    r"^IllegalArgument.*nanos": "it has times before 1970 with fractions of a second, which Java cannot read",
}
_LONGEST_NOTE = 500


@dataclass(frozen=True)
class Damage:
    """Objects that cannot be read, with the reason (`unreadable`), and objects that vanished or changed (`gone`)."""

    unreadable: dict[str, str] = field(default_factory=dict)
    gone: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.unreadable or self.gone)


def gone(objects: Sequence[LandedObject]) -> frozenset[str]:
    """URIs of objects that vanished or changed since they were listed."""
    tags = tags_of([item.path for item in objects])
    return frozenset(item.uri for item, tag in zip(objects, tags, strict=True) if tag != item.tag)


def find_unreadable(spark: SparkSession, source: SourceSpec, objects: Sequence[LandedObject]) -> dict[str, str]:
    """Reasons by URI for all objects that cannot be read; halving finds a few among many.

    Errors that are no fault of an object (no permission, no memory, no space) are raised: they are temporary, and the
    object must be taken later. An object that has just vanished or changed is not reported either.
    """
    sights = look_at(source, objects)
    left = [item for item in objects if sights[item.uri].refusal is None]
    found: dict[str, str] = {}
    for item in left:
        if _doubtful(source, item):
            found |= _search(spark, source, [item], sights)
    left = [item for item in left if item.uri not in found]
    for reason, alike in _mistyped(source, left).items():
        if _search(spark, source, alike[:1], sights):
            found |= {item.uri: reason for item in alike}
    return found | _search(spark, source, [item for item in left if item.uri not in found], sights)


def _search(
    spark: SparkSession, source: SourceSpec, objects: Sequence[LandedObject], sights: Mapping[str, Sight]
) -> dict[str, str]:
    if not objects:
        return {}
    try:
        formats.read(spark, source, objects, sights).write.format("noop").mode("overwrite").save()
    except SPARK_ERRORS as error:
        if _NOT_THE_OBJECTS.search(str(error)) or _cannot_be_planned(error):
            raise
        if len(objects) == 1 and tag_of(objects[0].path) != objects[0].tag:
            return {}
        if len(objects) == 1:
            _check_access(objects[0], error)
            return {objects[0].uri: explain(error, objects[0])}
        middle = len(objects) // 2
        found = _search(spark, source, objects[:middle], sights)
        return found | _search(spark, source, objects[middle:], sights)
    return {}


def explain(error: Exception, item: LandedObject) -> str:
    """Reason why an object cannot be read, in one line without paths of this machine."""
    causes = _CAUSE.findall(str(error))
    text = f"{causes[-1][0].rsplit('.', 1)[-1]}: {causes[-1][1]}" if causes else first_line(error)
    for spelling in (f"file://{item.path}", f"file:{item.path}", item.path):
        text = text.replace(spelling, "it")
    text = _PATH.sub("it", text).strip().rstrip(":")
    words = next((words for pattern, words in _PLAIN_WORDS.items() if re.search(pattern, text)), None)
    return (f"{words} ({text})" if words else text)[:_LONGEST_NOTE]


def _doubtful(source: SourceSpec, item: LandedObject) -> bool:
    """True if an object looks damaged without Spark; trying it alone saves much halving."""
    try:
        reader_of(source).verify(item)
    except codecs.DAMAGED:
        return True
    return False


def _mistyped(source: SourceSpec, objects: Sequence[LandedObject]) -> dict[str, list[LandedObject]]:
    """Objects by the way in which their columns' types differ from the schema's.

    Often all objects of a source differ in one way, so trying one of them shows if Spark can read such a type.
    """
    found: dict[str, list[LandedObject]] = {}
    for item in objects:
        try:
            differing = reader_of(source).mistyped(source, item)
        except codecs.DAMAGED:
            continue
        if differing:
            found.setdefault("; ".join(differing)[:_LONGEST_NOTE], []).append(item)
    return found


def _cannot_be_planned(error: Exception) -> bool:
    """True if the configuration is at fault, whatever the objects hold."""
    return isinstance(error, AnalysisException) and error.getCondition() != "PATH_NOT_FOUND"


def _check_access(item: LandedObject, error: Exception) -> None:
    if Path(item.path).exists() and not os.access(item.path, os.R_OK):
        raise TidemarkError(
            f"object {item.uri!r} of source {item.source} cannot be read: permission denied",
            where=item.path,
            hint="make it readable and run again: the planned run is then finished",
        )
    if _NOT_FOUND.search(str(error)):
        raise TidemarkError(
            f"object {item.uri!r} of source {item.source} is there, but Spark does not find it",
            where=item.path,
            hint="let each of Spark's workers reach it under this path, and start their JVMs with LC_ALL=C.UTF-8 if"
            " the path is not ASCII; then run again: the planned run is finished",
        )
