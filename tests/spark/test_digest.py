"""Digests of the second version: rows that differ in anything differ in them, in Spark as in plain Python."""

from __future__ import annotations

import random
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import digest_oracle as oracle
from strategies_digest import a_type, a_value, arrow_type, changes, for_arrow
from tidemark.core.batch_result import NEWEST, TableDigest, versions_of
from tidemark.spark.digests import measured, row_hash, table_digest

PAGE = Path(__file__).parents[2] / "docs" / "digest.md"
MASK = (1 << 64) - 1
TEXTS = ("array", "string")
VECTORS: list[tuple[list[tuple[str, Any]], list[tuple[Any, ...]]]] = [
    ([("id", "bigint")], []),
    ([("id", "bigint")], [(1,)]),
    ([("id", "bigint")], [(None,)]),
    ([("x", "double")], [(0.0,)]),
    ([("x", "double")], [(-0.0,)]),
    ([("x", "double")], [(float("nan"),)]),
    ([("a", TEXTS)], [(["a"],)]),
    ([("a", TEXTS)], [(["a", None],)]),
    ([("d", ("decimal", 20, 2)), ("m", ("map", "string", "int"))], [("-1.50", [("b", 1), ("a", None)])]),
    (
        [("s", ("struct", [("p", "date"), ("q", "binary")])), ("t", "string")],
        [((1, b"\0\xff"), "é"), (None, "a")],
    ),
]
SAME_IN_VERSION_1 = [
    ("array('a', null)", "array('a')"),
    ("array(null, 'a', null)", "array('a')"),
    ("struct(array('a', 'b') AS x, array('c') AS y)", "struct(array('a') AS x, array('b', 'c') AS y)"),
    ("struct(1 AS x, cast(null AS int) AS y)", "struct(cast(null AS int) AS x, 1 AS y)"),
    ("array(array(1), array(2))", "array(array(1, 2))"),
    ("0.0D", "-0.0D"),
    ("float('0.0')", "float('-0.0')"),
    ("array(0.0D)", "array(-0.0D)"),
]


def test_the_hash_of_bytes_is_the_published_one():
    assert oracle.xxh64(b"", 0) == 0xEF46DB3751D8E999
    assert oracle.xxh64(b"abc", 0) == 0x44BC2CF5AD770999
    assert oracle.xxh64(b"Nobody inspects the spammish repetition", 0) == 0xFBCEA83C8A378BF1


def test_the_page_has_the_digests_of_its_examples():
    lines = [line for line in PAGE.read_text().splitlines() if "| `2:" in line]
    found = [line.rsplit("`", 2)[1] for line in lines]
    assert found == [oracle.digest(rows, columns) for columns, rows in VECTORS]
    assert len(set(found)) == len(found)


def _changed(dice: random.Random, number: int) -> int:
    """How many of so many single changes of a cell change the digest."""
    found = 0
    for columns, row, other in changes(dice, number):
        found += oracle.row_hash(row, columns) != oracle.row_hash(other, columns)
    return found


def test_each_change_of_a_cell_changes_the_digest():
    assert _changed(random.Random(1), 3_000) == 3_000  # noqa: S311


def _frame(spark, columns, rows):
    fields = [(name, arrow_type(kind)) for name, kind in columns]
    arrays = [
        pa.array([for_arrow(row[index], kind) for row in rows], arrow_type(kind))
        for index, (_, kind) in enumerate(columns)
    ]
    return spark.createDataFrame(pa.table(arrays, schema=pa.schema(fields)))


@pytest.mark.parametrize("way", ["compiled", "quick", "public_ways"])
def test_spark_comes_to_the_digests_of_the_page_for_any_type(spark, request, way):
    request.getfixturevalue(way)
    dice = random.Random(2)  # noqa: S311
    columns = [(f"c{index}", a_type(dice)) for index in dice.sample(range(100), 24)]
    rows = [[a_value(dice, kind) for _, kind in columns] for _ in range(60)]
    frame = _frame(spark, columns, rows)
    each = frame.select(*[row_hash(frame.select(name)).alias(name) for name, _ in columns[:12]]).collect()
    for index, column in enumerate(columns[:12]):
        for row, found in zip(rows, each, strict=True):
            halves = found[index]["high"] & MASK, found[index]["low"] & MASK
            assert halves == oracle.row_hash([row[index]], [column]), (column, row[index])
    expected = oracle.digest(rows, columns)
    turned = frame.select(*reversed(frame.columns)).repartition(3)
    assert measured("t", turned) == TableDigest("t", 60, expected), "rows and columns may stand anywhere"


def _told(spark, expressions: list[str], version: int) -> list[tuple[int, int]]:
    """The hashes of rows that have one of the expressions each, all under the same name."""
    rows = [spark.range(1).select(F.expr(each).alias("v")) for each in expressions]
    hashed = [frame.select(F.lit(i).alias("i"), row_hash(frame, version).alias("h")) for i, frame in enumerate(rows)]
    found = reduce(DataFrame.unionAll, hashed).orderBy("i").collect()
    return [(row["h"]["high"] & MASK, row["h"]["low"] & MASK) for row in found]


def test_rows_that_the_first_version_took_for_the_same_differ(quick):
    expressions = [each for pair in SAME_IN_VERSION_1 for each in pair]
    first, second = (_told(quick, expressions, version) for version in (1, 2))
    for index, pair in enumerate(SAME_IN_VERSION_1):
        assert first[2 * index] == first[2 * index + 1], pair
        assert second[2 * index] != second[2 * index + 1], pair


def test_each_type_has_its_own_hash_of_the_page(quick):
    cases: dict[str, tuple[Any, Any]] = {
        "1": ("int", 1),
        "1L": ("bigint", 1),
        "cast(1 AS short)": ("smallint", 1),
        "1.0D": ("double", 1.0),
        "-double('NaN')": ("double", float("nan")),
        "TIMESTAMP '1970-01-01 00:00:01Z'": ("timestamp", 1_000_000),
        "TIMESTAMP_NTZ '1970-01-01 00:00:01'": ("timestamp_ntz", 1_000_000),
        "INTERVAL 1 MONTH": ("interval_year_month", 1),
        "INTERVAL 1 SECOND": ("interval_day_time", 1_000_000),
        "make_interval(1, 2, 0, 3, 0, 0, 4)": ("interval", (14, 3, 4_000_000)),
        "null": ("void", None),
        "map('b', 1, 'a', 2)": (("map", "string", "int"), [("a", 2), ("b", 1)]),
        "map('a', 2, 'b', 1)": (("map", "string", "int"), [("a", 2), ("b", 1)]),
    }
    found = _told(quick, list(cases), NEWEST)
    assert found == [oracle.row_hash([value], [("v", kind)]) for kind, value in cases.values()]
    assert len(set(found)) == len(cases) - 1, "maps have no order"
    variants = _told(quick, ["parse_json('[1, null]')", "parse_json('[1]')", "parse_json('1.0')"], NEWEST)
    assert len(set(variants)) == len(variants)
    with pytest.raises(ValueError, match="no version 3"):
        measured("t", quick.range(1), 3)


def test_a_digest_says_its_version():
    assert table_digest("t", 1, 2, 3, 1).digest == f"{3:016x}{2:016x}"
    assert table_digest("t", 1, 2, 3).digest == f"2:{3:016x}{2:016x}"
    digests = [
        table_digest("old", 1, -1, 3, 1),
        table_digest("new", 1, 2, -3),
        TableDigest("watermarks", 1, "ab" * 32),
    ]
    assert versions_of(digests) == {"old": 1, "new": 2, "watermarks": 1}
