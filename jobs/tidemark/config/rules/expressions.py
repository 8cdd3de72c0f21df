"""Rules for the expressions of streams: `where`, `select`, `group_by` and the end of a `lifetime`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from tidemark.config.files.yaml import KeyFinding
from tidemark.config.models.stream_graph import ROW_COLUMNS, Columns, StreamColumn, sides_of
from tidemark.config.models.streams import StreamSpec
from tidemark.config.rules.streams import CheckedStreams, Stream
from tidemark.config.sql.expressions import expression_findings, plain_type, time_findings
from tidemark.config.sql.row import KnownColumn, ReadableColumns
from tidemark.config.types import SYSTEM_COLUMNS, doubled, parse_type, unstorable


def expression_errors(streams: CheckedStreams) -> Iterator[KeyFinding]:
    """Problems of the expressions of streams and of the names they are given."""
    for name, stream in streams.streams.items():
        before = None if stream.spec.join else streams.before(stream.spec)
        row = sides_of(stream.spec, streams.columns) if stream.spec.join else _row(before, stream.spec)
        found = (*_where(stream, row), *_except(stream, before), *_group_by(stream, before, row))
        row = sides_of(stream.spec, streams.columns, selecting=True) if stream.spec.join else row
        found = (*found, *_until(stream, row), *_select(stream, _with_groups(row, stream.spec)))
        for path, message in found:
            yield ("streams", name, *path), message


_ANY_WINDOW = "tumbling, hopping, session, sliding or snapshot"


def expression_warnings(streams: CheckedStreams) -> Iterator[KeyFinding]:
    """Warnings about expressions: aggregates that need sorted rows, and sums that may wrap."""
    windowed = {name: stream for name, stream in streams.streams.items() if stream.spec.windowed}
    if not windowed:
        return
    from tidemark.config.sql.aggregates import order_sensitive, wrapping  # slow to import

    for name, stream in windowed.items():
        columns = (*(streams.before(stream.spec) or ()), *ROW_COLUMNS)
        types = {column.name.lower(): column.type for column in columns}
        wrap = [column for column, text in stream.spec.select.items() if wrapping(text, types)]
        if wrap:
            more = f" ({len(wrap)} columns: {', '.join(wrap)})" if len(wrap) > 1 else ""
            yield (
                ("streams", name, "select", wrap[0]),
                f"a sum of BIGINT wraps beyond 9223372036854775807{more}: where that can be, sum cast(x AS"
                " DECIMAL(20, 0)), or try_sum, which gives null",
            )
        found = {column: order_sensitive(text, types) for column, text in stream.spec.select.items()}
        sensitive = [column for column, calls in found.items() if calls]
        if not sensitive:
            continue
        calls = " and ".join(f"{each}(...)" for each in dict.fromkeys(chain(*found.values())))
        more = f" ({len(sensitive)} columns: {', '.join(sensitive)})" if len(sensitive) > 1 else ""
        yield (
            ("streams", name, "select", sensitive[0]),
            f"{calls} may depend on the order of rows{more}: every window is sorted first, which costs more than"
            " count or min",
        )


def _row(before: Columns | None, stream: StreamSpec) -> ReadableColumns:
    columns: list[KnownColumn] | None = None if before is None else [*before, *ROW_COLUMNS]
    return ReadableColumns(columns, repr(stream.inputs[0]) if stream.inputs else "its input")


def _with_groups(row: ReadableColumns, stream: StreamSpec) -> ReadableColumns:
    """The columns that aggregates of a window may read."""
    if row.columns is None or not stream.computed_groups:
        return row
    return replace(row, columns=[*row.columns, *[StreamColumn(name, None) for name in stream.computed_groups]])


def _where(stream: Stream, row: ReadableColumns) -> Iterator[KeyFinding]:
    text = stream.spec.where
    if text is None or not stream.sound("where"):
        return
    findings = _of_one_row(text, row, "where", stream)
    plain = None if findings else plain_type(text, row)
    if plain is not None and plain.text != "BOOLEAN":
        findings = [f"{text!r} is {plain.text}, not true or false: compare it, as in {text} is not null"]
    for message in findings:
        yield ("where",), message


def _select(stream: Stream, row: ReadableColumns) -> Iterator[KeyFinding]:
    if not stream.sound("select"):
        return
    groups = {name.lower() for name in stream.spec.group_by}
    yield from ((("select", name), message) for name, message in doubled(stream.spec.select))
    for name, text in stream.spec.select.items():
        path = ("select", name)
        if name.lower() in groups and stream.windowed:
            yield path, f"{name!r} is in group_by, whose columns are there anyway: remove it, or name it otherwise"
        yield from ((path, message) for message in name_findings(name))
        if stream.sound("group_by", "partition_by"):
            yield from ((path, message) for message in _selected(stream, text, row))


def _until(stream: Stream, row: ReadableColumns) -> Iterator[KeyFinding]:
    until = stream.spec.until
    if until is None or not stream.sound("lifetime"):
        return
    found = _of_one_row(until.until, row, "lifetime", stream) or time_findings(until.until, row)
    yield from ((("lifetime", "until"), message) for message in found)


def _except(stream: Stream, before: Columns | None) -> Iterator[KeyFinding]:
    """Problems of `except`, which needs `select: "*"` beside it, and of a `*` in a window."""
    star = "select" in stream.given and stream.sound("select") and not stream.spec.select
    if star and stream.windowed:
        yield ("select",), "* is for rows: name what a window computes, such as select: {n: count(*)}"
    if "except" not in stream.given or not stream.sound("except", "select"):
        return
    if not star or stream.windowed or stream.spec.join:
        yield ("except",), 'is for select: "*", which keeps all other columns: write that, or remove it'
        return
    names, columns = stream.spec.except_, ReadableColumns(before, _row(before, stream.spec).of)
    for index, name in enumerate(names):
        if name.lower() in [other.lower() for other in names[:index]]:
            yield ("except", index), f"{name!r} is there twice: remove one"
        else:
            yield from ((("except", index), message) for message in columns.findings([name]))
    if before and {column.name.lower() for column in before} <= {name.lower() for name in names}:
        yield ("except",), "leaves no column: keep one"


def _selected(stream: Stream, text: str, row: ReadableColumns) -> list[str]:
    if not stream.windowed:
        return _of_one_row(text, row, "select", stream)
    from tidemark.config.sql.aggregates import aggregate_findings

    grouped = {*(name.lower() for name in stream.spec.group_by), "_window_start", "_window_end", *stream.spec.parts}
    return aggregate_findings(text, row, grouped)


def _of_one_row(text: str, row: ReadableColumns, key: str, stream: Stream) -> list[str]:
    if "(" in text:
        from tidemark.config.sql.aggregates import called

        names = sorted(called(text))
        if names and stream.windowed:
            return [f"{names[0]}() cannot be in {key}, which sees a row before it is in a window: use the next step"]
        if names:
            where = "in a step over this one" if stream.spec.join else "to this step"
            return [f"{names[0]}() needs a window: add {_ANY_WINDOW} {where}"]
    return expression_findings(text, row, constants=True)


def _group_by(stream: Stream, before: Columns | None, row: ReadableColumns) -> Iterator[KeyFinding]:
    if not stream.sound("group_by"):
        return
    names = stream.spec.group_by
    columns = ReadableColumns(before, _row(before, stream.spec).of)
    for index, (name, text) in enumerate((each.name, each.text) for each in stream.spec.groups):
        path = ("group_by",) if len(names) == 1 else ("group_by", index)
        column = columns.find(name)
        if name.lower() in [other.lower() for other in names[:index]]:
            yield path, f"{name!r} is there twice: remove one"
        elif text is not None:
            yield from ((path, message) for message in _computed(stream, name, text, columns, row))
        elif name.lower() in {each.name for each in ROW_COLUMNS}:
            yield path, f"{name!r} is not of the payload: windows have times and, with partition_by, their parts"
        elif before is not None and column is None:
            (message,) = columns.findings([name])
            yield path, f"{message}; an expression needs a name: group_by: [{{name: expression}}]"
        elif column is not None and column.type and any(part.key for part in parse_type(column.type).parts()):
            yield path, f"{name!r} is {column.type}: rows cannot be grouped by a MAP; select to_json(...) before"


def _computed(stream: Stream, name: str, text: str, columns: ReadableColumns, row: ReadableColumns) -> Iterator[str]:
    """Problems of an expression that rows are grouped by, and of the name of its column."""
    yield from name_findings(name)
    if columns.find(name) is not None:
        yield f"{name!r} is a column of {columns.of} already: name the expression otherwise"
    found = _of_one_row(text, row, "group_by", stream)
    yield from found
    kind = None if found else plain_type(text, row)
    if kind is not None and any(part.key for part in kind.parts()):
        yield f"{name!r} is {kind.text}: rows cannot be grouped by a MAP; write to_json({text})"


def name_findings(name: str) -> Iterator[str]:
    """Problems of the name that a column is given."""
    if name.lower() in SYSTEM_COLUMNS:
        yield f"{name!r} is the name of a column that tables have themselves: call it {name.strip('_')!r} or so"
    if not name:
        yield "a column must have a name"
    yield from unstorable(name)
