"""Instants of a configured expression over sampled rows, for expressions that need no Spark."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, timedelta
from zoneinfo import ZoneInfo

from tidemark.config.types import Column, quoted
from tidemark.core.times import EPOCH, from_datetime
from tidemark.proposal.columns.times import paths_below
from tidemark.proposal.columns.timestamps import WAYS, TimeFormat, joined
from tidemark.proposal.samples import RowSample, Values, at_path

_ZONED = re.compile(r"\s*to_utc_timestamp\s*\((.*),\s*'([A-Za-z0-9_+/-]+)'\s*\)\s*", re.IGNORECASE | re.DOTALL)
_PARTS = re.compile(
    r"\s*to_timestamp\s*\(\s*concat\s*\(([^,()]+),\s*' ',([^,()]+)\)\s*(?:,\s*'([^']+)'\s*)?\)\s*", re.IGNORECASE
)
Instants = Sequence[int | None]


def instants(expression: str, columns: Sequence[Column], taken: RowSample) -> Instants | None:
    """Return the time of each row in microseconds UTC, None for a row without one; None if only Spark can compute it.

    Handles a column, a member of a column, the expressions that `init` proposes, and `to_utc_timestamp` of them.
    """
    zoned = _ZONED.fullmatch(expression)
    if zoned is not None:
        inner = instants(zoned[1], columns, taken)
        return None if inner is None else _in_zone(inner, zoned[2])
    parts = _PARTS.fullmatch(expression)
    if parts is not None:
        return _of_parts(parts, columns, taken)
    wanted = _plain(expression)
    for path in (path for column in columns for path in paths_below((column.name,), column.type)):
        name = ".".join(map(quoted, path))
        values: Values = at_path(taken, path) if path[0] in taken.values else [None] * taken.rows
        if _plain(name) == wanted:
            return _of_column(values, native=path[0] in taken.native)
        way = next((TimeFormat(way) for way in WAYS if _plain(TimeFormat(way).expression(name)) == wanted), None)
        if way is not None:
            return [None if value is None else way.micros(value) for value in values]
    return None


def _of_column(values: Values, *, native: bool) -> Instants | None:
    """Return the times in a column; None if they are numbers, which only Spark reads as times."""
    there = [value for value in values if value is not None]
    if not native and any(isinstance(value, int | float) for value in there):
        return None
    ways = [TimeFormat("timestamp", native=True)] if native else [TimeFormat("timestamp"), TimeFormat("date")]
    return [next((time for way in ways if (time := way.micros(value)) is not None), None) for value in values]


def _of_parts(parts: re.Match[str], columns: Sequence[Column], taken: RowSample) -> Instants | None:
    """Return the times of a column of days and a column of times of day; None if their form is not known here."""
    way = parts[3] or "timestamp"
    found = {_plain(quoted(column.name)): taken.values.get(column.name, [None] * taken.rows) for column in columns}
    day, clock = found.get(_plain(parts[1])), found.get(_plain(parts[2]))
    if day is None or clock is None or way not in WAYS:
        return None
    return [None if value is None else TimeFormat(way).micros(value) for value in joined(day, clock)]


def _plain(expression: str) -> str:
    """Return an expression in one spelling: without blanks and backquotes, in lower case."""
    return re.sub(r"[`\s]", "", expression).lower()


def _in_zone(times: Instants, zone: str) -> Instants | None:
    """Return the instants of local times that were read as UTC; None if the zone is not known here."""
    try:
        there = ZoneInfo(zone)
    except (OSError, ValueError, KeyError):
        return None
    return [None if each is None else _to_utc(each, there) for each in times]


def _to_utc(micros: int, zone: ZoneInfo) -> int:
    local = (EPOCH + timedelta(microseconds=micros)).replace(tzinfo=zone)
    return from_datetime(local.astimezone(UTC))
