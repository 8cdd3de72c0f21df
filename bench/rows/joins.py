"""Row `joins`: all pairs of two streams of the judged rows, against bare Spark's join by cells of time."""

from __future__ import annotations

from functools import partial

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from bench.data import SECOND
from bench.figures import Section
from bench.place import Place
from bench.rows.streams import KEY, Kind, in_cells, measure_kinds
from bench.subject import SOURCE

PAIR = ["_system_timestamp", "_end_time", "a", "b"]


def joined(points: str, lasting: str, lifetime: int) -> dict[str, dict[str, object]]:
    """Streams of points and of rows that live for so long, each told by what it takes, and their pairs."""
    return {
        "points": {"from": SOURCE, "where": points},
        "taken": {"from": SOURCE, "where": lasting},
        "lasting": {"from": "taken", "lifetime": f"{lifetime}us"},
        "pairs": {"join": ["points", "lasting"], "on": [KEY], "select": {"a": "points.id", "b": "lasting.id"}},
    }


def alive(lifetime: int) -> Column:
    """Condition that the point `a` lies in the lifetime of `b`."""
    return (F.col("at_a") >= F.col("at_b")) & (F.col("at_a") < F.col("at_b") + lifetime)


def points_of(rows: DataFrame) -> DataFrame:
    """Pairs as rows that live at the instant of their point."""
    start, end = F.timestamp_micros("at_a"), F.timestamp_micros(F.col("at_a") + 1)
    return rows.select(start.alias("_system_timestamp"), end.alias("_end_time"), "a", "b")


def _pairs(points: str, lasting: str, lifetime: int, rows: DataFrame) -> DataFrame:
    one = in_cells(rows.where(points), "a", lifetime)
    other = in_cells(rows.where(lasting), "b", lifetime, lifetime - 1)
    return points_of(one.join(other, [KEY, "cell"]).where(alive(lifetime)))


def _kind(name: str, what: str, *taken: str, lifetime: int) -> Kind:
    points, lasting = taken
    return Kind(name, what, joined(points, lasting, lifetime), partial(_pairs, points, lasting, lifetime), PAIR)


KINDS = (
    _kind("large", "two large streams, one of lifetimes of 30 s", "id % 2 = 0", "id % 2 = 1", lifetime=30 * SECOND),
    _kind(
        "reference",
        "a large stream and a small one of lifetimes of 1 h",
        "id % 100 > 0",
        "id % 100 = 0",
        lifetime=3600 * SECOND,
    ),
)


def measure(place: Place) -> Section:
    """Measures all pairs of each kind."""
    return measure_kinds(place, "joins", "Joins", "the same pairs, joined by key and cell of time", KINDS)
