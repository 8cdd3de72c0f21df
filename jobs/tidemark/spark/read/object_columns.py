"""Adds object metadata to each row by a task-side lookup instead of a join."""

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
from tidemark.spark.compat.jvm import scala_columns
from tidemark.spark.jvm_functions import java_class
from tidemark.spark.session.object_stores import spark_reads

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject


class Objects:
    """Metadata of a batch's objects, in log order, as a plan parameter.

    Tasks get it as a job begins, so that another batch needs no other plan.
    """

    def __init__(self, source: SourceSpec, objects: Sequence[LandedObject], batch_id: int) -> None:
        self._lookup: JavaObject = java_class("plans.ObjectLookup")()
        self.set(source, objects, batch_id)

    def set(self, source: SourceSpec, objects: Sequence[LandedObject], batch_id: int) -> None:
        """Set the objects for later jobs."""
        known = [
            (stored_uri(item.uri), item.modified, _partition_of_path(source, item.uri), _uris_of(item))
            for item in objects
        ]
        self._lookup.set(json.dumps([batch_id, known]))

    def at(self, path: Column) -> Column:
        """Metadata of the object at a path given by Spark: `object` (its number), `modified` and `partition`.

        `modified` is the landing time in microseconds, `partition` the one in the object's name. A path of no object
        fails the job.
        """
        return Column(self._lookup.at(scala_columns([path])))

    def named(self, number: Column) -> Column:
        """The `uri` of an object by its number, and its `batch`; looked up after judging, so that it is not
        shuffled."""
        return Column(self._lookup.named(scala_columns([number])))


def spark_path(path: str) -> str:
    """Name of a file or object in Spark's `_metadata.file_path`.

    It is a URI in which Java quotes ASCII characters that a path cannot hold, controls and spaces, but no others.
    """
    return ("file://" if path.startswith("/") else "") + "".join(_quoted(char) for char in path)


def location_of(item: LandedObject) -> str:
    """Path of an object's rows; a made-up one (`refused:`) if the object is not read."""
    return spark_path(spark_reads(item)) if item.refusal is None else f"refused:{stored_uri(item.uri)}"


def _uris_of(item: LandedObject) -> list[str]:
    """Both forms in which Spark may name a local file: with and without an empty authority."""
    file_uri = location_of(item)
    return [file_uri, file_uri.replace("file:///", "file:/", 1)] if file_uri.startswith("file:///") else [file_uri]


def _quoted(char: str) -> str:
    if char < "\x80" or unicodedata.category(char) in {"Zs", "Zl", "Zp", "Cc"}:
        return quote(char, safe="/;:@&=+$,-_.!~*'()")
    return char


def _partition_of_path(source: SourceSpec, uri: str) -> str | None:
    """Partition in an object's name; None if there is none."""
    if source.partition is None or source.partition.path is None:
        return None
    found = re.search(source.partition.path, uri)
    return found.group(1) or None if found else None
