"""Compression of text objects, and checks that a compressed object is whole.

Spark knows the codec by the ending of the name. Its readers of gzip, deflate and zstd fail if data are cut off or
followed by other bytes. Its reader of bzip2 skips to the next block, and its readers of LZ4 and Snappy accept cut-off
data: a damaged object would pass as a short one. So bzip2 is read once more here, LZ4 and Snappy are refused.
"""

from __future__ import annotations

import bz2
import gzip
import io
import re
import zlib
from collections.abc import Generator
from typing import IO, Any, cast

import pyarrow as pa

from tidemark.core.batch import LandedObject
from tidemark.storage import open_file

CODECS = {
    ".gz": "gzip",
    ".gzip": "gzip",
    ".bz2": "bzip2",
    ".deflate": "deflate",
    ".zst": "zstd",
    ".zstd": "zstd",
    ".lz4": "lz4",
    ".snappy": "snappy",
}
"""Endings, in any case, that Spark's text readers take for compression."""
ENDLESS = frozenset({"lz4", "snappy"})
"""Codecs whose readers cannot detect that an object is cut off."""
DAMAGED = (OSError, EOFError, zlib.error, pa.ArrowException)
"""Exceptions that reading damaged data raises."""
EMPTY = "it is empty: not even a header was written"
_PIECE = 1 << 20


def codec_of(path: str) -> str | None:
    """Codec by the ending of an object's name; None if it is not compressed."""
    name = path.rpartition("/")[2].lower()
    return next((codec for ending, codec in CODECS.items() if name.endswith(ending)), None)


def refusal(item: LandedObject, *, exact: bool) -> str | None:
    """Reason why a compressed text object is not read; None if it is read or not compressed.

    `exact` is false for batches recorded under earlier rules, which refuse only empty gzip objects.
    """
    codec = codec_of(item.path)
    if codec is None or not exact:
        return EMPTY if codec == "gzip" and item.size == 0 else None
    if codec in ENDLESS:
        return (
            f"it is compressed by {codec}, of which nobody can tell whether it is whole: compress it by gzip or zstd,"
            " and land it under a new name"
        )
    if item.size == 0:
        return EMPTY
    return _bzip2_damage(item) if codec == "bzip2" else None


def pieces(item: LandedObject) -> Generator[bytes]:
    """The content of an object piece by piece, decompressed. Raises one of `DAMAGED`."""
    with open_file(item.path, (item.size, item.tag)) as raw, _opened(raw, codec_of(item.path)) as file:
        while piece := file.read(_PIECE):
            yield piece


def lines(item: LandedObject) -> Generator[bytes]:
    """The lines of an object that are not empty. Raises one of `DAMAGED`."""
    rest = b""
    for piece in pieces(item):
        *whole, rest = re.split(rb"[\r\n]", rest + piece)
        yield from (line for line in whole if line)
    if rest:
        yield rest


def read_through(item: LandedObject) -> None:
    """Decompress an object to its end; does nothing for an uncompressed one. Raises one of `DAMAGED`."""
    if codec_of(item.path) is not None:
        for _ in pieces(item):
            pass


def _opened(raw: IO[bytes], codec: str | None) -> IO[bytes]:
    if codec == "gzip":
        return cast(IO[bytes], gzip.open(raw))
    if codec == "bzip2":
        return io.BufferedReader(_Streams(raw, bz2.BZ2Decompressor))
    if codec == "deflate":
        return io.BufferedReader(_Streams(raw, zlib.decompressobj))
    return cast(IO[bytes], pa.CompressedInputStream(cast(io.IOBase, raw), "zstd")) if codec == "zstd" else raw


def _bzip2_damage(item: LandedObject) -> str | None:
    try:
        read_through(item)
    except FileNotFoundError:
        return None
    except (EOFError, OSError) as error:
        return f"its compression is damaged, or it is cut off ({error})"
    return None


class _Streams(io.RawIOBase):
    """Content of several compressed streams in one file. Each must be whole, with nothing between them."""

    def __init__(self, raw: IO[bytes], begin: Any) -> None:  # noqa: ANN401 # decompressors have no common type
        super().__init__()
        self._raw, self._begin = raw, begin
        self._stream = begin()
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 # a buffer
        while True:
            found = self._next(len(buffer))
            if found is None:
                return 0
            if found:
                buffer[: len(found)] = found
                return len(found)

    def _next(self, most: int) -> bytes | None:
        """Some more of the content, perhaps empty; None at the end of the last stream."""
        if self._stream.eof:
            self._left = self._stream.unused_data or self._raw.read(_PIECE)
            if not self._left:
                return None
            self._stream = self._begin()
        given = self._left
        if not given and getattr(self._stream, "needs_input", True):
            given = self._raw.read(_PIECE)
        found: bytes = self._stream.decompress(given, most)
        self._left = getattr(self._stream, "unconsumed_tail", b"")
        if not given and not found and not self._stream.eof:
            raise EOFError("unexpected end of the data")
        return found
