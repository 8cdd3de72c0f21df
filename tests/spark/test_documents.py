"""Rows of JSON documents and of CSV whose values have line breaks, with their order and text."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import zlib
from dataclasses import replace
from random import Random

import pyarrow as pa
import pytest
from landed import by_file, land, objects_in, read, source_of

from tidemark.core.batch import ObjectState
from tidemark.spark.judge.empty_objects import without_rows

T = "2026-01-01T00:00:00Z"
RECORDS = {"rows": "Records[]"}
LINES = {"options": {"multiLine": "true"}}
ELEMENTS = {"rows": "[]"}
BELOW = {"rows": "detail.items[]"}

DOCUMENTS = {
    "indented records": (RECORDS, json.dumps({"v": 1, "Records": [{"n": 1}, {"n": 2}]}, indent=2), [1, 2]),
    "records on one line": (RECORDS, '{"Records":[{"n":1},{"n":2}]}', [1, 2]),
    "documents on lines": (RECORDS, '{"Records":[{"n":1}]}\n{"Records":[]}\n{"Records":[{"n":2}]}\n', [1, 2]),
    "documents one after the other": (RECORDS, '{"Records":[{"n":1}]}{"Records":[{"n":2}]}', [1, 2]),
    "the member twice": (RECORDS, '{"Records":[{"n":1}],"x":[],"Records":[{"n":2}]}', [1, 2]),
    "no records": (RECORDS, '{"Records":[]}', []),
    "nothing at all": (RECORDS, " \n", []),
    "byte order mark": (RECORDS, '\ufeff{"Records":[ {"n":1} , {"n":2}\n]}', [1, 2]),
    "another member of the name": (RECORDS, '{"x":{"Records":[{"n":9}]},"Records":[{"n":1}]}', [1]),
    "elements that are no objects": (RECORDS, '{"Records":[7,{"n":1},null,"a\\nb",[{"n":5}]]}',
                                    ["7", 1, "null", '"a\\nb"', '[{"n":5}]']),
    "wide text": (RECORDS, '{"é":"ü","Records":[{"n":1,"t":"😀"},{"n":2}]}', [1, 2]),
    "array": (ELEMENTS, '[\n {"n":1},\n {"n":\n2}\n]', [1, 2]),
    "arrays on lines": (ELEMENTS, '[{"n":1}]\n[]\n[{"n":2}]', [1, 2]),
    "below a member": (BELOW, '{"detail":{"a":[1],"items":[{"n":1},{"n":2}]}}', [1, 2]),
    "quoted names": ({"rows": "`a.b`.c[]"}, '{"a.b":{"c":[{"n":1}]}}', [1]),
    "document over lines": (LINES, json.dumps({"n": 1, "t": "x"}, indent=4), [1]),
    "documents over lines": (LINES, '{"n":1}\n{\n"n":2}\n', [1, 2]),
    "array over lines": (LINES, '[{"n":1},\n{"n":2}]', [1, 2]),
    "lines after all": (LINES, '{"n":1}\n{"n":2}\n', [1, 2]),
}  # fmt: skip


PACKED = {
    ".gz": gzip.compress,
    ".gzip": gzip.compress,
    ".BZ2": bz2.compress,
    ".deflate": zlib.compress,
    ".zst": lambda text: pa.Codec("zstd").compress(text, asbytes=True),
}


def _found(spark, tmp_path, cases, schema, packed=False, **more):
    """By case, the rows of its text; cases of the same settings are read at once."""
    settings = {str(keys): keys for keys, *_ in cases.values()}
    found = {}
    for number, keys in enumerate(settings.values()):
        files = {what: text for what, (own, text, _) in cases.items() if own == keys}
        endings = {what: list(PACKED)[place % len(PACKED)] if packed else "" for place, what in enumerate(files)}
        contents = {what: PACKED[endings[what]](text.encode()) if packed else text for what, text in files.items()}
        land(tmp_path / str(number), {what + endings[what]: content for what, content in contents.items()})
        rows = by_file(read(spark, source_of(tmp_path / str(number), schema, **more, **keys)))
        found |= {what: rows.get(what + endings[what], []) for what in files}
    return found


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
def test_rows_of_documents_are_those_of_the_document_in_its_order(quick, tmp_path, packed):
    found = _found(quick, tmp_path, DOCUMENTS, "n INT, t STRING", packed)
    got = {name: [row.payload["n"] if row.bad is None else row.raw for row in rows] for name, rows in found.items()}
    assert got == {name: expected for name, (_, _, expected) in DOCUMENTS.items()}


BROKEN = {
    "cut off": (RECORDS, '{"Records":[{"n":1},{"n":', "Unexpected end-of-input"),
    "no such member": (RECORDS, '{"records":[{"n":1}]}', "it has no member Records (line 1, column 22)"),
    "no array": (RECORDS, '{"Records":{"n":1}}', "where the array of rows is to be, it has none"),
    "null": (RECORDS, '{"Records":null}', "where the array of rows is to be, it has none"),
    "an object, not an array": (ELEMENTS, '{"n":1}', "where the array of rows is to be, it has none"),
    "an array, not an object": (RECORDS, '[{"n":1}]', "it has no member Records"),
    "no JSON": (LINES, "garbage", "Unrecognized token 'garbage'"),
    "not UTF-8": (LINES, '{"n":1}'.encode("utf-16"), "it is no UTF-8"),
    "bad bytes": (LINES, b'{"n":1,"t":"\xff"}', "Invalid UTF-8"),
}


def test_a_document_that_does_not_parse_is_one_quarantined_row_with_reason_and_text(quick, tmp_path):
    for what, rows in _found(quick, tmp_path, BROKEN, "n INT, t STRING").items():
        (row,), (_, text, reason) = rows, BROKEN[what]
        assert (row.bad, row.payload) == ("invalid_row", {"n": None, "t": None}), what
        assert row.raw.startswith("object cannot be read: "), what
        assert reason in row.raw, what
        if isinstance(text, str):
            assert row.raw.endswith("\n" + text), what


def test_what_follows_a_broken_document_is_one_row_and_what_precedes_it_is_read(quick, tmp_path):
    land(tmp_path, {"a.json": '{"Records":[{"n":1}]}\n{"Records":[{"n":2},}\n{"Records":[{"n":3}]}'})
    first, second = read(quick, source_of(tmp_path, "n INT", **RECORDS))
    assert (first.bad, first.payload["n"], second.bad) == (None, 1, "invalid_row")
    assert second.raw.startswith("the rest of the object cannot be read: Unexpected character")
    assert second.raw.endswith('\n{"Records":[{"n":2},}\n{"Records":[{"n":3}]}')


def test_values_of_rows_in_documents_are_read_as_those_on_lines(quick, tmp_path):
    rng = Random(5)  # noqa: S311 # test data
    values = [1, -1.5, 1e400, "a\u2028b", 'q"\\', None, True, {"x": [1, {}]}, T, 2**70, [], "é", 0.1]
    objects = [{name: rng.choice(values) for name in rng.sample("pnedstc", 5)} for _ in range(150)]
    schema = "p STRING, n INT, e TIMESTAMP, d DOUBLE, s STRUCT<x: ARRAY<INT>>, t STRING, c DECIMAL(10,2)"
    land(tmp_path / "lines", {"a.json": "".join(json.dumps(each) + "\n" for each in objects)})
    land(tmp_path / "records", {"a.json": json.dumps({"Records": objects})})
    lines = read(quick, source_of(tmp_path / "lines", schema))
    found = read(quick, source_of(tmp_path / "records", schema, **RECORDS))
    assert [row.payload for row in found] == [row.payload for row in lines]
    assert [(row.bad, row.raw) for row in found] == [(row.bad, row.raw) for row in lines]
    assert {row.bad for row in found} == {None, "invalid_row"}


@pytest.mark.parametrize(
    ("options", "settings"),
    [({"escape": '"'}, {}), ({"escape": '"', "sep": ";", "header": "true"}, {"delimiter": ";"})],
    ids=["comma", "semicolon and header"],
)
def test_line_breaks_within_quotes_belong_to_the_value(quick, tmp_path, options, settings):
    rng = Random(3)  # noqa: S311 # test data
    texts = ["a", "", "x\ny", "x\r\ny", 'say "so"', ",", ";", "\n", " ", "é\n€", "#"]
    rows = [[rng.choice(texts), "m" + rng.choice(texts)] for _ in range(200)]
    for ending in ("\n", "\r\n"):
        text = io.StringIO()
        writer = csv.writer(text, lineterminator=ending, **settings)
        writer.writerows([["x", "y"]] * ("header" in options) + rows)
        folder = tmp_path / str(len(ending))
        land(folder, {"a.csv": "\ufeff" + text.getvalue(), "b.csv.gz": gzip.compress(text.getvalue().encode())})
        source = source_of(folder, "x STRING, y STRING", format="csv", options=options | {"multiLine": "true"})
        for found in by_file(read(quick, source)).values():
            assert [(row.payload["x"] or "", row.payload["y"]) for row in found] == [tuple(row) for row in rows]


CSV = {
    "carriage return": ({}, '"\r",b\rc,d', [("\r", "b"), ("c", "d")]),
    "escaped": ({}, '"a\\"\nb",c\nd,e', [('a"\nb', "c"), ("d", "e")]),
    "comment with a quote": ({"comment": "#"}, '# "\n"a\n#b",c\n#x\n', [("a\n#b", "c")]),
    "blank lines": ({}, '\n"a\n\nb",c\n \n\nd,e\n', [("a\n\nb", "c"), ("d", "e")]),
    "never closed": ({}, 'a,b\n"c,d\ne,f\n', [("a", "b"), '"c,d\ne,f\n']),
    "quote within a value": ({}, 'a"b,c\nd,e', ['a"b,c', ("d", "e")]),
    "too few": ({}, '"a\nb"\nd,e', ['"a\nb"', ("d", "e")]),
    "header over lines": ({"header": "true"}, '"x","y"\n"a\nb",c', [("a\nb", "c")]),
    "blanks before quotes": ({"ignoreLeadingWhiteSpace": "true"}, 'a, "b\nc"\nd,e', [("a", "b\nc"), ("d", "e")]),
    "no quotes": ({"quote": ""}, '"a,b\nc",d', [('"a', "b"), ('c"', "d")]),
}


def test_records_of_csv_over_lines(quick, tmp_path):
    cases = {name: ({"options": o | {"multiLine": "true"}}, text, rows) for name, (o, text, rows) in CSV.items()}
    found = _found(quick, tmp_path, cases, "x STRING, y STRING", format="csv")
    got = {
        what: [row.raw if row.bad else tuple(row.payload.values()) for row in rows] for what, rows in found.items()
    }
    assert got == {what: expected for what, (_, _, expected) in CSV.items()}


RESCUED = {
    '{"n":1,"s":{"x":1},"l":[{"x":1}],"m":{"k":{"x":2}}}': None,
    '{"n":1,"a":1.50,"b" : 1e400,"a":"\\u00e9" ,"é":[1, {}]}': '{"a":1.50,"b" : 1e400,"a":"\\u00e9","é":[1, {}]}',
    '{"N":1,"n":2,"_more":null}': '{"N":1,"_more":null}',
    '{"s":{"x":1,"y":{"z":[2.0]}},"n":1}': '{"s":{"x":1,"y":{"z":[2.0]}}}',
    '{"l":[{"x":1},{"x":2,"y":3}],"m":{"k":{"x":2,"q":{}}},"p":{"n":1}}':
        '{"l":[{"x":1},{"x":2,"y":3}],"m":{"k":{"x":2,"q":{}}}}',
    '{}': None,
    '{"n":1,"a":': None,
}  # fmt: skip


def test_members_outside_the_schema_are_rescued_as_they_are_written(quick, tmp_path):
    land(tmp_path / "lines", {"a.json": "\n".join(RESCUED)})
    land(tmp_path / "array", {"a.json": f"[{','.join(list(RESCUED)[:-1])}]"})
    types = "n INT, _more STRING, s STRUCT<x: INT>, l ARRAY<STRUCT<x: INT>>, m MAP<STRING, STRUCT<x: INT>>, p STRING"
    for folder, keys in (("lines", {}), ("array", ELEMENTS)):
        source = source_of(tmp_path / folder, types, rescue="_more", **keys).effective()
        rows = read(quick, source)
        assert [row.payload["_more"] for row in rows] == list(RESCUED.values())[: len(rows)]
        assert len(rows) >= len(RESCUED) - 1
        assert rows[0].payload["n"] == 1


def test_an_object_too_large_to_be_read_whole_is_quarantined_with_the_way_out(quick, tmp_path, monkeypatch):
    monkeypatch.setattr("tidemark.spark.read.documents.MOST_WHOLE", 10)
    land(tmp_path, {"a.json": '{"Records":[{"n":1}]}', "b.json": " "})
    (row,) = read(quick, source_of(tmp_path, "n INT", **RECORDS))
    assert "write lines (jq -c '.Records[]' a.json)" in row.raw


def test_empty_arrays_are_a_reason_to_have_no_rows(tmp_path):
    empty = {"a": '{"Records":[]}\n{"v":1,"Records":[]}', "b": " "}
    land(tmp_path, empty | {"c": '{"Records":[{}]}', "d": '{"records":[]}', "e": "x"})
    objects = [replace(item, state=ObjectState.READ) for item in objects_in(tmp_path)]
    silent = [item.uri for item in objects if not without_rows(source_of(tmp_path, "n INT", **RECORDS), [item])]
    assert silent == list(empty)
