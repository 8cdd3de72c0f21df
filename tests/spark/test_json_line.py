"""Lines of JSON are parsed as Spark parses them, whatever is in them."""

from __future__ import annotations

import re
from random import Random

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.spark.jvm_functions import LineScan, json_line, scan_line

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

FLAT = "p STRING, e TIMESTAMP, d DATE, n INT, k BIGINT, x DOUBLE, b BOOLEAN, s SMALLINT, plain BOOLEAN, flag STRING"
PLAIN = [
    '{"p":"a","e":"2024-01-01T00:00:00Z","d":"2024-01-01","n":1,"k":-12,"x":1.5,"b":true}',
    '{"p": "ü€😀\x7f" , "e":"2024-02-29 23:59:59.123456","d":null,"zz":12.5,"k":123456789012345678, "x":-0.0}',
    '{"x":0.1,"n":-2147483648,"e":"1969-12-31T23:59:59.9+05:30","b":false,"p":"","yy":"q","y":true,"w":null} ',
    '{"k":0,"x":-0,"d":"0001-01-01","e":"9999-12-31T23:59:59-17:59","p":"x","p":"y","plain":true,"flag":"f"}',
    '{"x":123456789012.345678,"n":1.0,"d":"1900-02-28"}',
    '{"x":9007199254740993,"e":"0001-01-01T00:00:00.000001+17:00","k":999999999999999999}',
    '{"x":9007199254740.993,"s":3,"k":9999999999999999999}',
]
ODD = [
    b'"', b",", b"{", b"}", b"[", b"\\n", b"\xc3", b"\xed\xa0\x80", b"\x00", b"\x1f", b"\t", b" ", b"\r", b"null",
    b"true", b"0", b"9", b"00", b".", b"e9", b"-", b"+", b":", b"T", b"Z", b"24", b"60", b"29", b"\xc3\xa9", b"'",
]  # fmt: skip


def mutated(texts: list[str], cuts: list[bytes], count: int) -> list[bytes]:
    chance = Random(3)  # noqa: S311 - the same lines each time
    found = [text.encode() for text in texts]
    while len(found) < count:
        line = chance.choice(texts).encode()
        for _ in range(chance.randrange(4)):
            at = chance.randrange(len(line) + 1)
            line = line[:at] + chance.choice([*cuts, b""]) + line[at + chance.randrange(3) :]
        if not re.search(rb"[eE][+-]?[0-9]{4}", line):
            found.append(line)
    return found


def lines(spark, texts: list[str], cuts: list[bytes], count: int = 20_000) -> DataFrame:
    table = pa.table({"raw": pa.array(mutated(texts, cuts, count), pa.binary())})
    return spark.createDataFrame(table).select(F.expr("CAST(raw AS STRING)").alias("line"))


@pytest.mark.parametrize("options", OPTIONS, ids=["plain", "lenient", "strict"])
def test_a_line_is_parsed_as_spark_parses_it(spark, options):
    given = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "flag"} | options
    parsed = lines(spark, REAL, CUTS).select(
        "line",
        F.from_json("line", SCHEMA, given).alias("slow"),
        json_line(F.col("line"), SCHEMA, given).alias("fast"),
    )
    told = parsed.select("line", *[F.to_json(name).alias(name) for name in ("slow", "fast")], F.col("fast.flag"))
    differing = told.where(~F.col("slow").eqNullSafe(F.col("fast")))
    sound, whole = told.agg(F.count_if(F.col("flag").isNull()), F.count("*")).collect()[0]
    assert [row.asDict() for row in differing.limit(3).collect()] == []
    assert 1_000 < sound < whole - 1_000


