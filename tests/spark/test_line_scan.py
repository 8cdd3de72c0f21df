"""The scan of a JSON line finds what the expressions of Spark find that it replaces."""

import random

import pytest
from pyspark.sql import functions as F

from tidemark.spark.jvm_functions import LineScan, scan_line

pytestmark = pytest.mark.spark

PIECES = [
    *"{}\"'\\T:059 \t\n\v\f\r\x00\x1f\x7f",
    "\x80",
    "\x9f",
    "\xa0",
    "é",
    "語",
    "😀",
    "12",
    "12:30",
    '"T1',
    '"1:',
    "0" * 13,
]
BROKEN = [b"\xc2", b"\x80", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf5\x80\x80\x80", b"\xff"]
SUSPECTS = r"""[0-9]{14}|["'][\x00-\x20\x7f-\x9f]*(\\|T[0-9\\]|[0-9]{1,2}[:\\])"""


def lines() -> list[bytes]:
    chance = random.Random(8)  # noqa: S311 - the same lines each time
    texts = ["".join(chance.choices(PIECES, k=chance.randrange(12))).encode() for _ in range(20_000)]
    broken = [each + chance.choice(BROKEN) + chance.choice(texts) for each in texts[:2_000]]
    real = [
        b'{"id":1,"at":"2025-06-15T10:00:00.000Z","n":"a\\"b"}',
        b'{"a":{"b":1}}',
        b'{"a":1} {"a":2}',
        b'{"a":1}  ',
    ]
    return texts + broken + real


def test_a_scan_finds_what_slower_expressions_find(spark):
    value = F.col("value")
    told = spark.createDataFrame([(each,) for each in lines()], "bytes BINARY").select(
        F.expr("CAST(bytes AS STRING)").alias("value"),
        scan_line(F.expr("CAST(bytes AS STRING)")).alias("scanned"),
    )
    valid = F.is_valid_utf8(value)
    slower = {
        LineScan.FILLED: value.rlike(r"\S"),
        LineScan.EARLY: F.instr(value, "}") < F.length(F.rtrim(value)),
        LineScan.DUBIOUS: value.rlike(SUSPECTS),
        LineScan.INVALID: ~valid,
    }
    counted = []
    for bit, expression in slower.items():
        asked = F.lit(True) if bit is LineScan.INVALID else valid
        counted += [
            F.count_if(asked & (bit.of(F.col("scanned")) != expression)).alias(f"{bit.name} differs"),
            F.count_if(asked & expression).alias(f"{bit.name} yes"),
            F.count_if(asked & ~expression).alias(f"{bit.name} no"),
        ]
    found = told.agg(*counted).first().asDict()
    assert {name: count for name, count in found.items() if name.endswith("differs") and count} == {}
    assert min(count for name, count in found.items() if not name.endswith("differs")) > 100
