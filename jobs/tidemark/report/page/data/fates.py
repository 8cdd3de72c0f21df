"""Number of rows with each fate: by partition, and by the time of their arrival."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidemark.core.policy import Fate
from tidemark.core.times import DAY, HOUR, MILLISECOND, MINUTE, SECOND
from tidemark.report.page.data.tables import Scope, SourceTable, ask, in_scope

MOST_STEPS = 60
"""Most steps into which a chart divides its time range."""

_STEPS = (
    *(n * MILLISECOND for n in (1, 10, 100)),
    *(n * SECOND for n in (1, 5, 15)),
    *(n * MINUTE for n in (1, 5, 15)),
    *(n * HOUR for n in (1, 3, 6, 12)),
    *(n * DAY for n in (1, 7, 28, 91, 364, 3_640, 36_400, 364_000)),
)

Counts = Mapping[Fate, int]


@dataclass(frozen=True)
class FatesOverTime:
    """Counts of one source's rows. `by_partition` has every partition with rows. `bars` counts rows by fate and start
    of a step of `step` microseconds. `untimed` rows lack an arrival and are in no bar. Times in microseconds UTC."""

    by_partition: Mapping[str, Counts] = field(default_factory=dict)
    first: int | None = None
    last: int | None = None
    untimed: int = 0
    step: int = DAY
    bars: Mapping[tuple[int, Fate], int] = field(default_factory=dict)

    @property
    def totals(self) -> dict[Fate, int]:
        """Rows by fate; fates without rows are included."""
        return {fate: sum(counts.get(fate, 0) for counts in self.by_partition.values()) for fate in Fate}

    @property
    def rows(self) -> int:
        return sum(self.totals.values())


def step_of(span: int, most: int = MOST_STEPS) -> int:
    """Return the smallest round step that divides a span of microseconds into at most `most` steps."""
    return next((step for step in _STEPS if span // step < most), _STEPS[-1])


def bar_of(column: str, step: int) -> str:
    """Return SQL for the start of the step that contains a time, microseconds; steps begin at multiples of `step`."""
    return f"epoch_us({column}) - (epoch_us({column}) % {step} + {step}) % {step}"


def fates_of(source: SourceTable, scope: Scope) -> FatesOverTime:
    """Count the rows of one source in the batches of a scope."""
    if source.events is None or scope.empty:
        return FatesOverTime()
    found = ask(
        source.events,
        ["_partition", "_disposition", "_arrival_time"],
        "SELECT _partition AS name, _disposition AS fate, count(*) AS n, "
        "count(_arrival_time) AS timed, epoch_us(min(_arrival_time)) AS low, "
        "epoch_us(max(_arrival_time)) AS high FROM t GROUP BY 1, 2 ORDER BY 1, 2",
        where=in_scope(scope),
    )
    by_partition: dict[str, dict[Fate, int]] = {}
    for row in found:
        by_partition.setdefault(row["name"], {})[Fate(row["fate"])] = row["n"]
    first = min((row["low"] for row in found if row["timed"]), default=None)
    last = max((row["high"] for row in found if row["timed"]), default=None)
    step = step_of(0 if first is None or last is None else last - first)
    untimed = sum(row["n"] - row["timed"] for row in found)
    return FatesOverTime(by_partition, first, last, untimed, step, _bars(source, scope, step))


def _bars(source: SourceTable, scope: Scope, step: int) -> dict[tuple[int, Fate], int]:
    if source.events is None:
        return {}
    found = ask(
        source.events,
        ["_disposition", "_arrival_time"],
        f"SELECT {bar_of('_arrival_time', step)} AS bar, _disposition AS fate, count(*) AS n "  # noqa: S608
        "FROM t WHERE _arrival_time IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2",
        where=in_scope(scope),
    )
    return {(row["bar"], Fate(row["fate"])): row["n"] for row in found}
