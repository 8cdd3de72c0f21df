"""Columns of Arrow as the bytes of docs/digest.md: for each row some bytes, all in one buffer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Array = Any
"""An array of Arrow."""
Kind = Any
"""A type as the log of a table has it: a name, or a mapping for nested ones."""
_NAMES = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}
_WHOLE = {*_NAMES, "date", "timestamp", "timestamp_ntz"}
_NAN = {"float": (np.uint32, 0x7FC00000), "double": (np.uint64, 0x7FF8000000000000)}


class Ragged(NamedTuple):
    """Bytes of rows: those of row i are data[at[i]:at[i + 1]]."""

    data: npt.NDArray[np.uint8]
    at: npt.NDArray[np.int64]


def name_of(kind: Kind) -> str:
    """The name of a type."""
    if isinstance(kind, str):
        return _NAMES.get(kind, kind)
    if kind["type"] == "array":
        return f"array<{name_of(kind['elementType'])}>"
    if kind["type"] == "map":
        return f"map<{name_of(kind['keyType'])},{name_of(kind['valueType'])}>"
    fields = (f"{len(each['name'].encode())}:{each['name']}{name_of(each['type'])};" for each in kind["fields"])
    return f"struct<{''.join(fields)}>"


def value(array: Array, kind: Kind) -> Ragged:
    """Each value with a byte 1 ahead, or a byte 0 for null."""
    null = array.type.id == 0 or kind == "void"
    valid = np.zeros(len(array), bool) if null else np.asarray(array.is_valid())
    form = (
        Ragged(np.zeros(0, np.uint8), np.zeros(1, np.int64)) if null else _form(array.filter(pa.array(valid)), kind)
    )
    sizes = np.ones(len(array), np.int64)
    sizes[valid] += np.diff(form.at)
    at = _ends(sizes)
    data = np.zeros(int(at[-1]), np.uint8)
    data[at[:-1][valid]] = 1
    _put(data, at[:-1][valid] + 1, form)
    return Ragged(data, at)


def beside(parts: Sequence[Ragged], rows: int) -> Ragged:
    """Rows that have the bytes of each part one after the other."""
    sizes = [np.diff(part.at) for part in parts]
    at = _ends(sum(sizes, np.zeros(rows, np.int64)))
    data, places = np.zeros(int(at[-1]), np.uint8), at[:-1].copy()
    for part, size in zip(parts, sizes, strict=True):
        _put(data, places, part)
        places += size
    return Ragged(data, at)


def _form(array: Array, kind: Kind) -> Ragged:
    """The form of values none of which is null."""
    if not isinstance(kind, str):
        return _nested(array, kind)
    if kind in _WHOLE:
        narrow = array.cast(pa.int32()) if kind == "date" else array
        return _fixed(np.asarray(narrow.cast(pa.int64())))
    if kind in _NAN:
        word, nan = _NAN[kind]
        return _fixed(np.where(np.isnan(np.asarray(array)), word(nan), np.asarray(array).view(word)))
    if kind == "boolean":
        return _fixed(np.asarray(array.cast(pa.uint8())))
    if kind.startswith("decimal"):
        return _fixed(np.frombuffer(array.buffers()[1] or b"", "V16")[array.offset : array.offset + len(array)])
    if kind == "variant":
        return beside([_text(array.field(name)) for name in ("value", "metadata")], len(array))
    return _text(array)


def _nested(array: Array, kind: Kind) -> Ragged:
    if kind["type"] == "struct":
        parts = [value(array.field(each["name"]), each["type"]) for each in kind["fields"]]
        return beside(parts, len(array))
    offsets = np.asarray(array.offsets).astype(np.int64)
    sizes, begin, end = np.diff(offsets), int(offsets[0]), int(offsets[-1])
    if kind["type"] == "array":
        inner = value(array.values[begin:end], kind["elementType"])
    else:
        parts = [value(array.keys[begin:end], kind["keyType"]), value(array.items[begin:end], kind["valueType"])]
        inner = _sorted(beside(parts, end - begin), sizes)
    return beside([_fixed(sizes), Ragged(inner.data, inner.at[_ends(sizes)])], len(array))


def _sorted(entries: Ragged, sizes: npt.NDArray[np.int64]) -> Ragged:
    """Entries of maps, those of each map in the order of their bytes."""
    parts = [entries.data[a:b].tobytes() for a, b in pairwise(entries.at)]
    ordered = [part for a, b in pairwise(_ends(sizes)) for part in sorted(parts[a:b])]
    return Ragged(np.frombuffer(b"".join(ordered), np.uint8), _ends(np.array([*map(len, ordered)], np.int64)))


def _text(array: Array) -> Ragged:
    found = array.cast(pa.large_binary())
    offsets = np.frombuffer(found.buffers()[1] or bytes(8), np.int64)[found.offset : found.offset + len(found) + 1]
    data = np.frombuffer(found.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
    return beside([_fixed(np.diff(offsets)), Ragged(data, offsets - offsets[0])], len(found))


def _fixed(values: npt.NDArray[Any]) -> Ragged:
    data = np.ascontiguousarray(values).view(np.uint8).reshape(-1)
    return Ragged(data, np.arange(len(values) + 1, dtype=np.int64) * values.dtype.itemsize)


def _put(data: npt.NDArray[np.uint8], places: npt.NDArray[np.int64], part: Ragged) -> None:
    """Copy the bytes of each row of `part` to its place in `data`."""
    sizes = np.diff(part.at)
    if len(sizes) and sizes[0] <= 16 and (sizes == sizes[0]).all():
        data[places[:, None] + np.arange(sizes[0])] = part.data.reshape(len(sizes), sizes[0])
    else:
        data[np.repeat(places - part.at[:-1], sizes) + np.arange(len(part.data))] = part.data


def _ends(sizes: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
