"""Random nested types and values for digests, and changes of one cell of a row."""

from __future__ import annotations

import math
import random
import string
import struct
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa

FLAT = {
    "boolean": pa.bool_(), "tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64(),
    "float": pa.float32(), "double": pa.float64(), "string": pa.string(), "binary": pa.binary(), "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
}  # fmt: skip
BITS = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63, "date": 20, "timestamp": 55}
KEYS = ("string", "int", "date", "boolean")


def a_type(dice: random.Random, depth: int = 3) -> Any:
    kinds = [*FLAT, "decimal"] + ["array", "map", "struct"] * 4 * min(depth, 1)
    match dice.choice(kinds):
        case "array":
            return "array", a_type(dice, depth - 1)
        case "map":
            return "map", dice.choice(KEYS), a_type(dice, depth - 1)
        case "struct":
            return "struct", [(f"f{index}", a_type(dice, depth - 1)) for index in range(dice.randint(1, 3))]
        case "decimal":
            precision = dice.choice((5, 18, 19, 38))
            return "decimal", precision, dice.randint(0, precision)
        case flat:
            return flat


def a_value(dice: random.Random, kind: Any, nullable: bool = True) -> Any:  # noqa: PLR0911 # a case a type
    if nullable and dice.random() < 0.25:
        return None
    match kind:
        case ("array", element):
            return [a_value(dice, element) for _ in range(dice.randint(0, 3))]
        case ("map", key, value):
            keys = {a_value(dice, key, False) for _ in range(dice.randint(0, 3))}
            return [(each, a_value(dice, value)) for each in sorted(keys, key=lambda _: dice.random())]
        case ("struct", fields):
            return tuple(a_value(dice, each) for _, each in fields)
        case ("decimal", precision, scale):
            return _decimal(dice, precision, scale)
        case "boolean":
            return dice.random() < 0.5
        case "float" | "double":
            return dice.choice((0.0, -0.0, math.nan, math.inf, 1.5, -2.25, float(dice.randint(-9, 9))))
        case "string":
            return "".join(dice.choices(string.ascii_lowercase + "\0é€", k=dice.choice((0, 1, 2, 7, 40))))
        case "binary":
            return dice.randbytes(dice.choice((0, 1, 3, 33)))
    bits = BITS[kind]
    return dice.choice((0, -1, 1, dice.randint(-(1 << bits), (1 << bits) - 1)))


def _decimal(dice: random.Random, precision: int, scale: int) -> Decimal:
    digits = tuple(map(int, str(dice.choice((0, 1, dice.randint(0, 10**precision - 1))))))
    return Decimal((dice.randint(0, 1) if any(digits) else 0, digits, -scale))


def same(one: Any, other: Any, kind: Any) -> bool:
    """Whether two values are the same: NaN is NaN, -0.0 is not 0.0, maps have no order."""
    if one is None or other is None:
        return one is None and other is None
    match kind:
        case ("array", element):
            return len(one) == len(other) and all(same(a, b, element) for a, b in zip(one, other, strict=True))
        case ("map", _, value):
            a, b = dict(one), dict(other)
            return a.keys() == b.keys() and all(same(each, b[key], value) for key, each in a.items())
        case ("struct", fields):
            return all(same(a, b, each) for a, b, (_, each) in zip(one, other, fields, strict=True))
        case "float" | "double":
            return (math.isnan(one) and math.isnan(other)) or struct.pack("<d", one) == struct.pack("<d", other)
    return bool(one == other)


def changed(dice: random.Random, value: Any, kind: Any) -> Any:
    """The value with a change in one place within it, or another one."""
    if value is not None and dice.random() < 0.8:
        match kind:
            case ("array", element):
                return _changed_array(dice, value, element)
            case ("map", _, type_) if value:
                at = dice.randrange(len(value))
                key, old = value[at]
                return [*value[:at], (key, changed(dice, old, type_)), *value[at + 1 :]]
            case ("struct", fields):
                at = dice.randrange(len(fields))
                return (*value[:at], changed(dice, value[at], fields[at][1]), *value[at + 1 :])
    return a_value(dice, kind) if value is None or dice.random() < 0.7 else None


def _changed_array(dice: random.Random, value: list[Any], element: Any) -> list[Any]:
    at = dice.randint(0, len(value))
    way = dice.randrange(4)
    if way == 0 or not value:
        return [*value[:at], None if dice.random() < 0.5 else a_value(dice, element), *value[at:]]
    at = dice.randrange(len(value))
    if way == 1:
        return [*value[:at], *value[at + 1 :]]
    if way == 2:
        return [*value[1:], value[0]]
    return [*value[:at], changed(dice, value[at], element), *value[at + 1 :]]


def changes(dice: random.Random, number: int) -> Iterator[tuple[list[tuple[str, Any]], list[Any], list[Any]]]:
    """Columns, a row, and the row with another value in one cell; so many."""
    made = 0
    while made < number:
        columns = [(f"c{index}", a_type(dice)) for index in range(dice.randint(1, 4))]
        for _ in range(20):
            row = [a_value(dice, kind) for _, kind in columns]
            for _ in range(10):
                at = dice.randrange(len(columns))
                other = changed(dice, row[at], columns[at][1])
                if made < number and not same(row[at], other, columns[at][1]):
                    made += 1
                    yield columns, row, [*row[:at], other, *row[at + 1 :]]


def arrow_type(kind: Any) -> pa.DataType:
    match kind:
        case ("array", element):
            return pa.list_(arrow_type(element))
        case ("map", key, value):
            return pa.map_(arrow_type(key), arrow_type(value))
        case ("struct", fields):
            return pa.struct([(name, arrow_type(each)) for name, each in fields])
        case ("decimal", precision, scale):
            return pa.decimal128(precision, scale)
    return FLAT[kind]


def for_arrow(value: Any, kind: Any) -> Any:
    """The value as pyarrow takes it."""
    if value is None:
        return None
    match kind:
        case ("array", element):
            return [for_arrow(each, element) for each in value]
        case ("map", _, type_):
            return [(key, for_arrow(each, type_)) for key, each in value]
        case ("struct", fields):
            return {name: for_arrow(each, type_) for each, (name, type_) in zip(value, fields, strict=True)}
    return value
