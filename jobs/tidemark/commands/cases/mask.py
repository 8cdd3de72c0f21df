"""Replaces values of recorded rows by pseudonyms of their type.

Equal values get equal pseudonyms, in all masked columns and sources, so that joins and groups stay as they were. The
order of values is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from tidemark.commands.cases.keys import missing_name
from tidemark.config import PipelineSpec, SourceSpec
from tidemark.config.sql.checks import columns_read
from tidemark.core.times import DAY, format_time
from tidemark.errors import UsageError

_FIRST_DAY = date(2000, 1, 1)
_MAKERS: Mapping[str, Callable[[int], Any]] = {
    "STRING": lambda number: f"masked_{number}",
    "BINARY": lambda number: f"{number:08}",
    "TINYINT": int,
    "SMALLINT": int,
    "INT": int,
    "BIGINT": int,
    "FLOAT": float,
    "DOUBLE": float,
    "DATE": lambda number: str(_FIRST_DAY + timedelta(days=number)),
    "TIMESTAMP": lambda number: format_time(number * DAY),
}
"""Pseudonyms by type, from the number of a value, in order of occurrence from 1. Eight digits are valid base64."""
_LARGEST = {"TINYINT": 127, "SMALLINT": 32_767}
RAW = "masked"
"""Text in place of a line that was no row, since such a line may hold any value."""


@dataclass
class Pseudonyms:
    """Pseudonyms of the values in some columns; upper and lower case of column names do not matter. Raises UsageError
    if there is no such column, if its values cannot be masked, or if times or partitions are read from it."""

    spec: PipelineSpec
    columns: Iterable[str]
    _numbers: dict[tuple[str, str], int] = field(default_factory=dict)
    _types: dict[tuple[str, str], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the columns."""
        known = {
            column.name.lower(): column.name for source in self.spec.sources.values() for column in source.columns
        }
        for name in self.columns:
            if name.lower() not in known:
                raise UsageError(missing_name("column", name, known.values()), hint="--mask takes payload columns")
            for source in self.spec.sources.values():
                self._learn(source, name.lower())

    @property
    def names(self) -> list[str]:
        """The masked columns by their names in the schema."""
        return list(dict.fromkeys(column for _, column in self._types))

    def row(self, source: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values of a row of a source, with pseudonyms."""
        return {name: self._masked((source, name), value) for name, value in values.items()}

    def _masked(self, column: tuple[str, str], value: object) -> object:
        kind = self._types.get(column)
        if kind is None or value is None:
            return value
        number = self._numbers.setdefault((kind, repr(value)), len(self._numbers) + 1)
        if number > _LARGEST.get(kind, number):
            raise UsageError(
                f"column {column[1]} has more values than {kind} has pseudonyms", hint="record fewer rows"
            )
        return _MAKERS[kind](number)

    def _learn(self, source: SourceSpec, name: str) -> None:
        for column in source.columns:
            if column.name.lower() != name:
                continue
            if column.type not in _MAKERS:
                raise UsageError(
                    f"column {column.name} of source {source.name} is of type {column.type}, which cannot be masked",
                    hint=f"mask columns of {', '.join(_MAKERS)}",
                )
            if (of := _read_by(source, name)) is not None:
                raise UsageError(
                    f"column {column.name} of source {source.name} cannot be masked: {of} reads it",
                    hint="fates would not be those of the rows; change its values in the file by hand",
                )
            self._types[source.name, column.name] = column.type


def _read_by(source: SourceSpec, column: str) -> str | None:
    """The setting that reads times, partitions or kinds of rows from a column; None if there is no such setting."""
    punctuation = source.punctuation
    settings = {
        "timestamp_by": source.timestamp_by,
        "arrival_time": source.arrival_time,
        "partition": source.partition.column if source.partition else None,
        "punctuation.row": punctuation.row if punctuation else None,
    }
    shape = source.shape.model_dump()
    edge, interval = shape.get("edge") or {}, shape.get("interval") or {}
    settings |= {"shape.kind": edge.get("kind"), "shape.end_time": edge.get("end_time") or interval.get("end_time")}
    for key, text in settings.items():
        if text and column in {parts[0].lower() for parts in columns_read(text)}:
            return key
    return None
