"""Distances from event time to arrival, for a sample of rows over the whole scope."""

from __future__ import annotations

from dataclasses import dataclass

from tidemark.core.policy import Fate
from tidemark.report.page.data.fates import FatesOverTime
from tidemark.report.page.data.tables import Scope, SourceTable, ask, in_scope

MOST = 220
"""Approximate number of rows sampled of each fate; a fate with fewer is shown whole."""
EXTREMES = 5
"""Number of rows of each fate, those farthest from their arrival, that are always shown."""

_SPREAD = "(_offset % 1073741824) * 2654435761 % 4294967296"
"""SQL that hashes an offset evenly over 2^32: equal rows give an equal sample, evenly along the log."""


@dataclass(frozen=True)
class Lag:
    """One row: its arrival, and its event time less its arrival (negative: the event came first); microseconds."""

    fate: Fate
    arrival: int
    lag: int


@dataclass(frozen=True)
class Lags:
    """The sampled rows of one source and the number of rows to sample from."""

    points: tuple[Lag, ...]
    rows: int


def lags_of(source: SourceTable, scope: Scope, fates: FatesOverTime) -> Lags:
    """Sample rows of every fate and the extremes of each; equal tables give an equal sample."""
    if source.events is None or scope.empty or not source.timed:
        return Lags((), 0)
    shares = {fate: 4294967296 * MOST // max(count, 1) for fate, count in fates.totals.items()}
    chosen = " ".join(f"WHEN '{fate.value}' THEN {share}" for fate, share in shares.items())
    found = ask(
        source.events,
        ["_offset", "_partition", "_disposition", "_arrival_time", "_event_time"],
        f"""WITH r AS (SELECT _disposition AS fate, _partition AS p, _offset AS o, epoch_us(_arrival_time) AS a,
            epoch_us(_event_time) - epoch_us(_arrival_time) AS lag, {_SPREAD} AS spread
            FROM t WHERE _arrival_time IS NOT NULL AND _event_time IS NOT NULL AND _disposition <> 'quarantined'),
        g AS (SELECT fate, count(*) AS n,
            arg_max({{p: p, o: o, a: a, lag: lag}}, {{far: abs(lag), p: p, o: o}}, {EXTREMES}) AS far,
            list({{p: p, o: o, a: a, lag: lag}})
                FILTER (spread < CASE fate {chosen} END) AS near FROM r GROUP BY 1)
        SELECT fate, n, unnest(list_sort(list_distinct(list_concat(far, near)))) AS r FROM g ORDER BY fate""",  # noqa: S608 - of numbers and own names
        where=in_scope(scope),
    )
    points = tuple(Lag(Fate(row["fate"]), row["r"]["a"], row["r"]["lag"]) for row in found)
    return Lags(points, sum({row["fate"]: row["n"] for row in found}.values()))
