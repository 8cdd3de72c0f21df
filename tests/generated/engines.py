"""Tables of generated pipelines, by DuckDB from the oracle's rows and by the product in one Spark job."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import duckdb
from payload import columns_of
from pipelines import Generated
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from ruamel.yaml import YAML
from sources import Landing, judged_by_oracle, rows_of

from oracle import MAX_TIME, MIN_TIME
from oracle_streams import held
from product import Product
from tidemark.config import PipelineSpec, load_pipeline
from tidemark.runner.executor import Before
from tidemark.runner.stream_progress import Ending, StreamProgress
from tidemark.spark.streams.writer import Outputs

Rows = Counter[str]
"""Rows as JSON, and how often each occurs."""
_MACROS = (
    "CREATE MACRO floor_div(a, b) AS (a - ((a % b) + b) % b) // b",
    f"CREATE MACRO held(t) AS least(greatest(t, {MIN_TIME}), {MAX_TIME})",
)
"""Rows of windows lie within the years 1 to 9999, as tables hold them."""
_SYSTEM = {"_s": "BIGINT", "_e": "BIGINT", "_p": "VARCHAR", "_k": "VARCHAR", "_f": "BIGINT", "_w": "BIGINT"}
_IN_DUCKDB = {
    "ARRAY<STRING>": "VARCHAR[]",
    "STRUCT<u: INT, w: STRING>": "STRUCT(u INT, w VARCHAR)",
    "STRING": "VARCHAR",
}


class Duck:
    """Queries over the oracle's rows of a landing."""

    def __init__(self, landing: Landing) -> None:
        self.connection = duckdb.connect()
        for macro in _MACROS:
            self.connection.execute(macro)
        outcomes = judged_by_oracle(landing)
        for name in landing.logs:
            columns = _SYSTEM | {c: _IN_DUCKDB.get(t, t) for c, t in columns_of(landing.formats[name]).items()}
            declared = ", ".join(f"{column} {type_}" for column, type_ in columns.items())
            self.connection.execute(f"CREATE TABLE {name}_rows ({declared})")
            rows = [list(row) for row in rows_of(landing, outcomes, name)]
            if rows:
                self.connection.executemany(f"INSERT INTO {name}_rows VALUES ({', '.join('?' * len(columns))})", rows)
            order = "row_number() OVER (ORDER BY _s, _p, _f) AS _o"
            self.connection.execute(f"CREATE VIEW {name} AS SELECT {order}, * FROM {name}_rows")

    def tables(self, made: Generated) -> dict[str, Rows]:
        """The rows of each table of a pipeline."""
        for name, query in made.views.items():
            self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {query}")
        found = {}
        for table in made.tables:
            result = self.connection.execute(table.query)
            names = [each[0] for each in result.description]
            found[table.name] = Counter(_text(dict(zip(names, row, strict=True))) for row in result.fetchall())
        for name in reversed(made.views):
            self.connection.execute(f"DROP TABLE {name}")
        return {name: rows for name, rows in found.items() if rows}


