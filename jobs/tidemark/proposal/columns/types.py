"""Types of columns, as Spark DDL, from values in JSON or CSV and from the types of columnar files.

If values disagree, or a type could lose something, the wider type or STRING is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from math import isfinite
from typing import NamedTuple

import pyarrow as pa

from tidemark.config.types import quoted
from tidemark.core.times import DATE
from tidemark.proposal.columns.names import storable
from tidemark.proposal.columns.timestamps import iso_micros

_INTEGER = re.compile(r"[+-]?[0-9]+")
_DOUBLE = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|NaN|-?Inf")
_PADDED = re.compile(r"[+-]?0[0-9]+.*")
_NANOS = re.compile(r".*[.][0-9]{6}[0-9]*[1-9][0-9]*\D*")
"""A time of day with nanoseconds; the type TIMESTAMP has only microseconds."""
_COMMA = re.compile(r"[+-]?[0-9]{1,3}(\.?[0-9]{3})*(,[0-9]+)?")
"""A number as the continent of Europe writes it."""
_LONG = 1 << 63
_LONGEST = 20
_MANY_KEYS = 30
_RARE = 0.2

_ARROW = {
    "bool": "BOOLEAN", "int8": "TINYINT", "int16": "SMALLINT", "int32": "INT", "int64": "BIGINT",
    "uint8": "SMALLINT", "uint16": "INT", "uint32": "BIGINT", "uint64": "DECIMAL(20, 0)",
    "float": "FLOAT", "double": "DOUBLE", "date32[day]": "DATE", "binary": "BINARY", "large_binary": "BINARY",
    "string": "STRING", "large_string": "STRING", "null": "STRING",
}  # fmt: skip


class LongNumber(float):
    """A JSON number whose text has more digits than a DOUBLE holds."""


def json_number(text: str) -> float:
    """Return the value of a JSON number with a fraction or an exponent; a callback of `json.loads`."""
    return float(text) if _survives(text) else LongNumber(text)


def _survives(text: str) -> bool:
    """True if a number's text equals the printed value of the nearest DOUBLE."""
    if text.endswith(("NaN", "Inf")):
        return True
    value = float(text)
    return isfinite(value) and Decimal(text) == Decimal(repr(value))


class Inferred(NamedTuple):
    """A type as DDL, and a note on it."""

    type: str
    note: str = ""


def json_type(values: Iterable[object]) -> Inferred:  # noqa: PLR0911 # one kind a line
    """Return the type that holds every value of a JSON member; None is null."""
    there = [value for value in values if value is not None]
    kinds = {type(value) for value in there}
    if not kinds:
        return Inferred("STRING", "null in every sampled row, so its type is a guess")
    if kinds == {bool}:
        return Inferred("BOOLEAN")
    if kinds <= {int, float, LongNumber}:
        return _number(there, kinds)
    if kinds == {str}:
        return _text_type([str(value) for value in there])
    if kinds == {list}:
        element = json_type(each for value in there if isinstance(value, list) for each in value)
        return Inferred(f"ARRAY<{element.type}>", element.note and f"its elements: {element.note}")
    if kinds == {dict}:
        return _struct([value for value in there if isinstance(value, dict)])
    names = ", ".join(sorted({_WORDS[kind] for kind in kinds}))
    return Inferred("STRING", f"holds {names}: kept as text")


_WORDS = {
    bool: "true or false",
    int: "numbers",
    float: "numbers",
    LongNumber: "numbers",
    str: "text",
    list: "lists",
    dict: "objects",
}


def _number(values: Sequence[object], kinds: set[type]) -> Inferred:
    if kinds == {int}:
        if all(isinstance(value, int) and -_LONG <= value < _LONG for value in values):
            return Inferred("BIGINT")
        return Inferred("STRING", "some numbers are too large for BIGINT: kept as text")
    if LongNumber in kinds or any(isinstance(value, int) and not _exact(value) for value in values):
        return Inferred("STRING", _MORE_DIGITS)
    return Inferred("DOUBLE")


_MORE_DIGITS = "some numbers have more digits than DOUBLE holds: kept as text"


def _exact(value: int) -> bool:
    """True if a DOUBLE holds a whole number exactly."""
    try:
        return int(float(value)) == value
    except OverflowError:
        return False


