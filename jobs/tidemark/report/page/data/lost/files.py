"""Files with rows that were not on time."""

from __future__ import annotations

from dataclasses import dataclass

from tidemark.core.policy import FATES
from tidemark.report.page.data.tables import Row, Scope, SourceTable, ask, in_scope

MOST_FILES = 20
"""Most files of a source in the list: those with most rows that were dropped or quarantined, then adjusted."""

_COUNTED = ", ".join(f"count(*) FILTER (_disposition = '{fate}') AS {fate}" for fate in FATES)


@dataclass(frozen=True)
class SourceFiles:
    """The files of one source: `total` is their number, `hit` the number with a row that was not on time. `worst` are
    listed, with their numbers of rows and their first and last arrival in microseconds UTC."""

    total: int = 0
    hit: int = 0
    worst: tuple[Row, ...] = ()


def files_of(source: SourceTable, scope: Scope) -> SourceFiles:
    """Count the rows of each file of a scope."""
    if source.events is None or scope.empty:
        return SourceFiles()
    found = ask(
        source.events,
        ["_file", "_disposition", "_arrival_time"],
        f"WITH f AS (SELECT _file AS file, count(*) AS rows, {_COUNTED}, epoch_us(min(_arrival_time)) AS first, "  # noqa: S608 - of constants
        "epoch_us(max(_arrival_time)) AS last FROM t WHERE _file IS NOT NULL GROUP BY 1), "
        "n AS (SELECT count(*) AS total, count(*) FILTER (on_time < rows) AS hit FROM f) "
        "SELECT f.*, n.* FROM n LEFT JOIN f ON on_time < rows "
        f"ORDER BY dropped + quarantined DESC, adjusted DESC, file LIMIT {MOST_FILES}",
        where=in_scope(scope),
    )
    worst = tuple(row for row in found if row["file"] is not None)
    return SourceFiles(found[0]["total"], found[0]["hit"], worst) if found else SourceFiles()
