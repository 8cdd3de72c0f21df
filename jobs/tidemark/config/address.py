"""Addresses of locations in object storage: values, without any access."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tidemark.core.services import NAMES, Service

_SCHEME = re.compile(r"(s3a?|abfss?|gs)://", re.IGNORECASE)
_SERVICE_OF: dict[str, Service] = {"s3": "s3", "s3a": "s3", "abfss": "azure", "abfs": "azure", "gs": "gcs"}
_BUCKET: dict[Service, re.Pattern[str]] = {
    "s3": re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]"),
    "azure": re.compile(r"[a-z0-9$][a-z0-9-]{1,61}[a-z0-9]@[a-z0-9]{3,24}\.dfs\.core\.windows\.net"),
    "gcs": re.compile(r"[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]"),
}
WRITTEN: dict[Service, str] = {
    "s3": "s3://bucket/prefix",
    "azure": "abfss://container@account.dfs.core.windows.net/prefix",
    "gcs": "gs://bucket/prefix",
}
"""The form of an address by service."""


def is_remote(text: str) -> bool:
    """True if a text is an address in object storage: it begins with s3://, s3a://, abfss://, abfs:// or gs://."""
    return _SCHEME.match(text) is not None


def normal(text: str) -> str:
    """An address in object storage in its canonical form: s3://, abfss://, abfs:// or gs://, a bucket or an Azure
    container with its account, a key without slashes at its ends. abfs:// is for a service without TLS.

    Raises ValueError if no bucket or container can have this name, or if a part of the key is empty, `.` or `..`,
    which Spark cannot address.
    """
    given, _, rest = text.partition("://")
    scheme = "s3" if given.lower() == "s3a" else given.lower()
    service = _SERVICE_OF[scheme]
    bucket, _, key = rest.partition("/")
    if "@" in bucket and (service != "azure" or ":" in bucket):
        raise ValueError(
            f"an address on {NAMES[service]} has no user and password: credentials are read from the environment"
        )
    if not _BUCKET[service].fullmatch(bucket):
        what = "container and account" if service == "azure" else "bucket"
        raise ValueError(f"{text!r} names no {what}: write {WRITTEN[service]}")
    key = key.strip("/")
    if key and {"", ".", ".."} & set(key.split("/")):
        raise ValueError(f"{text!r} has a part that is empty or made of dots: write {WRITTEN[service]}")
    root = f"{scheme}://{bucket}"
    return f"{root}/{key}" if key else root


@dataclass(frozen=True, order=True)
class RemoteLocation:
    """A key, or a prefix of keys, in a bucket of object storage; `text` is an address in its canonical form."""

    text: str

    @property
    def service(self) -> Service:
        """The service that holds it."""
        return _SERVICE_OF[self.text.partition("://")[0].lower()]

    @property
    def bucket(self) -> str:
        """The bucket's name; on Azure container@account.domain."""
        return self.text.split("/", 3)[2]

    @property
    def key(self) -> str:
        """The key in the bucket; empty for the bucket itself."""
        return "/".join(self.text.split("/", 3)[3:])

    @property
    def prefix(self) -> str:
        """Beginning of the keys below this prefix; empty for the bucket itself."""
        return f"{self.key}/" if self.key else ""

    @property
    def root(self) -> RemoteLocation:
        """The bucket itself."""
        return RemoteLocation("/".join(self.text.split("/", 3)[:3]))

    @property
    def name(self) -> str:
        """The last part of the key."""
        return self.text.rpartition("/")[2]

    def __truediv__(self, part: str) -> RemoteLocation:
        return RemoteLocation(f"{self.text}/{part}")

    def __str__(self) -> str:
        return self.text
