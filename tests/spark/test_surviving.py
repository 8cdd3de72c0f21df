"""A value is the same in the table as in the file, or its row is quarantined: one rule for each format.

What must survive is computed by Python's own decimal, json and struct.
"""

from __future__ import annotations

import json
import re
import struct
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from landed import by_file, land, objects_in, read, source_of
from pyarrow import parquet

from tidemark.spark.read.formats import look_at

pytestmark = pytest.mark.usefixtures("quick")
BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
TYPES = [*BITS, "FLOAT", "DOUBLE", "DECIMAL(5, 2)", "DECIMAL(38, 0)"]
NUMBERS = [
    "0", "-0", "1", "-1", "127", "128", "200", "-129", "255", "256", "32767", "32768", "2147483647", "2147483648",
    "9223372036854775807", "9223372036854775808", "1.0", "1.5", "-0.0", "1.00", "1.005", "1.10", "1.100", "999.99",
    "999.995", "1000", "999.999", "16777216", "16777217", "9007199254740992", "9007199254740993", "0.1", "1e2",
    "1e-2", "1e-3", "125e-3", "1e38", "1e39", "1e400", "1e-400", "-1e-400", "0e-400", "0.0e5", "1e308", "1e-46",
    "3.4028235e38", "340282346638528859811704183484516925440", "340282346638528859811704183484516925441", "4.9e-324",
    "12345678901234567890", "1" * 38, "1" * 39, "100000000000000000000000", "0.30000000000000004",
    "0.300000000000000041", "123456789.123456789",
]  # fmt: skip


def single(number: float) -> float:
    try:
        return struct.unpack("f", struct.pack("f", number))[0]
    except OverflowError:
        return float("inf")


def reference(kind: str, text: str) -> tuple[bool, Any]:
    """Whether a number survives as that type, and what it then is."""
    exact, whole = Decimal(text), re.fullmatch("-?[0-9]+", text) is not None
    if kind in BITS:
        most = 1 << BITS[kind] - 1
        return whole and -most <= int(text) < most, int(exact) if whole else None
    if kind.startswith("DECIMAL"):
        precision, scale = map(int, re.findall("[0-9]+", kind))
        sound = exact == 0 or (
            exact.normalize().as_tuple().exponent >= -scale and exact.adjusted() < precision - scale
        )
        return sound, exact
    nearest = single(float(text)) if kind == "FLOAT" else float(text)
    if abs(nearest) == float("inf"):
        return False, None
    return int(nearest) == int(text) if whole else (nearest != 0 or exact == 0), nearest


def some_numbers(dice: Random, count: int) -> list[str]:
    found = []
    for _ in range(count):
        digits = str(dice.randrange(10 ** dice.randint(1, 22)))
        cut = dice.randrange(len(digits) + 1)
        text = digits if dice.random() < 0.4 else f"{int(digits[:cut] or 0)}.{digits[cut:] or 0}"
        found.append(dice.choice(["", "-"]) + text + dice.choice(["", "", "", f"e{dice.randint(-60, 60)}"]))
    return found


@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_number_survives_as_its_type_or_its_row_is_quarantined(spark, tmp_path, form):
    texts = [*NUMBERS, *some_numbers(Random(5), 100)]  # noqa: S311 - the same numbers each time
    schema = ", ".join(f"c{number} {kind}" for number, kind in enumerate(TYPES))
    expected = {}
    for row, text in enumerate(texts):
        for number, kind in enumerate(TYPES):
            expected[f"{row:03}-{number}"] = reference(kind, text), kind, text
    lines = {name: int(name[-1]) for name in expected}
    if form == "json":
        content = [f'{{"name":"{name}","c{column}":{expected[name][2]}}}' for name, column in lines.items()]
    else:
        content = [f"{name}{',' * (column + 1)}{expected[name][2]}{',' * (len(TYPES) - 1 - column)}"
                   for name, column in lines.items()]  # fmt: skip
    land(tmp_path, {"a": "\n".join(content)})
    rows = read(spark, source_of(tmp_path, f"name STRING, {schema}", format=form))
    wrong = []
    for row in rows:
        (sound, value), kind, text = expected[row.payload["name"]]
        told = row.payload[f"c{int(row.payload['name'][-1])}"]
        if (row.bad is None, told) != (sound, value if sound else None):
            wrong.append((kind, text, sound, row.bad, told))
    assert (wrong, len(rows)) == ([], len(expected))


