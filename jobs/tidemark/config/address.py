"""Addresses of locations on S3: values, without any access."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SCHEME = re.compile(r"s3a?://", re.IGNORECASE)
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


def is_s3(text: str) -> bool:
    """True if a text is an S3 address: it begins with s3:// or s3a://."""
    return _SCHEME.match(text) is not None


def normal(text: str) -> str:
    """An S3 address in its canonical form: s3://, a bucket, a key without slashes at its ends.

    Raises ValueError if no bucket can have this name, or if a part of the key is empty, `.` or `..`, which Spark
    cannot address.
    """
    bucket, _, key = _SCHEME.sub("", text).partition("/")
    if "@" in bucket:
        raise ValueError("an address on S3 has no user and password: credentials are read from the environment")
    if not _BUCKET.fullmatch(bucket):
        raise ValueError(f"{text!r} names no bucket: write s3://bucket/prefix")
    key = key.strip("/")
    if key and {"", ".", ".."} & set(key.split("/")):
        raise ValueError(f"{text!r} has a part that is empty or made of dots: write s3://bucket/prefix")
    return f"s3://{bucket}/{key}" if key else f"s3://{bucket}"


@dataclass(frozen=True, order=True)
class S3Location:
    """A key, or a prefix of keys, in a bucket; `text` is s3://bucket/key without a slash at its end."""

    text: str

    @property
    def bucket(self) -> str:
        """The bucket's name."""
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
    def name(self) -> str:
        """The last part of the key."""
        return self.text.rpartition("/")[2]

    def __truediv__(self, part: str) -> S3Location:
        return S3Location(f"{self.text}/{part}")

    def __str__(self) -> str:
        return self.text
