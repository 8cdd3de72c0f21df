"""Hashes of rows by docs/digest.md, version 2, of many rows at once: their bytes, and XXH64 of these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Array = Any  # of Arrow
Kind = Any
"""A type as the log of a table has it: a name, or a mapping for nested ones."""
Words = npt.NDArray[np.uint64]
Positions = npt.NDArray[np.int64]
_P1, _P2, _P3 = np.uint64(0x9E3779B185EBCA87), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9)
_P4, _P5, _ZERO = np.uint64(0x85EBCA77C2B2AE63), np.uint64(0x27D4EB2F165667C5), np.uint64(0)
_MOST = 1 << 25  # bytes that are hashed at a time
_NAMES = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}
_WHOLE = {*_NAMES, "date", "timestamp", "timestamp_ntz"}
_NAN: dict[str, tuple[type, int]] = {"float": (np.uint32, 0x7FC00000), "double": (np.uint64, 0x7FF8000000000000)}


class Ragged(NamedTuple):
    """Bytes of rows: those of row i are data[at[i]:at[i + 1]]."""

    data: npt.NDArray[np.uint8]
    at: Positions


def _name(kind: Kind) -> str:
    """The name of a type."""
    if isinstance(kind, str):
        return _NAMES.get(kind, kind)
    if kind["type"] == "array":
        return f"array<{_name(kind['elementType'])}>"
    if kind["type"] == "map":
        return f"map<{_name(kind['keyType'])},{_name(kind['valueType'])}>"
    fields = (f"{len(each['name'].encode())}:{each['name']}{_name(each['type'])};" for each in kind["fields"])
    return f"struct<{''.join(fields)}>"


def _value(array: Array, kind: Kind) -> Ragged:
    """Each value with a byte 1 ahead, or a byte 0 for null."""
    null = array.type.id == 0 or kind == "void"
    valid = np.zeros(len(array), bool) if null else np.asarray(array.is_valid())
    form = _beside([], 0) if null else _form(array.filter(pa.array(valid)), kind)
    sizes = np.ones(len(array), np.int64)
    sizes[valid] += np.diff(form.at)
    at = _ends(sizes)
    data = np.zeros(int(at[-1]), np.uint8)
    data[at[:-1][valid]] = 1
    _put(data, at[:-1][valid] + 1, form)
    return Ragged(data, at)


def _beside(parts: Sequence[Ragged], rows: int) -> Ragged:
    """Rows that have the bytes of each part one after the other."""
    sizes = [np.diff(part.at) for part in parts]
    at = _ends(sum(sizes, np.zeros(rows, np.int64)))
    data, positions = np.zeros(int(at[-1]), np.uint8), at[:-1].copy()
    for part, size in zip(parts, sizes, strict=True):
        _put(data, positions, part)
        positions += size
    return Ragged(data, at)


def _form(array: Array, kind: Kind) -> Ragged:
    """The form of values without nulls."""
    if not isinstance(kind, str):
        return _nested(array, kind)
    if kind in _WHOLE or kind == "boolean":
        narrow = array.cast(pa.int32()) if kind == "date" else array
        return _fixed(np.asarray(narrow.cast(pa.uint8() if kind == "boolean" else pa.int64())))
    if kind in _NAN:
        bits: npt.NDArray[Any] = np.asarray(array).copy().view(_NAN[kind][0])
        bits[np.isnan(np.asarray(array))] = _NAN[kind][1]
        return _fixed(bits)
    if kind.startswith("decimal"):
        return _fixed(np.frombuffer(array.buffers()[1] or b"", "V16")[array.offset : array.offset + len(array)])
    if kind == "variant":
        return _beside([_text(array.field(name)) for name in ("value", "metadata")], len(array))
    return _text(array)


def _nested(array: Array, kind: Kind) -> Ragged:
    if kind["type"] == "struct":
        parts = [_value(array.field(each["name"]), each["type"]) for each in kind["fields"]]
        return _beside(parts, len(array))
    offsets = np.asarray(array.offsets).astype(np.int64)
    sizes, begin, end = np.diff(offsets), int(offsets[0]), int(offsets[-1])
    if kind["type"] == "array":
        inner = _value(array.values[begin:end], kind["elementType"])
    else:
        parts = [_value(array.keys[begin:end], kind["keyType"]), _value(array.items[begin:end], kind["valueType"])]
        inner = _sorted(_beside(parts, end - begin), sizes)
    return _beside([_fixed(sizes), Ragged(inner.data, inner.at[_ends(sizes)])], len(array))


def _sorted(entries: Ragged, sizes: Positions) -> Ragged:
    """Entries of maps, those of each map in the order of their bytes."""
    parts = [entries.data[a:b].tobytes() for a, b in pairwise(entries.at)]
    ordered = [part for a, b in pairwise(_ends(sizes)) for part in sorted(parts[a:b])]
    return Ragged(np.frombuffer(b"".join(ordered), np.uint8), _ends(np.array([*map(len, ordered)], np.int64)))


def _text(array: Array) -> Ragged:
    found = array.cast(pa.large_binary())
    offsets = np.frombuffer(found.buffers()[1] or bytes(8), np.int64)[found.offset : found.offset + len(found) + 1]
    data = np.frombuffer(found.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
    return _beside([_fixed(np.diff(offsets)), Ragged(data, offsets - offsets[0])], len(found))


def _fixed(values: npt.NDArray[Any]) -> Ragged:
    data = np.ascontiguousarray(values).view(np.uint8).reshape(-1)
    return Ragged(data, np.arange(len(values) + 1, dtype=np.int64) * values.dtype.itemsize)


def _put(data: npt.NDArray[np.uint8], positions: Positions, part: Ragged) -> None:
    """Copy the bytes of each row of `part` to its position in `data`."""
    sizes = np.diff(part.at)
    if len(sizes) and sizes[0] <= 16 and (sizes == sizes[0]).all():
        data[positions[:, None] + np.arange(sizes[0])] = part.data.reshape(len(sizes), sizes[0])
    else:
        data[np.repeat(positions - part.at[:-1], sizes) + np.arange(len(part.data))] = part.data


def _ends(sizes: npt.NDArray[Any]) -> Positions:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])


def row_hashes(columns: Mapping[str, tuple[Array, Kind]], rows: int) -> tuple[Words, Words]:
    """Both halves of the hash of each row, high and low. Columns are given by name, with their types."""
    ordered = [columns[name] for name in sorted(columns)]
    fields = [{"name": name, "type": columns[name][1]} for name in sorted(columns)]
    text = np.frombuffer(_name({"type": "struct", "fields": fields}).encode(), np.uint8)
    name = Ragged(text, np.array([0, len(text)], np.int64))
    content = _beside([_value(array, kind) for array, kind in ordered], rows)
    high, low = (xxh64(content, xxh64(name, np.uint64(half))[0]) for half in (0, 1))
    return high, low


def xxh64(rows: Ragged, seed: np.uint64) -> Words:
    """The hash of each row's bytes."""
    found = np.empty(len(rows.at) - 1, np.uint64)
    with np.errstate(over="ignore"):
        for chosen in _alike(np.diff(rows.at)):
            found[chosen] = _hashed(rows, chosen, seed)
    return found


