"""What people would use instead: a bare Spark job, and Structured Streaming."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from deltalake import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery

from bench.data import SCHEMA
from tidemark.core.times import parse_time
from tidemark.spark.judge.events import PARTITION_COLUMN, STATISTICS

_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.databricks.delta.snapshotPartitions": "1",
}
"""What helps Structured Streaming here as it helps tidemark."""
PAYLOAD = tuple(column.split()[0] for column in SCHEMA.split(", "))


def bare_job(spark: SparkSession, landing: Path, target: Path, statistics: str | None = STATISTICS) -> None:
    """Read, bring partitions together, sort by event time, write the columns of an events table: each
    system column constant or a copy of a payload column, in the same layout. Delta keeps the bounds of the same
    columns as for tidemark (`statistics`; None: of every column, its default)."""
    cores = spark.sparkContext.defaultParallelism
    rows = _read(spark, landing).repartition(cores, "lane").sortWithinPartitions("lane", "event_time")
    written = widened(rows, landing).write.format("delta").partitionBy(PARTITION_COLUMN)
    if statistics is not None:
        written = written.option("delta.dataSkippingStatsColumns", statistics)
    written.save(str(target))


def widened(rows: DataFrame, landing: Path) -> DataFrame:
    """Rows with the columns of an events table, each constant or a copy of a payload column."""
    file = next(path for path in landing.iterdir() if path.is_file()).as_uri()
    system = [column.alias(name) for name, column in _system_columns(file).items()]
    return rows.select(*system, *PAYLOAD)


def default_job(spark: SparkSession, landing: Path, target: Path) -> None:
    """The bare job with Delta's own settings."""
    bare_job(spark, landing, target, None)


def payload_copy(spark: SparkSession, landing: Path, target: Path) -> None:
    """Copy the payload to Delta as it comes, neither spread nor sorted."""
    _read(spark, landing).write.format("delta").save(str(target))


def rows_of(target: Path) -> int:
    """Rows of a Delta table."""
    return int(DeltaTable(str(target)).to_pyarrow_dataset().count_rows())


def _read(spark: SparkSession, landing: Path) -> DataFrame:
    kind = next(path for path in landing.iterdir() if path.is_file()).suffix.removeprefix(".")
    return spark.read.schema(SCHEMA).format(kind).load(str(landing))


def _system_columns(file: str) -> dict[str, Column]:
    event, arrival = F.col("event_time"), F.col("arrived")
    return {
        "_partition": F.col("lane"),
        "_offset": F.col("id"),
        "_arrival_time": arrival,
        "_arrival_date": arrival.cast("date"),
        "_event_time": event,
        "_end_time": F.lit(None).cast("timestamp"),
        "_system_timestamp": event,
        "_disposition": F.lit("on_time"),
        "_reasons": F.array().cast("array<string>"),
        "_watermark": event,
        "_substream": F.lit(None).cast("string"),
        "_batch_id": F.lit(1).cast("long"),
        "_file": F.lit(file),
        "_raw": F.lit(None).cast("string"),
    }


class Streaming:
    """Structured Streaming over a landing folder: watermarked rows, and 1-minute windows, both to Delta. A trigger
    takes `files` files (None: all there are); `wide` rows have the columns of an events table, in its layout."""

    def __init__(
        self, spark: SparkSession, landing: Path, folder: Path, *, files: int | None = None, wide: bool = False
    ) -> None:
        self.spark, self.landing, self.folder = spark.newSession(), landing, folder
        self.files, self.wide = files, wide
        landing.mkdir(parents=True, exist_ok=True)
        if wide:
            self._tune()
        cores = str(spark.sparkContext.defaultParallelism)
        for key, value in {**_SETTINGS, "spark.sql.shuffle.partitions": cores}.items():
            self.spark.conf.set(key, value)
        self.queries: list[StreamingQuery] = []

    def _tune(self) -> None:
        """Make the table of the rows, so that Delta keeps the bounds of the same columns as for tidemark."""
        none = widened(self.spark.createDataFrame([], SCHEMA), self.landing)
        writer = none.write.format("delta").partitionBy(PARTITION_COLUMN)
        writer.option("delta.dataSkippingStatsColumns", STATISTICS).save(str(self.folder / "rows"))

    def restart(self) -> None:
        """Take up both queries from their checkpoints, process what has landed, and end."""
        self.queries = self._start(lambda writer: writer.trigger(availableNow=True))
        for query in self.queries:
            query.awaitTermination()

    def running(self) -> list[StreamingQuery]:
        """Both queries, left running; `caught_up` waits for them."""
        return self._start(lambda writer: writer.trigger(processingTime="0 seconds"))

    @staticmethod
    def caught_up(queries: list[StreamingQuery]) -> None:
        for query in queries:
            query.processAllAvailable()

    @property
    def rows(self) -> int:
        """Rows that the first query has written."""
        return rows_of(self.folder / "rows")

    @property
    def watermark(self) -> int:
        """Of the windows when their query last ended, microseconds UTC."""
        told = self.queries[1].lastProgress
        assert told is not None, "no trigger has run"
        return parse_time(told["eventTime"]["watermark"])

    def _start(self, triggered: Callable[..., object]) -> list[StreamingQuery]:
        reader = self.spark.readStream.schema(SCHEMA)
        if self.files is not None:
            reader = reader.option("maxFilesPerTrigger", self.files)
        rows = reader.parquet(str(self.landing)).withWatermark("event_time", "1 minute")
        windows = rows.groupBy(F.window("event_time", "1 minute"), "lane").agg(
            F.count("*").alias("n"), F.avg("speed").alias("speed")
        )
        found = []
        for name, frame in (("rows", widened(rows, self.landing) if self.wide else rows), ("windows", windows)):
            writer = frame.writeStream.format("delta").outputMode("append").queryName(name)
            if self.wide and name == "rows":
                writer = writer.partitionBy(PARTITION_COLUMN)
            writer = writer.option("checkpointLocation", str(self.folder / "checkpoints" / name))
            triggered(writer)
            found.append(writer.start(str(self.folder / name)))
        return found
