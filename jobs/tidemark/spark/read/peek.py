"""Looks at an object's first line or footer before the object is read.

The driver reads a few hundred bytes of each object. They show what Spark would convert silently, or could not read
although it can be read.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from io import StringIO

import pyarrow as pa
from pyarrow import orc, parquet

from tidemark.config import SourceSpec
from tidemark.config.address import is_s3
from tidemark.core.batch import LandedObject
from tidemark.spark.read import codecs
from tidemark.spark.read.file_types import differences, taken_for_others, types_of
from tidemark.storage import at_once, seen

_SHOWN = 300
_COLUMNAR = ("parquet", "orc")
MOST_WHOLE = 512 << 20
"""Most bytes of an object that is read whole."""


@dataclass(frozen=True)
class Sight:
    """Findings that decide if and how an object is read.

    `refusal` is the reason why it cannot be read, or None. `nulls` are columns (in lower case) of a type that holds
    nothing but null, `nanos` columns with times in nanoseconds, `beyond` columns of the file that the schema lacks,
    which decide nothing.
    """

    refusal: str | None = None
    nulls: frozenset[str] = frozenset()
    nanos: frozenset[str] = frozenset()
    beyond: tuple[str, ...] = field(default=(), compare=False)


def look_at(source: SourceSpec, objects: Iterable[LandedObject]) -> dict[str, Sight]:
    """`Sight` of each object by URI; a plain one if it cannot be looked at: reading it will raise the error."""
    items = list(objects)
    sights = at_once(lambda item: _look(source, item), items, s3_too=is_s3(source.landing))
    return {item.uri: sight for item, sight in zip(items, sights, strict=True)}


def _look(source: SourceSpec, item: LandedObject) -> Sight:
    columnar = source.format in _COLUMNAR
    refused = _empty(item) if columnar else codecs.refusal(item, exact=source.exact)
    refused = refused or (_too_large(source, item) if source.spans_lines else None)
    if refused is not None:
        return Sight(refused)
    if source.format == "csv" and source.options.get("header", "").lower() == "true":
        return Sight(_header_finding(source, item))
    if not columnar:
        return Sight()
    try:
        return _parquet_sight(source, item) if source.format == "parquet" else _orc_sight(source, item)
    except (OSError, pa.ArrowException):
        return Sight()


def _empty(item: LandedObject) -> str | None:
    return codecs.EMPTY if item.size == 0 else None


def _too_large(source: SourceSpec, item: LandedObject) -> str | None:
    """Reason why an object cannot be read whole by one task; None if it can."""
    if item.size <= MOST_WHOLE:
        return None
    lines = f"jq -c '.{source.rows or ''}' {item.uri}" if source.format == "json" else "no line ends in values"
    return f"it is larger than {MOST_WHOLE >> 20} MiB, too large to be read whole: write lines ({lines})"


def _orc_sight(source: SourceSpec, item: LandedObject) -> Sight:
    """`Sight` of an ORC file, refused if types do not fit: Spark would convert values, to null if it cannot."""
    written = orc.ORCFile(seen(item.path, (item.size, item.tag))).schema
    types = types_of(written)
    if all(name.startswith("_col") for name in types):
        types = dict(zip((column.name.lower() for column in source.columns), types.values(), strict=False))
        return Sight("; ".join(differences(source.columns, types))[:_SHOWN] or None)
    return Sight("; ".join(differences(source.columns, types))[:_SHOWN] or None, beyond=_beyond(source, written))


def _parquet_sight(source: SourceSpec, item: LandedObject) -> Sight:
    """`Sight` of a Parquet file. Spark has no type for nanoseconds or for columns without values; pandas writes
    both."""
    written = parquet.read_metadata(seen(item.path, (item.size, item.tag))).schema
    schema = written.to_arrow_schema()
    types = types_of(schema)
    old = {
        column.path.lower() for column in map(written.column, range(len(written))) if column.physical_type == "INT96"
    }
    times = {column.name.lower() for column in source.columns if column.type.startswith("TIMESTAMP")}
    nanos = {name for name in times & types.keys() - old if str(types[name]).startswith("timestamp[ns")}
    nulls = {column.name.lower() for column in source.columns} & {
        name for name in types if pa.types.is_null(types[name])
    }
    wrong = taken_for_others(source.columns, types) if source.exact else []
    refusal = "; ".join(wrong)[:_SHOWN] or None
    return Sight(refusal, frozenset(nulls), frozenset(nanos), _beyond(source, schema))


def _beyond(source: SourceSpec, schema: pa.Schema) -> tuple[str, ...]:
    """Columns of a file that the schema lacks."""
    known = {column.name.lower() for column in source.columns}
    return tuple(name for name in schema.names if name.lower() not in known)


def _header_finding(source: SourceSpec, item: LandedObject) -> str | None:
    """Reason why the header does not fit the schema's columns in their order; None if it fits or cannot be read."""
    options = {key.lower(): value for key, value in source.options.items()}
    try:
        start = _first_line(item, options.get("comment", ""), source.spans_lines)
    except codecs.DAMAGED:
        return None
    if start is None:
        return None
    found = [name.strip() for name in _values(start, options)]
    wanted = list(source.names_in_files.values())
    if [name.lower() for name in found] == [name.strip().lower() for name in wanted]:
        return None
    named = "the schema and header_columns" if source.header_columns else "the schema"
    return f"its header names the columns {_list(found)}, {named} {_list(wanted)}"


def _first_line(item: LandedObject, comment: str, spans: bool) -> str | None:
    """First line that is neither a comment nor blank; with all lines after it if names may span lines."""
    with closing(codecs.pieces(item)) as pieces:
        start = next(pieces, b"")
    lines = start.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for number, line in enumerate(lines):
        if line.strip() and not (comment and line.startswith(comment)):
            return "\n".join(lines[number:]) if spans else line
    return None


def _values(text: str, options: Mapping[str, str]) -> list[str]:
    sep, mark = options.get("sep", options.get("delimiter", ",")), options.get("quote", '"')
    first = text.partition("\n")[0]
    if len(sep) > 1 or not mark or mark not in first:
        return first.split(sep)
    escape = options.get("escape", "\\")
    lines = StringIO(text)
    reader = csv.reader(lines, delimiter=sep, quotechar=mark, escapechar=escape if escape != mark else None)
    try:
        return next(reader)
    except csv.Error:
        return [first]


def _list(names: list[str]) -> str:
    text = ", ".join(names)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
