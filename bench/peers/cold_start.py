"""Peers that start, take a thousand rows of JSON, and end.

python cold_start.py session|streaming|duckdb FOLDER LANDING
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

SCHEMA = "id BIGINT, lane STRING, device STRING, speed DOUBLE, event_time TIMESTAMP, arrived TIMESTAMP"
DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.ui.enabled": "false",
}
"""What Delta's documentation has people set, and no page that nobody looks at."""


def session(folder: Path, landing: Path) -> None:
    """The least that PySpark and Delta can do: read the newest file, append it to a table."""
    newest = max(landing.iterdir())
    _spark().read.schema(SCHEMA).json(str(newest)).write.format("delta").mode("append").save(str(folder / "rows"))


def streaming(folder: Path, landing: Path) -> None:
    """A query over the folder that goes on from its checkpoint: 1-minute windows by lane, each appended once."""
    from pyspark.sql import functions as F

    spark = _spark()
    spark.conf.set("spark.sql.shuffle.partitions", str(spark.sparkContext.defaultParallelism))
    rows = spark.readStream.schema(SCHEMA).json(str(landing)).withWatermark("event_time", "5 seconds")
    counted = rows.groupBy(F.window("event_time", "1 minute"), "lane").agg(
        F.count("*"), F.avg("speed").alias("speed")
    )
    query = (
        counted.withColumnRenamed("count(1)", "n")
        .writeStream.format("delta")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(folder / "windows"))
    )
    query.awaitTermination()


def duckdb(folder: Path, landing: Path) -> None:
    """One query of all files into one Parquet file."""
    import duckdb

    rows = duckdb.read_json(f"{landing}/*.json")
    minutes = "time_bucket(INTERVAL 1 minute, event_time::TIMESTAMP) AS minute, lane"
    counted = rows.aggregate(f"{minutes}, count(*) AS n, avg(speed) AS speed")
    counted.write_parquet(str(folder / "windows.parquet"))


def _spark():  # noqa: ANN202 - PySpark is imported by those that need it
    from pyspark.sql import SparkSession

    from tidemark.spark.session.compiler import JAR
    from tidemark.spark.session.jars import installed_jars

    jars = ",".join(str(jar) for jar in installed_jars() if jar.name != JAR)
    builder = SparkSession.builder.master(os.environ.get("TIDEMARK_MASTER", "local[*]")).config("spark.jars", jars)
    for key, value in DELTA.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


if __name__ == "__main__":
    {"session": session, "streaming": streaming, "duckdb": duckdb}[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
