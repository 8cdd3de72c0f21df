"""Counts rows by fate, and takes their digest, while they pass to where they are written.

The first run, recovery after a crash and a replay count alike: a job over event rows, just judged or read back, is
filtered by a function of `jvm/` that counts each row and is always true. Only counts and extremes, by partition, kind
of row and object, are sent to the driver.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.core.batch import stored_uri
from tidemark.core.batch_result import NEWEST, TableDigest
from tidemark.core.policy import Fate, reason_of
from tidemark.core.quality import Broken, Offsets, RowRule
from tidemark.spark.columns import BEYOND, COUNTED, HASH, OBJECT
from tidemark.spark.compat.jvm import context_of
from tidemark.spark.digests import row_hash, table_digest
from tidemark.spark.jvm_functions import invoked, java_class, or_none
from tidemark.spark.read.format import UNREADABLE
from tidemark.spark.tables.row_rules import ends, marks_progress, rules_of


@dataclass(frozen=True)
class FateGroup:
    """Rows of one partition with equal fate and reasons; times in microseconds. `event_time`, `arrival_time` and
    `file` come from the row with the lowest offset."""

    fate: Fate
    reasons: frozenset[str]
    file: str
    rows: int
    first_arrival: int | None
    last_arrival: int | None
    high: int | None
    offset: int
    event_time: int | None
    arrival_time: int | None


@dataclass(frozen=True)
class Moves:
    """Moves of one partition's rows, in microseconds: the largest, and the number of rows by size (three significant
    digits)."""

    largest: int | None
    sizes: Mapping[int, int]


@dataclass(frozen=True)
class Counted:
    """Counts of one partition's rows."""

    moves: Moves
    kinds: tuple[FateGroup, ...]
    offsets: Offsets
    broken: Mapping[RowRule, Broken]


@dataclass(frozen=True)
class Unknown:
    """Rows that are not quarantined and have members that the schema lacks: their number, stored URIs of the first
    and last object with one, and rows by name. Only the first names are kept; `more`: there are others."""

    rows: int
    first: str
    last: str
    names: Mapping[str, int]
    more: bool = False


@dataclass(frozen=True)
class Counts:
    """Counts of all rows, by partition, and by URI: an object's rows, and how many of them say that it cannot be
    read."""

    rows: int
    low: int
    high: int
    files: Mapping[str, tuple[int, int]]
    partitions: Mapping[str, Counted]
    unknown: Unknown | None = None
    version: int = NEWEST

    @property
    def sizes(self) -> dict[str, int]:
        """Number of rows of each partition."""
        return {name: sum(kind.rows for kind in counted.kinds) for name, counted in self.partitions.items()}

    def digest(self, table: str) -> TableDigest:
        """The digest of all rows counted."""
        return table_digest(table, self.rows, self.low, self.high, self.version)


NOTHING = Counts(0, 0, 0, {}, {})
"""Counts of a batch without rows."""


class FateCounter:
    """Counts the rows of one job of a source. `uris` are the objects' URIs, in the order of the objects' numbers;
    `version` is the digest version."""

    def __init__(self, spark: SparkSession, source: SourceSpec, uris: Sequence[str], version: int = NEWEST) -> None:
        self._source, self._version = source, version
        self._uris = [stored_uri(uri) for uri in uris]
        self.last = NOTHING
        """The counts that were read last."""
        self._accumulator = java_class("count.EventCountsAccumulator").registered(context_of(spark))

    def begin(self, uris: Sequence[str]) -> None:
        """Count the rows of another job from nothing; the one before must have ended."""
        self._uris = [stored_uri(uri) for uri in uris]
        self.last = NOTHING
        self._accumulator.reset()

    def counted(self, rows: DataFrame) -> DataFrame:
        """Event rows that are counted as they pass. `rows` have `OBJECT`, the number of their object, and may have
        `BEYOND`; the result has neither."""
        hashed = rows.withColumn(HASH, row_hash(rows.drop(OBJECT, BEYOND), self._version))
        return (
            hashed.withColumn(COUNTED, self._counting_column(rows)).where(COUNTED).drop(HASH, COUNTED, OBJECT, BEYOND)
        )

    def counts(self) -> Counts:
        """Counts so far; complete once the job has ended."""
        packed = b"".join(self._accumulator.packed())
        rows, low, high, objects, partitions, unknown = json.loads(gzip.decompress(packed))
        files = {self._uris[number]: (count, whole) for number, count, whole in objects}
        known = {name: self._counted(*counts) for name, *counts in partitions}
        self.last = Counts(rows, low, high, files, known, self._unknown(unknown), self._version)
        return self.last

    def _counting_column(self, rows: DataFrame) -> Column:
        not_on_time = F.col("_disposition") != Fate.ON_TIME.value
        quarantined = F.col("_disposition") == Fate.QUARANTINED.value
        whole_object = quarantined & F.col("_raw").startswith(UNREADABLE)
        arguments = [
            F.col(HASH)["high"],
            F.col(HASH)["low"],
            F.col("_partition"),
            F.coalesce(OBJECT, F.raise_error(F.lit("a row of no object")).cast("int")),
            F.when(not_on_time, F.concat_ws(",", "_disposition", "_reasons")),
            *[or_none(F.unix_micros(name)) for name in ("_arrival_time", "_event_time", "_system_timestamp")],
            or_none(F.col("_offset")),
            or_none(F.unix_micros("_watermark")),
            F.when(~quarantined, F.col(BEYOND)) if BEYOND in rows.columns else F.lit(None).cast("string"),
            _bits(whole_object, ends(self._source), marks_progress(rows, self._source)),
        ]
        rules = rules_of(self._source)
        return invoked("count.EventCounter", *arguments, settings=(self._accumulator, Fate.ADJUSTED.value, rules))

    def _counted(
        self,
        largest: int | None,
        moves: Sequence[tuple[int, int]],
        kinds: Sequence[Sequence[Any]],
        offsets: Sequence[int],
        broken: Sequence[Sequence[int]],
    ) -> Counted:
        rules = {
            RowRule(rule): Broken(rows, tuple(offset for offset in found if offset is not None))
            for rule, rows, *found in broken
        }
        known = tuple(self._kind(*kind) for kind in kinds)
        return Counted(Moves(largest, dict(moves)), known, Offsets(*offsets), rules)

    def _unknown(self, found: Sequence[Any] | None) -> Unknown | None:
        if found is None:
            return None
        rows, first, last, names, more = found
        return Unknown(rows, self._uris[first], self._uris[last], dict(names), more)

    def _kind(self, kind: str, *counted: Any) -> FateGroup:
        fate, *reasons = kind.split(",") if kind else [Fate.ON_TIME]
        *figures, number = counted
        return FateGroup(Fate(fate), frozenset(map(reason_of, reasons)), self._uris[number], *figures)


def _bits(*marks: Column | None) -> Column:
    """The marks that a row has, one a bit."""
    bits = [F.when(mark, 1 << index).otherwise(0) for index, mark in enumerate(marks) if mark is not None]
    return reduce(lambda one, other: one.bitwiseOR(other), bits)
