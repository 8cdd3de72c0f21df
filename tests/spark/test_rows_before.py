"""Columns of the rows before a row are those of literal Python, to the bit, for any partitioning of rows."""

from __future__ import annotations

import math
import struct
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from pyspark.sql import functions as F

from tidemark.config.models.streams import StreamSpec
from tidemark.config.sql.functions import AGGREGATES
from tidemark.errors import ConfigError
from tidemark.spark.columns import RANK
from tidemark.spark.streams.operators.rows_before import order_within, with_preceding
from tidemark.spark.streams.operators.steps import order_of

SYSTEM = f"_system_timestamp TIMESTAMP, _partition STRING, _offset BIGINT, {RANK} INT"
PAYLOAD = "g DOUBLE, k STRING, x DOUBLE, n INT, b BOOLEAN"
COLUMNS = ("g", "k", "x", "n", "b")
NUMBERS = (1e16, 1.0, -1e16, 0.1, 3.0, -7e15, None)
WITHIN = 5
SELECT = {
    "rows": "count(*)",
    "before": "last(n)",
    "known": "last(x) IGNORE NULLS",
    "some": "last(n) FILTER (WHERE b)",
    "every": "collect_list(n)",
    "total": "sum(x)",
    "step": "n - last(n) + 0 * count(*)",
    "start": "count(*) = 0",
}


def at(micros):
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


def made(count=240):
    """Rows of few starts, so that many share one, before and after 1970, and of few keys, some of which are equal
    though their bits differ."""
    dice = Random(5)  # noqa: S311 - the same rows each time
    keys = (0.0, -0.0, math.nan, 1.0, None)
    return [
        (dice.randint(-9, 30), dice.choice("pq"), number, dice.randint(0, 1), dice.choice(keys), dice.choice("ab"),
         dice.choice(NUMBERS), number, dice.choice((True, False, None)))
        for number in range(count)
    ]  # fmt: skip


def frame(spark, rows):
    found = spark.createDataFrame([(at(row[0]), *row[1:]) for row in rows], f"{SYSTEM}, {PAYLOAD}")
    return found.withColumn("_substream", F.lit(None).cast("string"))


def step(**keys):
    preceding = {"within": f"{WITHIN}us", "select": SELECT, **keys}
    return StreamSpec.model_validate({"name": "s", "from": "readings", "preceding": preceding})


def looked_at(rows, row, by, where):
    """The rows before a row: in order of start, rank, partition and offset."""

    def place(each):
        return each[0], each[3], each[1], each[2]

    def alike(one, other):
        same = isinstance(one, float) and isinstance(other, float) and math.isnan(one) and math.isnan(other)
        return same or one == other

    found = [
        each
        for each in rows
        if place(each) < place(row)
        and each[0] > row[0] - WITHIN
        and all(alike(each[4 + COLUMNS.index(name)], row[4 + COLUMNS.index(name)]) for name in by)
        and (where is None or where(each))
    ]
    return sorted(found, key=place)


def wanted(row, before):
    numbers = [each[7] for each in before]
    known = [each[6] for each in before if each[6] is not None]
    some = [each[7] for each in before if each[8]]
    total = None
    for value in known:
        total = value if total is None else total + value
    last = numbers[-1] if numbers else None
    return {
        "rows": len(before),
        "before": last,
        "known": known[-1] if known else None,
        "some": some[-1] if some else None,
        "every": numbers,
        "total": total if total is None else struct.pack(">d", total),
        "step": None if last is None else row[7] - last,
        "start": not before,
    }


def found(rows, spec):
    columns, _ = with_preceding(rows, spec, COLUMNS, order_of(rows))
    return {
        row["n"]: {
            name: struct.pack(">d", row[name]) if name == "total" and row[name] is not None else row[name]
            for name in SELECT
        }
        for row in columns.collect()
    }


@pytest.mark.parametrize(
    ("by", "keys", "where"),
    [
        (["g", "k"], {}, None),
        ([], {"where": "n % 3 > 0"}, lambda row: row[7] % 3 > 0),
        (["k"], {"where": "b"}, lambda row: row[8]),
    ],
    ids=["keys that are equal", "a condition on all rows", "a condition that may be null"],
)
def test_a_row_sees_the_rows_before_it_in_their_order(spark, by, keys, where):
    rows = made()
    expected = {row[7]: wanted(row, looked_at(rows, row, by, where)) for row in rows}
    for tasks in (1, 7):
        assert found(frame(spark, rows).repartition(tasks, F.rand(tasks)), step(by=by, **keys)) == expected


def test_columns_of_the_order_are_kept_within_a_path(spark):
    rows = frame(spark, made(40))
    inner = order_within(rows.withColumn("__tidemark_order_index_0", F.col("n") % 3), 4).withColumn(RANK, F.lit(4))
    ordered = [row["n"] for row in inner.orderBy(*order_of(inner)).collect()]
    assert ordered == [row["n"] for row in rows.orderBy(*order_of(rows)).collect()]


TWO = frozenset({"corr", "covar_pop", "covar_samp", "max_by", "min_by"})
TRUE = frozenset({"any", "every", "some", "bool_and", "bool_or", "count_if"})
MORE = {
    "percentile": "x, 0.5",
    "approx_percentile": "x, 0.5",
    "percentile_approx": "x, 0.5",
    "histogram_numeric": "x, 3",
    "count_min_sketch": "n, 0.5D, 0.5D, 1",
    "listagg": "k, '|'",
    "string_agg": "k, '|'",
}


def call(name):
    """A call of an aggregate."""
    if name in TWO or name.startswith("regr_"):
        return f"{name}(x, n)"
    value = "b" if name in TRUE else "n" if name.startswith("bit_") else "x"
    return f"{name}({MORE.get(name, value)})"


def test_every_aggregate_of_windows_can_look_back(spark):
    rows = frame(spark, made(30))
    calls = {name: call(name) for name in sorted(AGGREGATES - {"grouping", "grouping_id"})}
    columns, _ = with_preceding(rows, step(by=["k"], select=calls, where="n > 3"), COLUMNS, order_of(rows))
    assert columns.count() == 30
    assert len(columns.select(*calls).collect()) == 30


def test_what_spark_cannot_resolve_is_told_with_its_key(spark):
    rows = frame(spark, made(2))
    with pytest.raises(ConfigError, match=r"streams\.s\.preceding\.select"):
        with_preceding(rows, step(select={"a": "last(n.u)"}), COLUMNS, order_of(rows))
