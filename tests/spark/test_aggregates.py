"""Each aggregate says the same whatever is selected beside it, and that is what DuckDB says of the rows in order."""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import combinations

import duckdb
import pyarrow as pa
import pyspark
import pytest
from pyspark.sql import functions as F

from interpreted import settings
from tidemark.config.models.streams import StreamSpec
from tidemark.core.windows import FixedWindows
from tidemark.spark.columns import JUDGED, RANK
from tidemark.spark.streams.windows import AFTER, BEFORE, aggregated, closing

MINUTE = 60_000_000
WINDOW = FixedWindows(MINUTE, MINUTE)
SYSTEM = (
    "_system_timestamp TIMESTAMP, _end_time TIMESTAMP, _watermark TIMESTAMP, _partition STRING, _offset BIGINT,"
    f" _substream STRING, {RANK} INT, {JUDGED} BOOLEAN, {BEFORE} BIGINT, {AFTER} BIGINT"
)
PAYLOAD = "g DOUBLE, k STRING, x DOUBLE, n INT, d DECIMAL(38, 0)"
TYPES = {"g": "DOUBLE", "k": "STRING", "x": "DOUBLE", "n": "INT", "d": "DECIMAL(38, 0)"}
FOLDED = "list_reduce(list(x ORDER BY o) {}, lambda a, b: a + b)"
KINDS = {
    "list": ("collect_list(k)", "list(k ORDER BY o) FILTER (WHERE k IS NOT NULL)"),
    "total": ("sum(x)", FOLDED.format("")),
    "newest": ("last(x)", "last(x ORDER BY o)"),
    "whole": ("sum(n)", "sum(n)"),
    "few": ("sum(x) FILTER (WHERE n > 20)", FOLDED.format("FILTER (WHERE n > 20)")),
    "oldest": ("first(k) FILTER (WHERE n > 20)", "first(k ORDER BY o) FILTER (WHERE n > 20)"),
    "kinds": ("count(DISTINCT k)", "count(DISTINCT k)"),
    "both": ("count(DISTINCT k, n % 3)", "count(DISTINCT (k, n % 3)) FILTER (WHERE k IS NOT NULL)"),
    "some": ("count(DISTINCT n % 7) FILTER (WHERE n % 2 = 0)", "count(DISTINCT n % 7) FILTER (WHERE n % 2 = 0)"),
    "each": ("collect_list(DISTINCT n % 5)", "list(n % 5 ORDER BY o) FILTER (WHERE of_n = 1)"),
    "texts": (
        "string_agg(DISTINCT k, '|')",
        "string_agg(k, '|' ORDER BY o) FILTER (WHERE of_k = 1 AND k IS NOT NULL)",
    ),
    "sorted": (
        "listagg(DISTINCT k) WITHIN GROUP (ORDER BY k DESC) FILTER (WHERE n > 9)",
        "string_agg(DISTINCT k, '' ORDER BY k DESC) FILTER (WHERE n > 9)",
    ),
    "middle": ("percentile(n, 0.5)", "quantile_cont(n, 0.5)"),
    "nested": ("collect_list(struct(k, array(x) AS y)) FILTER (WHERE k <> 'b')", "list({'k': k, 'y': [x]} ORDER BY o)"
               " FILTER (WHERE k <> 'b')"),
    "most": ("max(x)", "max(x)"),
}  # fmt: skip


def at(micros):
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


def times(micros):
    return at(micros), at(micros + 1)