def _struct(values: Sequence[dict[str, object]]) -> Inferred:
    keys = list(dict.fromkeys(key for value in values for key in value))
    if not keys:
        return Inferred("STRING", "an empty object in every sampled row: kept as text")
    if len({key.lower() for key in keys}) < len(keys) or not all(map(storable, keys)):
        return Inferred("STRING", "has members whose names a table cannot hold: kept as text of JSON")
    if len(keys) > _MANY_KEYS and sum(map(len, values)) < _RARE * len(keys) * len(values):
        inside = json_type(each for value in values for each in value.values())
        return Inferred(f"MAP<STRING, {inside.type}>", f"{len(keys)} different keys, few in each row")
    members = {key: json_type(value.get(key) for value in values) for key in keys}
    notes = [f"{key}: {member.note}" for key, member in members.items() if member.note]
    body = ", ".join(f"{quoted(key)}: {member.type}" for key, member in members.items())
    return Inferred(f"STRUCT<{body}>", "; ".join(notes))


def cell_type(texts: Iterable[str | None]) -> Inferred:
    """Return the type that holds every cell of a CSV column; None is null."""
    there = [text for text in texts if text is not None]
    if not there:
        return Inferred("STRING", "empty in every sampled row, so its type is a guess")
    if all(_DOUBLE.fullmatch(text) for text in there):
        return _of_digits(there)
    if all(text.lower() in ("true", "false") for text in there):
        return Inferred("BOOLEAN")
    return _text_type(there)


def _of_digits(texts: Sequence[str]) -> Inferred:
    """Return the type of numbers in text; STRING if the type would change one of them."""
    if any(_PADDED.fullmatch(text) for text in texts):
        return Inferred("STRING", "digits with leading zeros: kept as text")
    if all(_INTEGER.fullmatch(text) for text in texts):
        if all(len(text) <= _LONGEST and -_LONG <= int(text) < _LONG for text in texts):
            return Inferred("BIGINT")
        return Inferred("STRING", "some numbers are too large for BIGINT: kept as text")
    return Inferred("DOUBLE") if all(map(_survives, texts)) else Inferred("STRING", _MORE_DIGITS)


def _text_type(texts: Sequence[str]) -> Inferred:
    """Return the type of texts: DATE or TIMESTAMP if Spark reads each of them so, otherwise STRING."""
    if all(DATE.fullmatch(text) and iso_micros(f"{text} 00:00") is not None for text in texts):
        return Inferred("DATE")
    if not all(iso_micros(text) is not None for text in texts):
        return Inferred("STRING", "numbers with a decimal comma: kept as text" if _has_commas(texts) else "")
    if any(_NANOS.fullmatch(text) for text in texts):
        return Inferred("STRING", "times with nanoseconds, which TIMESTAMP does not hold: kept as text")
    return Inferred("TIMESTAMP")


def _has_commas(texts: Sequence[str]) -> bool:
    """True if texts are numbers, some of them with a decimal comma."""
    return all(map(_COMMA.fullmatch, texts)) and any("," in text for text in texts)


def arrow_type(kind: pa.DataType) -> str | None:  # noqa: PLR0911 # one kind a line
    """Return the type that a Parquet or ORC column is read as; None if Spark cannot read it."""
    if pa.types.is_dictionary(kind):
        return arrow_type(kind.value_type)
    if pa.types.is_timestamp(kind):
        return "TIMESTAMP"
    if isinstance(kind, pa.Decimal128Type):
        return f"DECIMAL({kind.precision}, {kind.scale})" if 0 <= kind.scale <= kind.precision else None
    if isinstance(kind, pa.MapType):
        key, item = arrow_type(kind.key_type), arrow_type(kind.item_type)
        return f"MAP<{key}, {item}>" if key and item else None
    if isinstance(kind, pa.ListType | pa.LargeListType):
        element = arrow_type(kind.value_type)
        return f"ARRAY<{element}>" if element else None
    if isinstance(kind, pa.StructType):
        return _arrow_struct(kind)
    if pa.types.is_fixed_size_binary(kind):
        return "BINARY"
    return _ARROW.get(str(kind))


def _arrow_struct(kind: pa.StructType) -> str | None:
    members = {field.name: arrow_type(field.type) for field in kind}
    if not members or not all(map(storable, members)) or None in members.values():
        return None
    if len({name.lower() for name in members}) < len(members):
        return None
    return f"STRUCT<{', '.join(f'{quoted(name)}: {member}' for name, member in members.items())}>"


_WIDTHS = (("TINYINT", "SMALLINT", "INT", "BIGINT"), ("FLOAT", "DOUBLE"))


def wider(one: str, other: str) -> str | None:
    """Return the type that columnar files of both types can be read as; None if there is none."""
    if one == other:
        return one
    for widths in _WIDTHS:
        if one in widths and other in widths:
            return max(one, other, key=widths.index)
    return None
