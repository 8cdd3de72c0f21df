"""Rows that came late for a window, by stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyarrow.dataset import Dataset

from tidemark.report.page.data.fates import bar_of, step_of
from tidemark.report.page.data.moves import QUANTILES, Sizes, sizes_of
from tidemark.report.page.data.tables import Scope, ask, in_scope


@dataclass(frozen=True)
class LateRows:
    """Dead letters of one stream from one partition. `rows` counts distinct rows: one row may be late for several
    windows. `past`: distance of the watermark past the window's end, microseconds."""

    source: str
    partition: str
    letters: int
    rows: int
    past: Sizes | None


@dataclass(frozen=True)
class DeadLetters:
    """The dead letters of one stream; `bars` counts them by start of window, in steps of `step` microseconds."""

    stream: str
    letters: int
    windows: int
    parts: tuple[LateRows, ...]
    step: int
    bars: Mapping[int, int]


def letters_of(stream: str, table: Dataset, scope: Scope) -> DeadLetters:
    """Read the dead letters of a stream in the batches of a scope."""
    where = in_scope(scope)
    parts = ask(
        table,
        ["_source", "_partition", "_offset", "_watermark", "_window_end"],
        "SELECT _source AS source, _partition AS partition, count(*) AS letters, count(DISTINCT _offset) AS rows, "  # noqa: S608
        f"{QUANTILES.format('greatest(past, 0)')} FROM "
        "(SELECT *, epoch_us(_watermark) - epoch_us(_window_end) AS past FROM t) GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2",
        where=where,
    )
    about = ask(
        table,
        ["_window_start", "_window_end"],
        "SELECT count(*) AS letters, count(DISTINCT (_window_start, _window_end)) AS windows, "
        "epoch_us(min(_window_start)) AS low, epoch_us(max(_window_start)) AS high FROM t",
        where=where,
    )[0]
    step = step_of(0 if about["low"] is None else about["high"] - about["low"])
    bars = ask(
        table,
        ["_window_start"],
        f"SELECT {bar_of('_window_start', step)} AS bar, count(*) AS n FROM t GROUP BY 1 ORDER BY 1",  # noqa: S608
        where=where,
    )
    late = tuple(LateRows(p["source"], p["partition"], p["letters"], p["rows"], sizes_of(p)) for p in parts)
    return DeadLetters(stream, about["letters"], about["windows"], late, step, {b["bar"]: b["n"] for b in bars})