def compared(spark, options: dict[str, str]) -> DataFrame:
    """Lines with what both make of them, and whether one is told to be plain."""
    given = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "flag"} | options
    parsed = lines(spark, PLAIN, ODD).select(
        "line",
        F.from_json("line", FLAT, given).alias("slow"),
        json_line(F.col("line"), FLAT, given, "plain").alias("fast"),
    )
    names = [column.split()[0] for column in FLAT.split(", ") if not column.startswith("plain ")]
    values = {side: F.struct(*[F.col(f"{side}.{name}") for name in names]) for side in ("slow", "fast")}
    told = [F.when(F.col(side).isNotNull(), F.to_json(value)).alias(side) for side, value in values.items()]
    return parsed.select("line", *told, F.col("fast.plain").alias("plain"))


def test_a_plain_line_is_read_as_spark_reads_it_and_any_other_left_to_it(spark):
    told = compared(spark, {})
    differing = told.where(~F.col("slow").eqNullSafe(F.col("fast")))
    plain, whole = told.agg(F.count_if("plain"), F.count("*")).collect()[0]
    assert [row.asDict() for row in differing.limit(3).collect()] == []
    assert 1_000 < plain < whole - 1_000


def test_a_plain_line_is_filled_and_utf8(spark):
    bits = scan_line(F.col("line"))
    found = compared(spark, {}).where(F.col("plain") & (~LineScan.FILLED.of(bits) | LineScan.INVALID.of(bits)))
    assert [row.asDict() for row in found.limit(3).collect()] == []


def test_no_line_is_plain_where_options_say_how_times_are_written(spark):
    told = compared(spark, {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ssX"})
    assert told.where("plain").count() == 0
    assert told.where(~F.col("slow").eqNullSafe(F.col("fast"))).count() == 0


def test_both_are_computed(spark):
    """Or a comparison of the two would say nothing."""
    given = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "flag"}
    row = spark.createDataFrame([("{}",)], "line STRING")
    both = row.select(F.from_json("line", SCHEMA, given), json_line(F.col("line"), SCHEMA, given))
    plan = both._jdf.queryExecution().optimizedPlan()
    first, second = (plan.expressions().apply(index).children().head() for index in range(2))
    assert not first.semanticEquals(second)
    assert second.getClass().getSimpleName() == "Invoke"


LOSSY = [
    *REAL, *PLAIN, '{"n":1,"n":2,"new":1,"s":{"q":"a","more":[{"x":1}]}}', '{"m":1.005,"e":"2024-01-01T00:00:00Z"}',
    '{"d":"2026-01-31T01:00","x":9007199254740993}', '{"m":"1,5","flag":"a","flag":"b","plain":true,"names":"x"}',
]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "excused"),
    [({}, None), ({}, []), *[(each, ["e", "d"]) for each in (*OPTIONS, {"locale": "de-DE"})]],
    ids=["as before", "exact", "with times", "lenient", "strict", "german"],
)
def test_the_public_way_finds_the_same_values_and_losses(spark, request, options, excused):
    given = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "flag"} | options
    asked = (
        F.col("line"),
        f"{SCHEMA}, plain BOOLEAN, names STRING",
        given,
        "plain",
        excused,
        None if excused is None else "names",
    )
    private = json_line(*asked)
    request.getfixturevalue("public_ways")
    parsed = lines(spark, LOSSY, CUTS, 4_000).select("line", private.alias("one"), json_line(*asked).alias("other"))
    names = [field.name for field in parsed.schema["one"].dataType if field.name != "plain"]
    assert parsed.schema["other"].dataType.names == parsed.schema["one"].dataType.names
    values = {side: F.struct(*[F.col(side)[name].alias(name) for name in names]) for side in ("one", "other")}
    told = parsed.select(
        "line",
        *[F.when(F.col(side).isNotNull(), F.to_json(value)).alias(side) for side, value in values.items()],
        *[F.col(side)["plain"].eqNullSafe(False).alias(f"{side}_lost") for side in values],
    )
    same = F.col("one").eqNullSafe(F.col("other")) & (F.col("one_lost") == F.col("other_lost"))
    assert [row.asDict() for row in told.where(~same).limit(3).collect()] == []
    assert (told.where("other_lost").count() > 100) == (excused is not None)
