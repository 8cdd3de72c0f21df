"""Objects on S3, through boto3: listing, tags, reading, conditional writing.

Endpoint, region, retries and credentials come from the standard AWS variables and files, and none of them is stored.
Every failure is a TidemarkError that names the bucket and says what to do (`s3_errors`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from tidemark.config.address import RemoteLocation
from tidemark.storage.object_store import AT_ONCE, ATTEMPTS, PAGE, Found, Head, Stamped, is_commit, micros
from tidemark.storage.s3_errors import ABSENT, CHANGED, translate_failures

_AMAZON = re.compile(r"https://s3[.-][^/]*amazonaws\.com(\.cn)?$")
_FOUND_BY_ALL = ("env", "iam-role", "container-role", "assume-role-with-web-identity")
"""Sources of credentials, by botocore's names, that all clients try by themselves."""
_SETTINGS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION")
_IDENTITY = ("AWS_ACCESS_KEY_ID", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_MAX_ATTEMPTS")


def endpoint() -> str | None:
    """Address of the configured S3 service; None for Amazon's own."""
    given = str(_client().meta.endpoint_url)
    return None if _AMAZON.match(given) else given


def region() -> str:
    """The region in force."""
    return str(_client().meta.region_name)


def attempts() -> int:
    """Number of attempts before a request fails."""
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
    """Credentials of a profile, in memory only, since delta-rs does not read profiles. It finds and renews other
    credentials itself."""
    found = _client()._request_signer._credentials
    if found is None or found.method in _FOUND_BY_ALL:
        return {}
    now = found.get_frozen_credentials()
    known = {"ACCESS_KEY_ID": now.access_key, "SECRET_ACCESS_KEY": now.secret_key, "SESSION_TOKEN": now.token}
    return {f"AWS_{name}": value for name, value in known.items() if value}


def listed(location: RemoteLocation, below: str = "", after: str = "") -> Iterator[Found]:
    """Objects whose keys begin with the location's prefix + `below` and are greater than `after`, sorted by key, page
    by page."""
    given: dict[str, Any] = {"Bucket": location.bucket, "Prefix": location.prefix + below, "StartAfter": after}
    with translate_failures(location):
        for page in _client().get_paginator("list_objects_v2").paginate(**given, PaginationConfig={"PageSize": PAGE}):
            for item in page.get("Contents", ()):
                yield Found(item["Key"], item["Size"], micros(item["LastModified"]), _tag(item["ETag"]))


def has_commit(location: RemoteLocation) -> bool:
    """True if there is a Delta log with a commit, from one page of its listing."""
    given = {"Bucket": location.bucket, "Prefix": f"{location.prefix}_delta_log/", "MaxKeys": 100}
    with translate_failures(location):
        found = _client().list_objects_v2(**given).get("Contents", ())
        return any(is_commit(item["Key"]) for item in found)


def read(location: RemoteLocation) -> bytes:
    """Read a whole object."""
    with translate_failures(location):
        return bytes(_client().get_object(Bucket=location.bucket, Key=location.key)["Body"].read())


def read_stamped(location: RemoteLocation) -> Stamped | None:
    """Read a small object with its tag and age; None if there is none."""
    from email.utils import parsedate_to_datetime

    with translate_failures(location, ABSENT):
        answer = _client().get_object(Bucket=location.bucket, Key=location.key)
        now = parsedate_to_datetime(answer["ResponseMetadata"]["HTTPHeaders"]["date"])
        tag = _tag(answer["ETag"])
        return Stamped(answer["Body"].read(), tag, (now - answer["LastModified"]).total_seconds())
    return None


def read_range(location: RemoteLocation, tag: str, first: int, last: int) -> bytes:
    """Read the bytes from `first` to `last`, both included, of the content with this tag."""
    given = {"Bucket": location.bucket, "Key": location.key, "IfMatch": _quoted(tag)}
    with translate_failures(location):
        return bytes(_client().get_object(Range=f"bytes={first}-{last}", **given)["Body"].read())


def put_if(location: RemoteLocation, content: bytes, tag: str | None) -> str | None:
    """Write an object if its present tag is `tag` (None: if there is no object). Returns the new tag; None if the
    condition did not hold."""
    condition = {"IfNoneMatch": "*"} if tag is None else {"IfMatch": _quoted(tag)}
    with translate_failures(location, CHANGED):
        answer = _client().put_object(Bucket=location.bucket, Key=location.key, Body=content, **condition)
        return _tag(answer["ETag"])
    return None


def put(location: RemoteLocation, content: bytes) -> None:
    """Write an object, replacing any earlier one."""
    with translate_failures(location):
        _client().put_object(Bucket=location.bucket, Key=location.key, Body=content)


def copy(source: RemoteLocation, target: RemoteLocation) -> None:
    """Copy an object within the service."""
    with translate_failures(source):
        wanted = {"Bucket": source.bucket, "Key": source.key}
        _client().copy(wanted, target.bucket, target.key)


def delete(location: RemoteLocation) -> None:
    """Delete an object, if it exists."""
    with translate_failures(location):
        _client().delete_object(Bucket=location.bucket, Key=location.key)


def head(location: RemoteLocation) -> Head | None:
    """The object's size and tag; None if there is no object."""
    with translate_failures(location, ABSENT):
        found = _client().head_object(Bucket=location.bucket, Key=location.key)
        return Head(int(found["ContentLength"]), _tag(found["ETag"]))
    return None


def _tag(etag: str) -> str:
    """A tag without its quotes; a weak one, `W/"x"`, has them inside."""
    return etag[1:-1] if etag.startswith('"') else etag


def _quoted(tag: str) -> str:
    return tag if '"' in tag else f'"{tag}"'


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
