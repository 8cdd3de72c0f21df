"""Row `joins`: all pairs of two streams of the judged rows, against bare Spark's join by cells of time."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from bench.clock import alternate
from bench.data import LANES, SECOND, landed
from bench.figures import Figure, Section
from bench.place import Place
from bench.rows.windows import closed, timed
from bench.subject import EVENTS, SOURCE, fresh
from tidemark.config import PipelineSpec, StreamSpec

KEY = "device"
HOUR = 3600 * SECOND


@dataclass(frozen=True)
class Kind:
    """A join of points with rows that live for so long, told by what each side takes of the judged rows."""

    name: str
    what: str
    points: str
    lasting: str
    lifetime: int


KINDS = (
    Kind("large", "two large streams, one of lifetimes of 30 s", "id % 2 = 0", "id % 2 = 1", 30 * SECOND),
    Kind(
        "reference",
        "a large stream and a small one of lifetimes of 1 h",
        "id % 100 > 0",
        "id % 100 = 0",
        3600 * SECOND,
    ),
)


def measure(place: Place) -> Section:
    """Judges once; then writes all pairs of each kind in turns with its peer, each to a fresh table."""
    data = landed(place.spark, place.cache, place.rows, LANES)
    pipeline = fresh(place.work / "joins", data)
    pipeline.run(data.end)
    events, last = Path(pipeline.ledger.folder) / EVENTS, pipeline.ledger.last().committed_through
    figures, notes = [], []
    for kind in KINDS:
        ours, theirs = place.work / "ours", place.work / "theirs"
        spec = pipeline.spec.model_copy(update={"streams": _streams(kind)})
        cases = {
            f"{kind.name}, tidemark": timed(partial(_paired, place.spark, spec, events, ours, last), ours),
            f"{kind.name}, bare Spark": timed(partial(_bare, place.spark, kind, events, theirs), theirs),
        }
        mine, others = alternate(cases, place.repeats, place.say).values()
        peer = "bare Spark: the same pairs, joined by key and cell of time"
        figures.append(Figure.of(f"{kind.what}; {place.rows:,} rows", peer, mine, others))
        notes.append(_compared(place.spark, kind, ours / "streams" / "pairs", theirs))
        shutil.rmtree(ours)
        shutil.rmtree(theirs)
    return Section("joins", "Joins", figures, notes)


def _streams(kind: Kind) -> dict[str, StreamSpec]:
    keys = {
        "points": {"from": SOURCE, "where": kind.points},
        "taken": {"from": SOURCE, "where": kind.lasting},
        "lasting": {"from": "taken", "lifetime": f"{kind.lifetime}us"},
        "pairs": {"join": ["points", "lasting"], "on": [KEY], "select": {"a": "points.id", "b": "lasting.id"}},
    }
    return {name: StreamSpec.model_validate({"name": name, **told}) for name, told in keys.items()}


def _paired(spark: SparkSession, spec: PipelineSpec, events: Path, root: Path, last: int) -> None:
    closed(spark, spec, "pairs", events, root, last)


def _bare(spark: SparkSession, kind: Kind, events: Path, root: Path) -> None:
    rows = spark.read.format("delta").load(str(events)).where("_system_timestamp IS NOT NULL")
    at = F.unix_micros("_system_timestamp")

    def side(taken: str, name: str, last: int) -> DataFrame:
        cells = F.sequence(F.floor(at / kind.lifetime), F.floor((at + last) / kind.lifetime))
        return rows.where(taken).select(F.col("id").alias(name), KEY, at.alias(f"at_{name}"), cells.alias("cells"))

    points, lasting = side(kind.points, "a", 0), side(kind.lasting, "b", kind.lifetime - 1)
    cut = [each.withColumn("cell", F.explode("cells")).drop("cells") for each in (points, lasting)]
    alive = (F.col("at_a") >= F.col("at_b")) & (F.col("at_a") < F.col("at_b") + kind.lifetime)
    both = cut[0].join(cut[1], [KEY, "cell"]).where(alive)
    start, end = F.timestamp_micros("at_a"), F.timestamp_micros(F.col("at_a") + 1)
    told = both.select(
        start.alias("_system_timestamp"), end.alias("_end_time"), F.lit(1).alias("_batch_id"), "a", "b"
    )
    told.write.format("delta").save(str(root))


def _compared(spark: SparkSession, kind: Kind, ours: Path, theirs: Path) -> str:
    columns = ["_system_timestamp", "_end_time", "a", "b"]
    mine, other = (spark.read.format("delta").load(str(place)).select(*columns) for place in (ours, theirs))
    differing = mine.exceptAll(other).count() + other.exceptAll(mine).count()
    assert differing == 0, f"{differing} pairs of {kind.name} differ"
    return f"{kind.what}: {mine.count():,} pairs, equal."
