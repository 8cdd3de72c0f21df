"""What each engine of row `engines` must have written, compared row by row by DuckDB.

tidemark, DuckDB and Polars have one answer (`bench.answers`). Flink has another, by its own rule: its watermark
follows the highest time of all lanes, and a row for a window that it has passed is dropped without a trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
from pyarrow.dataset import dataset

from bench.data import EARLY, LATE, MINUTE

if TYPE_CHECKING:
    from pyarrow import Table
    from pyarrow.dataset import Dataset

_CLOSE = 1e-9
"""How far averages may lie apart, relatively: sums of doubles depend on the order of rows."""
_MILLI = 1000
_ROWS = """
    SELECT count(*), bit_xor(hash(
        id, device, lane, epoch_us(event_time), epoch_us(arrived), speed, note, epoch_ms(_watermark)
    )) FROM written
"""
_LOG = f"""
    CREATE TABLE written AS
    WITH log AS (
        SELECT *, epoch_us(event_time) // {_MILLI} AS millis,
               epoch_us(event_time) <= epoch_us(arrived) + {EARLY} AS believed
        FROM read_parquet(?)
    )
    SELECT *, make_timestamp({_MILLI} * (
        max(CASE WHEN believed THEN millis END) OVER earlier - {LATE // _MILLI}
    )) AS _watermark
    FROM log WINDOW earlier AS (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
"""  # noqa: S608 # only numbers of this module are put in
_WINDOWS = f"""
    WITH windowed AS (
        SELECT *, millis // {MINUTE // _MILLI} * {MINUTE // _MILLI} AS start FROM written WHERE believed
    )
    SELECT make_timestamp({_MILLI} * start) AS _window_start, lane, count(*) AS n, avg(speed) AS speed
    FROM windowed WHERE coalesce(epoch_ms(_watermark) < start + {MINUTE // _MILLI} - 1, TRUE) GROUP BY start, lane
"""  # noqa: S608 # as above
_DIFFERING = f"""
    SELECT count(*) FROM mine FULL JOIN other
        ON epoch_us(mine._window_start) = epoch_us(other._window_start) AND mine.lane = other.lane
    WHERE mine.n IS DISTINCT FROM other.n
        OR abs(mine.speed - other.speed) > {_CLOSE} * abs(other.speed) OR mine.speed IS NULL OR other.speed IS NULL
"""  # noqa: S608 # as above


@dataclass(frozen=True)
class FlinkAnswer:
    """Digests of the rows (number, content), the windows, and how many rows are in none."""

    rows: tuple[int, int]
    windows: Table
    early: int
    late: int


def by_flink(files: Sequence[Path], *, dropping: bool) -> FlinkAnswer:
    """What Flink's rule gives, for files read one after the other; in a batch it is not `dropping` late rows."""
    connection = duckdb.connect()
    connection.execute(_LOG, [[str(path) for path in files]])
    if not dropping:
        connection.execute("UPDATE written SET _watermark = NULL")
    windows = connection.sql(_WINDOWS).to_arrow_table()
    rows = _one(connection, _ROWS)
    early = _one(connection, "SELECT count(*) FROM written WHERE NOT believed")[0]
    counted = sum(windows.column("n").to_pylist())
    return FlinkAnswer((rows[0], rows[1]), windows, early, rows[0] - early - counted)


def rows_by_flink(folder: Path) -> tuple[int, int]:
    """The digest of the rows that Flink wrote, with the watermark that each met."""
    connection = duckdb.connect()
    connection.register("written", dataset(folder))
    count, content = _one(connection, _ROWS)
    return count, content


def same_windows(mine: Dataset, other: Table) -> int:
    """How many windows there are, when these are the same in both: counts equal, averages as close as can be."""
    connection = duckdb.connect()
    connection.register("mine", mine)
    connection.register("other", other)
    differing = _one(connection, _DIFFERING)[0]
    assert differing == 0, f"{differing} windows differ"
    return other.num_rows


def _one(connection: duckdb.DuckDBPyConnection, query: str) -> tuple[int, ...]:
    found = connection.execute(query).fetchone()
    assert found is not None, "a query without a row"
    return found
