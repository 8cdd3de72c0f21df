"""Objects on S3, through boto3: listing, tags, reading, conditional writing.

Endpoint, region, retries and credentials come from the standard AWS variables and files, and none of them is stored.
Every failure is a TidemarkError that names the bucket and says what to do (`s3_errors`).
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from tidemark.config.address import S3Location
from tidemark.storage.s3_errors import ABSENT, CHANGED, translate_failures

T = TypeVar("T")
U = TypeVar("U")

ATTEMPTS = 8
"""Number of attempts of a request unless AWS_MAX_ATTEMPTS sets another; waits double, up to 20 s."""
PIECE = 1 << 20
PAGE = 1000
"""Number of objects that one request lists."""
AT_ONCE = 16
FEWEST = 50
"""Number of objects from which one page of a listing is faster than a request for each."""
_AMAZON = re.compile(r"https://s3[.-][^/]*amazonaws\.com(\.cn)?$")
_FOUND_BY_ALL = ("env", "iam-role", "container-role", "assume-role-with-web-identity")
"""Sources of credentials, by botocore's names, that all clients try by themselves."""
_COMMIT = re.compile(r"\d{20}\.(?:json|checkpoint\..*)")
_SETTINGS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION")
_IDENTITY = ("AWS_ACCESS_KEY_ID", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_MAX_ATTEMPTS")


class Found(NamedTuple):
    """An object as a listing shows it; `modified` in microseconds UTC."""

    key: str
    size: int
    modified: int
    tag: str


def endpoint() -> str | None:
    """Address of the S3 service that was set; None: Amazon's own, by region."""
    given = str(_client().meta.endpoint_url)
    return None if _AMAZON.match(given) else given


def region() -> str:
    """The region in force."""
    return str(_client().meta.region_name)


def attempts() -> int:
    """Number of attempts of a request before it has failed."""
    given = os.environ.get("AWS_MAX_ATTEMPTS", "")
    return int(given) if given.isdigit() and int(given) else ATTEMPTS


def delta_options() -> dict[str, str]:
    """Storage options of delta-rs. A commit is a conditional PUT, so that one of two concurrent writers fails."""
    options = {
        "AWS_REGION": region(),
        "conditional_put": "etag",
        "max_retries": str(attempts() - 1),
        "retry_timeout": f"{30 * attempts()}s",
    }
    address = endpoint()
    if address is not None:
        options |= {"AWS_ENDPOINT_URL": address, "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "false"}
        if address.startswith("http://"):
            options["AWS_ALLOW_HTTP"] = "true"
    return options | _of_a_profile()


def _of_a_profile() -> dict[str, str]:
    """Credentials of a profile, which delta-rs does not read, in memory only. It finds and renews other credentials
    itself."""
    found = _client()._request_signer._credentials
    if found is None or found.method in _FOUND_BY_ALL:
        return {}
    now = found.get_frozen_credentials()
    known = {"ACCESS_KEY_ID": now.access_key, "SECRET_ACCESS_KEY": now.secret_key, "SESSION_TOKEN": now.token}
    return {f"AWS_{name}": value for name, value in known.items() if value}


def listed(location: S3Location, below: str = "", after: str = "") -> Iterator[Found]:
    """The objects whose keys begin with the location's prefix and `below`, sorted by key, page by page; only those
    `after` a key."""
    given: dict[str, Any] = {"Bucket": location.bucket, "Prefix": location.prefix + below, "StartAfter": after}
    with translate_failures(location):
        for page in _client().get_paginator("list_objects_v2").paginate(**given, PaginationConfig={"PageSize": PAGE}):
            for item in page.get("Contents", ()):
                moment = item["LastModified"]
                micros = int(moment.timestamp()) * 1_000_000 + moment.microsecond
                yield Found(item["Key"], item["Size"], micros, item["ETag"].strip('"'))


def has_commit(location: S3Location) -> bool:
    """True if there is a Delta log with a commit, from one page of its listing."""
    given = {"Bucket": location.bucket, "Prefix": f"{location.prefix}_delta_log/", "MaxKeys": 100}
    with translate_failures(location):
        found = _client().list_objects_v2(**given).get("Contents", ())
        return any(_COMMIT.fullmatch(item["Key"].rpartition("/")[2]) for item in found)


def read(location: S3Location) -> bytes:
    """Read a whole object."""
    with translate_failures(location):
        return bytes(_client().get_object(Bucket=location.bucket, Key=location.key)["Body"].read())


class Stamped(NamedTuple):
    """An object's content and tag, and how many seconds ago it was written, by the service's own clock."""

    content: bytes
    tag: str
    age: float


def read_stamped(location: S3Location) -> Stamped | None:
    """Read a small object with its tag and age; None if there is none."""
    from email.utils import parsedate_to_datetime

    with translate_failures(location, ABSENT):
        answer = _client().get_object(Bucket=location.bucket, Key=location.key)
        now = parsedate_to_datetime(answer["ResponseMetadata"]["HTTPHeaders"]["date"])
        return Stamped(answer["Body"].read(), answer["ETag"], (now - answer["LastModified"]).total_seconds())
    return None


def put_if(location: S3Location, content: bytes, tag: str | None) -> str | None:
    """Write an object if it has this tag (None: if there is none). Returns the new tag; None if the condition did not
    hold."""
    condition = {"IfNoneMatch": "*"} if tag is None else {"IfMatch": tag}
    with translate_failures(location, CHANGED):
        answer = _client().put_object(Bucket=location.bucket, Key=location.key, Body=content, **condition)
        return str(answer["ETag"])
    return None


def put(location: S3Location, content: bytes) -> None:
    """Write an object, replacing any earlier one."""
    with translate_failures(location):
        _client().put_object(Bucket=location.bucket, Key=location.key, Body=content)


def copy(source: S3Location, target: S3Location) -> None:
    """Copy an object within the service."""
    with translate_failures(source):
        wanted = {"Bucket": source.bucket, "Key": source.key}
        _client().copy(wanted, target.bucket, target.key)


def delete(location: S3Location) -> None:
    """Delete an object, if it exists."""
    with translate_failures(location):
        _client().delete_object(Bucket=location.bucket, Key=location.key)


def tag_of(location: S3Location) -> str | None:
    """The object's ETag; None if there is no object."""
    with translate_failures(location, ABSENT):
        return str(_client().head_object(Bucket=location.bucket, Key=location.key)["ETag"]).strip('"')
    return None


def tags_of(locations: Sequence[S3Location]) -> list[str | None]:
    """ETags of objects of one bucket, None if there is no object. Lists their common prefix as far as that costs less
    than a request for each; asks one by one for the rest."""
    keys = sorted({location.key for location in locations})
    found: dict[str, str | None] = {}
    if len(keys) >= FEWEST:
        common = os.path.commonprefix(keys)  # noqa: RUF071 # a prefix of characters, not of path parts
        shown, wanted = listed(S3Location(f"s3://{locations[0].bucket}"), common, keys[0][:-1]), set(keys)
        for item in islice(shown, len(keys) // FEWEST * PAGE):
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
    """An object that is read piece by piece. All pieces are of one content: the content at the time of opening, or
    the one whose size and tag are `known`."""

    def __init__(self, location: S3Location, known: tuple[int, str] | None = None) -> None:
        super().__init__()
        self._location, self._at = location, 0
        if known is not None:
            self._size, self._tag = known[0], f'"{known[1]}"'
            return
        with translate_failures(location):
            found = _client().head_object(Bucket=location.bucket, Key=location.key)
        self._size, self._tag = int(found["ContentLength"]), found["ETag"]

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
        given = {"Bucket": self._location.bucket, "Key": self._location.key, "IfMatch": self._tag}
        with translate_failures(self._location):
            found = _client().get_object(Range=f"bytes={self._at}-{last}", **given)["Body"].read()
        buffer[: len(found)] = found
        self._at += len(found)
        return len(found)


def _client() -> Any:  # noqa: ANN401 # boto3 has no types
    """The boto3 client for the present settings, shared by all threads."""
    return _client_of(tuple(os.environ.get(name) for name in (*_SETTINGS, *_IDENTITY)))


@lru_cache(maxsize=8)
def _client_of(settings: tuple[str | None, ...]) -> Any:  # noqa: ANN401, ARG001 # the settings are read by boto3
    import boto3
    from botocore.config import Config

    config = Config(
        retries={"mode": "standard", "total_max_attempts": attempts()},
        connect_timeout=10,
        read_timeout=60,
        max_pool_connections=AT_ONCE,
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    session = boto3.session.Session()
    where = session.region_name or "us-east-1"
    client = session.client("s3", region_name=where, config=config)
    if _AMAZON.match(client.meta.endpoint_url):
        return client
    by_path = config.merge(Config(s3={"addressing_style": "path"}))
    return session.client("s3", region_name=where, config=by_path)
