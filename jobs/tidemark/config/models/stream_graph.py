"""The graph of a pipeline's streams: what each reads, and the columns that reach it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from tidemark.config.models.group_by import GroupColumn
from tidemark.config.models.pipeline import PipelineSpec
from tidemark.config.models.sources import SourceSpec
from tidemark.config.models.streams import StreamSpec
from tidemark.config.sql.expressions import plain_type
from tidemark.config.sql.join_sides import Sides
from tidemark.config.sql.row import KnownColumn, ReadableColumns
from tidemark.config.types import parse_type


@dataclass(frozen=True)
class StreamColumn:
    """A payload column of a stream; its type is None if only Spark will know it."""

    name: str
    type: str | None


Columns = tuple[StreamColumn, ...]

INDEX = "_index"
"""Column of the number of an element in its array, from 0."""
ROW_COLUMNS = (
    *(StreamColumn(name, "TIMESTAMP") for name in ("_system_timestamp", "_event_time", "_arrival_time", "_end_time")),
    *(StreamColumn(name, "STRING") for name in ("_partition", "_substream")),
    *(StreamColumn(name, "TIMESTAMP") for name in ("_window_start", "_window_end")),
)
"""Columns that expressions of a stream may read beside the payload."""


def in_order(streams: Mapping[str, StreamSpec]) -> tuple[str, ...]:
    """Streams in an order in which each follows those it reads; otherwise the file's order.

    Raises ValueError that shows a cycle, `a -> b -> a`, in which each name reads the next.
    """
    order, cycles = walked(streams)
    if cycles:
        raise ValueError(" -> ".join(cycles[0]))
    return order


def walked(streams: Mapping[str, StreamSpec]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """All streams in order, as far as possible, and the cycles that prevent it."""
    done: dict[str, None] = {}
    cycles: list[tuple[str, ...]] = []
    for first in streams:
        path = {} if first in done else {first: iter(streams[first].inputs)}
        while path:
            name, rest = next(reversed(path.items()))
            following = next((each for each in rest if each in streams and each not in done), None)
            if following is None:
                path.popitem()
                done[name] = None
            elif following in path:
                names = list(path)
                cycles.append((*names[names.index(following) :], following))
            else:
                path[following] = iter(streams[following].inputs)
    return tuple(done), list(dict.fromkeys(cycles))


def sources_below(streams: Mapping[str, StreamSpec], name: str) -> tuple[str, ...]:
    """Sources that a stream or source is made of, in order, without repetition."""
    return tuple(each for each in _from(streams, name) if each not in streams)


def streams_below(streams: Mapping[str, StreamSpec], name: str) -> tuple[str, ...]:
    """Streams that a stream is made of, in order, without repetition."""
    return tuple(each for each in _from(streams, name) if each in streams and each != name)


def _from(streams: Mapping[str, StreamSpec], name: str) -> Iterable[str]:
    """A stream or source and all that lie below it, in order, without repetition."""
    found: dict[str, None] = {}
    ahead = [name]
    while ahead:
        here = ahead.pop()
        if here not in found:
            found[here] = None
            ahead += reversed(streams[here].inputs if here in streams else ())
    return found


def has_pairs(streams: Mapping[str, StreamSpec], name: str) -> bool:
    """True if pairs of a join, rows with values of the rows before them, or rows that end with the next one, reach a
    step, or the end of it, by a way without windows."""
    below = [streams[each] for each in streams[name].inputs if each in streams]
    return streams[name].until_next is not None or any(
        step.join or step.preceding or (not step.windowed and has_pairs(streams, step.name)) for step in below
    )


def has_open_ends(streams: Mapping[str, StreamSpec], name: str) -> bool:
    """True if rows whose end a later row gives (gaps of a join, rows that end with the next one) are in a stream:
    made there or below, by a way without windows."""
    step = streams[name]
    below = [streams[each] for each in step.inputs if each in streams]
    own = step.gapped or step.until_next is not None
    return own or any(not each.windowed and has_open_ends(streams, each.name) for each in below)


def later_ends(streams: Mapping[str, StreamSpec], sources: Mapping[str, SourceSpec]) -> set[str]:
    """Sources and streams with rows whose end a later row gives: an end edge, a pair after a gap, or the next row."""
    found = {name for name, source in sources.items() if source.lifetimes.edges}
    for name in walked(streams)[0]:
        step = streams[name]
        own = step.gapped or step.until_next is not None
        kept = not step.windowed and step.lasts is None and step.until is None
        if own or (kept and not found.isdisjoint(step.inputs)):
            found.add(name)
    return found


def sees_later_ends(spec: PipelineSpec, step: StreamSpec) -> bool:
    """True if the rows that a step's aggregates see may have an end that a later row gives."""
    return step.lasts is None and not later_ends(spec.streams, spec.sources).isdisjoint(step.inputs)


