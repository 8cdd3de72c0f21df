"""Flink SQL's part of row `engines`, run in an environment of its own, as `bench.peers.flink_job MODE THREADS`.

The rows as they come, each with the watermark that it met, and 1-minute windows by lane, both to Parquet, in one job.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial

from py4j.java_gateway import JavaObject
from pyflink.common import Configuration, TypeInformation, WatermarkStrategy
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileEnumeratorProvider, FileSource
from pyflink.datastream.connectors.hybrid_source import HybridSource
from pyflink.datastream.formats.parquet import ParquetColumnarRowInputFormat
from pyflink.java_gateway import get_gateway
from pyflink.table import DataTypes, EnvironmentSettings, Schema, StreamTableEnvironment, TableEnvironment

from bench.peers.serving import serve

COLUMNS = {
    "id": DataTypes.BIGINT(),
    "device": DataTypes.STRING(),
    "lane": DataTypes.STRING(),
    "event_time": DataTypes.TIMESTAMP(6),
    "arrived": DataTypes.TIMESTAMP(6),
    "speed": DataTypes.DOUBLE(),
    "note": DataTypes.STRING(),
}
_PAYLOAD = ", ".join(COLUMNS)
_TYPED = (
    "id BIGINT, device STRING, lane STRING, event_time TIMESTAMP(6), arrived TIMESTAMP(6), speed DOUBLE, note STRING"
)
_PARQUET = (
    "'connector' = 'filesystem', 'path' = 'file://{path}', 'format' = 'parquet', 'parquet.utc-timezone' = 'true', "
    "'parquet.compression' = 'SNAPPY', 'parquet.write.int64.timestamp' = 'true', "
    "'parquet.timestamp.time.unit' = 'micros'"
)
_ROWTIME = "CAST(event_time AS TIMESTAMP(3))"
_BELIEVED = "event_time <= arrived + INTERVAL '5' MINUTE"
"""Of a row that claims a later time, Flink's watermark would believe it, and drop all others for minutes."""
_WATERMARK = f"CASE WHEN {_BELIEVED} THEN rowtime - INTERVAL '1' MINUTE END"
_WINDOWS = """
    INSERT INTO windows
    SELECT window_start, lane, COUNT(*), AVG(speed)
    FROM TABLE(TUMBLE(TABLE believed, DESCRIPTOR(rowtime), INTERVAL '1' MINUTE))
    GROUP BY window_start, window_end, lane
"""


class _Told(TypeInformation):
    """The type of rows as one source of a chain tells it: the chain itself does not."""

    def __init__(self, found: JavaObject) -> None:
        super().__init__()
        self._j_typeinfo = found

    def get_java_type_info(self) -> JavaObject:
        return self._j_typeinfo


def streaming(threads: int, files: list[str], target: str) -> None:
    """Watermarks decide: what comes for a window that they have passed is dropped. One reader takes the files one
    after the other: those of a table of files take them in no order, and a quarter of all rows comes too late."""
    stream = StreamExecutionEnvironment.get_execution_environment(
        _settings(threads, {"execution.runtime-mode": "STREAMING"})
    )
    table = StreamTableEnvironment.create(stream)
    schema = Schema.new_builder()
    for name, kind in COLUMNS.items():
        schema = schema.column(name, kind)
    schema = schema.column_by_expression("rowtime", _ROWTIME).watermark("rowtime", _WATERMARK)
    table.create_temporary_view("readings", _in_order(stream, files), schema.build())
    _write(table, target, "CURRENT_WATERMARK(rowtime)")


def batch(threads: int, files: list[str], target: str) -> None:
    """No watermarks: a window has all rows of its minute."""
    settings = EnvironmentSettings.new_instance().in_batch_mode().with_configuration(_settings(threads)).build()
    table = TableEnvironment.create(settings)
    folder = files[0].rpartition("/")[0]
    _create(table, "readings", f"{_TYPED}, rowtime AS {_ROWTIME}", folder)
    _write(table, target, "CAST(NULL AS TIMESTAMP(3))")


def _settings(threads: int, keys: Mapping[str, str] = {}) -> Configuration:
    """Watermarks move with each row, not by the clock (which costs as much): so it is known which rows are late."""
    found = Configuration()
    known = {"pipeline.auto-watermark-interval": "0 ms", "table.local-time-zone": "UTC"}
    for key, value in {**known, "parallelism.default": str(threads), **keys}.items():
        found.set_string(key, value)
    return found


def _in_order(stream: StreamExecutionEnvironment, files: list[str]) -> DataStream:
    kind = DataTypes.ROW([DataTypes.FIELD(name, each) for name, each in COLUMNS.items()])
    whole = FileEnumeratorProvider.default_non_splittable_file_enumerator()

    def source(file: str) -> FileSource:
        form = ParquetColumnarRowInputFormat(kind, Configuration(), 2048, True, True)
        return FileSource.for_bulk_file_format(form, f"file://{file}").set_file_enumerator(whole).build()

    sources = [source(file) for file in files]
    chain = HybridSource.builder(sources[0])
    for each in sources[1:]:
        chain = chain.add_source(each)
    rows = _Told(sources[0].get_java_function().getProducedType())
    return stream.from_source(chain.build(), WatermarkStrategy.no_watermarks(), "readings", rows).set_parallelism(1)


def _create(table: TableEnvironment, name: str, columns: str, path: str) -> None:
    table.execute_sql(f"CREATE TEMPORARY TABLE {name} ({columns}) WITH ({_PARQUET.format(path=path)})")


def _write(table: TableEnvironment, target: str, watermark: str) -> None:
    """Both tables, from one pass over the readings; only constants of this module are put into the queries."""
    _create(table, "judged", f"{_TYPED}, _watermark TIMESTAMP(3)", f"{target}/rows")
    _create(table, "windows", "_window_start TIMESTAMP(3), lane STRING, n BIGINT, speed DOUBLE", f"{target}/windows")
    table.execute_sql(f"CREATE TEMPORARY VIEW believed AS SELECT * FROM readings WHERE {_BELIEVED}")  # noqa: S608
    both = table.create_statement_set()
    both.add_insert_sql(f"INSERT INTO judged SELECT {_PAYLOAD}, {watermark} FROM readings")  # noqa: S608
    both.add_insert_sql(_WINDOWS)
    both.execute().wait()


MODES: dict[str, Callable[..., None]] = {"streaming": streaming, "batch": batch}

if __name__ == "__main__":
    get_gateway()  # its JVM is up before anything is measured, as the others' is
    serve(partial(MODES[sys.argv[1]], int(sys.argv[2])))
