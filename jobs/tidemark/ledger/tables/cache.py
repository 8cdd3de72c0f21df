"""Keeps values that were read, for the next reader."""

from __future__ import annotations

from collections.abc import Hashable
from threading import Lock
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Cache(Generic[Key, Value]):
    """Holds up to `most` values; the oldest value is dropped first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: dict[Key, Value] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Key) -> Value | None:
        """The value that was put; None if it is not kept."""
        return self._values.get(key)

    def put(self, key: Key, value: Value) -> None:
        """Keep a value, as the newest."""
        with self._lock:
            self._values.pop(key, None)
            self._values[key] = value
            if len(self._values) > self._most:
                self._values.pop(next(iter(self._values)))
