"""A bounded sample of a source's rows: the first rows of some of its objects, in log order, column by column."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyarrow import orc, parquet

from tidemark.config.formats import FORMATS
from tidemark.proposal.columns.names import named, writable
from tidemark.proposal.columns.types import Inferred, arrow_type, cell_type, json_type, wider
from tidemark.proposal.detect import json_rows, lines_of, text_of
from tidemark.proposal.dialect import Dialect, dialect_of, header_of, null_word, padded
from tidemark.proposal.nested_rows import documents_of, wrapped
from tidemark.proposal.objects import MOST_BYTES, MOST_ROWS, ListedObject, sample_newest
from tidemark.storage import seen

_FEWEST = 50
Values = list[object]


class JsonText(str):
    """Text of a JSON value other than a string."""

    __slots__ = ()


@dataclass
class RowSample:
    """Rows of a sample.

    `values` has, for each column, one value for each row; `of` has, for each row, the index of its object in
    `objects`. `types`: the columns' types as Spark DDL. `native` columns hold microseconds. `left_out`: columns that
    no schema can hold, with the reason. `unread`: number of lines that are not rows.
    """

    format: str
    objects: Sequence[ListedObject]
    of: list[int] = field(default_factory=list)
    values: dict[str, Values] = field(default_factory=dict)
    types: dict[str, Inferred] = field(default_factory=dict)
    native: set[str] = field(default_factory=set)
    zoneless: set[str] = field(default_factory=set)
    """Native columns whose files name no zone."""
    options: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    """Names in the files of columns that are named differently here."""
    path: str | None = None
    """Path of the rows in JSON documents."""
    notes: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    cut: dict[str, int] = field(default_factory=dict)
    """Numbers of times with nanoseconds, by native column."""
    nulled: int = 0
    """Number of rows with a word that is taken for null."""
    unread: int = 0
    whole: bool = True
    """True if every row of every sampled object is in the sample."""

    @property
    def rows(self) -> int:
        return len(self.of)


def sample(kind: str, objects: Sequence[ListedObject], *, documents: bool = False) -> RowSample:
    """Sample objects of one format, which are in log order. `documents`: rows are within JSON documents."""
    chosen = sample_newest([item for item in objects if item.size])
    found = RowSample(kind, chosen)
    share = max(MOST_ROWS // max(len(chosen), 1), _FEWEST)
    form = FORMATS[kind]
    if not form.text:
        _columnar(found, share)
    else:
        texts = [text_lines(item, MOST_BYTES // max(len(chosen), 1)) for item in chosen]
        found.whole = all(whole and len(lines) <= share for lines, whole in texts)
        if form.by_position:
            _csv(found, [lines[:share] for lines, _ in texts])
        else:
            _json(found, [lines for lines, _ in texts], share, documents)
    if not form.by_position:
        _hold_names(found)
    return found


def text_lines(item: ListedObject, most: int) -> tuple[list[str], bool]:
    """Return the first lines of an object, at most `most` bytes, and whether these are all; [] if it is no text."""
    try:
        text, whole = text_of(item, most)
    except (OSError, EOFError, zlib.error, UnicodeDecodeError):
        return [], False
    return lines_of(text), whole


def _json(found: RowSample, texts: Sequence[list[str]], share: int, within: bool) -> None:
    rows: list[dict[str, object]] = []
    spans = within or _spans(next((lines for lines in texts if lines), []))
    for number, lines in enumerate(texts):
        documents = documents_of("\n".join(lines)) if spans else None
        read = json_rows(lines[:share]) if documents is None else documents.rows[:share]
        if documents is not None:
            found.path = found.path or documents.path
            found.options = {} if found.path else {"multiLine": "true"}
        there = [row for row in read if row is not None]
        found.unread += len(read) - len(there)
        found.of += [number] * len(there)
        rows += there
    for name in dict.fromkeys(key for row in rows for key in row):
        values = [row.get(name) for row in rows]
        found.types[name] = json_type(values)
        found.values[name] = list(map(_as_text, values)) if found.types[name].type == "STRING" else values


def _spans(lines: list[str]) -> bool:
    """True if rows are not on separate lines."""
    read = json_rows(lines[:100])
    there = [row for row in read if row is not None]
    return not there or len(there) * 2 < len(read) or wrapped(read)


def _as_text(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else JsonText(json.dumps(value))


def _csv(found: RowSample, texts: Sequence[list[str]]) -> None:
    dialect, width = _dialect(texts)
    files = [dialect.rows(lines) for lines in texts]
    good = [[row for row in rows if row is not None and len(row) == width] for rows in files]
    header = header_of(good)
    found.unread = sum(map(len, files)) - sum(map(len, good))
    found.options = dialect.options()
    if header.names:
        good = [rows[1:] for rows in good]
        found.options["header"] = "true"
    if not header.sure:
        taken = "as names" if header.names else "as a row"
        found.notes.append(f"All values are text, so the first line is taken {taken}: correct `header` if it is not.")
    found.of = [number for number, rows in enumerate(good) for _ in rows]
    rows = [row for each in good for row in each]
    if padded(rows):
        rows = [[cell.strip() for cell in row] for row in rows]
        found.options |= {"ignoreLeadingWhiteSpace": "true", "ignoreTrailingWhiteSpace": "true"}
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(width)]
    null = null_word(columns)
    if null:
        found.options["nullValue"] = null
        found.nulled = sum(null in row for row in rows)
    names = _header_held(found, header.names) or [f"c{nth}" for nth in range(1, width + 1)]
    for name, column in zip(names, columns, strict=True):
        found.values[name] = [None if cell == null else cell for cell in column]
        kind = cell_type(None if cell == null else cell for cell in column)
        found.types[name] = kind
        found.values[name] = [_number(cell, kind.type) for cell in found.values[name]]


def _header_held(found: RowSample, header: Sequence[str]) -> list[str]:
    """Return the column names of a header. A run compares headers with the schema; so if no schema can hold the
    names, the header is read as a row."""
    names = named(header)
    wrong = [each for each in names if each.reason]
    different = len({each.written.lower() for each in names}) == len(names)
    if wrong and different and all(map(writable, header)):
        found.names = {each.written: each.name for each in wrong}
    elif wrong:
        changed = ", ".join(f"{each.written!r} is called {each.name} ({each.reason})" for each in wrong)
        found.notes.append(
            f"{changed}. A header must have the names of the schema, so this one is read as a row: one quarantined"
            " row a file. Have it written with these names, and set header to true."
        )
        del found.options["header"]
    return [each.name for each in names]


def _hold_names(found: RowSample) -> None:
    """Rename columns if no schema can hold their names in the files; leave them out if the format has no setting for
    new names."""
    for each in named(list(found.values)):
        if each.reason and FORMATS[found.format].renamed and writable(each.written):
            found.names[each.written] = each.name
            found.values = {each.name if name == each.written else name: v for name, v in found.values.items()}
            found.types = {each.name if name == each.written else name: t for name, t in found.types.items()}
        elif each.reason:
            del found.values[each.written], found.types[each.written]
            found.left_out[each.written] = f"{each.reason}: have it written as {each.name} to keep it"


def _dialect(texts: Sequence[list[str]]) -> tuple[Dialect, int]:
    lines = [line for lines in texts for line in lines[:100]]
    return dialect_of(lines, one_column=True) or (Dialect(), 1)


def _number(cell: object, kind: str) -> object:
    if isinstance(cell, str) and kind in ("BIGINT", "DOUBLE"):
        return int(cell) if kind == "BIGINT" else float(cell)
    return cell


def _columnar(found: RowSample, share: int) -> None:
    tables = []
    for number, item in enumerate(found.objects):
        try:
            table, whole = _HEADS[found.format](item, share)
        except (OSError, pa.ArrowException):
            found.notes.append(f"{item.uri} cannot be read")
            found.whole = False
            continue
        found.whole = found.whole and whole
        found.of += [number] * len(table)
        tables.append(table)
    schemas: dict[str, list[pa.DataType]] = {}
    for table in tables:
        for each in table.schema:
            schemas.setdefault(each.name, []).append(each.type)
    for name, kinds in schemas.items():
        _column(found, name, kinds, tables)


def _head_of_parquet(item: ListedObject, share: int) -> tuple[pa.Table, bool]:
    """Return the first rows of a Parquet object, and whether they are all."""
    file = parquet.ParquetFile(seen(item.path))
    batches: Iterator[Any] = file.iter_batches(batch_size=share)
    table = pa.Table.from_batches([batch for batch in (next(batches, None),) if batch], file.schema_arrow)
    return table, len(table) == file.metadata.num_rows


def _head_of_orc(item: ListedObject, share: int) -> tuple[pa.Table, bool]:
    """Return the first rows of an ORC object, and whether they are all."""
    stripes = orc.ORCFile(seen(item.path))
    parts = [stripes.read_stripe(0)] if stripes.nstripes else []
    table = pa.Table.from_batches(parts, stripes.schema)[:share]
    return table, len(table) == stripes.nrows


_HEADS = {"parquet": _head_of_parquet, "orc": _head_of_orc}
"""By format, the function that reads the first rows of an object that is no text."""


def _column(found: RowSample, name: str, kinds: Sequence[pa.DataType], tables: Sequence[pa.Table]) -> None:
    types = [arrow_type(kind) for kind in kinds if not pa.types.is_null(kind)] or ["STRING"]
    merged = types[0]
    for other in types[1:]:
        merged = None if merged is None or other is None else wider(merged, other)
    if merged is None:
        written = ", ".join(dict.fromkeys(map(str, kinds)))
        found.left_out[name] = f"it is {written} in the files, which no type of a schema reads"
        return
    if any(isinstance(kind, pa.TimestampType) and kind.tz is None for kind in kinds):
        found.zoneless.add(name)
    found.types[name] = Inferred(merged)
    values: Values = []
    for table in tables:
        values += _values(table, name, merged)
    found.values[name] = values
    if merged == "TIMESTAMP":
        found.native.add(name)
        found.cut[name] = sum(_nanoseconds(table, name) for table in tables)


def _nanoseconds(table: pa.Table, name: str) -> int:
    """Count the times that do not fit whole microseconds."""
    kind = table.schema.field(name).type if name in table.schema.names else None
    if not isinstance(kind, pa.TimestampType) or kind.unit != "ns":
        return 0
    return sum(value is not None and value % 1000 != 0 for value in table[name].cast(pa.int64()).to_pylist())


def _values(table: pa.Table, name: str, kind: str) -> Values:
    if name not in table.schema.names:
        return [None] * len(table)
    column = table[name]
    if kind == "TIMESTAMP" and pa.types.is_timestamp(column.type):
        zone = column.type.tz
        return list(column.cast(pa.timestamp("us", zone), safe=False).cast(pa.int64()).to_pylist())
    if kind == "DATE":
        return [None if value is None else value.isoformat() for value in column.to_pylist()]
    return list(column.to_pylist())


def at_path(sample_: RowSample, path: Sequence[str]) -> Values:
    """Return the values of a column, or of a member within it."""
    values = sample_.values[path[0]]
    for name in path[1:]:
        values = [value.get(name) if isinstance(value, Mapping) else None for value in values]
    return values
