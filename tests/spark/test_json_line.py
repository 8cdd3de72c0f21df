"""Lines of JSON are parsed as Spark parses them, whatever is in them."""

from __future__ import annotations

import re
from random import Random

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from tidemark.spark.functions import json_line

pytestmark = pytest.mark.spark
SCHEMA = (
    "p STRING, e TIMESTAMP, a TIMESTAMP, d DATE, n INT, x DOUBLE, f FLOAT, m DECIMAL(10,2), l ARRAY<INT>, "
    "s STRUCT<q: STRING, t: TIMESTAMP>, g MAP<STRING, DOUBLE>, b BOOLEAN, z BINARY, flag STRING"
)
REAL = [
    '{"p":"a","e":"2024-01-01T00:00:00Z","a":1704067200,"d":"2024-01-01","n":1,"x":1.5,"f":1e3,"m":1.25,"l":[1,2],'
    '"s":{"q":"u","t":"2024-01-01T00:00:00Z"},"g":{"k":1.0},"b":true,"z":"YWJj"}',
    '{"p":"ü€😀\\u00e9\\ud83d\\ude00","n":2147483648,"x":NaN,"f":"Infinity","s":{"q":{"deep":[1,2.50,{"a":"b"}]}}}',
    "{'p':'single','n':'12','x':-0.0,'b':'true'}",
    '{"p":12.50,"n":1.0,"x":"1","m":"3.1","l":[1,"2"],"g":{"a":null,"b":"x"}}',
    '{"p":{"a" : 1.0E3, "b": [1,  2]},"n":null}',
    '[{"p":"a"}]',
    '{"p":"a"}{"p":"b"}',
    ' {"p":"a"} ',
    '{"P":"x","p":"y"}',
    '{"p":"a\\\nb","n":01}',
    '{"x":1e400,"m":123456789012345678901234567890.12}',
    '{"p":"\\uD800","d":19723,"e":"2024"}',
    "{p:1}//c",
    '{"p":"' + "long" * 5_000 + '"}',
]
CUTS = [b'"', b",", b"{", b"}", b"\\u00", b"\xef\xbb\xbf", b"\xc3", b"\x00", b"NaN", b"\n", b"1", b".", b"e9", b"-"]
OPTIONS = [
    {},
    {"allowUnquotedFieldNames": "true", "allowComments": "true", "allowNumericLeadingZeros": "true"},
    {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ssX", "allowSingleQuotes": "false"},
]


def lines(count: int) -> list[bytes]:
    chance = Random(3)  # noqa: S311 - the same lines each time
    found = [text.encode() for text in REAL]
    while len(found) < count:
        line = chance.choice(REAL).encode()
        for _ in range(chance.randrange(4)):
            at = chance.randrange(len(line) + 1)
            line = line[:at] + chance.choice([*CUTS, b""]) + line[at + chance.randrange(3) :]
        if not re.search(rb"[eE][+-]?[0-9]{4}", line):
            found.append(line)
    return found


@pytest.mark.parametrize("options", OPTIONS, ids=["plain", "lenient", "strict"])
def test_a_line_is_parsed_as_spark_parses_it(spark, options):
    given = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "flag"} | options
    table = pa.table({"raw": pa.array(lines(20_000), pa.binary())})
    rows = spark.createDataFrame(table).select(F.expr("CAST(raw AS STRING)").alias("line"))
    parsed = rows.select(
        "line",
        F.from_json("line", SCHEMA, given).alias("slow"),
        json_line(spark, F.col("line"), SCHEMA, given).alias("fast"),
    )
    told = parsed.select("line", *[F.to_json(name).alias(name) for name in ("slow", "fast")], F.col("fast.flag"))
    differing = told.where(~F.col("slow").eqNullSafe(F.col("fast")))
    sound, whole = told.agg(F.count_if(F.col("flag").isNull()), F.count("*")).collect()[0]
    assert [row.asDict() for row in differing.limit(3).collect()] == []
    assert 1_000 < sound < whole - 1_000


def test_both_are_computed(spark):
    """Or a comparison of the two would say nothing."""
    given = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "flag"}
    row = spark.createDataFrame([("{}",)], "line STRING")
    both = row.select(F.from_json("line", SCHEMA, given), json_line(spark, F.col("line"), SCHEMA, given))
    plan = both._jdf.queryExecution().optimizedPlan()
    first, second = (plan.expressions().apply(index).children().head() for index in range(2))
    assert not first.semanticEquals(second)
    assert second.getClass().getSimpleName() == "JsonLine"