DAYS = {
    "2026-01-01": True, "2026-01-01T00:00:00Z": True, "2026-01-01 00:00:00": True, "2026-01-01T00:00": True,
    "2026-01-01T00:00:00.000+00:00": True, "2026-01-01T09:00:00Z": False, "2026-01-01 00:00:01": False,
    "2026-01-01T00:00:00.001": False, "2026-01-01T00:00:00+02:00": False, "2026-01-01 junk": False,
    "2026-01-01Tjunk": False, "2026-13-01": False, "junk": False,
}  # fmt: skip


@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_day_has_no_time_of_day_to_lose(spark, tmp_path, form):
    lines = {"json": [json.dumps({"d": day}) for day in DAYS], "csv": list(DAYS)}[form]
    land(tmp_path, {"a": "\n".join(lines)})
    rows = read(spark, source_of(tmp_path, "d DATE", format=form))
    assert {day: row.bad is None for day, row in zip(DAYS, rows, strict=True)} == DAYS
    timed = source_of(tmp_path, "d DATE", format=form, options={"dateFormat": "yyyy-MM-dd HH:mm:ss"})
    taken = {day for day, row in zip(DAYS, read(spark, timed), strict=True) if row.bad is None}
    assert taken == {"2026-01-01 00:00:00", "2026-01-01 00:00:01"}


JSON_LINES = {
    '{"s":"x"}': True,
    '{"s":"\\ud83d\\ude00"}': True,
    '{"s":"a\\ud83db"}': False,
    '{"s":"\\ude00"}': False,
    '{"s":12345678901234567890}': True,
    '{"s":12.50}': True,
    '{"s":0.12345678901234567891}': False,
    '{"s":1e400}': False,
    '{"s":{"a":[1,2.5,{"b":"\\ud800"}]}}': False,
    '{"s":{"a":[1,0.12345678901234567891]}}': False,
    '{"s":{"a":[1,2.5,null]}}': True,
    '{"s":"1","s":"1"}': False,
    '{"s":null,"s":"2"}': False,
    '{"zz":1,"zz":2}': True,
    '{"r":{"x":1,"x":2}}': False,
    '{"r":{"x":1,"y":1,"y":2}}': True,
    '{"r":{"x":1.5}}': False,
    '{"r":{"c":1.005}}': False,
    '{"r":{"c":"1.005"}}': False,
    '{"r":{"c":"1,005.00"}}': False,
    '{"r":{"c":"1,0"}}': False,
    '{"r":{"c":"1,00"}}': False,
    '{"r":{"c":1.000}}': True,
    '{"l":[1.25,1.125]}': True,
    '{"l":[9007199254740993]}': False,
    '{"l":[1,1e-400]}': False,
    '{"m":{"a":"2026-01-01","b":"2026-01-01T01:00:00Z"}}': False,
    '{"m":{"a":"2026-01-01","a":"2026-01-02"}}': False,
    '{"m":{"a":"2026-01-01","b":"2026-01-02"}}': True,
    '{"b":"YQ=="}': True,
    '{"b":"YR=="}': False,
    '{"i":200}': False,
    '{"k":"infinity","d":1e400}': False,
}


def test_members_at_any_depth_survive_or_their_row_is_quarantined(spark, tmp_path):
    schema = (
        "s STRING, r STRUCT<x: INT, c: DECIMAL(5, 2)>, l ARRAY<DOUBLE>, m MAP<STRING, DATE>, b BINARY, i TINYINT,"
        " k STRING, d DOUBLE"
    )
    land(tmp_path, {f"{number:02}": line for number, line in enumerate(JSON_LINES)})
    rows = {int(name): found[0] for name, found in by_file(read(spark, source_of(tmp_path, schema))).items()}
    assert {line: rows[number].bad is None for number, line in enumerate(JSON_LINES)} == JSON_LINES
    for number, (line, sound) in enumerate(JSON_LINES.items()):
        assert rows[number].raw == (None if sound else line)
    told = {line: rows[number].payload for number, line in enumerate(JSON_LINES)}
    assert told['{"s":"1","s":"1"}']["s"] is told['{"r":{"c":1.005}}']["r"] is told['{"b":"YR=="}']["b"] is None


