"""Row `rules`: streams with calendar windows, rows before, the next row and left joins, against bare Spark."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession, Window, WindowSpec
from pyspark.sql import functions as F

from bench.clock import alternate
from bench.data import LANES, SECOND, landed
from bench.figures import Figure, Section
from bench.place import Place
from bench.rows.windows import closed, timed
from bench.subject import EVENTS, SOURCE, fresh
from tidemark.config import StreamSpec

KEY = "device"
ZONE = "Europe/Amsterdam"
MINUTE = 60 * SECOND

LIFE = ["_system_timestamp", "_end_time"]


@dataclass(frozen=True)
class Kind:
    """Streams, of which the last is measured, and the rows that bare Spark has for it, from rows that survived.
    Both have the `columns`."""

    name: str
    what: str
    streams: dict[str, dict[str, Any]]
    bare: Callable[[DataFrame], DataFrame]
    columns: list[str]


def _days(rows: DataFrame) -> DataFrame:
    day = F.to_date(F.from_utc_timestamp("_system_timestamp", ZONE))
    found = rows.groupBy(day.alias("day"), KEY).agg(F.count("*").alias("n"), F.max("speed").alias("m"))
    start, end = (F.to_utc_timestamp(F.date_add("day", number), ZONE) for number in (0, 1))
    return found.select(start.alias("_window_start"), end.alias("_window_end"), KEY, "n", "m")


def _before(rows: DataFrame) -> DataFrame:
    near = F.lag(_at()).over(_order()) > _at() - 10 * MINUTE
    return rows.select(
        "_system_timestamp",
        F.timestamp_micros(_at() + 1).alias("_end_time"),
        "id",
        F.when(near, F.lag("speed").over(_order())).alias("before"),
    )


def _next(rows: DataFrame) -> DataFrame:
    taken = rows.where("id % 10 = 0").select("_system_timestamp", "id", F.lead(_at()).over(_order()).alias("next"))
    known = taken.where(F.col("next").isNull() | (F.col("next") > _at()))
    end = F.timestamp_micros(F.least("next", _at() + 60 * MINUTE))
    return known.select("_system_timestamp", end.alias("_end_time"), "id")


def _left(rows: DataFrame) -> DataFrame:
    def side(taken: str, name: str, last: int) -> DataFrame:
        cells = F.sequence(F.floor(_at() / MINUTE), F.floor((_at() + last) / MINUTE))
        cut = rows.where(taken).withColumn("cell", F.explode(cells))
        return cut.select(
            F.col("id").alias(name), _at().alias(f"at_{name}"), F.col(KEY).alias(f"{KEY}_{name}"), "cell"
        )

    points, lasting = side("id % 2 = 0", "a", 0), side("id % 20 = 1", "b", MINUTE - 1).withColumnRenamed("cell", "c")
    alive = (F.col("at_a") >= F.col("at_b")) & (F.col("at_a") < F.col("at_b") + MINUTE)
    pairs = (F.col(f"{KEY}_a") == F.col(f"{KEY}_b")) & (F.col("cell") == F.col("c")) & alive
    both = points.join(lasting, pairs, "left")
    start, end = F.timestamp_micros("at_a"), F.timestamp_micros(F.col("at_a") + 1)
    return both.select(start.alias("_system_timestamp"), end.alias("_end_time"), "a", "b")


def _at() -> Column:
    return F.unix_micros("_system_timestamp")


def _order() -> WindowSpec:
    return Window.partitionBy(KEY).orderBy("_system_timestamp", "_partition", "_offset")


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
        {
            "points": {"from": SOURCE, "where": "id % 2 = 0"},
            "few": {"from": SOURCE, "where": "id % 20 = 1"},
            "lasting": {"from": "few", "lifetime": "1m"},
            "pairs": {
                "join": ["points", "lasting"],
                "how": "left",
                "on": [KEY],
                "select": {"a": "points.id", "b": "lasting.id"},
            },
        },
        _left,
        [*LIFE, "a", "b"],
    ),
)


def measure(place: Place) -> Section:
    """Judges once; then writes the stream of each kind in turns with its peer, each to a fresh table."""
    data = landed(place.spark, place.cache, place.rows, LANES)
    pipeline = fresh(place.work / "rules", data)
    pipeline.run(data.end)
    events, last = Path(pipeline.ledger.folder) / EVENTS, pipeline.ledger.last().committed_through
    figures, notes = [], []
    for kind in KINDS:
        ours, theirs = place.work / "ours", place.work / "theirs"
        streams = {name: StreamSpec.model_validate({"name": name, **keys}) for name, keys in kind.streams.items()}
        spec, name = pipeline.spec.model_copy(update={"streams": streams}), list(streams)[-1]
        cases = {
            f"{kind.name}, tidemark": timed(partial(closed, place.spark, spec, name, events, ours, last), ours),
            f"{kind.name}, bare Spark": timed(partial(_bare, place.spark, kind, events, theirs), theirs),
        }
        mine, others = alternate(cases, place.repeats, place.say).values()
        what = f"{kind.what}; {place.rows:,} rows"
        figures.append(Figure.of(what, "bare Spark: equal rows by its own functions", mine, others))
        notes.append(_compared(place.spark, kind, ours / "streams" / name, theirs))
        shutil.rmtree(ours)
        shutil.rmtree(theirs)
    return Section("rules", "Calendars, rows before, next rows, left joins", figures, notes)


def _bare(spark: SparkSession, kind: Kind, events: Path, root: Path) -> None:
    rows = spark.read.format("delta").load(str(events)).where("_system_timestamp IS NOT NULL")
    kind.bare(rows).withColumn("_batch_id", F.lit(1)).write.format("delta").save(str(root))


def _compared(spark: SparkSession, kind: Kind, ours: Path, theirs: Path) -> str:
    mine, other = (spark.read.format("delta").load(str(place)).select(*kind.columns) for place in (ours, theirs))
    differing = mine.exceptAll(other).count() + other.exceptAll(mine).count()
    assert differing == 0, f"{differing} rows of {kind.name} differ"
    return f"{kind.what}: {mine.count():,} rows, equal."
