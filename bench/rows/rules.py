"""Row `rules`: streams with calendar windows, rows before, the next row and left joins, against bare Spark."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from bench.data import SECOND
from bench.figures import Section
from bench.place import Place
from bench.rows.joins import PAIR, alive, joined, points_of
from bench.rows.streams import KEY, Kind, at, in_cells, measure_kinds
from bench.subject import SOURCE

ZONE = "Europe/Amsterdam"
MINUTE = 60 * SECOND
LIFE = PAIR[:2]


def _days(rows: DataFrame) -> DataFrame:
    day = F.to_date(F.from_utc_timestamp("_system_timestamp", ZONE))
    found = rows.groupBy(day.alias("day"), KEY).agg(F.count("*").alias("n"), F.max("speed").alias("m"))
    start, end = (F.to_utc_timestamp(F.date_add("day", number), ZONE) for number in (0, 1))
    return found.select(start.alias("_window_start"), end.alias("_window_end"), KEY, "n", "m")


def _before(rows: DataFrame) -> DataFrame:
    near = F.lag(at()).over(_order()) > at() - 10 * MINUTE
    return rows.select(
        "_system_timestamp",
        F.timestamp_micros(at() + 1).alias("_end_time"),
        "id",
        F.when(near, F.lag("speed").over(_order())).alias("before"),
    )


def _next(rows: DataFrame) -> DataFrame:
    taken = rows.where("id % 10 = 0").select("_system_timestamp", "id", F.lead(at()).over(_order()).alias("next"))
    known = taken.where(F.col("next").isNull() | (F.col("next") > at()))
    end = F.timestamp_micros(F.least("next", at() + 60 * MINUTE))
    return known.select("_system_timestamp", end.alias("_end_time"), "id")


def _left(rows: DataFrame) -> DataFrame:
    points = in_cells(rows.where("id % 2 = 0"), "a", MINUTE)
    lasting = in_cells(rows.where("id % 20 = 1"), "b", MINUTE, MINUTE - 1)
    equal = (points[KEY] == lasting[KEY]) & (points["cell"] == lasting["cell"])
    return points_of(points.join(lasting, equal & alive(MINUTE), "left"))


def _order() -> WindowSpec:
    return Window.partitionBy(KEY).orderBy("_system_timestamp", "_partition", "_offset")


LEFT = joined("id % 2 = 0", "id % 20 = 1", MINUTE)
KINDS = (
    Kind(
        "calendar",
        f"days of {ZONE} by {KEY}",
        {
            "days": {
                "from": SOURCE,
                "tumbling": {"calendar": "day", "zone": ZONE},
                "group_by": [KEY],
                "select": {"n": "count(*)", "m": "max(speed)"},
            }
        },
        _days,
        ["_window_start", "_window_end", KEY, "n", "m"],
    ),
    Kind(
        "preceding",
        f"the value before, of 10 minutes, by {KEY}",
        {
            "looked": {
                "from": SOURCE,
                "preceding": {"by": [KEY], "within": "10m", "select": {"before": "last(speed)"}},
                "publish": True,
            }
        },
        _before,
        [*LIFE, "id", "before"],
    ),
    Kind(
        "until next",
        f"a tenth of the rows, each until the next of its {KEY}",
        {
            "taken": {"from": SOURCE, "where": "id % 10 = 0"},
            "valid": {
                "from": "taken",
                "lifetime": {"until": "next", "by": [KEY], "at_most": "1h"},
                "publish": True,
            },
        },
        _next,
        [*LIFE, "id"],
    ),
    Kind(
        "left join",
        "half of the rows with those of a twentieth that live for a minute",
        {**LEFT, "pairs": {**LEFT["pairs"], "how": "left"}},
        _left,
        PAIR,
    ),
)


def measure(place: Place) -> Section:
    """Measures the stream of each kind."""
    title = "Calendars, rows before, next rows, left joins"
    return measure_kinds(place, "rules", title, "equal rows by its own functions", KINDS)