def payloads():
    """Rows in the order of the sort key: window, order, and payload, whose sum depends on the order."""
    numbers = [1e16, 1.0, -1e16, 0.1, 3.0, -7e15]
    keys, groups = ("b", "c", "a", "b", None), (0.0, 2.5, -0.0)
    values = [(numbers[number * 7 // 2 % 6], number) for number in range(60)]
    return [(n // 30, n, groups[n % 3], keys[n % 5], value, n) for value, n in values]


@pytest.fixture(scope="module")
def told():
    """What DuckDB says of each window and group, by kind."""
    names = ("w", "o", "g", "k", "x", "n")
    given = pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in payloads()])
    asked = ", ".join(f"{duck} AS {name}" for name, (_, duck) in KINDS.items())
    with duckdb.connect() as duck:
        duck.register("given", given)
        known = "row_number() OVER (PARTITION BY w, g, {} ORDER BY o)"
        firsts = f"{known.format('k')} AS of_k, {known.format('n % 5')} AS of_n"
        duck.sql(f"CREATE VIEW known AS SELECT * REPLACE (g + 0.0 AS g), {firsts} FROM given")  # noqa: S608 # our own
        found = duck.sql(f"FROM known SELECT w, g, {asked} GROUP BY w, g ORDER BY w, g")
        return [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]


def rows_of(spark, made):
    return spark.createDataFrame(made, f"{SYSTEM}, {PAYLOAD}")


@pytest.fixture(scope="module")
def rows(quick):
    """The same rows, far from in order, for few tasks."""
    before = quick.conf.get("spark.sql.shuffle.partitions")
    quick.conf.set("spark.sql.shuffle.partitions", "3")
    made = [
        (*times(w * MINUTE + o // 4), None, f"p{o // 2}", o, None, 0, True, None, 2 * MINUTE, *rest, Decimal(o))
        for w, o, *rest in payloads()
    ]
    yield rows_of(quick, made).repartition(4, "_offset").sortWithinPartitions(F.xxhash64("_offset")).cache()
    quick.conf.set("spark.sql.shuffle.partitions", before)


def windows(rows, select, group_by=("g",)):
    step = StreamSpec(name="w", from_="s", tumbling="1m", group_by=group_by, select=select)
    found = aggregated(closing(rows, WINDOW, complete=False), step, WINDOW, dict(TYPES)).collect()
    return sorted(
        (row.asDict(True) for row in found), key=lambda row: [row["_window_start"], *map(row.get, group_by)]
    )


@pytest.mark.parametrize(
    "names", [("list", "total", "few", "kinds", "each", "middle"), pytest.param(tuple(KINDS), marks=pytest.mark.long)]
)
def test_every_aggregate_beside_every_other_is_that_of_the_rows_in_order(rows, told, names):
    for pair in combinations(names, 2):
        found = windows(rows, {name: KINDS[name][0] for name in pair})
        assert [row["g"] for row in found] == [row["g"] for row in told], pair
        for row, wanted in zip(found, told, strict=True):
            assert {name: row[name] for name in pair} == {name: wanted[name] for name in pair}, pair


@pytest.mark.parametrize("merged", ["true", "false"], ids=["small tasks merged", "tasks apart"])
def test_all_aggregates_at_once_are_those_of_the_rows_in_order(quick, rows, told, merged):
    with settings(quick, {"spark.sql.adaptive.enabled": merged}):
        found = windows(rows, {name: text for name, (text, _) in KINDS.items()})
    for row, wanted in zip(found, told, strict=True):
        assert {name: row[name] for name in KINDS} == {name: wanted[name] for name in KINDS}


def ordered(spark, numbers, zeros=()):
    """Rows of one window in the order of the numbers, read backwards."""
    made = [
        (*times(o), None, "p", o, None, 0, True, None, 2 * MINUTE, 1.0, "a", zero, o, Decimal(number))
        for o, (number, zero) in enumerate(zip(numbers, zeros or [0.0] * len(numbers), strict=True))
    ]
    return rows_of(spark, made[::-1]).coalesce(1)


@pytest.mark.parametrize(
    ("numbers", "total"), [((9, 9, -9), None), ((9, -9, 9), 9 * 10**37)], ids=["too long", "never too long"]
)
@pytest.mark.parametrize("call", ["sum(d)", "sum(DISTINCT d + n)"])
def test_a_long_sum_is_too_long_where_it_is_in_the_order_of_rows(quick, numbers, total, call):
    rows = ordered(quick, [number * 10**37 for number in numbers])
    (row,) = windows(rows, {"total": call})
    more = 3 if "DISTINCT" in call else 0
    assert row["total"] == (None if total is None else total + more)


def test_the_greatest_zero_has_the_same_sign_in_any_order(quick):
    said = {"most": "max(x)", "least": "min(x)", "packed": "max(struct(x, array(x) AS y)).y[0]"}
    for zeros in ((0.0, -0.0), (-0.0, 0.0)):
        (row,) = windows(ordered(quick, (1, 2), zeros), said)
        assert {struct.pack(">d", row[name]) for name in said} == {bytes(8)}


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        ("count(*) FILTER (WHERE n > 2)", 3),
        ("max_by(n, k) FILTER (WHERE n < 2)", 1),
        ("mode() WITHIN GROUP (ORDER BY n) FILTER (WHERE n > 4)", 5),
        ("last(nullif(n, 3)) FILTER (WHERE n < 4)", None),
        ("last(nullif(n, 3)) FILTER (WHERE n < 4) IGNORE NULLS", 2),
        pytest.param(
            "collect_list(nullif(n, 3)) FILTER (WHERE n > 2) RESPECT NULLS",
            [None, 4, 5],
            marks=pytest.mark.skipif(pyspark.__version__ < "4.2", reason="Spark 4.1 leaves nulls out of lists"),
        ),
        ("any_value(n) FILTER (WHERE n > 2)", 3),
        ("count(DISTINCT map(k, n % 2))", 2),
        ("count(DISTINCT make_interval(0, 0, 0, n % 4))", 4),
        ("sum(DISTINCT concat('0', string(n % 3)))", 3.0),
        ("collect_list(DISTINCT x * -1)", [0.0]),
    ],
)  # fmt: skip
def test_filters_and_distinct_hold_beside_aggregates_that_need_order(quick, call, wanted):
    (row,) = windows(ordered(quick, range(6)), {"found": call, "list": "collect_list(n)"})
    assert (row["found"], row["list"]) == (wanted, list(range(6)))
