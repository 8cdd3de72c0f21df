"""What must come out, computed by DuckDB in one query that shares nothing with the product."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from bench.data import EARLY, LATE, OUT_OF_ORDER

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


_SUMMARY = """
    SELECT fate, count(*), bit_xor(hash(id, lane, offset_, fate, coalesce(micros, 0))) FROM judged GROUP BY fate
"""

_EXPECTED = f"""
    WITH log AS (
        SELECT id, lane, epoch_us(event_time) AS event,
               max(epoch_us(arrived)) OVER earlier AS arrival, row_number() OVER earlier - 1 AS offset_
        FROM read_parquet(?) WINDOW earlier AS (PARTITION BY lane ORDER BY id ROWS UNBOUNDED PRECEDING)
    ), bounded AS (
        SELECT *, CASE WHEN event > arrival + {EARLY} THEN NULL ELSE greatest(event, arrival - {LATE}) END AS kept
        FROM log
    ), marked AS (
        SELECT *, max(kept) OVER (
            PARTITION BY lane ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) - {OUT_OF_ORDER} AS watermark
        FROM bounded
    ), judged AS (
        SELECT id, lane, offset_, CASE WHEN kept IS NOT NULL THEN greatest(kept, watermark) END AS micros,
               CASE WHEN kept IS NULL THEN 'dropped'
                    WHEN kept > event OR kept < watermark THEN 'adjusted' ELSE 'on_time' END AS fate
        FROM marked
    )
    {_SUMMARY}
"""  # noqa: S608 # only numbers of this module are put in

_FOUND = f"""
    WITH judged AS (
        SELECT id, lane, _offset AS offset_, _disposition AS fate, epoch_us(_system_timestamp) AS micros FROM events
    )
    {_SUMMARY}
"""  # noqa: S608 # as above


@cache
def expected(files: tuple[Path, ...]) -> Answer:
    """The answer for files of readings judged by one run (time rules: judging a row)."""
    return _answer(duckdb.connect().execute(_EXPECTED, [[str(path) for path in files]]).fetchall())


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
