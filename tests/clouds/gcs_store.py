"""Buckets and objects in memory, as Google Cloud Storage keeps them: each content has a generation of its own, and a
change whose precondition does not hold changes nothing."""

from __future__ import annotations

import base64
import hashlib
import threading
import time
from bisect import bisect_left
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import NamedTuple

import google_crc32c

OCTETS = "application/octet-stream"


class Failure(Exception):
    """Why a request fails: its status, the reason in the JSON API, the code in the XML API and a message."""

    def __init__(self, status: int, reason: str, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.reason, self.code = status, reason, code


def invalid(message: str) -> Failure:
    return Failure(400, "invalid", "InvalidArgument", message)


@dataclass(frozen=True)
class Stored:
    """One content of an object; `created` in microseconds UTC."""

    bucket: str
    name: str
    content: bytes
    kind: str
    generation: int
    created: int

    @cached_property
    def md5(self) -> str:
        return base64.b64encode(hashlib.md5(self.content, usedforsecurity=False).digest()).decode()

    @cached_property
    def crc32c(self) -> str:
        return base64.b64encode(google_crc32c.value(self.content).to_bytes(4, "big")).decode()

    @property
    def moment(self) -> str:
        """When it was written, to the millisecond."""
        return datetime.fromtimestamp(self.created / 1e6, UTC).strftime("%Y-%m-%dT%H:%M:%S") + (
            f".{self.created % 1_000_000 // 1000:03}Z"
        )


class Asked(NamedTuple):
    """Which part of a bucket a listing shows: keys after `after` and from `start` on. With a delimiter, folders stand
    for what is in them; an object with a folder's name is shown too if `trailing`."""

    prefix: str = ""
    delimiter: str = ""
    after: str = ""
    start: str = ""
    limit: int = 1000
    trailing: bool = False

    def folder_of(self, name: str) -> str:
        """The folder that stands for an object; empty: none does."""
        end = name.find(self.delimiter, len(self.prefix)) if self.delimiter else -1
        return "" if end < 0 else name[: end + len(self.delimiter)]


class Page(NamedTuple):
    """What a listing shows at once; the next page is what comes after `last`, if there is one."""

    objects: list[Stored]
    folders: list[str]
    last: str | None = None


@dataclass
class Store:
    """All buckets; a precondition and the change under it are one step."""

    _buckets: dict[str, dict[str, Stored]] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _latest: int = 0

    def make_bucket(self, name: str) -> None:
        with self._lock:
            self._buckets.setdefault(name, {})

    def bucket(self, name: str) -> dict[str, Stored]:
        if name not in self._buckets:
            raise Failure(404, "notFound", "NoSuchBucket", "The specified bucket does not exist.")
        return self._buckets[name]

    def find(self, bucket: str, name: str, generation: int | None = None) -> Stored:
        """The object; one that is there no longer, or not with this generation, is a failure."""
        found = self.bucket(bucket).get(name)
        if found is None or generation not in (None, found.generation):
            raise Failure(404, "notFound", "NoSuchKey", f"No such object: {bucket}/{name}")
        return found

    def require(self, bucket: str, name: str, generation: int | None) -> None:
        """Fail unless the object has this generation; 0: unless there is none; None: never."""
        found = self.bucket(bucket).get(name)
        if generation not in (None, found.generation if found else 0):
            message = "At least one of the pre-conditions you specified did not hold."
            raise Failure(412, "conditionNotMet", "PreconditionFailed", message)

    def put(
        self,
        bucket: str,
        name: str,
        content: bytes,
        kind: str = OCTETS,
        condition: int | None = None,
        created: int | None = None,
    ) -> Stored:
        with self._lock:
            self.require(bucket, name, condition)
            now = time.time_ns() // 1000
            self._latest = max(self._latest + 1, now)
            stored = Stored(bucket, name, content, kind, self._latest, now if created is None else created)
            self._buckets[bucket][name] = stored
        return stored

    def copy(self, source: Stored, bucket: str, name: str, condition: int | None) -> Stored:
        return self.put(bucket, name, source.content, source.kind, condition)

    def move(self, source: Stored, name: str, condition: int | None) -> Stored:
        """Give an object another name, unless it has been replaced since it was found."""
        with self._lock:
            self.find(source.bucket, source.name, source.generation)
            moved = self.copy(source, source.bucket, name, condition)
            self.delete(source.bucket, source.name)
        return moved

    def delete(self, bucket: str, name: str, condition: int | None = None) -> None:
        with self._lock:
            self.find(bucket, name)
            self.require(bucket, name, condition)
            del self._buckets[bucket][name]

    def keys(self, bucket: str) -> list[str]:
        with self._lock:
            return sorted(self.bucket(bucket))

    def page(self, bucket: str, asked: Asked) -> Page:
        with self._lock:
            present = dict(self.bucket(bucket))
        names = sorted(present)
        objects: list[Stored] = []
        folders: list[str] = []
        last, count = asked.after, 0
        for name in names[bisect_left(names, max(asked.prefix, asked.start)) :]:
            folder = asked.folder_of(name)
            shown = folder or name
            if not name.startswith(asked.prefix):
                break
            if shown <= asked.after:
                continue
            if shown != last:
                if count == asked.limit:
                    return Page(objects, folders, last)
                folders += [folder] if folder else []
                last, count = shown, count + 1
            if not folder or (asked.trailing and folder == name):
                objects.append(present[name])
        return Page(objects, folders)
