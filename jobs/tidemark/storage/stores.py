"""Finds the service of a location, and runs operations that take several requests."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, TypeVar

from tidemark.config.address import RemoteLocation
from tidemark.core.services import Service
from tidemark.storage import azure, gcs, s3
from tidemark.storage.object_store import AT_ONCE, PAGE, ObjectStore

T = TypeVar("T")
U = TypeVar("U")

PIECE = 1 << 20
FEWEST = 50
"""From this number of objects on, one page of a listing is faster than one request per object."""
_STORES: dict[Service, ObjectStore] = {"s3": s3, "azure": azure, "gcs": gcs}


def store_of(location: RemoteLocation) -> ObjectStore:
    """The service that holds a location."""
    return _STORES[location.service]


def tag_of(location: RemoteLocation) -> str | None:
    """The object's tag; None if there is no object."""
    found = store_of(location).head(location)
    return None if found is None else found.tag


def tags_of(locations: Sequence[RemoteLocation]) -> list[str | None]:
    """Tags of objects of one bucket, None if there is no object. Lists their common prefix while that is cheaper than
    one request per object; asks for each of the rest."""
    keys = sorted({location.key for location in locations})
    found: dict[str, str | None] = {}
    if len(keys) >= FEWEST:
        common = os.path.commonprefix(keys)  # noqa: RUF071 # a prefix of characters, not of path parts
        root, wanted = locations[0].root, set(keys)
        after = "" if root.service == "azure" else keys[0][:-1]  # Azure lists keys before it, too, and we count
        for item in islice(store_of(root).listed(root, common, after), len(keys) // FEWEST * PAGE):
            if item.key in wanted:
                found[item.key] = item.tag
            if item.key >= keys[-1]:
                break
    left = [location for location in locations if location.key not in found]
    found |= zip((location.key for location in left), at_once(tag_of, left), strict=True)
    return [found[location.key] for location in locations]


def at_once(ask: Callable[[T], U], of: list[T]) -> list[U]:
    """Results of `ask` for each item, in order; asked in parallel."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(ask, of))


class Ranged(io.RawIOBase):
    """An object that is read piece by piece. All pieces belong to one content: the content at the time of opening, or
    the content with the `known` size and tag."""

    def __init__(self, location: RemoteLocation, known: tuple[int, str] | None = None) -> None:
        super().__init__()
        self._location, self._at, self._store = location, 0, store_of(location)
        found = known or self._store.head(location)
        if found is None:
            raise FileNotFoundError(f"there is no object {location}")
        self._size, self._tag = found

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def tell(self) -> int:
        """The position of the next byte."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a position."""
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def readall(self) -> bytes:
        """Read everything from the position on, by one request."""
        found = bytearray(max(self._size - self._at, 0))
        return bytes(found[: self.readinto(found)])

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 # any writable buffer
        """Fill the buffer by one request; returns 0 at the end."""
        last = min(self._at + len(buffer), self._size) - 1
        if last < self._at:
            return 0
        found = self._store.read_range(self._location, self._tag, self._at, last)
        buffer[: len(found)] = found
        self._at += len(found)
        return len(found)
