"""Interface of object storage services: S3, Azure Storage and Google Cloud Storage.

Each service is a module that implements `ObjectStore`: `s3`, `azure`, `gcs`. To add one, add the module, its faults
(`object_errors`), addresses (`config/address.py`) and settings of Spark (`spark/session/object_stores.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple, Protocol

from tidemark.config.address import RemoteLocation

ATTEMPTS = 8
"""Number of attempts before a request fails; the wait doubles each time."""
AT_ONCE = 16
"""Number of parallel requests."""
PAGE = 1000
"""Number of objects that one request lists."""
_COMMIT = re.compile(r"\d{20}\.(?:json|checkpoint\..*)")


class Found(NamedTuple):
    """An object as a listing shows it; `modified` in microseconds UTC. The tag changes with the content: the ETag
    without quotes, on Google Cloud Storage the generation."""

    key: str
    size: int
    modified: int
    tag: str


class Stamped(NamedTuple):
    """An object's content and tag, and how many seconds ago it was written, by the service's own clock."""

    content: bytes
    tag: str
    age: float


class Head(NamedTuple):
    """Size in bytes and tag of an object."""

    size: int
    tag: str


class ObjectStore(Protocol):
    """Requests to a service. A missing object raises FileNotFoundError, a changed object OSError. Every other failure
    is a TidemarkError that names the bucket and says what to do."""

    def delta_options(self) -> dict[str, str]:
        """Storage options of delta-rs. They make one of two concurrent commits of a version fail."""

    def listed(self, location: RemoteLocation, below: str = "", after: str = "") -> Iterator[Found]:
        """Objects whose keys begin with the location's prefix + `below` and are greater than `after`, sorted by key,
        page by page."""

    def has_commit(self, location: RemoteLocation) -> bool:
        """True if there is a Delta log with a commit, from one page of its listing."""

    def read(self, location: RemoteLocation) -> bytes:
        """Read a whole object."""

    def read_stamped(self, location: RemoteLocation) -> Stamped | None:
        """Read a small object with its tag and age; None if there is none."""

    def read_range(self, location: RemoteLocation, tag: str, first: int, last: int) -> bytes:
        """Read the bytes from `first` to `last`, both included, of the content with this tag."""

    def head(self, location: RemoteLocation) -> Head | None:
        """The object's size and tag; None if there is no object."""

    def put(self, location: RemoteLocation, content: bytes) -> None:
        """Write an object, replacing any earlier one."""

    def put_if(self, location: RemoteLocation, content: bytes, tag: str | None) -> str | None:
        """Write an object if its present tag is `tag` (None: if there is no object). Returns the new tag; None if the
        condition did not hold."""

    def copy(self, source: RemoteLocation, target: RemoteLocation) -> None:
        """Copy an object within the service."""

    def delete(self, location: RemoteLocation) -> None:
        """Delete an object, if it exists."""


def is_commit(key: str) -> bool:
    """True if an object of a Delta log is a commit or a checkpoint, by its key."""
    return _COMMIT.fullmatch(key.rpartition("/")[2]) is not None


def micros(moment: datetime) -> int:
    """A service's time in microseconds UTC."""
    return int(moment.timestamp()) * 1_000_000 + moment.microsecond
