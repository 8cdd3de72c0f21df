"""Reads a sample of a source's newest objects by the source's own settings, column by column."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from tidemark.config.models.sources import SourceSpec
from tidemark.config.options import canonical
from tidemark.proposal.columns.types import Inferred, cell_type
from tidemark.proposal.detect import Look, look
from tidemark.proposal.dialect import Dialect
from tidemark.proposal.objects import MOST_BYTES, MOST_OBJECTS, MOST_ROWS, ListedObject
from tidemark.proposal.samples import RowSample, sample, text_lines

_SAMPLED = {
    "csv": {"header", "sep", "escape", "comment", "nullValue", "ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace",
            "dateFormat", "timestampFormat", "timestampNTZFormat"},
    "json": {"multiLine", "dateFormat", "timestampFormat", "timestampNTZFormat"},
}  # fmt: skip
"""Reader options by which rows are read here as Spark reads them, or that only say how times are written."""
_COMPRESSED = (".gzip", ".deflate", ".zst", ".zstd", ".bz2")
"""Endings of compressed text that a run reads and a sample does not."""
_UNLIKE = re.compile("damaged|compressed|named|no JSON|.*, no ")
"""Descriptions of objects without readable text."""


@dataclass
class LandedRows:
    """Rows of the newest objects: a sample with the column names of the schema, and findings.

    `others`: objects in another format than the source's, with their content. `new`: columns that the schema lacks,
    by their names in the files, with their types. `headers`: objects whose header differs from the schema. `unseen`:
    parts that were not examined, and why.
    """

    sample: RowSample
    others: list[tuple[ListedObject, Look]] = field(default_factory=list)
    new: dict[str, Inferred] = field(default_factory=dict)
    headers: list[ListedObject] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)


def landed_rows(spec: SourceSpec, objects: Sequence[ListedObject]) -> LandedRows:
    """Sample the newest of `objects`, which are in log order."""
    newest = [item for item in objects if item.size][-MOST_OBJECTS:]
    packed = [item for item in newest if item.uri.lower().endswith(_COMPRESSED) and spec.file_format.text]
    looked = [(item, look(item)) for item in newest if item not in packed]
    others = [(item, seen) for item, seen in looked if not _is_of(spec, seen)]
    found = LandedRows(RowSample(spec.format, []), others)
    if packed:
        found.unseen.append(f"{len(packed)} objects such as {packed[-1].uri}: of compressed text only .gz is sampled")
    options = sorted(canonical(spec.format, spec.options).keys() - _SAMPLED.get(spec.format, {"mergeSchema"}))
    if options:
        found.unseen.append(f"rows, which the options {', '.join(options)} may read otherwise than a sample does")
        return found
    if spec.rows is not None and "." in spec.rows:
        found.unseen.append(f"rows in {spec.rows}: a sample finds those of a document's own members")
        return found
    strange = {item for item, _ in others}
    alike = [item for item, _ in looked if item not in strange]
    if spec.file_format.by_position:
        _cells(spec, alike, found)
    elif alike:
        _members(spec, alike, found)
    return found


def _is_of(spec: SourceSpec, seen: Look) -> bool:
    """True if an object is in the source's format. Text of no known form may still be CSV."""
    if seen.format or seen.what == "empty":
        return seen.format in (spec.format, "")
    return spec.file_format.by_position and _UNLIKE.match(seen.what) is None


def _members(spec: SourceSpec, objects: Sequence[ListedObject], found: LandedRows) -> None:
    """Sample rows with named values."""
    taken = sample(spec.format, objects, documents=spec.rows is not None)
    written = {name: each for each, name in taken.names.items()}
    columns = {each: name for name, each in spec.names_in_files.items()}
    renamed = {name: columns.get(written.get(name, name)) for name in taken.values}
    found.new = {written.get(name, name): taken.types[name] for name, column in renamed.items() if column is None}
    kept = {name: column for name, column in renamed.items() if column is not None}
    found.sample = replace(
        taken,
        values={column: taken.values[name] for name, column in kept.items()},
        types={column: taken.types[name] for name, column in kept.items()},
        native={kept[name] for name in taken.native if name in kept},
    )


def _cells(spec: SourceSpec, objects: Sequence[ListedObject], found: LandedRows) -> None:
    """Sample rows of CSV, whose values are known by position."""
    options = canonical(spec.format, spec.options)
    dialect = Dialect(options.get("sep", ","), options.get("escape") == '"', options.get("comment", ""))
    headed, names = options.get("header", "").lower() == "true", list(spec.names_in_files.values())
    blanks = "ignoreLeadingWhiteSpace" in options or "ignoreTrailingWhiteSpace" in options
    null = options.get("nullValue", "")
    found.sample = RowSample(spec.format, objects, values={name: [] for name in spec.names_in_files})
    for number, item in enumerate(objects):
        lines, whole = text_lines(item, MOST_BYTES // len(objects))
        rows = dialect.rows(lines[: MOST_ROWS // len(objects) + headed])
        found.sample.whole &= whole and len(rows) == len(lines)
        if headed and rows:
            header, rows = rows[0] or [], rows[1:]
            if [name.strip().lower() for name in header] != [name.lower() for name in names]:
                found.headers.append(item)
                _new_columns(header, rows, names, found)
                continue
        good = [row for row in rows if row is not None and len(row) == len(names)]
        found.sample.unread += len(rows) - len(good)
        found.sample.of += [number] * len(good)
        for row in good:
            for column, cell in zip(found.sample.values.values(), row, strict=True):
                text = cell.strip() if blanks else cell
                column.append(None if text in ("", null) else text)


def _new_columns(
    header: Sequence[str], rows: Iterable[Sequence[str] | None], names: Sequence[str], found: LandedRows
) -> None:
    """Record the columns of a header that the schema lacks, with the type of their values."""
    known = {name.lower() for name in names}
    there = [row for row in rows if row is not None and len(row) == len(header)]
    for index, name in enumerate(header):
        if name.strip().lower() not in known:
            found.new[name.strip()] = cell_type(row[index] or None for row in there)
