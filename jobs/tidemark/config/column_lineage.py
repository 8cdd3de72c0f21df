"""Finds the columns that a pipeline's tables are made from, as far as the configuration's expressions say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from tidemark.config import PipelineSpec, SourceSpec
from tidemark.config.models.stream_graph import INDEX, ROW_COLUMNS, columns_of, in_order
from tidemark.config.models.streams import StreamSpec
from tidemark.config.sql.checks import columns_read


class Derivation(StrEnum):
    """Ways in which a column is made from others."""

    IDENTITY = "identity"
    TRANSFORMATION = "transformation"
    AGGREGATION = "aggregation"


@dataclass(frozen=True, order=True)
class SourceColumn:
    """A column of a source's events table, or of its landing objects under the name that these give it."""

    source: str
    name: str


@dataclass(frozen=True)
class ColumnLineage:
    """What a column is made from. It has no inputs if it is made from none, such as `count(*)`."""

    inputs: frozenset[SourceColumn]
    derivation: Derivation = Derivation.IDENTITY


TableLineage = Mapping[str, ColumnLineage]
_OF_WINDOWS, _ENDS = ("_window_start", "_window_end"), ("_system_timestamp", "_end_time")


def events_lineage(source: SourceSpec) -> TableLineage:
    """Columns of a source's events table by columns of its landing objects."""
    in_files = {column: name for name, column in source.header_columns.items()}

    def landed(texts: Iterable[str | None]) -> ColumnLineage:
        read = [text for text in texts if text is not None]
        names = {parts[0] for text in read for parts in columns_read(text)}
        whole = {column.name.lower(): column.name for column in source.columns}
        columns = {whole[name.lower()] for name in names if name.lower() in whole}
        found = frozenset(SourceColumn(source.name, in_files.get(name, name)) for name in columns)
        bare = len(read) == 1 and read[0].strip("`").lower() in {name.lower() for name in columns}
        return ColumnLineage(found, Derivation.IDENTITY if bare else Derivation.TRANSFORMATION)

    times = {
        "_arrival_time": landed([source.arrival_time]),
        "_event_time": landed([source.timestamp_by or source.arrival_time]),
        "_partition": landed([source.partition.column if source.partition else None]),
        "_substream": landed(source.over),
    }
    payload = {
        column.name: ColumnLineage(frozenset([SourceColumn(source.name, in_files.get(column.name, column.name))]))
        for column in source.columns
        if column.name != source.rescue
    }
    return payload | {name: lineage for name, lineage in times.items() if lineage.inputs}


def streams_lineage(spec: PipelineSpec) -> dict[str, TableLineage]:
    """Columns of every stream by columns of the sources' events tables, through all steps between."""
    row = [column.name for column in ROW_COLUMNS if column.name not in _OF_WINDOWS]
    known: dict[str, TableLineage] = {
        name: {each: ColumnLineage(frozenset([SourceColumn(name, each)])) for each in (*_names(source), *row)}
        for name, source in spec.sources.items()
    }
    for name in in_order(spec.streams):
        known[name] = _step(spec, spec.streams[name], known)
    return {name: {each: known[name][each] for each in _payload(spec, name)} for name in spec.streams}


def _step(spec: PipelineSpec, stream: StreamSpec, known: Mapping[str, TableLineage]) -> TableLineage:
    before = _read(stream, known)
    row = {column.name: before[column.name] for column in ROW_COLUMNS if column.name in before}
    if stream.until is not None:
        row["_end_time"] = _made(
            f"greatest({stream.until.until}, _system_timestamp)", before, Derivation.TRANSFORMATION
        )
    if stream.until_next is not None:
        ends = [*stream.until_next.by, "_system_timestamp"]
        row["_end_time"] = _made(f"coalesce({', '.join(ends)})", before, Derivation.TRANSFORMATION)
    if not stream.select and not stream.windowed:
        return {name: before[name] for name in _payload(spec, stream.name)} | row
    of_all = Derivation.AGGREGATION if stream.windowed else Derivation.TRANSFORMATION
    times = (*(_OF_WINDOWS if stream.windowed else ()), *_ENDS)
    if stream.windowed or stream.join or stream.shift or stream.lasts is not None:
        bounds = frozenset(each for name in _ENDS if name in before for each in before[name].inputs)
        row |= dict.fromkeys(times, ColumnLineage(bounds, of_all))
    computed = stream.computed_groups
    kept = [name for name in _payload(spec, stream.name) if name not in (*stream.select, *computed)]
    groups = {name: before[name] for name in kept}
    groups |= {name: _made(text, before, Derivation.TRANSFORMATION) for name, text in computed.items()}
    return row | groups | {name: _made(text, before, of_all) for name, text in stream.select.items()}


def _read(stream: StreamSpec, known: Mapping[str, TableLineage]) -> _Readable:
    """The columns that the expressions of a step may read; in a join each also by the name of its side."""
    found = _Readable()
    for each in stream.inputs:
        for name, lineage in known[each].items():
            found.add(name, lineage)
            found.add(f"{each}.{name}", lineage)
    if stream.unnest is not None:
        found.add(INDEX, replace(found[stream.unnest], derivation=Derivation.TRANSFORMATION))
    if stream.preceding is not None:
        made = {name: _made(text, found, Derivation.AGGREGATION) for name, text in stream.preceding.select.items()}
        found.update({name.lower(): lineage for name, lineage in made.items()})
    return found


class _Readable(dict[str, ColumnLineage]):
    """Columns without regard to case. One that several inputs have is made from those of all."""

    def add(self, name: str, lineage: ColumnLineage) -> None:
        there = self.get(name.lower())
        inputs = lineage.inputs | (there.inputs if there else frozenset())
        derivation = (
            lineage.derivation if there is None else max(there.derivation, lineage.derivation, key=_ORDER.index)
        )
        self[name.lower()] = ColumnLineage(inputs, derivation)

    def __getitem__(self, name: str) -> ColumnLineage:
        return super().__getitem__(name.lower())

    def __contains__(self, name: object) -> bool:
        return super().__contains__(str(name).lower())


_ORDER = list(Derivation)


def _made(text: str, before: _Readable, derivation: Derivation) -> ColumnLineage:
    """The lineage of an expression. A bare column keeps that of the column."""
    if (bare := text.strip().replace("`", "")) in before:
        return before[bare]
    found = [before[name] for names in columns_read(text) if (name := _named(names, before)) is not None]
    inputs = frozenset(each for lineage in found for each in lineage.inputs)
    return ColumnLineage(inputs, max([derivation, *(each.derivation for each in found)], key=_ORDER.index))


def _named(names: list[str], before: _Readable) -> str | None:
    """The column that an expression names, `side.column`, `column`, or either with members after it."""
    return next((name for name in (".".join(names[:2]), names[0]) if name in before), None)


def _names(source: SourceSpec) -> list[str]:
    return [column.name for column in source.columns]


def _payload(spec: PipelineSpec, name: str) -> list[str]:
    return [column.name for column in columns_of(spec, name) or ()]