def _alike(sizes: Positions) -> Iterator[Positions]:
    """Numbers of rows that are about as long as one another, so that a matrix of them has few gaps."""
    order = np.argsort(sizes, kind="stable")
    classes = np.frexp(sizes[order] >> 5)[1]
    for part in np.split(order, np.flatnonzero(np.diff(classes)) + 1):
        step = max(1, _MOST // (int(sizes[part[-1]]) + 32)) if len(part) else 1
        yield from (part[begin : begin + step] for begin in range(0, len(part), step))


def _hashed(rows: Ragged, chosen: Positions, seed: np.uint64) -> Words:
    at, sizes = rows.at[chosen], rows.at[chosen + 1] - rows.at[chosen]
    width = int(sizes.max()) // 32 * 32 + 32
    inside = np.arange(width) < sizes[:, None]
    padded = np.zeros((len(chosen), width), np.uint8)
    padded[inside] = rows.data[(at[:, None] + np.arange(width))[inside]]
    words, halves, row, stripes = padded.view(np.uint64), padded.view(np.uint32), np.arange(len(chosen)), sizes // 32
    found = _stripes(words, stripes, seed) + sizes.astype(np.uint64)
    for number in range(3):
        word = words[row, np.minimum(4 * stripes + number, words.shape[1] - 1)]
        mixed = _turn(found ^ _round(_ZERO, word), 27) * _P1 + _P4
        found = np.where(sizes % 32 >= 8 * (number + 1), mixed, found)
    half = halves[row, sizes // 8 * 2].astype(np.uint64)
    found = np.where(sizes % 8 >= 4, _turn(found ^ half * _P1, 23) * _P2 + _P3, found)
    for number in range(3):
        byte = padded[row, np.minimum(sizes // 4 * 4 + number, width - 1)].astype(np.uint64)
        found = np.where(sizes % 4 > number, _turn(found ^ byte * _P5, 11) * _P1, found)
    found = (found ^ (found >> np.uint64(33))) * _P2
    found = (found ^ (found >> np.uint64(29))) * _P3
    return found ^ (found >> np.uint64(32))


def _stripes(words: Words, stripes: Positions, seed: np.uint64) -> Words:
    """The sums over whole stripes of 32 bytes; of a row that has none, the seed."""
    sums = [np.full(len(words), each) for each in (seed + _P1 + _P2, seed + _P2, seed, seed - _P1)]
    for number in range(int(stripes.max())):
        for lane in range(4):
            sums[lane] = np.where(stripes > number, _round(sums[lane], words[:, 4 * number + lane]), sums[lane])
    found = _turn(sums[0], 1) + _turn(sums[1], 7) + _turn(sums[2], 12) + _turn(sums[3], 18)
    for each in sums:
        found = (found ^ _round(_ZERO, each)) * _P1 + _P4
    return np.where(stripes > 0, found, seed + _P5)


def _turn(word: Words, bits: int) -> Words:
    return (word << np.uint64(bits)) | (word >> np.uint64(64 - bits))


def _round(start: Words | np.uint64, word: Words) -> Words:
    return _turn(start + word * _P2, 31) * _P1