def test_a_time_that_is_there_twice_is_an_invalid_time_and_of_before_the_last(spark, tmp_path):
    lines = ['{"t":"2026-01-01","t":"2026-01-02"}', '{"c":1.005,"t":"2026-01-02"}', '{"t":"2026-01-02"}']
    land(tmp_path, {"a": "\n".join(lines)})
    times = {"timestamp_by": "t", "late_arrival": {"tolerance": "1d", "action": "adjust"}}
    source = source_of(tmp_path, "t TIMESTAMP, c DECIMAL(5, 2)", **times)
    assert [row.bad for row in read(spark, source)] == ["invalid_time", "invalid_row", None]
    before = read(spark, source.read_as(1))
    assert [row.bad for row in before] == [None, None, None]
    assert [row.payload["c"] for row in before] == [None, Decimal("1.01"), None]


CSV_DECIMALS = {
    ";": {"1.5": "1.5", "1,5": None, "1,234.5": "1234.5", "12,34": None, "1.005": None, "1.500": "1.5", ",5": None},
    ",": {"1.5": "1.5", '"1,5"': None, '"1,234.5"': "1234.5"},
}


@pytest.mark.parametrize("sep", CSV_DECIMALS)
def test_a_comma_in_a_decimal_stands_between_thousands_or_is_none(spark, tmp_path, sep):
    lines = [f"x{sep}{text}" for text in CSV_DECIMALS[sep]]
    land(tmp_path, {"a": "\n".join(lines)})
    rows = read(spark, source_of(tmp_path, "s STRING, c DECIMAL(9, 2)", format="csv", options={"sep": sep}))
    told = dict(zip(CSV_DECIMALS[sep], (None if row.bad else row.payload["c"] for row in rows), strict=True))
    assert told == {text: value and Decimal(value) for text, value in CSV_DECIMALS[sep].items()}


INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
OTHERS = [pa.time32("ms"), pa.time64("us"), pa.date32(), pa.timestamp("us", "UTC"), pa.timestamp("ms"), pa.bool_(),
          pa.float64(), pa.string(), pa.decimal128(5, 2), pa.decimal128(15, 0)]  # fmt: skip


def bounds(kind: pa.DataType) -> list[int]:
    top = 1 << kind.bit_width - pa.types.is_signed_integer(kind)
    return [-top if pa.types.is_signed_integer(kind) else 0, top - 1]


def test_a_parquet_column_is_read_as_whole_numbers_only_if_each_of_its_values_is_one(spark, tmp_path):
    read_as = {}
    for number, kind in enumerate([*INTEGERS, *OTHERS]):
        place = tmp_path / f"{number:02}"
        values = bounds(kind) if kind in INTEGERS else [None]
        inside = pa.array([{"n": value} for value in values], pa.struct([("n", kind)]))
        place.mkdir()
        lists = pa.array([[value] for value in values], pa.list_(kind))
        table = pa.table({"n": pa.array(values, kind), "l": lists, "s": inside})
        parquet.write_table(table, place / "a", store_decimal_as_integer=True)
        for wanted, bits in BITS.items():
            for name, schema in {"n": wanted, "l": f"ARRAY<{wanted}>", "s": f"STRUCT<n: {wanted}>"}.items():
                source = source_of(place, f"{name} {schema}", format="parquet")
                refusal = look_at(source, objects_in(place))["a"].refusal
                fit = kind in INTEGERS and -(1 << bits - 1) <= min(values) and max(values) < 1 << bits - 1
                assert (refusal is None) == fit, (kind, schema, refusal)
            if fit:
                read_as[f"{kind}_{wanted}"] = kind, values
    (tmp_path / "read").mkdir()
    table = pa.table({name: pa.array(values, kind) for name, (kind, values) in read_as.items()})
    parquet.write_table(table, tmp_path / "read" / "a")
    schema = ", ".join(f"{name} {name.partition('_')[2]}" for name in read_as)
    rows = read(spark, source_of(tmp_path / "read", schema, format="parquet"))
    assert [row.payload for row in rows] == table.to_pylist()
    assert len(read_as) == 4 + 3 + 2 + 1 + 3 + 2 + 1
