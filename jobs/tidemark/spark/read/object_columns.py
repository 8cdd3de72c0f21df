"""What is known of a batch's objects, by each of their rows."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from pyspark.sql import Column

from tidemark.config import SourceSpec
from tidemark.core.batch import LandedObject, stored_uri
from tidemark.spark.jvm_functions import running
from tidemark.spark.session.s3a import spark_reads

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject


class Objects:
    """The objects of a batch of a source, in log order. What is known of them is told to the tasks of a job as it
    begins, so that another batch needs no other plan."""

    def __init__(self, source: SourceSpec, objects: Sequence[LandedObject], batch_id: int) -> None:
        self._told: JavaObject = running().tidemark.Objects()
        self.tell(source, objects, batch_id)

    def tell(self, source: SourceSpec, objects: Sequence[LandedObject], batch_id: int) -> None:
        """Tell jobs that begin later of other objects."""
        known = [
            (stored_uri(item.uri), item.modified, _partition_of_path(source, item.uri), _places_of(item))
            for item in objects
        ]
        self._told.tell(json.dumps([batch_id, known]))

    def at(self, path: Column) -> Column:
        """Number (`object`), landing time (`modified`, microseconds) and `partition` by its name of the object that
        Spark gives a path. A path of no object stops the job."""
        return Column(self._told.at(running().PythonUtils.toSeq([path._jc])))

    def named(self, number: Column) -> Column:
        """The `uri` of the object of a number and its `batch`, found once rows are judged, so that they are not
        shuffled."""
        return Column(self._told.named(running().PythonUtils.toSeq([number._jc])))


def spark_path(path: str) -> str:
    """How Spark's `_metadata.file_path` names a file or object: a URI in which Java quotes ASCII characters
    that a path cannot hold, controls and spaces, but no other character."""
    return ("file://" if path.startswith("/") else "") + "".join(_quoted(char) for char in path)


def place_of(item: LandedObject) -> str:
    """The path of an object's rows, be it one that is not read."""
    return spark_path(spark_reads(item)) if item.refusal is None else f"refused:{stored_uri(item.uri)}"


def _places_of(item: LandedObject) -> list[str]:
    """Both forms in which Spark may name a local file: with and without an empty authority."""
    place = place_of(item)
    return [place, place.replace("file:///", "file:/", 1)] if place.startswith("file:///") else [place]


def _quoted(char: str) -> str:
    if char < "\x80" or unicodedata.category(char) in {"Zs", "Zl", "Zp", "Cc"}:
        return quote(char, safe="/;:@&=+$,-_.!~*'()")
    return char


def _partition_of_path(source: SourceSpec, uri: str) -> str | None:
    """The partition that an object's name says; None where it says none."""
    if source.partition is None or source.partition.path is None:
        return None
    found = re.search(source.partition.path, uri)
    return found.group(1) or None if found else None
