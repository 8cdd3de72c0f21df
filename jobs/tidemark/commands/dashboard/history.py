"""Data for charts of the newest batches: fates, watermark delays, idle partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyarrow.dataset import Dataset

from tidemark.config import PipelineSpec
from tidemark.core.policy import Fate
from tidemark.ledger.ledger import Ledger
from tidemark.report.page.data.delays import Delay, Idle, delays_of, ends_of, idle_of
from tidemark.report.page.data.fates import FatesOverTime, step_of
from tidemark.report.page.data.tables import Row, Scope, Tables, ask

DRAWN = 1_000
"""Number of newest batches that charts show."""


@dataclass(frozen=True)
class BatchHistory:
    """Data for charts of the newest `batches` batches; each bar is at the as_of of its run. `counted`: rows by fate
    and source at each as_of (`at`), microseconds UTC."""

    batches: int
    counted: Sequence[Row]
    fates: Mapping[str, FatesOverTime]
    ends: Sequence[Row]
    delays: Sequence[Delay]
    idle: Sequence[Idle]


def history_of(spec: PipelineSpec, ledger: Ledger) -> BatchHistory:
    """Read the data that charts show of the newest batches."""
    through = ledger.last().committed_through
    scope = Scope(max(1, through - DRAWN + 1), through)
    names = ("batches", "watermarks", "diagnostics")
    batches, marks, found = (ledger.table(name, through) for name in names)
    tables = Tables(spec, str(spec.path), scope, [], batches, marks, found)
    ends, counted = ends_of(tables), _counted(tables.batches, scope)
    idle = idle_of(tables, ends)
    return BatchHistory(through - scope.first + 1, counted, _by_source(counted), ends, delays_of(tables, ends), idle)


def _counted(batches: Dataset, scope: Scope) -> list[Row]:
    """Rows by fate and source at the as_of of their run, as the ledger counts them."""
    counts = ", ".join(f"CAST(sum(c.{fate}) AS BIGINT) AS {fate}" for fate in Fate)
    return ask(
        batches,
        ["batch_id", "as_of", "counts"],
        f"SELECT c.source AS source, epoch_us(as_of) AS at, {counts} FROM "  # noqa: S608 - the names are our own
        "(SELECT as_of, unnest(counts) AS c FROM t) GROUP BY 1, 2 ORDER BY 1, 2",
        where=scope.of("batch_id"),
    )


def _by_source(counted: Sequence[Row]) -> dict[str, FatesOverTime]:
    by_source: dict[str, list[Row]] = {}
    for row in counted:
        by_source.setdefault(row["source"], []).append(row)
    return {source: _binned(rows) for source, rows in by_source.items()}


def _binned(rows: Sequence[Row]) -> FatesOverTime:
    """Rows of one source by fate, in steps of time."""
    first, last = rows[0]["at"], rows[-1]["at"]
    step, bars = step_of(last - first), dict[tuple[int, Fate], int]()
    for row in rows:
        for fate in Fate:
            if row[fate.value]:
                bar = (row["at"] - row["at"] % step, fate)
                bars[bar] = bars.get(bar, 0) + row[fate.value]
    return FatesOverTime({}, first, last, 0, step, bars)
