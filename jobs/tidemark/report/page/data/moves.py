"""Counts adjusted, dropped and quarantined rows by reason and partition, and how far adjusted rows were moved."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow.compute as pc

from tidemark.core.policy import Fate, Reason, reason_of
from tidemark.report.page.data.tables import Row, Scope, SourceTable, ask, in_scope


@dataclass(frozen=True)
class Sizes:
    """Exact quantiles of sizes in microseconds: each is the size of an actual row, and at least that share of rows
    has at most this size."""

    median: int
    p95: int
    p99: int
    largest: int


QUANTILES = "quantile_disc({0}, [0.5, 0.95, 0.99]) AS quantiles, max({0}) AS largest"
"""SQL for the fields of Sizes, over a column that is null for rows without a size."""


def sizes_of(row: Row) -> Sizes | None:
    """Return the sizes that QUANTILES computed; None if no row has a size."""
    if row["largest"] is None:
        return None
    median, p95, p99 = row["quantiles"]
    return Sizes(median, p95, p99, row["largest"])


@dataclass(frozen=True)
class Move:
    """Rows of one source that were not on time. A `partition` or `reason` of None means all. A row with two reasons
    counts for each of them, and once if the reason is None. `shifts`: sizes of moves of adjusted rows."""

    partition: str | None
    reason: str | None
    adjusted: int
    dropped: int
    quarantined: int
    shifts: Sizes | None

    @property
    def judged(self) -> int:
        """Number of rows that a policy acted on."""
        return self.adjusted + self.dropped


_SIZED = (
    "SELECT _partition, _disposition, _reasons, CASE WHEN _disposition = 'adjusted' "
    "THEN abs(epoch_us(_system_timestamp) - epoch_us(_event_time)) END AS size FROM t"
)
_COUNTED = ", ".join(
    f"count(*) FILTER (_disposition = '{fate}') AS {fate}" for fate in ("adjusted", "dropped", "quarantined")
)
_QUERY = f"""
WITH sized AS MATERIALIZED ({_SIZED}), reasoned AS (SELECT *, unnest(_reasons) AS reason FROM sized)
SELECT _partition, NULL AS reason, grouping(_partition) AS everywhere, {_COUNTED}, {QUANTILES.format("size")}
FROM sized GROUP BY GROUPING SETS ((), (_partition))
UNION ALL
SELECT _partition, reason, grouping(_partition) AS everywhere, {_COUNTED}, {QUANTILES.format("size")}
FROM reasoned GROUP BY GROUPING SETS ((reason), (reason, _partition))
"""  # noqa: S608 - of constants


def moves_of(source: SourceTable, scope: Scope) -> tuple[Move, ...]:
    """Return all combinations with rows, those of all partitions first; reasons in the
    order in which the steps act."""
    if source.events is None or scope.empty:
        return ()
    found = ask(
        source.events,
        ["_partition", "_disposition", "_reasons", "_event_time", "_system_timestamp"],
        _QUERY,
        where=in_scope(scope, pc.field("_disposition") != Fate.ON_TIME.value),
    )
    moves = map(_move, found)
    return tuple(sorted((move for move in moves if move.judged + move.quarantined), key=_order))


def _move(row: Row) -> Move:
    partition = None if row["everywhere"] else row["_partition"]
    reason = None if row["reason"] is None else reason_of(row["reason"])
    return Move(partition, reason, row["adjusted"], row["dropped"], row["quarantined"], sizes_of(row))


def _order(move: Move) -> tuple[bool, str, int, str]:
    known: list[str] = list(Reason)
    rank = -1 if move.reason is None else known.index(move.reason) if move.reason in known else len(known)
    return move.partition is not None, move.partition or "", rank, move.reason or ""


def by_reason(moves: Iterable[Move]) -> list[Move]:
    """Return the moves of all partitions together, one for each reason."""
    return [move for move in moves if move.partition is None and move.reason is not None]


def drawn_together(moves: Iterable[Move], most: int) -> list[list[Move]]:
    """Return the groups of moves that charts compare, most rows first: one group of all pairs of reason and
    partition, if there are at most `most`; else a group of reasons (of all partitions) and a group of partitions."""
    acted = sorted((move for move in moves if move.judged), key=lambda move: -move.judged)
    single = [move for move in acted if move.reason is not None and move.partition is not None]
    if len(single) <= most:
        return [single] if single else []
    partitions = [move for move in acted if move.reason is None and move.partition is not None]
    return [by_reason(acted), partitions[:most]]
