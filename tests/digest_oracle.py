"""Digests of rows in plain Python, written from docs/digest.md alone.

Types are as that page names them: a text, or `("array", T)`, `("map", K, V)`, `("struct", [(name, T), ...])`,
`("decimal", p, s)`. Values are Python's: times as microseconds, dates as days, maps as lists of pairs,
structs as tuples.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from decimal import Context, Decimal
from typing import Any

_MASK = (1 << 64) - 1
_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_EXACT = Context(prec=80)
_WHOLE = {
    "tinyint", "smallint", "int", "bigint", "date", "timestamp", "timestamp_ntz", "interval_year_month",
    "interval_day_time",
}  # fmt: skip


def _turned(value: int, bits: int) -> int:
    value &= _MASK
    return ((value << bits) | (value >> (64 - bits))) & _MASK


def _round(sum_: int, word: int) -> int:
    return _turned(sum_ + word * _P2, 31) * _P1 & _MASK


def xxh64(content: bytes, seed: int) -> int:
    length, at = len(content), 0
    found = seed + _P5
    if length >= 32:
        sums = [seed + _P1 + _P2, seed + _P2, seed, seed - _P1]
        for at in range(0, length - 31, 32):
            sums = [
                _round(each, word) for each, word in zip(sums, struct.unpack_from("<4Q", content, at), strict=True)
            ]
        at += 32
        found = sum(_turned(each, bits) for each, bits in zip(sums, (1, 7, 12, 18), strict=True))
        for each in sums:
            found = ((found & _MASK) ^ _round(0, each)) * _P1 + _P4
    found = found + length & _MASK
    while at + 8 <= length:
        found = _turned(found ^ _round(0, int.from_bytes(content[at : at + 8], "little")), 27) * _P1 + _P4 & _MASK
        at += 8
    if at + 4 <= length:
        found ^= int.from_bytes(content[at : at + 4], "little") * _P1 & _MASK
        found = _turned(found, 23) * _P2 + _P3 & _MASK
        at += 4
    for byte in content[at:]:
        found = _turned(found ^ (byte * _P5 & _MASK), 11) * _P1 & _MASK
    found = (found ^ (found >> 33)) * _P2 & _MASK
    found = (found ^ (found >> 29)) * _P3 & _MASK
    return found ^ (found >> 32)


def name(kind: Any) -> str:
    match kind:
        case ("array", element):
            return f"array<{name(element)}>"
        case ("map", key, value):
            return f"map<{name(key)},{name(value)}>"
        case ("struct", fields):
            return "struct<" + "".join(f"{len(each.encode())}:{each}{name(type_)};" for each, type_ in fields) + ">"
        case ("decimal", precision, scale):
            return f"decimal({precision},{scale})"
    return str(kind)


def _long(number: int) -> bytes:
    return struct.pack("<q", number)


def written(value: Any, kind: Any) -> bytes:
    """A value as bytes."""
    return b"\0" if value is None else b"\1" + _form(value, kind)


def _form(value: Any, kind: Any) -> bytes:  # noqa: C901, PLR0911 # a case a type
    match kind:
        case ("array", element):
            return _long(len(value)) + b"".join(written(each, element) for each in value)
        case ("map", key, type_):
            return _long(len(value)) + b"".join(sorted(written(k, key) + written(v, type_) for k, v in value))
        case ("struct", fields):
            return b"".join(written(each, type_) for each, (_, type_) in zip(value, fields, strict=True))
        case ("decimal", _, scale):
            return int(Decimal(value).scaleb(scale, _EXACT)).to_bytes(16, "little", signed=True)
        case "boolean":
            return bytes([value])
        case "float":
            return b"\0\0\xc0\x7f" if value != value else struct.pack("<f", value)  # noqa: PLR0124 # NaN
        case "double":
            return b"\0\0\0\0\0\0\xf8\x7f" if value != value else struct.pack("<d", value)  # noqa: PLR0124 # NaN
        case "string":
            return _long(len(value.encode())) + value.encode()
        case "binary":
            return _long(len(value)) + value
        case "interval":
            return b"".join(map(_long, value))
    if kind in _WHOLE:
        return _long(value)
    raise ValueError(f"no form of {kind}")


def row_hash(row: Sequence[Any], columns: Sequence[tuple[str, Any]]) -> tuple[int, int]:
    """The two halves of a row's hash."""
    order = sorted(range(len(columns)), key=lambda index: columns[index][0])
    type_ = name(("struct", [columns[index] for index in order])).encode()
    content = b"".join(written(row[index], columns[index][1]) for index in order)
    return xxh64(content, xxh64(type_, 0)), xxh64(content, xxh64(type_, 1))


def digest(rows: Iterable[Sequence[Any]], columns: Sequence[tuple[str, Any]]) -> str:
    """The digest of rows."""
    hashes = [row_hash(row, columns) for row in rows]
    return f"2:{sum(high for high, _ in hashes) & _MASK:016x}{sum(low for _, low in hashes) & _MASK:016x}"
