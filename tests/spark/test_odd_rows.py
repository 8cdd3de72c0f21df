"""Rows that parsers cannot hold cost themselves alone, and names of Spark's own are names like others."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from landed import LANDED, land, read, source_of, touch
from pyarrow import orc, parquet

import oracle
from product import Product

pytestmark = pytest.mark.usefixtures("quick")
PLAIN = oracle.Source(timestamp_by=False, arrival_column=False, single=True)


@pytest.mark.parametrize("timed", [False, True])
def test_a_csv_line_of_very_many_fields_is_quarantined_alone(spark, tmp_path, timed):
    wide = "x" + "," * 25_000
    lines = ["t,v", "2026-01-01,1", wide, '"' + wide + "\n2026-01-01,2", '"a' + "," * 30_000 + '"b,3', "2026-01-02,4"]
    land(tmp_path, {"a.csv": "\n".join(lines)})
    times = {"timestamp_by": "t", "late_arrival": {"tolerance": "1d", "action": "adjust"}} if timed else {}
    rows = read(spark, source_of(tmp_path, "t DATE, v INT", format="csv", options={"header": "true"}, **times))
    assert [(row.bad, row.payload["v"]) for row in rows] == [
        *[(None, 1), ("invalid_row", None), ("invalid_row", None)],
        *[(None, 2), ("invalid_row", 3), (None, 4)],
    ]
    assert [len(row.raw or "") for row in rows] == [0, 25_001, 25_002, 0, 30_006, 0]


def test_a_csv_value_with_very_many_separators_is_one_value(spark, tmp_path):
    land(tmp_path, {"a.csv": '"' + "," * 25_000 + '",1\n'})
    (row,) = read(spark, source_of(tmp_path, "s STRING, v INT", format="csv"))
    assert (row.bad, len(row.payload["s"]), row.payload["v"]) == (None, 25_000, 1)


def test_json_that_is_too_deep_or_has_too_long_a_number_is_quarantined_alone(spark, tmp_path):
    def deep(levels):
        return '{"a":' * levels + "1" + "}" * levels

    bad = [deep(1_001), f'{{"s":{deep(100_000)}}}', f'{{"d":{"1" * 1_001}}}', '{"l":' + "[" * 100_000]
    good = [f'{{"s":{deep(500)}}}', f'{{"zz":{deep(900)}}}', '{"d":1}', '{"l":[[1]]}']
    land(tmp_path, {"a.json": "\n".join(line for pair in zip(good, bad, strict=True) for line in pair)})
    rows = read(spark, source_of(tmp_path, "s STRING, d DOUBLE, l ARRAY<ARRAY<INT>>"))
    assert [row.bad for row in rows] == [None, "invalid_row"] * 4
    assert [row.raw for row in rows][1::2] == bad


NAMES = {
    "_metadata": "STRING", "__metadata": "STRING", "_tmp_metadata_row_index": "BIGINT", "value": "STRING",
    "file_path": "STRING", "_corrupt_record": "STRING", "_rescued_data": "STRING", "_change_type": "STRING",
    "_commit_version": "BIGINT", "a.b": "STRING", "x`y": "STRING", "row_index": "BIGINT", "_METADATA_": "STRING",
    "ünï": "STRING", "a-b": "STRING", "1st": "STRING", 'q"q': "STRING", "a'b": "STRING", "a:b": "STRING",
    "a<b>": "STRING", "a/b": "STRING", "select": "STRING", "\U0001f600": "STRING",
    "s": "STRUCT<_metadata: STRING, `a.b`: INT>",
}  # fmt: skip


@pytest.mark.parametrize("kind", ["json", "csv", "parquet", "orc"])
def test_names_that_spark_has_for_itself_are_names_like_others(spark, tmp_path, kind):
    names = {name: type_ for name, type_ in NAMES.items() if (kind, name) not in {("csv", "s"), ("orc", "x`y")}}
    schema = ", ".join(f"`{name.replace('`', '``')}` {type_}" for name, type_ in names.items())
    row = {name: 5 if type_ == "BIGINT" else "q" for name, type_ in names.items()}
    if kind != "csv":
        row["s"] = {"_metadata": "m", "a.b": 1}
    if kind in ("json", "csv"):
        land(tmp_path, {"a": json.dumps(row) if kind == "json" else ",".join(map(str, row.values()))})
    else:
        struct = pa.struct([("_metadata", pa.string()), ("a.b", pa.int32())])
        types = dict.fromkeys(names.values(), struct) | {"STRING": pa.string(), "BIGINT": pa.int64()}
        table = pa.table([pa.array([row[name]], types[type_]) for name, type_ in names.items()], names=list(names))
        (parquet.write_table if kind == "parquet" else orc.write_table)(table, str(tmp_path / "a"))
        touch(tmp_path / "a")
    (found,) = read(spark, source_of(tmp_path, schema, format=kind))
    assert (found.bad, found.payload) == (None, row)


def test_a_parquet_column_that_is_named_metadata_reaches_the_table_and_replays(tmp_path):
    product = Product(tmp_path, {"s": PLAIN})
    product.write(s={"format": "parquet", "schema": "_metadata STRING, n INT"})
    parquet.write_table(pa.table({"_metadata": ["m"], "n": pa.array([1], pa.int32())}), tmp_path / "landing/s/a")
    touch(tmp_path / "landing/s/a")
    product.run(LANDED + 1)
    assert [(row["_metadata"], row["n"]) for row in product.events("s")] == [("m", 1)]
    for given in ("landing", "events"):
        told = product.pipeline().replay(input=given)
        assert told["identical"], told
