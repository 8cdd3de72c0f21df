"""Rules for joins: their two streams, their columns, their sources.

As in `rules/sources.py`, each rule gives (key path, sentence) and is silent about keys that are wrong in themselves.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidemark.config.files.yaml import KeyFinding
from tidemark.config.models.stream_graph import ROW_COLUMNS, Columns
from tidemark.config.rules.streams import CheckedStreams, Stream, sources_of_rows
from tidemark.config.sql.row import ReadableColumns
from tidemark.config.types import parse_type
from tidemark.core.policy import Action


def join_errors(streams: CheckedStreams) -> Iterator[KeyFinding]:
    """Problems that make joins impossible, whatever their expressions are."""
    for name, stream in streams.streams.items():
        for path, message in _of_one(stream, streams):
            yield ("streams", name, *path), message


def _of_one(stream: Stream, streams: CheckedStreams) -> Iterator[KeyFinding]:
    if "join" not in stream.given:
        for key in ("on", "how"):
            if key in stream.given:
                yield (key,), "is for joins alone: name two streams in join: [a, b], or remove it"
        return
    if stream.sound("join"):
        yield from _two_sides(stream)
        yield from _nothing_behind(stream, streams)
        yield from _nothing_undone(stream, streams)
    yield from _required(stream)
    if stream.sound("join", "on") and len(stream.spec.join) == 2:
        yield from _equal_on(stream, streams)


def _two_sides(stream: Stream) -> Iterator[KeyFinding]:
    sides = stream.spec.join
    if len(sides) != 2:
        yield ("join",), f"pairs two streams, not {len(sides)}: join a third in a step over this one"
    elif sides[0] == sides[1]:
        yield (
            ("join",),
            f"cannot pair {sides[0]!r} with itself under one name: give one side a name by a stream of its own, such"
            f" as {sides[0]}_again: {{from: {sides[0]}}}",
        )


def _nothing_behind(stream: Stream, streams: CheckedStreams) -> Iterator[KeyFinding]:
    """Require that no row can arrive after the pairs at its time have been written."""
    for index, side in enumerate(stream.spec.join):
        for name in kept_below(side, streams):
            yield (
                ("join", index),
                f"{side!r} carries rows of the source {name!r}, which keeps what is out of order: such a row may"
                " come after its pairs were due; use drop or adjust there, or join windows over it",
            )


def kept_below(name: str, streams: CheckedStreams) -> Iterator[str]:
    """Sources that keep what is out of order, and whose own rows a stream or source carries."""
    below = streams.streams.get(name)
    if below is not None and (below.windowed or below.spec.join):
        return
    for each in sources_of_rows(streams, name):
        source = streams.sources.get(each)
        if source is not None and source.policy.out_of_order.action is Action.KEEP:
            yield each


def _nothing_undone(stream: Stream, streams: CheckedStreams) -> Iterator[KeyFinding]:
    """Require that no row which has ended a gap can turn out to be none."""
    if not stream.spec.gapped:
        return
    for name in (each for side in stream.spec.join[1:2] for each in sources_of_rows(streams, side, paired=True)):
        source = streams.sources.get(name)
        punctuated = None if source is None else source.punctuated
        if source is not None and source.lifetimes.edges and punctuated and punctuated.violations is Action.ADJUST:
            yield (
                ("how",),
                f"cannot be {stream.spec.how} with rows of the source {name!r} on the right, which adjusts"
                " violations: a start edge that was moved is no row if its lifetime ends there, after it has ended a"
                " gap; use violations: drop there, or how: inner",
            )


def _required(stream: Stream) -> Iterator[KeyFinding]:
    if not stream.spec.on and stream.sound("on"):
        yield (
            ("on",),
            "is missing: name the columns that are equal on both sides, such as on: [Toll]; to pair all rows that are"
            " alive together, select a constant under one name in both",
        )
    if not stream.spec.select and stream.sound("select"):
        yield (
            ("select",),
            "is missing: say what a pair has, such as select: {Toll: readings.Toll, cost: rates.Rate}",
        )


def _equal_on(stream: Stream, streams: CheckedStreams) -> Iterator[KeyFinding]:
    names = stream.spec.on
    for index, name in enumerate(names):
        path = ("on",) if len(names) == 1 else ("on", index)
        if name.lower() in [other.lower() for other in names[:index]]:
            yield path, f"{name!r} is there twice: remove one"
        elif name.lower() in {column.name for column in ROW_COLUMNS}:
            yield path, f"{name!r} is not of the payload: compare it in where, as in {_compared(stream, name)}"
        else:
            for message in _equal(name, stream.spec.join, streams):
                yield path, message


def _equal(name: str, sides: tuple[str, ...], streams: CheckedStreams) -> Iterator[str]:
    types: dict[str, str] = {}
    for side in sides:
        columns: Columns | None = streams.columns.get(side)
        row = ReadableColumns(columns, repr(side))
        column = row.find(name)
        if columns is not None and column is None:
            yield f"{row.findings([name])[0]}; select it there under this name"
        elif column is not None and column.type:
            types[side] = column.type
            if parse_type(column.type).nested:
                yield f"{name!r} is {column.type} in {side!r}, not one value: select a member of it, or to_json(...)"
                return
    if len(set(types.values())) > 1:
        one, other = (f"{kind} in {side!r}" for side, kind in types.items())
        yield f"{name!r} is {one} and {other}: cast it in a step of its own"


def _compared(stream: Stream, name: str) -> str:
    return " = ".join(f"{side}.{name}" for side in stream.spec.join)
