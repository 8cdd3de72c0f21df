"""Compares values of a case file with values of a table.

Both are brought into one form, which follows from the column's Arrow type: times are microseconds UTC, binary values
bytes, maps lists of pairs. Tables are read with times as integers, since not every time fits a datetime.
"""

from __future__ import annotations

import base64
import binascii
import math
import struct
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa
from pyarrow import types

from tidemark.config.models.values import unfit
from tidemark.core.times import from_datetime, parse_time
from tidemark.report.words import iso

_NO_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def read(value: object, kind: pa.DataType) -> object:
    """The form of a value of a case file. Raises ValueError that says what to write."""
    if value is None or types.is_null(kind):
        return value
    if isinstance(kind, pa.StructType):
        return _members(value, kind)
    if isinstance(kind, pa.MapType):
        if not isinstance(value, Mapping):
            raise unfit(value, "is not a map: write {key: value}")
        pairs = [(str(key), read(each, kind.item_type)) for key, each in value.items()]
        return sorted(pairs, key=lambda pair: pair[0])
    if isinstance(kind, pa.ListType):
        if not isinstance(value, list):
            raise unfit(value, "is not a list: write [a, b]")
        return [read(each, kind.value_type) for each in value]
    return next(reader for test, reader in _READERS if test(kind))(value, kind)


def form(value: Any, kind: pa.DataType) -> object:  # noqa: ANN401 # of any type
    """The form of a value of a table, as `to_pylist` gives it with times as integers."""
    if value is None:
        return None
    if isinstance(kind, pa.StructType):
        return {each.name: form(value[each.name], each.type) for each in kind}
    if isinstance(kind, pa.MapType):
        return sorted(((str(key), form(each, kind.item_type)) for key, each in value), key=lambda pair: pair[0])
    if isinstance(kind, pa.ListType):
        return [form(each, kind.value_type) for each in value]
    return from_datetime(value) if isinstance(value, datetime) else value


def equal(expected: object, found: object) -> bool:
    """True if two forms are equal. Members of a struct that are not expected are not compared; NaN equals NaN."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return all(equal(value, found[name]) for name, value in expected.items())
    if isinstance(expected, list | tuple) and isinstance(found, list | tuple):
        return len(expected) == len(found) and all(map(equal, expected, found))
    both_nan = expected != expected and found != found  # noqa: PLR0124 # only NaN differs from itself
    return both_nan or expected == found


def written(value: Any, kind: pa.DataType) -> Any:  # noqa: ANN401 # JSON
    """A table's value as a case file has it."""
    if value is None:
        return None
    if isinstance(kind, pa.StructType):
        return {each.name: written(value[each.name], each.type) for each in kind}
    if isinstance(kind, pa.MapType):
        return {str(key): written(each, kind.item_type) for key, each in value}
    return (
        [written(each, kind.value_type) for each in value] if isinstance(kind, pa.ListType) else _plain(value, kind)
    )


def _plain(value: Any, kind: Any) -> Any:  # noqa: ANN401 # JSON
    """A simple value as a case file has it."""
    if types.is_timestamp(kind):
        text = iso(from_datetime(value) if isinstance(value, datetime) else value) or ""
        return text if kind.tz else text.removesuffix("Z")
    if types.is_binary(kind):
        return base64.b64encode(value).decode()
    if isinstance(value, float) and not math.isfinite(value):
        return next(name for name, each in _NO_NUMBERS.items() if equal(each, value))
    return str(value) if isinstance(value, date | Decimal) else value


def _members(value: object, kind: pa.StructType) -> dict[str, object]:
    names = [each.name for each in kind]
    if not isinstance(value, dict):
        raise unfit(value, f"is not a mapping of members: there are {', '.join(names)}")
    for name in value:
        if name not in names:
            raise ValueError(f"there is no member {name!r}: there are {', '.join(names)}")
    return {name: read(each, kind.field(name).type) for name, each in value.items()}


def _time(value: object, kind: Any) -> int:  # noqa: ANN401 # a timestamp type
    if not isinstance(value, str):
        raise unfit(value, "is not a time: write it like 2026-01-01T00:00:00Z")
    return parse_time(value if kind.tz else f"{value}Z")


def _date(value: object, _: pa.DataType) -> date:
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        raise unfit(value, "is not a date: write it like 2026-01-01") from None


def _whole(value: object, _: pa.DataType) -> int:
    if type(value) is not int:
        raise unfit(value, "is not a whole number")
    return value


def _float(value: object, kind: pa.DataType) -> float:
    if isinstance(value, str) and value in _NO_NUMBERS:
        return _NO_NUMBERS[value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise unfit(value, "is not a number")
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0] if types.is_float32(kind) else value)
    except OverflowError:
        raise unfit(value, "is larger than any number of the column") from None


def _decimal(value: object, _: pa.DataType) -> Decimal:
    try:
        return Decimal(str(value))
    except InvalidOperation:
        raise unfit(value, "is not a number") from None


def _flag(value: object, _: pa.DataType) -> bool:
    if not isinstance(value, bool):
        raise unfit(value, "is neither true nor false")
    return value


def _bytes(value: object, _: pa.DataType) -> bytes:
    try:
        return base64.b64decode(str(value), validate=True)
    except (binascii.Error, ValueError):
        raise unfit(value, "is not base64, as binary values are written") from None


def _text(value: object, _: pa.DataType) -> str:
    if not isinstance(value, str):
        raise unfit(value, "is not text: put it in quotes")
    return value


_READERS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[object, pa.DataType], object]], ...] = (
    (types.is_timestamp, _time),
    (types.is_date, _date),
    (types.is_integer, _whole),
    (types.is_floating, _float),
    (types.is_decimal, _decimal),
    (types.is_boolean, _flag),
    (types.is_binary, _bytes),
    (lambda _: True, _text),
)
"""Readers of simple values, each with a test of the type: the first reader with a true test is used."""