class Together:
    """The product's rows for many pipelines over the sources of one landing, which has been taken and is closed.

    Each pipeline ends a run that brings all rows and completes all sources, and the rows that it would write are
    computed with those of the others by one job. `alone`: one task has all event rows, as the product has it where it
    reads few bytes of sources whose rows have a longest lifetime.
    """

    def __init__(self, spark: SparkSession, product: Product, alone: bool = True) -> None:
        self.spark, self.product, self.alone = spark, product, alone
        self.ledger = product.pipeline().ledger
        last = self.ledger.batches(1, self.ledger.last().committed_through)[-1]
        states = self.ledger.states(last.batch_id + 1)
        brought = Before({}, {}).brought(states)
        self.ending = Ending(replace(last, run_first=1, streams={}), {}, states, {}, last.combined, {}, brought)

    def tables(self, pipelines: Sequence[Generated]) -> list[dict[str, Rows]]:
        """The rows of each table, by pipeline."""
        made_of = [self._frames(each) for each in pipelines]
        frames = [
            rows.select(F.lit(number).alias("pipeline"), F.lit(name).alias("name"), _as_json(rows).alias("row"))
            for number, made in enumerate(made_of)
            for name, rows in made.items()
        ]
        found: list[dict[str, Rows]] = [{} for _ in pipelines]
        for row in reduce(DataFrame.unionAll, frames).toArrow().to_pylist() if frames else ():
            rows = found[row["pipeline"]].setdefault(row["name"], Counter())
            rows[_text(json.loads(row["row"]))] += 1
        self.spark.catalog.clearCache()
        return found

    def _frames(self, made: Generated) -> dict[str, DataFrame]:
        """Rows by table. They are cached, as rows that are checked before they are written: functions that remember
        rows before must see each once."""
        spec = self._spec(made)
        ahead: dict[str, DataFrame] = {}
        outputs = Outputs(self.spark, str(self.ledger.folder), spec, recompute=True, ahead=ahead, alone=self.alone)
        for _, _, due in StreamProgress(spec).due(self.ending, lambda: outputs):
            if due is not None and due.anything:
                made_now = {table: make() for table, make in outputs._tables(due).items()}
                ahead.update({table: rows.persist() for table, rows in made_now.items() if rows is not None})
        return ahead

    def _spec(self, made: Generated) -> PipelineSpec:
        document = YAML(typ="safe").load(self.product.config.read_text()) | {"streams": made.streams}
        path = self.product.folder / "generated.yml"
        with path.open("w") as file:
            YAML().dump(document, file)
        return load_pipeline(path, {}).spec


def written(spark: SparkSession, product: Product, made: Generated) -> dict[str, Rows]:
    """The rows that runs have written to each table of a pipeline."""
    found = {}
    for table in made.tables:
        place = product.pipeline().ledger.folder / table.name
        if place.exists():
            rows = spark.read.format("delta").load(str(place))
            rows = rows.select(_as_json(rows).alias("row"))
            found[table.name] = Counter(_text(json.loads(row["row"])) for row in rows.toArrow().to_pylist())
    return {name: rows for name, rows in found.items() if rows}


def assert_equal(found: Mapping[str, Counter[str]], wanted: Mapping[str, Counter[str]], where: str) -> None:
    """Two engines have equal rows in every table."""
    for table in wanted.keys() | found.keys():
        assert found.get(table, Counter()) == wanted.get(table, Counter()), (table, where)


_LEFT_OUT = ("_batch_id", "_source", "_event_time", "_watermark", "p", "e", "a", "t", "v")
_SHOWN = {
    "_window_start": "_s", "_window_end": "_e", "_system_timestamp": "_s", "_end_time": "_e", "_partition": "_p",
    "_substream": "_k", "_offset": "_f",
}  # fmt: skip


def _as_json(rows: DataFrame) -> Column:
    """A row as JSON, under the names that DuckDB's queries have: times as microseconds, decimals as text."""
    letters = {"_s": "_ws", "_e": "_we"} if "_watermark" in rows.columns else {}
    columns = []
    for each in rows.schema:
        if each.name in _LEFT_OUT or (letters and each.name == "_system_timestamp"):
            continue  # a dead letter's time is that of its event
        name = _SHOWN.get(each.name, each.name)
        column = F.col(each.name)
        column = F.unix_micros(column) if each.dataType.typeName() == "timestamp" else column
        column = column.cast("string") if each.dataType.typeName().startswith("decimal") else column
        columns.append(column.alias(letters.get(name, name)))
    return F.to_json(F.struct(*columns), {"ignoreNullFields": "false"})


_TIMES = ("_s", "_e", "_ws", "_we")


def _text(values: Mapping[str, Any]) -> str:
    """A row as JSON with its columns by name, the same for both engines."""
    kept = {name: held(value) if name in _TIMES and value is not None else value for name, value in values.items()}
    return json.dumps(kept, sort_keys=True, default=str)
