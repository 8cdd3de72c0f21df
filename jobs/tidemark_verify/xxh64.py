"""XXH64 of many rows at once, and from it the hashes of docs/digest.md, version 2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from tidemark_verify.encode import Array, Kind, Ragged, beside, name_of, value

Words = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]
_P1, _P2, _P3 = np.uint64(0x9E3779B185EBCA87), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9)
_P4, _P5, _ZERO = np.uint64(0x85EBCA77C2B2AE63), np.uint64(0x27D4EB2F165667C5), np.uint64(0)
_MOST = 1 << 25
"""Bytes that are hashed at a time."""


def row_hashes(columns: Sequence[tuple[str, Array, Kind]], rows: int) -> tuple[Words, Words]:
    """Both halves of the hash of each row, high and low. Columns are given with their names and types."""
    ordered = sorted(columns, key=lambda column: column[0])
    fields = [{"name": name, "type": kind} for name, _, kind in ordered]
    text = np.frombuffer(name_of({"type": "struct", "fields": fields}).encode(), np.uint8)
    name = Ragged(text, np.array([0, len(text)], np.int64))
    content = beside([value(array, kind) for _, array, kind in ordered], rows)
    high, low = (xxh64(content, xxh64(name, np.uint64(half))[0]) for half in (0, 1))
    return high, low


def xxh64(rows: Ragged, seed: np.uint64) -> Words:
    """The hash of each row's bytes."""
    found = np.empty(len(rows.at) - 1, np.uint64)
    with np.errstate(over="ignore"):
        for chosen in _alike(np.diff(rows.at)):
            found[chosen] = _hashed(rows, chosen, seed)
    return found


def _alike(sizes: Places) -> Iterator[Places]:
    """Numbers of rows that are about as long as one another, so that a matrix of them has few gaps."""
    order = np.argsort(sizes, kind="stable")
    classes = np.frexp(sizes[order] >> 5)[1]
    for part in np.split(order, np.flatnonzero(np.diff(classes)) + 1):
        step = max(1, _MOST // (int(sizes[part[-1]]) + 32)) if len(part) else 1
        yield from (part[begin : begin + step] for begin in range(0, len(part), step))


def _hashed(rows: Ragged, chosen: Places, seed: np.uint64) -> Words:
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


def _stripes(words: Words, stripes: Places, seed: np.uint64) -> Words:
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
