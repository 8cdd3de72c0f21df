"""Streams over the judged rows, measured against bare Spark, which writes equal rows."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from bench.clock import alternate
from bench.data import LANES, landed
from bench.figures import Figure, Section
from bench.place import Place
from bench.rows.windows import closed, timed
from bench.subject import EVENTS, fresh
from tidemark.config import StreamSpec

KEY = "device"


@dataclass(frozen=True)
class Kind:
    """Streams, of which the last is measured, and the rows that bare Spark has for it, from rows that survived.
    Both have the `columns`."""

    name: str
    what: str
    streams: dict[str, dict[str, Any]]
    bare: Callable[[DataFrame], DataFrame]
    columns: list[str]


def measure_kinds(place: Place, row: str, title: str, peer: str, kinds: Sequence[Kind]) -> Section:
    """Judges once; then writes the stream of each kind in turns with its peer, each to a fresh table."""
    data = landed(place.spark, place.cache, place.rows, LANES)
    pipeline = fresh(place.work / row, data)
    pipeline.run(data.end)
    events, last = Path(pipeline.ledger.folder) / EVENTS, pipeline.ledger.last().committed_through
    figures, notes = [], []
    for kind in kinds:
        ours, theirs = place.work / "ours", place.work / "theirs"
        streams = {name: StreamSpec.model_validate({"name": name, **keys}) for name, keys in kind.streams.items()}
        spec, name = pipeline.spec.model_copy(update={"streams": streams}), list(streams)[-1]
        cases = {
            f"{kind.name}, tidemark": timed(partial(closed, place.spark, spec, name, events, ours, last), ours),
            f"{kind.name}, bare Spark": timed(partial(_bare, place.spark, kind, events, theirs), theirs),
        }
        mine, others = alternate(cases, place.repeats, place.say).values()
        figures.append(Figure.of(f"{kind.what}; {place.rows:,} rows", f"bare Spark: {peer}", mine, others))
        notes.append(_compared(place.spark, kind, ours / "streams" / name, theirs))
        shutil.rmtree(ours)
        shutil.rmtree(theirs)
    return Section(row, title, figures, notes)


def at() -> Column:
    """Times of rows, microseconds."""
    return F.unix_micros("_system_timestamp")


def in_cells(rows: DataFrame, name: str, lifetime: int, last: int = 0) -> DataFrame:
    """Rows under this name with their times, once for each `cell` of the size of a lifetime that they touch up to
    `last` microseconds after their start."""
    cells = F.sequence(F.floor(at() / lifetime), F.floor((at() + last) / lifetime))
    return rows.select(F.col("id").alias(name), KEY, at().alias(f"at_{name}"), F.explode(cells).alias("cell"))


def _bare(spark: SparkSession, kind: Kind, events: Path, root: Path) -> None:
    rows = spark.read.format("delta").load(str(events)).where("_system_timestamp IS NOT NULL")
    kind.bare(rows).withColumn("_batch_id", F.lit(1)).write.format("delta").save(str(root))


def _compared(spark: SparkSession, kind: Kind, ours: Path, theirs: Path) -> str:
    mine, other = (spark.read.format("delta").load(str(place)).select(*kind.columns) for place in (ours, theirs))
    differing = mine.exceptAll(other).count() + other.exceptAll(mine).count()
    assert differing == 0, f"{differing} rows of {kind.name} differ"
    return f"{kind.what}: {mine.count():,} rows, equal."
