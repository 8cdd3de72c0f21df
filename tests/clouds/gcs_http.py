"""Requests and answers as both APIs see them, and the download of an object, which is the same in both."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from email.utils import formatdate
from functools import cached_property
from urllib.parse import parse_qsl, urlsplit

from gcs_store import Failure, Stored, invalid


@dataclass(frozen=True)
class Call:
    """A request: its path and `asked`, its query, as they were sent; its headers by names in lower case."""

    method: str
    path: str
    asked: str
    headers: dict[str, str]
    body: bytes

    @classmethod
    def of(cls, method: str, target: str, headers: dict[str, str], body: bytes) -> Call:
        """The request for a target, which is a path with a query or a whole address."""
        parts = urlsplit(target)
        return cls(method, parts.path, parts.query, headers, body)

    @cached_property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(self.asked, keep_blank_values=True))

    @property
    def base(self) -> str:
        """The service's own address."""
        return f"http://{self.headers['host']}"

    def number(self, name: str) -> int | None:
        """A number of the query; None if it is not there."""
        return int(self.query[name]) if name in self.query else None


@dataclass(frozen=True)
class Answer:
    """What a request is answered with."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


def described(stored: Stored) -> dict[str, str]:
    """The headers that say which content of an object it is about."""
    return {
        "ETag": f'"{stored.generation:x}"',
        "x-goog-generation": str(stored.generation),
        "x-goog-metageneration": "1",
        "x-goog-hash": f"crc32c={stored.crc32c},md5={stored.md5}",
        "x-goog-stored-content-encoding": "identity",
        "x-goog-stored-content-length": str(len(stored.content)),
    }


def downloaded(stored: Stored, call: Call) -> Answer:
    """The content of an object, or the range of it that is asked for."""
    whole = len(stored.content)
    modified = formatdate(stored.created // 1_000_000, usegmt=True)
    headers = {"Content-Type": stored.kind, "Last-Modified": modified, "Accept-Ranges": "bytes"} | described(stored)
    if "range" not in call.headers:
        return Answer(200, headers, stored.content)
    asked = re.fullmatch(r"bytes=(\d+)-(\d*)|bytes=-(\d+)", call.headers["range"])
    if asked is None:
        raise invalid(f"no range: {call.headers['range']}")
    first = int(asked[1]) if asked[1] else max(0, whole - int(asked[3]))
    last = min(int(asked[2] or whole), whole - 1)
    if first > last:
        message = f"The requested range cannot be satisfied: {asked[0]} of {whole}"
        raise Failure(416, "requestedRangeNotSatisfiable", "InvalidRange", message)
    headers["Content-Range"] = f"bytes {first}-{last}/{whole}"
    return Answer(206, headers, stored.content[first : last + 1])
