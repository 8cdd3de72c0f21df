"""Ranges of arrivals, one a task, that divide work along arrivals; they change no result.

Bounds are found once, from approximate percentiles. If too many rows have one arrival, they may be in any task: the
state before them is equal for all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.spark.maxima import range_of

Points = Iterable[tuple[int, float]]
"""Arrivals, each with the number of rows that it represents."""
_POINTS_A_TASK = 4


@dataclass(frozen=True)
class Ranges:
    """Ranges of arrivals, at most as many as `tasks`; times are microseconds.

    Range n begins at `bounds[n - 1]`, the first before everything. Rows that arrive at a `crowded` time, or have no
    arrival, may be in any task.
    """

    tasks: int = 1
    bounds: tuple[int, ...] = ()
    crowded: tuple[int, ...] = ()

    @classmethod
    def cut(cls, points: Points, tasks: int) -> Ranges:
        """Cut ranges of about equally many rows; a time is crowded if it has more than half of a task's rows."""
        rows: Counter[int] = Counter()
        for time, weight in points:
            rows[time] += weight  # type: ignore[assignment] # a share of the rows need not be whole
        fair = rows.total() / tasks
        crowded = {time for time, weight in rows.items() if weight > fair / 2}
        left = sorted((time, weight) for time, weight in rows.items() if time not in crowded)
        each = sum(weight for _, weight in left) / tasks
        bounds: list[int] = []
        through = 0.0
        for time, weight in left:
            if through > 0 and through >= each * (len(bounds) + 1):
                bounds.append(time)
            through += weight
        return cls(tasks, tuple(bounds[: tasks - 1]), tuple(sorted(crowded)))

    @property
    def starts(self) -> tuple[int, ...]:
        """Times at which the state before must be known: starts of ranges, and right after crowded times."""
        return tuple(sorted({*self.bounds, *(time + 1 for time in self.crowded)}))

    def range_of(self, arrival: Column) -> Column:
        """The task of the range that an arrival is in."""
        return range_of(arrival, self.bounds) if self.bounds else F.lit(0)

    def shared_range(self, arrival: Column, apart: Column) -> Column:
        """Task of a row; rows of a crowded time or without arrival are divided by `apart`, a number."""
        if self.tasks == 1:
            return F.lit(0)
        return range_of(arrival, self.bounds, self.crowded, self.tasks, apart)


def points(rows: DataFrame, arrival: Column, tasks: int, share: float = 1.0) -> Points:
    """Arrivals at equally spaced percentiles, with their weights; `rows` are this `share` of all rows."""
    count = _POINTS_A_TASK * tasks
    percentages = [(number + 0.5) / count for number in range(count)]
    rows_, times = rows.agg(F.count(arrival), F.approx_percentile(arrival, percentages)).collect()[0]
    return [(time, rows_ / share / count) for time in times or ()]
