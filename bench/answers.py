"""What must come out, computed by DuckDB in one query that shares nothing with the product."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import isclose
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from bench.data import EARLY, LATE, MINUTE, OUT_OF_ORDER

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset


@dataclass(frozen=True)
class Answer:
    """Rows by fate, and one number over every row's partition, offset, fate and time."""

    fates: Mapping[str, int]
    content: int

    @property
    def rows(self) -> int:
        return sum(self.fates.values())


LANE, DEVICE = "lane", "lane, device"
"""The keys of watermarks: partitions, and their substreams."""

_SUMMARY = """
    SELECT fate, count(*), bit_xor(hash(id, lane, offset_, fate, coalesce(micros, 0))) FROM judged GROUP BY fate
"""


def _judged(key: str) -> str:
    return f"""
    WITH log AS (
        SELECT id, lane, device, speed, epoch_us(event_time) AS event,
               max(epoch_us(arrived)) OVER earlier AS arrival, row_number() OVER earlier - 1 AS offset_
        FROM read_parquet(?) WINDOW earlier AS (PARTITION BY lane ORDER BY id ROWS UNBOUNDED PRECEDING)
    ), bounded AS (
        SELECT *, CASE WHEN event > arrival + {EARLY} THEN NULL ELSE greatest(event, arrival - {LATE}) END AS kept
        FROM log
    ), marked AS (
        SELECT *, max(kept) OVER (
            PARTITION BY {key} ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) - {OUT_OF_ORDER} AS watermark
        FROM bounded
    ), judged AS (
        SELECT id, lane, speed, offset_, CASE WHEN kept IS NOT NULL THEN greatest(kept, watermark) END AS micros,
               CASE WHEN kept IS NULL THEN 'dropped'
                    WHEN kept > event OR kept < watermark THEN 'adjusted' ELSE 'on_time' END AS fate
        FROM marked
    )
"""  # noqa: S608 # only numbers of this module are put in


_WINDOWS = "SELECT lane, {at} // {size} * {size} AS start, count(*), avg(speed) FROM {rows} GROUP BY ALL"

_FOUND = f"""
    WITH judged AS (
        SELECT id, lane, _offset AS offset_, _disposition AS fate, epoch_us(_system_timestamp) AS micros FROM events
    )
    {_SUMMARY}
"""  # noqa: S608 # as above


@cache
def expected(files: tuple[Path, ...], key: str = LANE) -> Answer:
    """The answer for files of readings judged by one run, with a watermark for each `key` (time rules: judging a
    row)."""
    return _answer(duckdb.connect().execute(_judged(key) + _SUMMARY, [[str(path) for path in files]]).fetchall())


Windows = Mapping[tuple[str, int], tuple[int, float]]
"""Rows and average speed by lane and start of the window, microseconds UTC."""


@cache
def expected_windows(files: tuple[Path, ...], *, by_event_time: bool) -> Windows:
    """All 1-minute windows by lane: of judged rows at their times, or of all rows at the times they came with."""
    paths = [str(path) for path in files]
    if by_event_time:
        query = _WINDOWS.format(at="epoch_us(event_time)", size=MINUTE, rows="read_parquet(?)")
    else:
        query = _judged(LANE) + _WINDOWS.format(at="micros", size=MINUTE, rows="judged WHERE micros IS NOT NULL")
    rows = duckdb.connect().execute(query, [paths]).fetchall()
    return {(lane, start): (count, speed) for lane, start, count, speed in rows}


def found_windows(table: Dataset, start: str) -> Windows:
    """The windows that a table holds; `start` says where it has their start."""
    connection = duckdb.connect()
    connection.register("windows", table)
    rows = connection.execute(f"SELECT lane, epoch_us({start}), n, speed FROM windows").fetchall()  # noqa: S608
    answer = {(lane, at): (count, speed) for lane, at, count, speed in rows}
    assert len(answer) == len(rows), "a window was written twice"
    return answer


def ensure_windows(answer: Windows, right: Windows, through: int) -> None:
    """All windows that end by `through`, and no others, with the right number of rows and average."""
    due = {key: value for key, value in right.items() if key[1] + MINUTE <= through}
    assert answer.keys() == due.keys(), f"{len(answer)} windows, not {len(due)}"
    for key, (count, speed) in due.items():
        same = answer[key][0] == count and isclose(answer[key][1], speed, rel_tol=1e-9)
        assert same, f"window {key}: {answer[key]}, not {(count, speed)}"


def found(events: Dataset) -> Answer:
    """What a table of events holds."""
    connection = duckdb.connect()
    connection.register("events", events)
    return _answer(connection.execute(_FOUND).fetchall())


def _answer(rows: Sequence[tuple[str, int, int]]) -> Answer:
    content = 0
    for _, _, part in rows:
        content ^= part
    return Answer({fate: count for fate, count, _ in sorted(rows)}, content)
