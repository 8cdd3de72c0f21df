"""The seam between judging and file formats: `FormatReader`, and parts that several formats share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame, DataFrameReader
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.config.sql.names import plain_names
from tidemark.core.batch import LandedObject
from tidemark.spark.columns import BLOCK, PATH, ROW
from tidemark.spark.validity import column_of

UNREADABLE = "object cannot be read: "
"""Beginning of the raw text of the one row that an unreadable object becomes."""
SHOWN = 300
"""Most characters of a reason that are shown."""
METADATA = "_metadata"
"""Spark's column of file metadata. A file's own column of this name hides it, but not from `metadataColumn`."""
_RAW_OPTIONS = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


@dataclass(frozen=True)
class Sight:
    """Findings that decide if and how an object is read.

    `refusal` is the reason why it cannot be read, or None. `nulls` are columns (in lower case) whose type holds only
    null, `nanos` columns with times in nanoseconds. `beyond` are columns of the file that the schema lacks; they do
    not change how it is read.
    """

    refusal: str | None = None
    nulls: frozenset[str] = frozenset()
    nanos: frozenset[str] = frozenset()
    beyond: tuple[str, ...] = field(default=(), compare=False)


def _nothing(source: SourceSpec, item: LandedObject) -> list[str]:  # noqa: ARG001 # an object's types may differ
    """No differences: the format does not record types."""
    return []


@dataclass(frozen=True)
class FormatReader:
    """Functions by which objects of one format are read.

    All but `scan` and `parse` run on the driver, without Spark, for one object. They may raise one of
    `codecs.DAMAGED`: then nothing is known about the object, and reading it shows why.
    """

    look: Callable[[SourceSpec, LandedObject], Sight]
    """`Sight` of an object, from a few hundred bytes."""
    scan: Callable[[DataFrameReader, SourceSpec, Sequence[str], Sight], DataFrame]
    """Unparsed rows from Spark's reader, for the paths of objects with equal `Sight`."""
    parse: Callable[[SourceSpec, DataFrame, Sight, float], DataFrame]
    """Parses scanned rows into the columns of the schema, `CORRUPT`, `TEXT` (null if the columns hold all of the
    row), `BEYOND` if the source counts members outside the schema, `PATH`, `BLOCK` and `ROW`. The last three come
    from `positioned`. The float, at most 1, is the share of rows, drawn before any row is parsed."""
    verify: Callable[[LandedObject], object]
    """Raises if an object looks damaged. Called when Spark failed to read a batch."""
    is_bare: Callable[[SourceSpec, LandedObject], bool]
    """True if an object has no rows for an evident reason, such as blank lines."""
    mistyped: Callable[[SourceSpec, LandedObject], list[str]] = _nothing
    """One sentence for each column of an object whose type differs from the schema's, which may be why Spark
    failed."""


def positioned(rows: DataFrame, file_metadata: Column, share: float, *given: Column) -> DataFrame:
    """Rows (`given` columns, or all of them) with path, split and number.

    A `share` below 1 keeps the rows that a hash of their number picks, which costs less than a random number for
    each.
    """
    found = rows.select(
        *(given or [F.col(column_of(name)) for name in rows.columns]),
        file_metadata.getField("file_path").alias(PATH),
        file_metadata.getField("file_block_start").alias(BLOCK),
        F.monotonically_increasing_id().alias(ROW),
    )
    return found if share >= 1 else found.where(F.pmod(F.xxhash64(ROW), F.lit(math.ceil(1 / share))) == 0)


def row_text(values: list[Column]) -> Column:
    """All values of a row of an object as JSON text."""
    return F.to_json(F.struct(*values), _RAW_OPTIONS)


def required_times(source: SourceSpec) -> dict[str, list[list[str]]]:
    """By column, the paths to its members that are the row's required times; an empty path is the column itself."""
    found: dict[str, list[list[str]]] = {}
    columns = {column.name.lower(): column.name for column in source.columns}
    ends = source.lifetimes.end_time if source.lifetimes.kind is None else None
    for expression in (source.timestamp_by, source.arrival_time, ends):
        names = plain_names(expression or "")
        if names and names[0].lower() in columns:
            found.setdefault(columns[names[0].lower()], []).append(names[1:])
    return found
