"""Shares of dropped rows (adjusted rows if none was dropped), by partition and time of arrival."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow.compute as pc

from tidemark.core.policy import Fate
from tidemark.report.page.data.fates import FatesOverTime, bar_of, step_of
from tidemark.report.page.data.tables import Scope, SourceTable, ask, in_scope

MOST_PARTITIONS = 12
"""Most partitions of a source, those with most rows of the fate."""
_MOST_STEPS = 30


@dataclass(frozen=True)
class Shares:
    """`cells`: rows of the fate and all rows, by partition and start of a step of `step` microseconds, if the fate
    has rows there. `partitions`: partitions with most rows of the fate, most first; `others`: number of others."""

    fate: Fate
    step: int
    first: int
    last: int
    partitions: tuple[str, ...]
    others: int
    cells: Mapping[tuple[str, int], tuple[int, int]]


def shares_of(source: SourceTable, scope: Scope, fates: FatesOverTime) -> Shares | None:
    """Count the rows of each partition; None if there is one partition, or if no row was dropped or adjusted."""
    fate = next((fate for fate in (Fate.DROPPED, Fate.ADJUSTED) if fates.totals[fate]), None)
    if source.events is None or len(fates.by_partition) < 2 or fate is None:
        return None
    if fates.first is None or fates.last is None:
        return None
    counts = {name: found.get(fate, 0) for name, found in fates.by_partition.items()}
    hit = sorted((name for name in counts if counts[name]), key=lambda name: (-counts[name], name))
    shown, step = tuple(hit[:MOST_PARTITIONS]), step_of(fates.last - fates.first, _MOST_STEPS)
    found = ask(
        source.events,
        ["_partition", "_disposition", "_arrival_time"],
        f"SELECT _partition AS name, {bar_of('_arrival_time', step)} AS bar, count(*) AS n, "  # noqa: S608
        f"count(*) FILTER (_disposition = '{fate}') AS hit FROM t WHERE _arrival_time IS NOT NULL "
        "GROUP BY 1, 2 HAVING hit > 0 ORDER BY 1, 2",
        where=in_scope(scope, pc.field("_partition").isin(list(shown))),
    )
    cells = {(row["name"], row["bar"]): (row["hit"], row["n"]) for row in found}
    first, last = (time // step * step for time in (fates.first, fates.last))
    return Shares(fate, step, first, last + step, shown, len(hit) - len(shown), cells)
