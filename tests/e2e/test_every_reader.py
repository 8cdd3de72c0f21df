"""Every table, with every column, is the same to each reader: Spark, delta-rs and its queries, DuckDB, Polars, pandas

delta-rs's queries are DataFusion's, whose way of reading Parquet Daft and the Delta kernel share.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder

import stored
from short_lived import SHORT_LIVED
from tidemark.config.table_schema import schema_of
from tidemark.ledger.tables.null_counts import miscounted
from tidemark.pipeline import Pipeline
from tidemark.storage.folders import tables_below

pytestmark = pytest.mark.usefixtures("quick")
KINDS = {
    "advice", "batches", "dead_letters", "diagnostics", "events", "lifetimes", "objects", "open_lifetimes", "plans",
    "quality", "streams", "substreams", "watermarks",
}  # fmt: skip
PLAIN = """
import json, sys
from pyspark.sql import SparkSession
jars, *tables = sys.argv[1:]
settings = {
    "spark.driver.extraClassPath": jars,
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.ui.enabled": "false", "spark.sql.session.timeZone": "UTC", "spark.log.level": "ERROR",
    "spark.databricks.delta.snapshotPartitions": "1", "spark.sql.shuffle.partitions": "2",
}
spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
print(json.dumps([len(spark.read.format("delta").load(table).collect()) for table in tables]))
"""


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory, spark) -> Path:  # noqa: ARG001 # the session must be there
    """The folder of a version with all kinds of tables."""
    folder = tmp_path_factory.mktemp("every-reader")
    config = folder / "pipeline.yml"
    config.write_text(stored.CONFIG.lstrip())
    for run in (1, 2, 3):
        stored.land(folder, run)
        Pipeline.load(config, {}).run(stored.as_of(run), run_id=f"run-{run}")
    return folder / stored.LIVE


def by_arrow(place: str) -> pa.Table:
    return DeltaTable(place).to_pyarrow_table()


def by_query(place: str) -> pa.Table:
    found = QueryBuilder().register("t", DeltaTable(place)).execute("SELECT * FROM t").read_all()
    return pa.table(found)


def by_duckdb(place: str) -> pa.Table:
    files = DeltaTable(place).file_uris()
    with duckdb.connect() as connection:
        connection.sql("SET TimeZone = 'UTC'")
        return connection.read_parquet(files, hive_partitioning=True).to_arrow_table()


def by_polars(place: str) -> pa.Table:
    return pl.scan_delta(place).collect().to_arrow()


def lines(table: pa.Table) -> list[str]:
    """Rows as text, in an order of their own."""
    return sorted(repr([(name, _plain(row[name])) for name in sorted(row)]) for row in table.to_pylist())


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("read", [by_query, by_duckdb, by_polars], ids=lambda read: read.__name__)
def test_every_reader_reads_every_column_of_every_table(warehouse, read: Callable[[str], pa.Table]):
    tables = tables_below(warehouse)
    assert {name.partition("/")[0] for name in tables} >= KINDS - {"advice"}
    for name in tables:
        place = str(warehouse / name)
        assert lines(read(place)) == lines(by_arrow(place)), name


def test_pandas_reads_as_many_rows_and_columns(warehouse):
    for name in tables_below(warehouse):
        table = DeltaTable(warehouse / name)
        assert table.to_pandas().shape == table.to_pyarrow_table().shape, name


def test_no_page_says_a_wrong_number_of_nulls(warehouse):
    assert {name: found for name in tables_below(warehouse) if (found := miscounted(warehouse / name))} == {}


def test_a_frame_of_the_callers_session_is_the_table(warehouse, spark, tmp_path):
    pipeline = Pipeline.load(warehouse.parents[2] / "pipeline.yml", {})
    for name in ("events/readings", "streams/per_5s", "watermarks"):
        assert pipeline.spark_table(name, spark).count() == pipeline.table(name).count_rows(), name
    empty = Pipeline.load(warehouse.parents[2] / "pipeline.yml", {"TIDEMARK_WAREHOUSE": str(tmp_path)})
    assert empty.root != pipeline.root
    frame = empty.spark_table("events/readings", spark)
    assert (frame.count(), "_disposition" in frame.columns) == (0, True)


def test_tables_without_rows_would_have_the_schema_that_rows_have(warehouse):
    """But for columns whose type only Spark can tell."""
    spec, tried = Pipeline.load(warehouse.parents[2] / "pipeline.yml", {}).spec, 0
    for name in tables_below(warehouse):
        foreseen = schema_of(spec, name)
        if foreseen is not None:
            written = DeltaTable(warehouse / name).to_pyarrow_dataset().schema
            assert foreseen.names == written.names, name
            known = [field for field in foreseen if not pa.types.is_null(field.type)]
            assert [(each.name, each.type) for each in known] == [
                (each.name, written.field(each.name).type) for each in known
            ]
            tried += 1
    assert tried >= 5


@pytest.mark.long
def test_spark_reads_every_table_without_the_products_jar(warehouse, tmp_path):
    from tidemark.spark.session.compiler import JAR
    from tidemark.spark.session.jars import installed_jars

    script = tmp_path / "plain.py"
    script.write_text(PLAIN)
    jars = ":".join(str(jar) for jar in installed_jars() if jar.name != JAR)
    tables = tables_below(warehouse)
    command = [sys.executable, str(script), jars, *(str(warehouse / name) for name in tables)]
    environment = os.environ | SHORT_LIVED
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=900)  # noqa: S603
    counts = [DeltaTable(warehouse / name).to_pyarrow_dataset().count_rows() for name in tables]
    assert done.stdout.strip().splitlines()[-1] == str(counts)
