"""Readings to judge: deterministic, the same for any number of cores, cached in a folder.

A row's number decides everything about it, and rows are written in that order. Of 10,000 rows 1,000 lie up to
20 s behind their partition, 20 more than a minute, and 5 carry a time more than 5 minutes ahead of their arrival;
one row in 50 arrives up to 2 s behind the row before it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

SECOND = 1_000_000
MINUTE = 60 * SECOND
FULL_ROWS = 8_000_000
LANES = 4
"""Partitions, where their number is not what is measured."""
FILES = 4
SPAN = 24 * 3600 * SECOND
BASE = 1_750_000_000 * SECOND
"""Arrival of the first row, microseconds UTC."""

EARLY, LATE, OUT_OF_ORDER = 5 * MINUTE, MINUTE, 5 * SECOND
SCHEMA = "id BIGINT, device STRING, lane STRING, event_time TIMESTAMP, arrived TIMESTAMP, speed DOUBLE, note STRING"
_VERSION = 1


@dataclass(frozen=True)
class Landed:
    """Files of readings in log order; `end` is later than every arrival and is their latest landing time."""

    folder: Path
    rows: int
    lanes: int
    end: int
    suffix: str = "parquet"

    @property
    def files(self) -> list[Path]:
        return sorted(self.folder.glob(f"*.{self.suffix}"), key=lambda path: path.stat().st_mtime_ns)


@dataclass(frozen=True)
class Shape:
    """What tells data sets of as many rows and partitions apart: into how many files they are cut, how many devices
    sent them, and over how many days."""

    files: int = FILES
    devices: int = 1000
    days: int = 1

    def name(self, rows: int, lanes: int) -> str:
        """The folder's."""
        told = [f"{number}{what[0]}" for what, number in asdict(self).items() if number != getattr(Shape, what)]
        return "-".join(["readings", str(_VERSION), str(rows), str(lanes), *told])


def readings(spark: SparkSession, first: int, end: int, step: int, lanes: int, devices: int = 1000) -> DataFrame:
    """Rows first..end-1 in order; one arrives every `step` microseconds, in one of `lanes` partitions."""
    row = F.col("id")
    clean = F.lit(BASE) + row * step
    kind = _draw(1, 10_000)
    event = (
        F.when(kind < 5, clean + EARLY + MINUTE + _draw(2, 4 * MINUTE))
        .when(kind < 25, clean - LATE - SECOND - _draw(3, 8 * MINUTE))
        .when(kind < 1025, clean - SECOND // 2 - _draw(4, 20 * SECOND))
        .otherwise(clean - SECOND // 2)
    )
    arrived = clean - F.when(_draw(5, 50) == 0, _draw(6, 2 * SECOND)).otherwise(0)
    return spark.range(first, end, 1, 1).select(
        row,
        F.format_string("device-%03d", _draw(7, devices)).alias("device"),
        _draw(8, lanes).cast("string").alias("lane"),
        F.timestamp_micros(event).alias("event_time"),
        F.timestamp_micros(arrived).alias("arrived"),
        (_draw(9, 160_000) / 1000.0).alias("speed"),
        F.when(_draw(10, 10) > 0, F.format_string("toll %d", _draw(11, 5000))).alias("note"),
    )


def landed(spark: SparkSession, cache: Path, rows: int, lanes: int, shape: Shape = Shape()) -> Landed:
    """Readings in files of equal length, made once and kept under `cache`."""
    folder = cache / shape.name(rows, lanes)
    step = SPAN * shape.days // rows
    found = Landed(folder, rows, lanes, BASE + rows * step)
    if folder.is_dir():
        return found
    making = folder.with_name(folder.name + "-making")
    shutil.rmtree(making, ignore_errors=True)
    bounds = [rows * index // shape.files for index in range(shape.files + 1)]
    for index in range(shape.files):
        part = making / "parts"
        made = readings(spark, bounds[index], bounds[index + 1], step, lanes, shape.devices)
        _one_file(made, part, making / f"{index:04}.parquet", BASE + bounds[index + 1] * step)
    making.rename(folder)
    return found


def as_json(spark: SparkSession, data: Landed) -> Landed:
    """The same rows as lines of JSON, file by file; made once and kept beside them."""
    folder = data.folder.with_name(data.folder.name + "-json")
    found = Landed(folder, data.rows, data.lanes, data.end, "json")
    if folder.is_dir():
        return found
    making = folder.with_name(folder.name + "-making")
    shutil.rmtree(making, ignore_errors=True)
    for path in data.files:
        rows = spark.read.parquet(str(path)).coalesce(1)
        landed_at = path.stat().st_mtime_ns // 1000
        _one_file(rows, making / "parts", making / f"{path.stem}.json", landed_at)
    making.rename(folder)
    return found


def _one_file(rows: DataFrame, parts: Path, target: Path, landed_at: int) -> None:
    """Write rows of one task as one file that landed at a time, microseconds UTC."""
    kind = target.suffix.removeprefix(".")
    rows.write.format(kind).option("timestampFormat", "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX").save(str(parts))
    next(parts.glob(f"*.{kind}")).rename(target)
    _landed_at(target, landed_at)
    shutil.rmtree(parts)


class Trickle:
    """Objects of `rows` readings each, a minute of arrivals, that land one by one in one or more folders."""

    def __init__(self, spark: SparkSession, cache: Path, rows: int, lanes: int, objects: int) -> None:
        self.rows = rows
        self.step = MINUTE // rows
        self.folder = cache / f"trickle-{_VERSION}-{rows}-{lanes}-{objects}"
        if not self.folder.is_dir():
            self._make(spark, lanes, objects)

    def land(self, number: int, landings: Sequence[Path]) -> int:
        """Put object `number` (from 0) into the landing folders; returns its landing time."""
        at = BASE + (number + 1) * self.rows * self.step
        for landing in landings:
            landing.mkdir(parents=True, exist_ok=True)
            target = landing / object_name(f"trickle {number}")
            shutil.copyfile(self.folder / f"{number}.parquet", target)
            _landed_at(target, at)
        return at

    def _make(self, spark: SparkSession, lanes: int, objects: int) -> None:
        making = self.folder.with_name(self.folder.name + "-making")
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir(parents=True)
        table = readings(spark, 0, self.rows * objects, self.step, lanes).toArrow()
        for number in range(objects):
            pq.write_table(table.slice(number * self.rows, self.rows), making / f"{number}.parquet")
        making.rename(self.folder)


def object_name(what: str) -> str:
    """A name as writers give it, in no order: bounds of names prune no file of the ledger."""
    return f"part-{uuid5(NAMESPACE_URL, what)}.parquet"


def _draw(purpose: int, below: int) -> Column:
    """A number in 0..below-1 that depends on the row and the purpose alone."""
    return F.pmod(F.xxhash64("id", F.lit(purpose)), F.lit(below))


def _landed_at(path: Path, micros: int) -> None:
    os.utime(path, ns=(micros * 1000, micros * 1000))
