"""Differences in form: formats, headers, columns, types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tidemark.config.models.sources import SourceSpec
from tidemark.config.types import Column, Type, parse_type, quoted
from tidemark.proposal.drift.findings import Drift
from tidemark.proposal.drift.rows import LandedRows
from tidemark.proposal.drift.values import holds, read_as
from tidemark.proposal.objects import ListedObject
from tidemark.proposal.samples import RowSample

_LONGEST = 40


def schema_drifts(spec: SourceSpec, found: LandedRows) -> Iterator[Drift]:
    """Yield the differences of sampled rows from the schema and from the settings on how rows are read."""
    yield from _formats(spec, found)
    yield from _headers(spec, found.headers)
    yield from _path(spec, found)
    if found.sample.unread:
        message = f"{found.sample.unread:,} lines are no rows"
        yield Drift("row", "format", message, found.sample.unread, "quarantined")
    yield from _new(spec, found)
    for column in _columns(spec):
        yield from _column(spec, column, found)


def unreadable_rows(spec: SourceSpec, found: LandedRows) -> set[int]:
    """Return the rows with a value that does not fit the type of its column."""
    return {number for column in _columns(spec) for number in _misfits(spec, column, found)}


def _formats(spec: SourceSpec, found: LandedRows) -> Iterator[Drift]:
    if found.others:
        item, seen = found.others[-1]
        message = (
            f"{len(found.others):,} of the newest objects are not {spec.format}, such as {item.uri}: {seen.what}"
        )
        yield Drift("format", "format", message, effect="quarantined", proposed=seen.format or None)


def _headers(spec: SourceSpec, objects: Sequence[ListedObject]) -> Iterator[Drift]:
    if objects:
        names = ", ".join(spec.names_in_files.values())
        message = f"the header of {len(objects):,} of the newest objects, such as {objects[-1].uri}, is not {names}"
        yield Drift("header", "schema", message, effect="quarantined")


def _path(spec: SourceSpec, found: LandedRows) -> Iterator[Drift]:
    """Yield the path of rows in JSON documents, if it differs from the setting."""
    path = found.sample.path
    whole = path == "[]" and spec.spans_lines and spec.rows is None
    if path != spec.rows and not whole and found.sample.rows and spec.file_format.documents:
        there = path or "the documents themselves"
        yield Drift("rows", "rows", f"rows are {there}", found.sample.rows, "quarantined", proposed=path)


def _new(spec: SourceSpec, found: LandedRows) -> Iterator[Drift]:
    where = f"kept in {spec.rescue}" if spec.rescue else "not read"
    columns = [(name, kind.type, f"{quoted(name)} {kind.type}") for name, kind in found.new.items()]
    members = (each for column in _columns(spec) for each in _new_members(column, found.sample))
    for name, kind, proposed in [*columns, *((name, kind, f"{name}: {kind}") for name, kind in members)]:
        message = f"{name} is new, of type {kind}: {where} until the schema has it"
        yield Drift("new", "schema", message, effect="unread", column=name, proposed=proposed)


def _new_members(column: Column, taken: RowSample) -> Iterator[tuple[str, str]]:
    """Yield path and type of members within a column that the column's type lacks."""
    found = taken.types.get(column.name)
    if found is not None:
        yield from _members_beyond(quoted(column.name), parse_type(column.type), parse_type(found.type))


def _members_beyond(path: str, declared: Type, found: Type) -> Iterator[tuple[str, str]]:
    if declared.element is not None and found.element is not None and (declared.key is None) == (found.key is None):
        yield from _members_beyond(f"{path}[]", declared.element, found.element)
    known = {member.name: member.type for member in declared.fields}
    for member in found.fields if known else ():
        name = f"{path}.{quoted(member.name)}"
        if member.name not in known:
            yield name, member.type
        else:
            yield from _members_beyond(name, parse_type(known[member.name]), parse_type(member.type))


def _columns(spec: SourceSpec) -> Iterator[Column]:
    return (column for column in spec.columns if not spec.rescues(column.name))


def _column(spec: SourceSpec, column: Column, found: LandedRows) -> Iterator[Drift]:
    taken = found.sample
    if not taken.rows:
        return
    if column.name in taken.left_out:
        message = f"{column.name}: {taken.left_out[column.name]}"
        yield Drift("type", "schema", message, taken.rows, "quarantined", column.name)
    elif column.name not in taken.values:
        yield Drift("missing", "schema", f"{column.name} is in no sampled row", taken.rows, "none", column.name)
    elif wrong := _misfits(spec, column, found):
        value = str(taken.values[column.name][wrong[0]])
        shown = value if len(value) <= _LONGEST else f"{value[:_LONGEST]}..."
        message = f"{column.name} is {column.type} in the schema, and holds such as {shown}"
        kind = taken.types[column.name].type if column.name in taken.types else None
        proposed = None if kind is None else f"{quoted(column.name)} {kind}"
        yield Drift("type", "schema", message, len(wrong), "quarantined", column.name, proposed)


def _misfits(spec: SourceSpec, column: Column, found: LandedRows) -> list[int]:
    """Return the rows with a value of this column that does not fit its type."""
    values = found.sample.values.get(column.name, [])
    if not spec.file_format.text:
        fits = column.name not in found.sample.types or read_as(found.sample.types[column.name].type, column.type)
        return [] if fits else [number for number, value in enumerate(values) if value is not None]
    kind, forms = parse_type(column.type), any(name.lower().endswith("format") for name in spec.options)
    return [
        number
        for number, value in enumerate(values)
        if not holds(kind, value, cells=spec.file_format.by_position, forms=forms)
    ]
