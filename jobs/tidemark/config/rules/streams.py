"""Rules between streams and between the keys of one; warnings about settings that are legal but rarely meant.

As in `rules/sources.py`, each rule gives (key path, sentence) and is silent about keys that are wrong in themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from tidemark.config.files.messages import instead
from tidemark.config.files.yaml import KeyFinding, KeyPath
from tidemark.config.models.sources import SourceSpec
from tidemark.config.models.stream_graph import (
    INDEX,
    Columns,
    all_columns,
    has_pairs,
    has_windows,
    sources_below,
    united,
    walked,
)
from tidemark.config.models.streams import StreamSpec
from tidemark.config.rules.session_windows import session_warnings
from tidemark.config.rules.sources import Ruled
from tidemark.config.sql.row import KnownColumn, ReadableColumns
from tidemark.config.types import parse_type
from tidemark.core.policy import Action

OPERATORS = (
    "union", "join", "unnest", "preceding", "shift", "lifetime", "tumbling", "hopping", "session", "sliding",
    "snapshot",
)  # fmt: skip
WINDOWS = frozenset({"tumbling", "hopping", "session", "sliding", "snapshot"})
MOST_WINDOWS = 100_000
"""Most windows that one row may be in."""
_OF_WINDOWS = ("group_by", "allowed_lateness", "idle_timeout", "partition_by")


class Stream(Ruled[StreamSpec]):
    """One stream to be checked."""

    @property
    def windowed(self) -> bool:
        """True if a window was written, valid or not."""
        return not WINDOWS.isdisjoint(self.given)


@dataclass(frozen=True)
class CheckedStreams:
    """All streams of a pipeline, its sources, and the wrong keys of sources (of a source that could not be read: all
    keys)."""

    streams: Mapping[str, Stream]
    sources: Mapping[str, SourceSpec]
    bad: Mapping[str, frozenset[str] | set[str]]

    @cached_property
    def specs(self) -> dict[str, StreamSpec]:
        """The streams that do not have the name of a source."""
        taken = {*self.sources, *self.bad}
        return {name: stream.spec for name, stream in self.streams.items() if name not in taken}

    @cached_property
    def columns(self) -> dict[str, Columns | None]:
        """The payload columns of each source and stream; None if something on the way to them is wrong."""
        unsure = {name for name in self.specs if self.streams[name].bad & {*OPERATORS, *WINDOWS, *_SHAPING}}
        sources: dict[str, tuple[KnownColumn, ...] | None] = {
            name: None if "schema" in self.bad.get(name, ()) else source.columns
            for name, source in self.sources.items()
        }
        sound = {name: spec for name, spec in self.specs.items() if name not in unsure}
        return all_columns(sound, sources | dict.fromkeys(unsure))

    def before(self, stream: StreamSpec) -> Columns | None:
        """The payload columns that a stream reads."""
        return united(stream, self.columns)


_SHAPING = ("from", "select", "except", "group_by")


def structure_errors(streams: CheckedStreams) -> Iterator[KeyFinding]:
    """Problems that make streams impossible, whatever their expressions are."""
    for name, stream in streams.streams.items():
        for path, message in _stream_errors(name, stream, streams):
            yield ("streams", name, *path), message
    for cycle in walked(streams.specs)[1]:
        first = streams.specs[cycle[0]]
        key: KeyPath = ("from",) if first.from_ else ("union",) if first.union else ("join",)
        yield ("streams", cycle[0], *key), f"{' -> '.join(cycle)} is a circle: a stream cannot be made of itself"


def structure_warnings(streams: CheckedStreams) -> Iterator[KeyFinding]:
    """Warnings about settings of streams that are legal but rarely meant."""
    for name, stream in streams.streams.items():
        spec = stream.spec
        rows = sources_of_rows(streams, name)
        kept = any(streams.sources[each].policy.out_of_order.action is Action.KEEP for each in rows)
        if spec.allowed_lateness and not kept and spec.idle_timeout is None:
            yield (
                ("streams", name, "allowed_lateness"),
                "has no effect but that windows close later: no row can be late for a window, since no source of"
                " its rows has out_of_order with action keep, and the step has no idle_timeout",
            )
        if spec.own_ends is not None and spec.own_ends.at_most is None:
            yield (
                ("streams", name, "lifetime"),
                "has no at_most: a row may live for ever, so every run and every backfill reads all rows from the"
                " first one on; add the longest that a row can live, such as at_most: 30d",
            )
        for path, message in (*session_warnings(stream, kept), *_idle_warnings(name, stream, streams)):
            yield ("streams", name, *path), message


def _idle_warnings(name: str, stream: Stream, streams: CheckedStreams) -> Iterator[KeyFinding]:
    below = stream.sound("from", "union") and (has_windows(streams.specs, name) or has_pairs(streams.specs, name))
    if stream.spec.idle_timeout is not None and below:
        yield (
            ("idle_timeout",),
            "time alone may close these windows before the windows or pairs below have come: those are then in no"
            " window, and in no dead letters, which are for rows of sources; give idle_timeout to the step below",
        )


def _stream_errors(name: str, stream: Stream, streams: CheckedStreams) -> Iterator[KeyFinding]:
    if name in streams.sources or name in streams.bad:
        yield (), f"{name!r} is the name of a source: name the stream otherwise"
    yield from _one_input(stream)
    yield from _known_inputs(name, stream, streams)
    yield from _equal_columns(stream, streams)
    yield from _one_operator(stream)
    yield from _unnest(stream, streams)
    yield from _keys_of_windows(stream)
    yield from _few_windows(stream)
    if stream.spec.partition_by and stream.sound("from", "union", "partition_by"):
        for message in _partitioned(stream, streams):
            yield ("partition_by",), message


def _one_input(stream: Stream) -> Iterator[KeyFinding]:
    if {"from", "union"} <= stream.given:
        yield ("union",), "cannot be beside from: put together by union first, in a stream of its own"
    elif {"from", "join"} <= stream.given:
        yield ("join",), "cannot be beside from: name both streams in join, or join first, in a stream of its own"
    elif not stream.given & {"from", "union", "join"} and stream.sound("from"):
        yield (
            ("from",),
            "is missing: write what the stream reads, such as from: readings, or union: [a, b], or join: [a, b]",
        )
    elif "union" in stream.given and stream.sound("union") and len(stream.spec.union) < 2:
        yield ("union",), "puts two or more together: name another, or write from"


def _known_inputs(name: str, stream: Stream, streams: CheckedStreams) -> Iterator[KeyFinding]:
    known = [*dict.fromkeys([*streams.sources, *streams.bad, *streams.streams])]
    if not streams.sources and not streams.bad:
        return
    inputs: list[tuple[KeyPath, str]] = [(("union", index), each) for index, each in enumerate(stream.spec.union)]
    inputs += [(("join", index), each) for index, each in enumerate(stream.spec.join)]
    if stream.spec.from_ is not None:
        inputs.append((("from",), stream.spec.from_))
    for path, each in inputs:
        others = [other for other in known if other != name]
        if each not in known:
            yield path, f"{each!r} is not a source or stream: {instead(each, others)}"


def _equal_columns(stream: Stream, streams: CheckedStreams) -> Iterator[KeyFinding]:
    """Require that the inputs of a union have equal columns, with equal types where these are known."""
    first, *others = stream.spec.union or ("",)
    before = streams.columns.get(first)
    for index, name in enumerate(others, 1):
        after = streams.columns.get(name)
        if before is None or after is None:
            continue
        one = {column.name.lower(): column for column in before}
        other = {column.name.lower(): column for column in after}
        for columns, has, lacks in ((one, first, name), (other, name, first)):
            missing = [column.name for lower, column in columns.items() if lower not in (one.keys() & other.keys())]
            if missing:
                listed = ", ".join(map(repr, missing))
                yield (
                    ("union", index),
                    f"{lacks!r} lacks {listed}, which {has!r} has: give both the same columns by select",
                )
        for lower in one.keys() & other.keys():
            types = one[lower].type, other[lower].type
            if None not in types and types[0] != types[1]:
                yield ("union", index), unequal(one[lower].name, {first: types[0], name: types[1]})


def unequal(column: str, types: Mapping[str, str | None]) -> str:
    """The message about a column that has two types in a union, by input."""
    (first, one), (name, other) = types.items()
    return f"column {column!r} is {one} in {first!r} and {other} in {name!r}: cast it in a step of its own"


def _one_operator(stream: Stream) -> Iterator[KeyFinding]:
    written = [key for key in OPERATORS if key in stream.given]
    for key in written[1:]:
        yield (
            (key,),
            f"cannot be beside {written[0]}: a step has at most one of {', '.join(OPERATORS)}; give each a stream of"
            " its own",
        )


def _unnest(stream: Stream, streams: CheckedStreams) -> Iterator[KeyFinding]:
    """Problems of `unnest`: no array of that name, or a column in the way."""
    name = stream.spec.unnest
    before = None if name is None else streams.columns.get(stream.spec.from_ or "")
    if name is None or before is None or not stream.sound("from", "unnest"):
        return
    columns = ReadableColumns(before, repr(stream.spec.from_))
    yield from ((("unnest",), message) for message in columns.findings([name]))
    column = columns.find(name)
    kind = None if column is None or column.type is None else parse_type(column.type)
    if kind is not None and (kind.element is None or kind.key is not None):
        more = ": select map_entries(...) of it in a step before" if kind.key else ": name a column of ARRAY<...>"
        yield ("unnest",), f"{name!r} is {kind.text}, which has no elements{more}"
    if columns.find(INDEX) is not None:
        yield ("unnest",), f"there is a column {INDEX!r} already: rename it, or leave it out, in a step before"


def _keys_of_windows(stream: Stream) -> Iterator[KeyFinding]:
    if not stream.windowed:
        for key in _OF_WINDOWS:
            if key in stream.given:
                yield (key,), "is for windows alone: add tumbling or another window, or remove it"
    elif not stream.given & {"select", "group_by"} and stream.sound(*WINDOWS):
        yield (
            ("select",),
            "is missing: a window needs something to compute, such as select: {n: count(*)}, or group_by",
        )


def _few_windows(stream: Stream) -> Iterator[KeyFinding]:
    hopping = stream.spec.hopping
    if hopping is not None and stream.sound("hopping") and hopping.size > MOST_WINDOWS * hopping.hop:
        yield (
            ("hopping", "hop"),
            f"each row would be in {-(-hopping.size // hopping.hop):,} windows, more than {MOST_WINDOWS:,}: make hop"
            " longer or size shorter",
        )


def _partitioned(stream: Stream, streams: CheckedStreams) -> Iterator[str]:
    """Reasons why partitions or substreams cannot be distinguished in the rows that a step reads."""
    kind, here, seen = stream.spec.partition_by, stream.spec.from_, set[str]()
    if stream.spec.union:
        return
    while here is not None and here in streams.streams and here not in seen:
        seen.add(here)
        below = streams.streams[here]
        if below.spec.union or below.spec.join:
            what = "union" if below.spec.union else "join"
            yield f"{kind} cannot be over {here!r}, which is a {what}: parts are those of one source"
            return
        if below.spec.preceding is not None:
            yield f"{kind} cannot be over {here!r}, whose `preceding` looks at rows of all parts"
            return
        if below.spec.until_next is not None:
            yield f"{kind} cannot be over {here!r}, whose rows end with the next one of any part"
            return
        if below.windowed and below.sound("partition_by") and below.spec.partition_by != kind:
            given = below.spec.partition_by
            has = f"partition_by: {given}" if given else "no partition_by"
            yield f"{kind} cannot be over the windows of {here!r}, which have {has}: give both the same"
            return
        here = below.spec.from_
    source = streams.sources.get(here or "")
    if source is None or kind != "substream" or source.over:
        return
    if not {"over", "timestamp_by"} & set(streams.bad.get(source.name, ())):
        yield f"substream needs `over` in the source {source.name!r}, beside timestamp_by: it has no substreams"


def sources_of_rows(streams: CheckedStreams, name: str, *, paired: bool = False) -> tuple[str, ...]:
    """Sources whose own rows, not those of windows or joins, reach a step; if `paired`, also as part of pairs."""
    below = {
        each: StreamSpec.model_construct()
        if each != name and (stream.spec.windowed or (stream.spec.join and not paired))
        else stream.spec
        for each, stream in streams.streams.items()
    }
    return sources_below(below, name)
