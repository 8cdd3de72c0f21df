"""Finds the given rows from which a row of a table was made, for people who read a difference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tidemark.commands.cases.case import GivenRow, Row
from tidemark.commands.cases.compare import TableRows
from tidemark.config import PipelineSpec
from tidemark.config.models.stream_graph import sources_below

_KEYS = ("_partition", "_offset")


@dataclass(frozen=True)
class Origins:
    """Given rows of one case, by source and object, and a function that reads its tables."""

    spec: PipelineSpec
    landed: Mapping[tuple[str, str], list[GivenRow]]
    table: Callable[[str], TableRows]

    def of(self, table: str, row: Row) -> list[Row]:
        """The given rows of a table's row, as far as they can be found: by its object, or by partition and offset;
        for a window, the rows with a system timestamp in it."""
        kind, _, name = table.partition("/")
        if kind == "events":
            return [self._nearest(name, row)]
        if kind == "dead_letters":
            return self._named(row["_source"], row)
        if kind != "streams":
            return []
        sources, step = sources_below(self.spec.streams, name), self.spec.streams[name]
        if step.windowed:
            return [each for source in sources for each in self._within(source, row, step.group_by)]
        return self._named(sources[0], row) if len(sources) == 1 else []

    def _named(self, source: str, row: Row) -> list[Row]:
        keys = [row.get(key) for key in _KEYS]
        events = self.table(f"events/{source}").rows
        return [self._nearest(source, each) for each in events if [each[key] for key in _KEYS] == keys]

    def _within(self, source: str, window: Row, groups: tuple[str, ...]) -> Iterator[Row]:
        events = self.table(f"events/{source}").rows
        start, end = window["_window_start"], window["_window_end"]
        for each in sorted(events, key=lambda event: (event["_system_timestamp"] or 0, event["_offset"])):
            time = each["_system_timestamp"]
            alike = all(each.get(name, window.get(name)) == window.get(name) for name in groups)
            if time is not None and start <= time < end and alike:
                yield self._nearest(source, each)

    def _nearest(self, source: str, event: Row) -> Row:
        """The given row of an event: the row of its object with the most equal values."""
        found = self.table(f"events/{source}")
        number = next(index for index, each in enumerate(found.rows) if each is event or each == event)
        seen: dict[str, Any] = found.written(number)

        def likeness(row: GivenRow) -> int:
            return sum(seen.get(name) == value for name, value in {**row.values, "_raw": row.raw}.items())

        return max(self.landed[source, event["_file"]], key=likeness).shown
