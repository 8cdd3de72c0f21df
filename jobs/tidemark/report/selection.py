"""Selects the rows that a command asks for, and their order."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import duckdb
import pyarrow.compute as pc
from pyarrow.dataset import Dataset

from tidemark.core.policy import REQUIREMENT, Fate, Reason, reason_of
from tidemark.errors import UsageError
from tidemark.report.events import instant
from tidemark.report.scan import Condition, both, stream

NEWEST_FIRST = "_arrival_time DESC NULLS LAST, _batch_id DESC, source, _partition, _offset DESC"

WINDOW_COLUMNS = ("start of window", "end of window")
"""Columns for the window of a dead letter beside its row; no column of an events table has these names."""

_KEY = ("_partition", "_offset")


_REQUIREMENT = re.compile(rf"{re.escape(REQUIREMENT)}[A-Za-z0-9_]+")


@dataclass(frozen=True)
class Filter:
    """Conditions on rows; all that are given must hold. `since` <= `_arrival_time` < `until`, microseconds UTC."""

    source: str | None = None
    fate: str | None = None
    reason: str | None = None
    partition: str | None = None
    since: int | None = None
    until: int | None = None
    batch: int | None = None

    def condition(self) -> Condition:
        """Return all conditions but the reason, in a form that lets Arrow skip files."""
        arrival = pc.field("_arrival_time")
        return both(
            None if self.fate is None else pc.field("_disposition") == self.fate,
            None if self.partition is None else pc.field("_partition") == self.partition,
            None if self.since is None else arrival >= instant(self.since),
            None if self.until is None else arrival < instant(self.until),
            None if self.batch is None else pc.field("_batch_id") == self.batch,
        )


@dataclass(frozen=True)
class Selection:
    """The events table of one source that a command reads; with `letters`, one row for each dead letter."""

    source: str
    events: Dataset
    letters: Dataset | None = None


def choose(datasets: Mapping[str, Dataset], where: Filter, letters: Dataset | None = None) -> list[Selection]:
    """Return the tables that a filter covers, with the dead letters of a stream if given. Raises UsageError for a
    filter that no row can match."""
    _known("source", where.source, list(datasets))
    _known("fate", where.fate, [fate.value for fate in Fate])
    if where.reason is None or not _REQUIREMENT.fullmatch(where.reason):
        _known("reason", where.reason, [*(reason.value for reason in Reason), f"{REQUIREMENT}NAME"])
    if where.since is not None and where.until is not None and where.since >= where.until:
        raise UsageError("--until is not after --since", hint="rows from --since up to before --until are shown")
    mine = {name: data for name, data in datasets.items() if where.source in (None, name)}
    if letters is None:
        return [Selection(name, data) for name, data in mine.items()]
    found = [Selection(name, data, letters.filter(pc.field("_source") == name)) for name, data in mine.items()]
    return [each for each in found if each.letters is not None and each.letters.count_rows()] or found


def matching(
    connection: duckdb.DuckDBPyConnection, name: str, chosen: Selection, where: Filter, columns: list[str] | None
) -> str:
    """Register the matching rows under `name` and return SQL of a relation of them; it can be read once. For dead
    letters the relation has one row each, with `WINDOW_COLUMNS`."""
    if columns is not None and where.reason is not None:
        columns = [*columns, "_reasons"]
    if chosen.letters is None:
        connection.register(name, stream(chosen.events, columns, where.condition()))
        found = name
    else:
        found = _lettered(connection, name, chosen, where, columns)
    if where.reason is None:
        return found
    return f"(SELECT * FROM {found} WHERE list_contains(_reasons, '{reason_of(where.reason)}'))"  # noqa: S608


def _lettered(
    connection: duckdb.DuckDBPyConnection, name: str, chosen: Selection, where: Filter, columns: list[str] | None
) -> str:
    """Return SQL that joins rows with each window that they came late for. Only events between the smallest and the
    largest offset of dead letters are read."""
    letters = chosen.letters if chosen.letters is not None else chosen.events
    narrow = None if columns is None else list(dict.fromkeys([*columns, "_partition", "_offset"]))
    connection.register(f"{name}_range", stream(letters, ["_offset"], None))
    low = connection.execute(f"SELECT min(_offset), max(_offset) FROM {name}_range").fetchall()[0]  # noqa: S608
    held = pc.scalar(False) if low[0] is None else (pc.field("_offset") >= low[0]) & (pc.field("_offset") <= low[1])
    connection.register(name, stream(chosen.events, narrow, both(where.condition(), held)))
    connection.register(f"{name}_letters", stream(letters, [*_KEY, "_window_start", "_window_end"], None))
    windows = f'l._window_start AS "{WINDOW_COLUMNS[0]}", l._window_end AS "{WINDOW_COLUMNS[1]}"'
    joined = f"{name} r JOIN {name}_letters l ON r._partition = l._partition AND r._offset = l._offset"
    return f"(SELECT r.*, {windows} FROM {joined})"  # noqa: S608


def _known(option: str, value: str | None, allowed: list[str]) -> None:
    if value is not None and value not in allowed:
        raise UsageError(f"there is no {option} {value!r}", hint=f"one of: {', '.join(allowed) or 'none yet'}")
