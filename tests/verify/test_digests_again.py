"""Digests of rows as the audit computes them equal those of a row-by-row model of docs/digest.md."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pytest

import digest_oracle
from tidemark_verify.content import text as digest_text
from tidemark_verify.hashes import Ragged, row_hashes, xxh64

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 # a timestamp_ntz
STRUCT = {"type": "struct", "fields": [{"name": "p", "type": "date"}, {"name": "qé", "type": "binary"}]}
ARRAY = {"type": "array", "elementType": "string"}
MAP = {"type": "map", "keyType": "string", "valueType": "integer"}
NESTED = {"type": "array", "elementType": {"type": "array", "elementType": "long"}}
FIELDS = pa.struct([("p", pa.date32()), ("qé", pa.binary())])
COLUMNS = [
    ("b", pa.bool_(), "boolean", "boolean"),
    ("t", pa.int8(), "byte", "tinyint"),
    ("i", pa.int32(), "integer", "int"),
    ("l", pa.int64(), "long", "bigint"),
    ("d", pa.date32(), "date", "date"),
    ("z", pa.timestamp("us", "UTC"), "timestamp", "timestamp"),
    ("f", pa.float32(), "float", "float"),
    ("x", pa.float64(), "double", "double"),
    ("m", pa.decimal128(20, 2), "decimal(20,2)", ("decimal", 20, 2)),
    ("s", pa.string(), "string", "string"),
    ("y", pa.binary(), "binary", "binary"),
    ("a", pa.list_(pa.string()), ARRAY, ("array", "string")),
    ("n", pa.list_(pa.list_(pa.int64())), NESTED, ("array", ("array", "bigint"))),
    ("k", pa.map_(pa.string(), pa.int32()), MAP, ("map", "string", "int")),
    ("r", FIELDS, STRUCT, ("struct", [("p", "date"), ("qé", "binary")])),
]
"""Columns: name, type of Arrow, of Delta's log, and as docs/digest.md names it."""


def text(dice: Random) -> str:
    return "".join(dice.choice("abé\U0001f600") for _ in range(dice.choice((0, 1, 3, 7, 40, 200))))


def some(dice: Random, kind: pa.DataType):
    if dice.random() < 0.2:
        return None
    made = {
        pa.bool_(): lambda: dice.random() < 0.5,
        pa.int8(): lambda: dice.randint(-128, 127),
        pa.int32(): lambda: dice.randint(-(2**31), 2**31 - 1),
        pa.int64(): lambda: dice.randint(-(2**63), 2**63 - 1),
        pa.date32(): lambda: date(1970, 1, 1) + timedelta(days=dice.randint(-9999, 9999)),
        pa.timestamp("us", "UTC"): lambda: dice.randint(-(10**15), 10**15),
        pa.float32(): lambda: dice.choice((0.0, -0.0, 1.5, float("nan"), float("-inf"))),
        pa.float64(): lambda: dice.choice((0.0, -0.0, dice.random(), float("nan"), float("inf"))),
        pa.decimal128(20, 2): lambda: Decimal(dice.randint(-(10**18), 10**18)).scaleb(-2),
        pa.string(): lambda: text(dice),
        pa.binary(): lambda: text(dice).encode(),
    }
    if kind in made:
        return made[kind]()
    if pa.types.is_struct(kind):
        return {field.name: some(dice, field.type) for field in kind}
    if pa.types.is_map(kind):
        return [(key, some(dice, kind.item_type)) for key in {text(dice) for _ in range(dice.randint(0, 3))}]
    return [some(dice, kind.value_type) for _ in range(dice.randint(0, 3))]


def plain(value, kind):
    """A value as the model takes it."""
    if value is None:
        return None
    if isinstance(kind, tuple) and kind[0] == "array":
        return [plain(each, kind[1]) for each in value]
    if isinstance(kind, tuple) and kind[0] == "struct":
        return tuple(plain(value[name], type_) for name, type_ in kind[1])
    return (value - date(1970, 1, 1)).days if kind == "date" else value


def digest(columns, rows: int) -> str:
    high, low = row_hashes({name: (array, kind) for name, array, kind in columns}, rows)
    return digest_text((rows, int(high.sum()), int(low.sum())))


@pytest.mark.parametrize("seed", range(8))
def test_rows_of_all_types_have_the_digest_of_the_model(seed):
    dice = Random(seed)  # noqa: S311 - the same rows each time
    rows = [[some(dice, kind) for _, kind, _, _ in COLUMNS] for _ in range(dice.choice((0, 1, 50, 300)))]
    arrays = [pa.array([row[at] for row in rows], kind) for at, (_, kind, _, _) in enumerate(COLUMNS)]
    found = digest([(name, array, log) for (name, _, log, _), array in zip(COLUMNS, arrays, strict=True)], len(rows))
    model = [[plain(value, column[3]) for value, column in zip(row, COLUMNS, strict=True)] for row in rows]
    assert found == digest_oracle.digest(model, [(name, kind) for name, _, _, kind in COLUMNS])


def test_a_part_of_an_array_has_the_digest_of_its_rows():
    arrays = [
        pa.array(values, kind) for values, kind in (([1, 2, 3, 4], pa.int64()), (["a", None, "ccc", ""], pa.string()))
    ]
    nested = pa.array([["a"], [], None, ["b", None]], pa.list_(pa.string()))
    columns = [("i", arrays[0][1:3], "long"), ("s", arrays[1][1:3], "string"), ("a", nested[1:3], ARRAY)]
    kinds = [("i", "bigint"), ("s", "string"), ("a", ("array", "string"))]
    assert digest(columns, 2) == digest_oracle.digest([[2, None, []], [3, "ccc", None]], kinds)


def test_bytes_of_any_length_have_the_hash_of_the_model():
    contents = [bytes(at % 251 for at in range(length)) for length in [*range(70), 1000, 4097]]
    data = np.frombuffer(b"".join(contents), np.uint8)
    rows = Ragged(data, np.cumsum([0, *map(len, contents)]))
    for seed in (0, 1, 2**64 - 1):
        assert xxh64(rows, np.uint64(seed)).tolist() == [digest_oracle.xxh64(each, seed) for each in contents]


def test_the_first_vectors_of_the_page():
    page = (Path(__file__).parents[2] / "docs" / "digest.md").read_text(encoding="utf-8")
    vectors = dict(re.findall(r"^\| (.*?) \| `(2:\w+)` \|$", page, re.MULTILINE))
    assert digest([("id", pa.array([1]), "long")], 1) == vectors["`id BIGINT`: 1"]
    assert digest([("x", pa.array([float("nan")]), "double")], 1) == vectors["`x DOUBLE`: NaN"]
    assert digest([("a", pa.array([["a", None]]), ARRAY)], 1) == vectors["`a ARRAY<STRING>`: [a, null]"]