def has_windows(streams: Mapping[str, StreamSpec], name: str) -> bool:
    """True if rows of windows reach a step."""
    below = [streams[each] for each in streams[name].inputs if each in streams]
    return any(step.windowed or has_windows(streams, step.name) for step in below)


def unbounded(streams: Mapping[str, StreamSpec], name: str) -> bool:
    """True if rows of a stream, or of one below it, may have any end that an expression or the next row gives."""
    steps = [streams[each] for each in _from(streams, name) if each in streams]
    return any(step.own_ends is not None and step.own_ends.at_most is None for step in steps)


def has_long_sessions(streams: Mapping[str, StreamSpec], name: str) -> bool:
    """True if sessions of a stream, or of one below it, may last for ever."""
    steps = [streams[each] for each in _from(streams, name) if each in streams]
    return any(step.session is not None and step.session.max_duration is None for step in steps)


def columns_of(spec: PipelineSpec, name: str) -> Columns | None:
    """The payload columns of a source or stream; None if its inputs do not lead to sources."""
    sources = {each: source.columns for each, source in spec.sources.items()}
    return all_columns(spec.streams, sources).get(name)


def all_columns(
    streams: Mapping[str, StreamSpec], sources: Mapping[str, Iterable[KnownColumn] | None]
) -> dict[str, Columns | None]:
    """The payload columns of every source and stream; None where they cannot be known."""
    known: dict[str, Columns | None] = {
        name: None if columns is None else tuple(StreamColumn(each.name, each.type) for each in columns)
        for name, columns in sources.items()
    }
    for name in walked(streams)[0]:
        if streams[name].join:
            known[name] = _paired(streams[name], known)
            continue
        before = united(streams[name], known)
        known[name] = None if before is None else _after(streams[name], before)
    return known


def united(stream: StreamSpec, known: Mapping[str, Columns | None]) -> Columns | None:
    """The payload columns that a stream's expressions read, from the `known` ones of its inputs; None if those of an
    input are unknown.

    Names are those of the first input. A column has a type if all inputs agree on it. With `unnest` the array's
    column holds an element; `preceding` adds the columns that it selects.
    """
    inputs = [columns for each in stream.inputs if (columns := known.get(each)) is not None]
    if not inputs or len(inputs) < len(stream.inputs):
        return None
    types = [{column.name.lower(): column.type for column in columns} for columns in inputs]
    found = tuple(
        StreamColumn(name, kind if all(each.get(name.lower()) == kind for each in types) else None)
        for name, kind in ((column.name, column.type) for column in inputs[0])
    )
    if stream.preceding is not None:
        return (*found, *(StreamColumn(name, None) for name in stream.preceding.select))
    return found if stream.unnest is None else _unnested(stream.unnest, found)


def _unnested(name: str, columns: Columns) -> Columns:
    """The columns with those that unnesting one of them gives."""
    array = ReadableColumns(columns).find(name)
    kind = None if array is None or array.type is None else parse_type(array.type).element
    element = StreamColumn(name, kind.text if kind else None)
    kept = [replace(element, name=each.name) if each is array else each for each in columns]
    return (*kept, StreamColumn(INDEX, "BIGINT"))


def sides_of(stream: StreamSpec, known: Mapping[str, Columns | None], *, selecting: bool = False) -> Sides:
    """Columns that the expressions of a join may read, from the `known` columns of its inputs; those of `select` if
    `selecting`."""

    def side(name: str) -> ReadableColumns:
        columns = known.get(name)
        return ReadableColumns(None if columns is None else (*columns, *ROW_COLUMNS), repr(name))

    left_alone = selecting and stream.how == "anti"
    names, without = (stream.join[:1], stream.join[1:]) if left_alone else (stream.join, ())
    return Sides(None, sides={name: side(name) for name in names}, without=without)


def _paired(stream: StreamSpec, known: Mapping[str, Columns | None]) -> Columns | None:
    if any(known.get(name) is None for name in stream.join):
        return None
    return _selected(stream, sides_of(stream, known))


def _after(stream: StreamSpec, before: Columns) -> Columns:
    if not stream.select and not stream.windowed:
        left_out = {name.lower() for name in stream.except_}
        return tuple(column for column in before if column.name.lower() not in left_out)
    row = ReadableColumns((*before, *ROW_COLUMNS))
    groups = [column for each in stream.groups if (column := _group(each, before, row)) is not None]
    return (*groups, *_selected(stream, row))


def _group(group: GroupColumn, before: Columns, row: ReadableColumns) -> StreamColumn | None:
    """The column of a group; None if the payload has none of its name."""
    if group.text is not None:
        kind = plain_type(group.text, row)
        return StreamColumn(group.name, kind.text if kind else None)
    found = ReadableColumns(before).find(group.name)
    return None if found is None else StreamColumn(group.name, found.type)


def _selected(stream: StreamSpec, row: ReadableColumns) -> Columns:
    types = {name: plain_type(text, row) for name, text in stream.select.items()}
    return tuple(StreamColumn(name, plain.text if plain else None) for name, plain in types.items())
