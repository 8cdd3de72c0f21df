"""What the workers of row `engines` do that need no environment of their own, started by the name of an engine.

Each judges all readings and makes 1-minute windows by lane of them: tidemark to its tables, DuckDB and Polars to
Parquet files `rows/rows.parquet` and `windows/windows.parquet`, the rows with the columns that `bench.answers` needs.
All have as many threads, given after the name.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from bench.peers.serving import serve

if TYPE_CHECKING:
    import polars as pl

_EARLY, _LATE, _OUT_OF_ORDER = "5 MINUTE", "1 MINUTE", "5 SECOND"
"""As in bench.data, which needs Spark; a wrong one would be found by the check of the answer."""

_JUDGING = f"""
    COPY (
        WITH log AS (
            SELECT *, max(arrived) OVER earlier AS _arrival_time, row_number() OVER earlier - 1 AS _offset
            FROM read_parquet($files)
            WINDOW earlier AS (PARTITION BY lane ORDER BY id ROWS UNBOUNDED PRECEDING)
        ), bounded AS (
            SELECT *, CASE WHEN event_time <= _arrival_time + INTERVAL {_EARLY}
                           THEN greatest(event_time, _arrival_time - INTERVAL {_LATE}) END AS kept
            FROM log
        ), marked AS (
            SELECT *, max(kept) OVER (
                PARTITION BY lane ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) - INTERVAL {_OUT_OF_ORDER} AS _watermark
            FROM bounded
        )
        SELECT * EXCLUDE (kept),
               CASE WHEN kept IS NOT NULL THEN greatest(kept, _watermark) END AS _system_timestamp,
               CASE WHEN kept IS NULL THEN 'dropped'
                    WHEN kept > event_time OR kept < _watermark THEN 'adjusted' ELSE 'on_time' END AS _disposition
        FROM marked
    ) TO '{{rows}}' (FORMAT parquet, COMPRESSION snappy)
"""  # noqa: S608 # only constants of this module are put in
_COUNTING = """
    COPY (
        SELECT date_trunc('minute', _system_timestamp) AS _window_start, lane, count(*) AS n, avg(speed) AS speed
        FROM read_parquet('{rows}') WHERE _system_timestamp IS NOT NULL GROUP BY ALL
    ) TO '{windows}' (FORMAT parquet, COMPRESSION snappy)
"""


def tidemark(threads: int) -> Callable[..., object]:
    """A run over everything landed, after which nothing more can come: all windows close in it."""
    from tidemark.pipeline import Pipeline
    from tidemark.spark.session.session import open_session

    open_session(f"local[{threads}]")
    return lambda config, end: Pipeline.load(config, {}).close(as_of=end)


def by_duckdb(threads: int) -> Callable[..., object]:
    """One query for the rows, by window functions, and one for the windows, from what the first has written."""
    import duckdb

    def job(files: list[str], target: str) -> None:
        rows, windows = _targets(target)
        with duckdb.connect(config={"threads": threads}) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            connection.execute(_JUDGING.format(rows=rows), {"files": files})
            connection.execute(_COUNTING.format(rows=rows, windows=windows))

    return job


def by_polars(threads: int) -> Callable[..., object]:
    """The same two steps by lazy frames, which Polars streams to the files where its plan lets it."""
    os.environ["POLARS_MAX_THREADS"] = str(threads)  # it asks when it is imported
    import polars as pl

    def job(files: list[str], target: str) -> None:
        rows, windows = _targets(target)
        _judged(pl.scan_parquet(files)).sink_parquet(rows, compression="snappy")
        start = pl.col("_system_timestamp").dt.truncate("1m").alias("_window_start")
        kept = pl.scan_parquet(rows).filter(pl.col("_system_timestamp").is_not_null())
        told = kept.group_by(start, "lane").agg(pl.len().alias("n"), pl.col("speed").mean())
        told.sink_parquet(windows, compression="snappy")

    return job


def _judged(rows: pl.LazyFrame) -> pl.LazyFrame:
    import polars as pl

    event, arrival, kept, mark = (pl.col(name) for name in ("event_time", "_arrival_time", "kept", "_watermark"))
    log = rows.with_columns(
        pl.col("arrived").cum_max().over("lane").alias("_arrival_time"),
        pl.int_range(pl.len(), dtype=pl.Int64).over("lane").alias("_offset"),
    )
    in_time = event <= arrival + pl.duration(minutes=5)
    bounded = log.with_columns(
        pl.when(in_time).then(pl.max_horizontal(event, arrival - pl.duration(minutes=1))).alias("kept")
    )
    highest = kept.cum_max().forward_fill().shift(1).over("lane")
    marked = bounded.with_columns((highest - pl.duration(seconds=5)).alias("_watermark"))
    adjusted = (kept > event) | (kept < mark).fill_null(value=False)
    fate = pl.when(kept.is_null()).then(pl.lit("dropped")).when(adjusted).then(pl.lit("adjusted"))
    return marked.with_columns(
        pl.when(kept.is_not_null()).then(pl.max_horizontal(kept, mark)).alias("_system_timestamp"),
        fate.otherwise(pl.lit("on_time")).alias("_disposition"),
    ).drop("kept")


def _targets(target: str) -> tuple[str, str]:
    """The files to write, in folders that are there."""
    found = [Path(target) / name / f"{name}.parquet" for name in ("rows", "windows")]
    for each in found:
        each.parent.mkdir(parents=True)
    return str(found[0]), str(found[1])


JOBS = {"tidemark": tidemark, "duckdb": by_duckdb, "polars": by_polars}

if __name__ == "__main__":
    serve(JOBS[sys.argv[1]](int(sys.argv[2])))
