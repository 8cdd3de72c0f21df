"""What a row of a landed object becomes: every kind of value, sound or bad, of the four formats."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest
from landed import LANDED, by_file, land, micros, objects_in, read, source_of, touch
from pyarrow import orc, parquet

import oracle
from product import Product

T = "2026-01-01T00:00:00Z"
NOON = datetime(2026, 1, 1, 12, 30, 15, 123456, tzinfo=UTC)
TIMES = {"timestamp_by": "e", "arrival_time": "a", "landing_delay": "1m"}
LATE = {"late_arrival": {"tolerance": "1d", "action": "adjust"}}

LINES = {
    "object": ('{"p":"x","n":1,"e":"%s","a":"%s"}', "x", None),
    "indented": (' \t{"p":"x","e":"%s","a":"%s"}  ', "x", None),
    "nested object": ('{"p":"x","s":{"x":1},"e":"%s","a":"%s"}', "x", None),
    "braces in text": ('{"p":"a} {\\"b","e":"%s","a":"%s"}', 'a} {"b', None),
    "unknown members": ('{"zz":[1,{"y":2}],"p":"x","e":"%s","a":"%s"}', "x", None),
    "doubled member": ('{"p":"x","p":"y","e":"%s","a":"%s"}', "_unknown", "invalid_row"),
    "byte order mark": ('\ufeff{"p":"x","e":"%s","a":"%s"}', "x", None),
    "cut off": ('{"p":"x","e":"%s","a":"%s"', "_unknown", "invalid_row"),
    "array": ('[{"p":"x","e":"%s","a":"%s"}]', "_unknown", "invalid_row"),
    "scalar": ("3", "_unknown", "invalid_row"),
    "text": ('"x"', "_unknown", "invalid_row"),
    "null": ("null", "_unknown", "invalid_row"),
    "no JSON": ("garbage", "_unknown", "invalid_row"),
    "empty object": ("{}", "_unknown", "invalid_row"),
    "null partition": ('{"p":null,"e":"%s","a":"%s"}', "_unknown", "invalid_row"),
    "partition named unknown": ('{"p":"_unknown","e":"%s","a":"%s"}', "_unknown", "invalid_row"),
    "two objects": ('{"p":"x","e":"%s","a":"%s"} {"p":"y"}', "x", "invalid_row"),
    "two objects at once": ('{"p":"x","e":"%s","a":"%s"}{"p":"y"}', "x", "invalid_row"),
    "two objects, comma": ('{"p":"x","e":"%s","a":"%s"},{"p":"y"}', "x", "invalid_row"),
    "trailing comma": ('{"p":"x","e":"%s","a":"%s"},', "x", "invalid_row"),
    "trailing brace": ('{"p":"x","e":"%s","a":"%s"}}', "x", "invalid_row"),
    "trailing bracket": ('{"p":"x","e":"%s","a":"%s"}]', "x", "invalid_row"),
    "trailing text": ('{"p":"x","e":"%s","a":"%s"} more', "x", "invalid_row"),
    "text for a number": ('{"p":"x","n":"abc","e":"%s","a":"%s"}', "x", "invalid_row"),
    "digits in text for a number": ('{"p":"x","n":"12","e":"%s","a":"%s"}', "x", "invalid_row"),
    "number too big": ('{"p":"x","n":99999999999,"e":"%s","a":"%s"}', "x", "invalid_row"),
    "fraction for a whole number": ('{"p":"x","n":1.5,"e":"%s","a":"%s"}', "x", "invalid_row"),
    "double too big": ('{"p":"x","d":1e400,"e":"%s","a":"%s"}', "x", "invalid_row"),
    "decimal too big": ('{"p":"x","c":12345.1,"e":"%s","a":"%s"}', "x", "invalid_row"),
    "far beyond a decimal": ('{"p":"x","c":1e99999999,"e":"%s","a":"%s"}', "_unknown", "invalid_row"),
    "far below a decimal": ('{"p":"x","c":-1.5E-099999999,"e":"%s","a":"%s"}', "_unknown", "invalid_row"),
    "far beyond, as text": ('{"p":"x","c":"1e99999999","e":"%s","a":"%s"}', "_unknown", "invalid_row"),
    "such text elsewhere": ('{"p":"3e4567","c":0.0,"e":"%s","a":"%s"}', "3e4567", None),
    "such text elsewhere, quoted": ('{"p":"a\\\\\\"1e4567","c":0.0,"e":"%s","a":"%s"}', 'a\\"1e4567', None),
    "no base64": ('{"p":"x","b":"%%%%","e":"%s","a":"%s"}', "x", "invalid_row"),
    "number for an object": ('{"p":"x","s":7,"e":"%s","a":"%s"}', "x", "invalid_row"),
    "wrong type inside": ('{"p":"x","s":{"x":"q"},"e":"%s","a":"%s"}', "x", "invalid_row"),
    "bad time inside": ('{"p":"x","s":{"t":"garbage"},"e":"%s","a":"%s"}', "x", "invalid_row"),
    "milliseconds inside": ('{"p":"x","s":{"t":1767225600000},"e":"%s","a":"%s"}', "x", "invalid_row"),
    "time of day in a list": ('{"p":"x","l":["10:00"],"e":"%s","a":"%s"}', "x", "invalid_row"),
    "time of day in a map": ('{"p":"x","m":{"k":"\\u0031:30"},"e":"%s","a":"%s"}', "x", "invalid_row"),
    "date of year 10000": ('{"p":"x","g":"10000-01-01","e":"%s","a":"%s"}', "x", "invalid_row"),
    "not UTF-8": ('{"p":"x","k":"\udcff","e":"%s","a":"%s"}', "x", "invalid_row"),
    "not UTF-8, elsewhere": ('{"p":"x","zz":"\udcc3","e":"%s","a":"%s"}', "x", "invalid_row"),
}
JSON_SCHEMA = (
    "p STRING, e TIMESTAMP, a TIMESTAMP, n INT, d DOUBLE, c DECIMAL(5,2), b BINARY, g DATE, k STRING,"
    " s STRUCT<x: INT, t: TIMESTAMP>, l ARRAY<TIMESTAMP>, m MAP<STRING, TIMESTAMP>, o TIMESTAMP"
)


def test_a_json_line_is_one_object_that_fits_the_schema_or_quarantined(spark, tmp_path):
    texts = {name: (line % (T, T) if "%s" in line else line) for name, (line, *_) in LINES.items()}
    land(tmp_path, {name: text.encode("utf-8", "surrogateescape") + b"\n" for name, text in texts.items()})
    rows = read(spark, source_of(tmp_path, JSON_SCHEMA, partition={"column": "p"}, **TIMES))
    assert {row.uri: (row.partition, row.bad) for row in rows} == {
        name: tuple(rest) for name, (_, *rest) in LINES.items()
    }
    for row in rows:
        text = texts[row.uri].encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        assert row.raw == (None if row.bad is None else text), row.uri
    assert by_file(rows)["object"][0].payload["n"] == 1
    assert by_file(rows)["wrong type inside"][0].payload["n"] is None


SECONDS = 1_767_225_600
GOOD_TIMES = {
    f'"{T}"': 0,
    '"2026-01-01T02:00:00+02:00"': 0,
    '"2026-01-01 00:00:00"': 0,
    '"2026-01-01"': 0,
    '"2026-01-01T00:00:00.123456789Z"': 123_456,
    f"{SECONDS}": 0,
    '"0001-01-01T00:00:00Z"': -63_902_822_400_000_000,
    '"9999-12-31T23:59:59.999999Z"': 251_635_075_199_999_999,
}
BAD_TIMES = [
    *['"garbage"', '""', "null", "true", "{}", '"now"', '"2026-02-30T00:00:00Z"', '"2016-12-31T23:59:60Z"'],
    *['"10:00:00"', '"T10:00"', '" 1:30"', '"\\u0031:30"', '"1767225600"'],
    *[f"{SECONDS}000", f"{SECONDS}000000", f"{SECONDS}000000000", f"-{SECONDS}000", f"{SECONDS}.5", "1.7e9"],
    *["9223372036855", "18446745840935151", "18446744073709551616", "9" * 30],
    *['"0000-12-31T00:00:00Z"', '"0001-01-01T00:00:00+01:00"', '"10000-01-01T00:00:00Z"', '"+10000-01-01T00:00:00Z"'],
]


@pytest.mark.parametrize("path", ["e", "s.e"])
def test_a_time_that_cannot_be_is_an_invalid_time_and_any_other_an_invalid_row(spark, tmp_path, path):
    inside = '{"e":%s}' if path == "e" else '{"s":{"e":%s}}'
    outside = f'{{"e":"{T}","s":{{"e":"{T}"}},"o":%s}}'
    values = [*GOOD_TIMES, *BAD_TIMES]
    lines = [form % value for form in (inside, outside) for value in values]
    land(tmp_path, {"lines.json": "".join(f"{line}\n" for line in lines)})
    schema = "e TIMESTAMP, s STRUCT<e: TIMESTAMP>, o TIMESTAMP"
    rows = read(spark, source_of(tmp_path, schema, timestamp_by=path, **LATE))
    required, other = rows[: len(values)], rows[len(values) :]
    missing = [None if value == "null" else "invalid_row" for value in BAD_TIMES]
    assert [row.bad for row in required] == [None] * len(GOOD_TIMES) + ["invalid_time"] * len(BAD_TIMES)
    assert [row.bad for row in other] == [None] * len(GOOD_TIMES) + missing
    moved = [SECONDS * 1_000_000 + offset for offset in GOOD_TIMES.values()]
    assert [row.event for row in required] == moved + [None] * len(BAD_TIMES)
    assert [micros(row.payload["o"]) for row in other] == moved + [None] * len(BAD_TIMES)


def test_an_arrival_that_cannot_be_is_an_invalid_time_and_a_readable_one_counts_all_the_same(spark, tmp_path):
    land(
        tmp_path,
        {"a.json": '{"a":"x"}\n{"a":"10:00"}\n{"a":1767225600000}\n' + f'{{"a":"{T}","e":"x"}}\n{{"a":"{T}"}}\n'},
    )
    rows = read(spark, source_of(tmp_path, "e TIMESTAMP, a TIMESTAMP", **TIMES))
    assert [(row.bad, row.arrival) for row in rows] == [("invalid_time", None)] * 3 + [
        ("invalid_time", SECONDS * 1_000_000)
    ] * 2


@pytest.mark.parametrize(
    ("schema", "expression", "value"),
    [
        ("e STRING", "e", f'"{T}"'),
        ("e DATE", "e", '"2026-01-01"'),
        ("e TIMESTAMP_NTZ", "e", '"2026-01-01T00:00:00"'),
        ("e BIGINT", "timestamp_millis(e)", "1767225600000"),
        ("`a.b-c` STRING", "`a.b-c`", f'"{T}"'),
    ],
    ids=["string", "date", "ntz", "millis", "quoted name"],
)
def test_times_are_read_from_columns_of_other_types(spark, tmp_path, schema, expression, value):
    name = "a.b-c" if "`" in schema else "e"
    lines = [f'{{"{name}":{text}}}' for text in (value, '"garbage"', '"10:00"', "null")]
    land(tmp_path, {"a.json": "\n".join(lines)})
    rows = read(spark, source_of(tmp_path, schema, timestamp_by=expression, **LATE))
    assert rows[0].event == SECONDS * 1_000_000
    assert [row.event for row in rows[1:]] == [None] * 3
    assert all(row.bad in ("invalid_time", "invalid_row") for row in rows[1:])


def test_json_without_any_key_column_tells_documents_from_other_lines(spark, tmp_path):
    land(tmp_path, {"a.json": '{}\nnull\n[]\n[{"n":1}]\n3\n"x"\n{"n":2}\n\x00\n\n  \n{"n":3}'})
    rows = read(spark, source_of(tmp_path, "n INT"))
    assert [row.bad for row in rows] == [None, *["invalid_row"] * 5, None, "invalid_row", None]
    assert [row.payload["n"] for row in rows if row.bad is None] == [None, 2, 3]


def test_json_options_hold_for_every_check(spark, tmp_path):
    options = {"allowComments": "true", "allowSingleQuotes": "true", "timestampFormat": "HH:mm dd.MM.yyyy"}
    lines = ["{'s':{'x':1},'e':'10:00 01.01.2026'} // so", "{'s':{'x':1}} {}", "/* so */ {'s':{'x':2}}", "// so"]
    land(tmp_path, {"a.json": "\n".join(lines)})
    rows = read(spark, source_of(tmp_path, "s STRUCT<x: INT>, e TIMESTAMP", options=options))
    assert [row.bad for row in rows] == [None, "invalid_row", None, "invalid_row"]
    assert micros(rows[0].payload["e"]) == (SECONDS + 36_000) * 1_000_000


def test_json_files_may_have_any_line_end_no_last_one_blank_lines_or_nothing(spark, tmp_path):
    one, two = '{"n":1}', '{"n":2}'
    files = {
        "crlf": f"{one}\r\n{two}\r\n",
        "cr": f"{one}\r{two}\r",
        "no last": f"{one}\n{two}",
        "blank": f"\n\n{one}\n  \n\n{two}\n\n",
        "bom": f"\ufeff{one}\n{two}\n",
        "bom and blank": f"\ufeff\n{one}\n{two}\n",
        "two.json.gz": gzip.compress(f"{one}\n{two}\n".encode()),
        "bom.json.gz": gzip.compress(f"\ufeff{one}\n".encode()) + gzip.compress(two.encode()),
        "empty": "",
        "only blank": "\n \n\r\n\t\n",
        "only bom": "\ufeff",
    }
    land(tmp_path, files)
    found = by_file(read(spark, source_of(tmp_path, "n INT")))
    assert {uri: [(row.bad, row.payload["n"]) for row in rows] for uri, rows in found.items()} == {
        uri: [(None, 1), (None, 2)] for uri in list(files)[:8]
    }


def test_rows_of_ten_megabytes_are_read(spark, tmp_path):
    text = 'a"b\\' * 2_500_000
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    land(tmp_path / "j", {"a.json": f'{{"s":{{"t":"{quoted}"}},"n":1}}\n'})
    land(tmp_path / "c", {"a.csv": f'"{quoted}",1\n'})
    for source in (
        source_of(tmp_path / "j", "s STRUCT<t: STRING>, n INT"),
        source_of(tmp_path / "c", "s STRING, n INT", format="csv"),
    ):
        (row,) = read(spark, source)
        assert row.bad is None
        assert (row.payload["s"] if source.format == "csv" else row.payload["s"]["t"]) == text


CSV_LINES = {
    "plain": ("x,{t},1,abc", None, "abc"),
    "quoted": ('"x",{t},1,"a,b"', None, "a,b"),
    "escaped quote": ('x,{t},1,"a\\",b"', None, 'a",b'),
    "escaped escape": ('x,{t},1,"a\\\\"', None, "a\\"),
    "blank after a quote": ('"x" ,{t},1,abc', None, "abc"),
    "quotes inside": ('x,{t},1,say "hi" now', None, 'say "hi" now'),
    "empty values": ("x,{t},,", None, None),
    "byte order mark": ("\ufeffx,{t},1,abc", None, "abc"),
    "control characters": ("x,{t},1,a\x01\x00b", None, "a\x01\x00b"),
    "NUL in front": ("\x00x,{t},1,abc", None, "abc"),
    "hash in front": ("#x,{t},1,abc", None, "abc"),
    "not ASCII": ("x,{t},1,aä€😀", None, "aä€😀"),
    "too few": ("x,{t},1", "invalid_row", None),
    "one": ("x", "invalid_row", None),
    "too many": ("x,{t},1,abc,d", "invalid_row", "abc"),
    "delimiter at the end": ("x,{t},1,abc,", "invalid_row", "abc"),
    "never closed": ('x,{t},1,"abc', "invalid_row", "abc"),
    "never opened": ('x,{t},1,abc"', "invalid_row", 'abc"'),
    "one quote inside": ('x,{t},1,12" pipe', "invalid_row", '12" pipe'),
    "text after a quote": ('x,{t},1,"a"b', "invalid_row", '"a"b'),
    "even but broken": ('x,{t},1,"abc,"def', "invalid_row", '"abc,"def'),
    "doubled quote, escape is backslash": ('x,{t},1,"a""b"', "invalid_row", '"a""b"'),
    "no number": ("x,{t},q,abc", "invalid_row", "abc"),
    "number too big": ("x,{t},99999999999,abc", "invalid_row", "abc"),
    "not UTF-8": ("x,{t},1,a\udcff", "invalid_row", "a\ufffd"),
    "wrong delimiter": ("x\t{t}\t1\tabc", "invalid_row", None),
    "only delimiters": (",,,", "invalid_row", None),
    "no time": ("x,,1,abc", "invalid_time", "abc"),
    "garbage time": ("x,garbage,1,abc", "invalid_time", "abc"),
    "seconds": ("x,1767225600,1,abc", "invalid_time", "abc"),
    "milliseconds": ("x,1767225600000,1,abc", "invalid_time", "abc"),
    "time of day": ('x,"10:00",1,abc', "invalid_time", "abc"),
    "year 10000": ("x,10000-01-01T00:00:00Z,1,abc", "invalid_time", "abc"),
    "bad time and too few": ("x,garbage", "invalid_row", None),
}


def test_a_csv_line_has_a_value_for_each_column_and_every_quote_closed_or_is_quarantined(spark, tmp_path):
    texts = {name: line.format(t=T) for name, (line, *_) in CSV_LINES.items()}
    land(tmp_path, {name: text.encode("utf-8", "surrogateescape") for name, text in texts.items()})
    source = source_of(
        tmp_path,
        "p STRING, e TIMESTAMP, n INT, s STRING",
        format="csv",
        partition={"column": "p"},
        timestamp_by="e",
        **LATE,
    )
    rows = read(spark, source)
    assert {row.uri: (row.bad, row.payload["s"]) for row in rows} == {
        name: tuple(rest) for name, (_, *rest) in CSV_LINES.items()
    }
    for row in rows:
        text = texts[row.uri].encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        assert row.raw == (None if row.bad is None else text), row.uri


CSV_OPTIONS = {
    "tab": ({"sep": "\t"}, 'a\t"b\tc"\n"a" \tb\n"a\tb', [("a", "b\tc"), ("a", "b"), "invalid_row"]),
    "delimiter of two": (
        {"delimiter": "||"},
        'a||"b||c"\na|b\na||b||c',
        [("a", "b||c"), "invalid_row", "invalid_row"],
    ),
    "pipe": ({"sep": "|"}, "a|b\n10:00|b", [("a", "b"), ("10:00", "b")]),
    "quote": ({"quote": "'"}, "'a,b',c\n\"a,b\n'a,b", [("a,b", "c"), ('"a', "b"), "invalid_row"]),
    "no quote": ({"quote": ""}, '12",b\n"a,b"', [('12"', "b"), ('"a', 'b"')]),
    "RFC 4180": (
        {"escape": '"'},
        '"a""b","c"",""d"\n"a\\","b"\n"a"b",c',
        [('a"b', 'c","d'), ("a\\", "b"), "invalid_row"],
    ),
    "comment": ({"comment": "#"}, "# so\na,b\n#a,b\nc,d", [("a", "b"), ("c", "d")]),
    "null": ({"nullValue": "-", "emptyValue": "EMPTY"}, '-,b\n"",b', [(None, "b"), ("EMPTY", "b")]),
    "blanks": (
        {"ignoreLeadingWhiteSpace": "true", "ignoreTrailingWhiteSpace": "true"},
        ' a , "b,c" \n a ,"b',
        [("a", "b,c"), "invalid_row"],
    ),
    "encoding": ({"encoding": "UTF-8"}, "ä,b", [("ä", "b")]),
    "header": ({"header": "true"}, "x,y\nx,y\na,b", [("x", "y"), ("a", "b")]),
    "header, any case": ({"header": "true"}, '\ufeff\n"X" , Y\r\na,b', [("a", "b")]),
    "header after comment": ({"header": "true", "comment": "#"}, "# so\n\nx,y\n# x,y\na,b", [("a", "b")]),
    "header alone": ({"header": "true"}, "x,y\n", []),
    "header of an empty file": ({"header": "true"}, "\n\n", []),
}


@pytest.mark.parametrize(("options", "text", "expected"), CSV_OPTIONS.values(), ids=CSV_OPTIONS)
def test_csv_options(spark, tmp_path, options, text, expected):
    land(tmp_path, {"a.csv": text})
    rows = read(spark, source_of(tmp_path, "x STRING, y STRING", format="csv", options=options))
    assert [row.bad or tuple(row.payload.values()) for row in rows] == expected


@pytest.mark.parametrize(
    ("number", "bad"), [("1e99999999", "invalid_row"), ("1E-99999999", "invalid_row"), ("1e2", None)]
)
def test_a_number_far_beyond_decimals_is_quarantined_before_it_is_written_out(spark, tmp_path, number, bad):
    land(tmp_path, {"a": f"x,{T},{number},1e99999\n"})
    keys = {"partition": {"column": "p"}, "timestamp_by": "e", **LATE}
    rows = read(spark, source_of(tmp_path, "p STRING, e TIMESTAMP, c DECIMAL(5,1), s STRING", format="csv", **keys))
    assert [(row.bad, row.payload["c"]) for row in rows] == [(bad, None if bad else Decimal("100.0"))]


def test_a_csv_file_whose_header_names_other_columns_is_quarantined_whole(spark, tmp_path):
    files = {
        "a good.csv": "x,y,z\n1,2,3\n",
        "b swapped.csv": "y,x,z\n1,2,3\n4,5,6\n",
        "c fewer.csv": "x,y\n1,2\n",
        "d none.csv": "1,2,3\n4,5,6\n",
        "e good.csv.gz": gzip.compress(b"X,Y,Z\n7,8,9\n"),
        "f swapped.csv.gz": gzip.compress(b"z,y,x\n7,8,9\n"),
        "g empty.csv": "",
    }
    land(tmp_path, files)
    found = by_file(read(spark, source_of(tmp_path, "x INT, y INT, z INT", format="csv", options={"header": "true"})))
    assert {uri: [row.bad for row in rows] for uri, rows in found.items()} == {
        "a good.csv": [None],
        "b swapped.csv": ["invalid_row"],
        "c fewer.csv": ["invalid_row"],
        "d none.csv": ["invalid_row"],
        "e good.csv.gz": [None],
        "f swapped.csv.gz": ["invalid_row"],
    }
    (row,) = found["b swapped.csv"]
    assert row.raw == "object cannot be read: its header names the columns y, x, z, the schema x, y, z"
    assert list(row.payload.values()) == [None, None, None]


def test_names_in_files_are_those_of_header_columns(quick, tmp_path):
    files = {
        "a.csv": 'User Name,"Event, Type",page\nu,click,/p\n',
        "b swapped.csv": 'User Name,page,"Event, Type"\nu,/p,click\n',
        "c columns.csv": "user_name,event_type,page\nu,click,/p\n",
        "d.csv.gz": gzip.compress(b'user name ,"EVENT, TYPE",Page\nu,click,/p\n'),
    }
    land(tmp_path / "csv", files)
    land(tmp_path / "json", {"a.json": '{"User Name":"u","Event, Type":"click","page":"/p","user_name":"x"}'})
    schema = "user_name STRING, event_type STRING, page STRING"
    names = {"header_columns": {"User Name": "user_name", "Event, Type": "event_type"}}
    row = {"user_name": "u", "event_type": "click", "page": "/p"}
    csv = source_of(tmp_path / "csv", schema, format="csv", options={"header": "true"}, **names)
    found = by_file(read(quick, csv))
    assert {uri: [each.bad or each.payload for each in rows] for uri, rows in found.items()} == {
        "a.csv": [row], "b swapped.csv": ["invalid_row"], "c columns.csv": ["invalid_row"], "d.csv.gz": [row],
    }  # fmt: skip
    assert found["b swapped.csv"][0].raw == (
        "object cannot be read: its header names the columns User Name, page, Event, Type,"
        " the schema and header_columns User Name, Event, Type, page"
    )
    (line,) = read(quick, source_of(tmp_path / "json", schema, **names))
    assert (line.bad, line.payload) == (None, row)


def test_required_times_are_those_under_their_names_in_files(quick, tmp_path):
    land(tmp_path, {"a.json": f'{{"Event Time":"{T}"}}\n{{"Event Time":"nonsense"}}\n{{"n":1}}\n'})
    keys = {"header_columns": {"Event Time": "e"}, "timestamp_by": "e", **LATE}
    rows = read(quick, source_of(tmp_path, "e TIMESTAMP, n INT", **keys))
    assert [row.bad for row in rows] == [None, "invalid_time", "invalid_time"]


def _row(e, **more):
    return pa.table({"p": ["x"], "e": e, "n": pa.array([1], pa.int32()), **more})


def _with(name, values):
    """The usual row with one column of other values."""
    table = _row(pa.array([NOON], US))
    return table.set_column(table.column_names.index(name), name, values)


def _differs(column, found, wanted):
    return f"{WHOLE}column {column} is {found} in the file, {wanted} in the schema"


US, NS = pa.timestamp("us", "UTC"), pa.timestamp("ns", "UTC")
NAIVE = NOON.replace(tzinfo=None)
WHOLE = "object cannot be read: "
COLUMNS = {
    "microseconds": (_row(pa.array([NOON], US)), NOON),
    "milliseconds": (_row(pa.array([1767270615123], pa.timestamp("ms", "UTC"))), NOON - timedelta(microseconds=456)),
    "other zone": (_row(pa.array([NOON], pa.timestamp("us", "Europe/Berlin"))), NOON),
    "no zone": (_row(pa.array([NAIVE], pa.timestamp("us"))), NOON),
    "nanoseconds": (_row(pa.array([1767270615123456789], NS)), NOON),
    "nanoseconds just before a microsecond": (_row(pa.array([1767270615123456999], NS)), NOON),
    "nanoseconds before 1970": (_row(pa.array([-1], NS)), datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)),
    "nanoseconds, no zone": (_row(pa.array([NAIVE], pa.timestamp("ns"))), NOON),
    "before 1970": (_row(pa.array([-1500000], US)), datetime(1969, 12, 31, 23, 59, 58, 500000, tzinfo=UTC)),
    "year 1": (_row(pa.array([-62135596800000000], US)), datetime(1, 1, 1, tzinfo=UTC)),
    "year 9999": (_row(pa.array([253402300799999999], US)), datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)),
    "other case": (pa.table({"P": ["x"], "E": pa.array([NOON], US), "N": pa.array([1], pa.int32())}), NOON),
    "other order": (pa.table({"n": pa.array([1], pa.int32()), "e": pa.array([NOON], US), "p": ["x"]}), NOON),
    "more columns": (_row(pa.array([NOON], US), zz=[1]), NOON),
    "column missing": (pa.table({"p": ["x"], "e": pa.array([NOON], US)}), NOON),
    "year 57971": (_row(pa.array([1767225600000000000], US)), "invalid_time"),
    "null time": (_row(pa.array([None], US)), "invalid_time"),
    "no time": (pa.table({"p": ["x"]}), "invalid_time"),
    "not UTF-8": (pa.table({"p": pa.array([b"\xff"], pa.binary()), "e": pa.array([NOON], US)}), "invalid_row"),
    "text for a time": (_row(pa.array([T])), _differs("e", "string", "TIMESTAMP")),
    "number for a time": (_row(pa.array([1])), _differs("e", "int64", "TIMESTAMP")),
    "date for a time": (_row(pa.array([date(2026, 1, 1)])), _differs("e", "date32[day]", "TIMESTAMP")),
    "long for an int": (_with("n", pa.array([1])), _differs("n", "int64", "INT")),
    "double for an int": (_with("n", pa.array([1.5])), _differs("n", "double", "INT")),
    "text for an int": (_with("n", pa.array(["1"])), _differs("n", "string", "INT")),
    "int for text": (_with("p", pa.array([1], pa.int32())), _differs("p", "int32", "STRING")),
}  # fmt: skip
PARQUET_ONLY = {
    "only null": (_row(pa.nulls(1)), "invalid_time"),
    "other column only null": (_with("n", pa.nulls(1)), NOON),
    "unsigned": (_with("n", pa.array([1 << 31], pa.uint32())), _differs("n", "uint32", "INT")),
}  # fmt: skip
ORC_NOT = {"not UTF-8", "year 57971", "nanoseconds before 1970", "before 1970"}


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_a_columnar_file_is_read_right_or_quarantined_whole(spark, tmp_path, kind):
    cases = COLUMNS | (PARQUET_ONLY if kind == "parquet" else {})
    cases = {name: case for name, case in cases.items() if kind == "parquet" or name not in ORC_NOT}
    for name, (table, _) in cases.items():
        (parquet if kind == "parquet" else orc).write_table(table, str(tmp_path / name))
        touch(tmp_path / name)
    if kind == "parquet":
        parquet.write_table(cases["microseconds"][0], tmp_path / "INT96", use_deprecated_int96_timestamps=True)
        touch(tmp_path / "INT96")
        cases["INT96"] = cases["microseconds"]
    source = source_of(
        tmp_path, "p STRING, e TIMESTAMP, n INT", format=kind, partition={"column": "p"}, timestamp_by="e", **LATE
    )
    berlin = spark._jvm.java.util.TimeZone.getTimeZone("Europe/Berlin")
    spark._jvm.java.util.TimeZone.setDefault(berlin)
    rows = read(spark, source, damaged=unreadable(spark, source))
    assert {row.uri: _outcome(row) for row in rows} == {name: expected for name, (_, expected) in cases.items()}
    assert {row.uri for row in rows if row.partition == "_unknown"} == {
        name for name, (_, expected) in cases.items() if str(expected).startswith(WHOLE) or name == "not UTF-8"
    }


def unreadable(spark, source):
    from tidemark.spark.read.unreadable import find_unreadable

    return find_unreadable(spark, source, objects_in(source.landing))


def _outcome(row):
    if row.raw is not None and row.raw.startswith(WHOLE):
        return row.raw
    return row.bad or datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=row.event)


def test_the_raw_text_of_a_columnar_row_tells_all_of_it(spark, tmp_path):
    table = pa.table(
        {
            "e": pa.array([1767225600000000001, None], US),
            "t": pa.array([NOON, NOON], US),
            "n": pa.array([None, 5], pa.int32()),
        }
    )
    table = table.set_column(0, "e", pa.array([1767225600000000001, None], US))
    parquet.write_table(table, tmp_path / "a.parquet")
    rows = read(
        spark, source_of(tmp_path, "e TIMESTAMP, t TIMESTAMP, n INT", format="parquet", timestamp_by="e", **LATE)
    )
    assert [row.raw for row in rows] == [
        '{"e":"+57971-02-25T00:00:00.000001Z","t":"2026-01-01T12:30:15.123456Z","n":null}',
        '{"e":null,"t":"2026-01-01T12:30:15.123456Z","n":5}',
    ]


def test_bad_values_deep_inside_columnar_rows_are_found(spark, tmp_path):
    far = 1767225600000000000
    inside = pa.struct([("t", US), ("b", pa.binary())])
    table = pa.table({
        "n": pa.array([0, 1, 2, 3, 4], pa.int32()),
        "s": pa.array([{"t": NOON, "b": b"a"}, {"t": far, "b": b"a"}, {"t": NOON, "b": b"\xff"}, None, None], inside),
        "l": pa.array([[0], [], None, [0, far], [None]], pa.list_(US)),
        "m": pa.array([[("k", 0)], [], None, None, [("k", far)]], pa.map_(pa.string(), US)),
        "d": pa.array([0, 0, 0, 0, 2932897], pa.date32()),
    })  # fmt: skip
    parquet.write_table(table, tmp_path / "a.parquet")
    schema = "n INT, s STRUCT<t: TIMESTAMP, b: STRING>, l ARRAY<TIMESTAMP>, m MAP<STRING, TIMESTAMP>, d DATE"
    rows = read(spark, source_of(tmp_path, schema, format="parquet"))
    assert [row.bad for row in rows] == [None, "invalid_row", "invalid_row", "invalid_row", "invalid_row"]
    nulls = [{name for name in "slmd" if row.payload[name] is None} for row in rows]
    assert nulls == [set(), {"s"}, {"s", "l", "m"}, {"s", "l", "m"}, {"s", "m", "d"}]
    assert all(row.raw is not None for row in rows[1:])


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_every_type_comes_through_a_columnar_file(spark, tmp_path, kind):
    table = pa.table({
        "b": [True], "i8": pa.array([-1], pa.int8()), "i16": pa.array([-2], pa.int16()),
        "i32": pa.array([3], pa.int32()),
        "i64": [4], "f": pa.array([0.5], pa.float32()), "d": [0.25],
        "c": pa.array([Decimal("1.20")], pa.decimal128(5, 2)),
        "s": ["ä"], "y": [b"\xff\x00"], "g": [date(1, 1, 1)], "l": [[1, None]],
        "m": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())), "r": [{"x": 1, "y": [{"z": "q"}]}],
        "w": pa.array([7], pa.int16()),
    })  # fmt: skip
    (parquet if kind == "parquet" else orc).write_table(table, str(tmp_path / "a"))
    schema = (
        "b BOOLEAN, i8 TINYINT, i16 SMALLINT, i32 INT, i64 BIGINT, f FLOAT, d DOUBLE, c DECIMAL(5,2), s STRING,"
        " y BINARY,"
        " g DATE, l ARRAY<BIGINT>, m MAP<STRING, BIGINT>, r STRUCT<x: BIGINT, y: ARRAY<STRUCT<z: STRING>>>, w BIGINT"
    )
    (row,) = read(spark, source_of(tmp_path, schema, format=kind))
    assert row.bad is None
    (expected,) = table.to_pylist()
    assert row.payload == expected


WIDE = (
    "_x INT, `a.b` STRING, Mixed INT, `we``ird` STRING, `ünï` INT, `a-b` STRING, `select` INT, `1st` INT,"
    " n STRUCT<`c.d`: INT, E: ARRAY<STRUCT<f: STRING>>>, m MAP<STRING, BIGINT>,"
    " mm MAP<STRING, MAP<STRING, ARRAY<DATE>>>, y BINARY, c DECIMAL(38,18), b BOOLEAN, i TINYINT, h SMALLINT,"
    " l BIGINT, f FLOAT, d DOUBLE, g DATE, t TIMESTAMP, z TIMESTAMP_NTZ"
)
WIDE_ROW = {
    "_x": 1, "a.b": "2026-01-01", "Mixed": 2, "we`ird": "p`q", "ünï": 3, "a-b": "k", "select": 4, "1st": 5,
    "n": {"c.d": 6, "E": [{"f": "x"}, {"f": None}]}, "m": {"a": 1, "b": None}, "mm": {"a": {"b": ["2026-01-01"]}},
    "y": "AAE=", "b": True, "i": -1,
    "h": -2, "l": 1 << 60, "f": 0.5, "d": 0.1,
    "g": "0001-01-01", "t": "9999-12-31T23:59:59.999999Z", "z": "2026-01-01T00:00:00.000001",
}  # fmt: skip


@pytest.mark.usefixtures("spark")
def test_columns_of_any_name_and_type_reach_the_table_and_replay(tmp_path):
    source = oracle.Source(arrival_column=False, late=(86_400_000_000, "adjust"))
    product = Product(tmp_path, {"s": source})
    keys = {
        "timestamp_by": "`a.b`",
        "partition": {"column": "`we``ird`"},
        "over": ["`a-b`", "`select`"],
        "partitions": [],
    }
    product.write(s={"schema": WIDE, "late_arrival": {"tolerance": "1d", "action": "adjust"}, **keys})
    text = json.dumps(WIDE_ROW, ensure_ascii=False)
    land(tmp_path / "landing/s", {"a.json": f"{text}\n{text[:-1]}\n{{}}\n" + text.replace('1st": 5', '1st": "5"')})
    product.run(LANDED + 1)
    rows = sorted(product.table("events/s"), key=lambda row: (row["_partition"], row["_offset"]))
    assert [(row["_partition"], row["_offset"], row["_disposition"]) for row in rows] == [
        ("_unknown", 0, "quarantined"),
        ("_unknown", 1, "quarantined"),
        ("p`q", 0, "adjusted"),
        ("p`q", 1, "quarantined"),
    ]
    row = rows[2]
    assert [row[name] for name in ("_x", "a.b", "Mixed", "we`ird", "ünï", "a-b", "select", "1st")] == list(
        WIDE_ROW.values()
    )[:8]
    assert row["n"] == WIDE_ROW["n"]
    assert dict(row["m"]) == WIDE_ROW["m"]
    assert dict(dict(row["mm"])["a"])["b"] == [date(2026, 1, 1)]
    assert (row["y"], row["g"]) == (b"\x00\x01", date(1, 1, 1))
    assert row["t"] == datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
    assert row["z"].isoformat() == "2026-01-01T00:00:00.000001"
    assert row["_substream"] == '["k","4"]'
    for given in ("landing", "events"):
        assert product.pipeline().replay(input=given)["identical"]
