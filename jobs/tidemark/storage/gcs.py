"""Objects in Google Cloud Storage, through google-cloud-storage. Tags are generations.

Credentials come from the file in GOOGLE_APPLICATION_CREDENTIALS, else from the machine; they are never stored.
STORAGE_EMULATOR_HOST is the address of a service other than Google's own.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from tidemark.config.address import RemoteLocation
from tidemark.errors import TidemarkError, missing_parts_named
from tidemark.storage.faults import Kind
from tidemark.storage.object_errors import failure, fault
from tidemark.storage.object_store import ATTEMPTS, PAGE, Found, Head, Stamped, is_commit, micros

ENDPOINT = "STORAGE_EMULATOR_HOST"
CREDENTIALS = "GOOGLE_APPLICATION_CREDENTIALS"
_SCOPE = "https://www.googleapis.com/auth/devstorage.read_write"
_GOOGLES = "https://storage.googleapis.com"
_LONGEST = 30.0 * ATTEMPTS
"""Seconds within which a request is repeated."""
_KIND = "application/octet-stream"
_MISSING: tuple[Kind, ...] = ("missing",)
_ABSENT, _CHANGED = frozenset({"404"}), frozenset({"412"})


def endpoint() -> str | None:
    """Address of the configured service; None for Google's own."""
    given = os.environ.get(ENDPOINT) or None
    return given if given is None or "://" in given else f"http://{given}"


def service_account() -> str | None:
    """The file of the service account in use; None with other credentials. Raises TidemarkError for a file that
    delta-rs cannot read."""
    file = os.environ.get(CREDENTIALS)
    if not file:
        return None
    try:
        kind = json.loads(Path(file).read_text(encoding="utf-8")).get("type")
    except (OSError, ValueError, AttributeError) as error:
        hint = f"correct {CREDENTIALS}: it names a service account's file"
        raise TidemarkError(f"credentials cannot be read: {type(error).__name__}", where=file, hint=hint) from None
    if kind not in ("service_account", "authorized_user"):
        hint = f"let {CREDENTIALS} name the file of a service account, or leave it out where the machine has one"
        raise TidemarkError(f"credentials of the kind {kind!r} cannot be used", where=file, hint=hint)
    return file if kind == "service_account" else None


def delta_options() -> dict[str, str]:
    """Storage options of delta-rs: the file of a service account, if any. delta-rs finds other credentials itself,
    and reads the address of another service from that file (`gcs_base_url`). A commit is a conditional PUT, as
    everywhere on Google Cloud Storage."""
    options = {"max_retries": str(ATTEMPTS - 1), "retry_timeout": f"{int(_LONGEST)}s"}
    file = service_account()
    return options if file is None else options | {"service_account": file}


def listed(location: RemoteLocation, below: str = "", after: str = "") -> Iterator[Found]:
    """Objects whose keys begin with the location's prefix + `below` and are greater than `after`, sorted by key, page
    by page."""
    with _failures_translated(location):
        fields = "items(name,size,timeCreated,generation),nextPageToken"
        given = {"prefix": location.prefix + below, "page_size": PAGE, "fields": fields, **_waiting()}
        for item in _client().list_blobs(location.bucket, start_offset=after or None, **given):
            if item.name != after:
                yield Found(item.name, int(item.size), micros(item.time_created), str(item.generation))


def has_commit(location: RemoteLocation) -> bool:
    """True if there is a Delta log with a commit, from one page of its listing."""
    with _failures_translated(location):
        given = {"prefix": f"{location.prefix}_delta_log/", "max_results": 100, "fields": "items(name)", **_waiting()}
        return any(is_commit(item.name) for item in _client().list_blobs(location.bucket, **given))


def read(location: RemoteLocation) -> bytes:
    """Read a whole object."""
    with _failures_translated(location):
        return bytes(_blob(location).download_as_bytes(raw_download=True, **_waiting()))


def read_stamped(location: RemoteLocation) -> Stamped | None:
    """Read a small object with its tag and age; None if there is none."""
    while True:  # once more if it is written anew between two requests
        found = _blob(location)
        with _failures_translated(location, _ABSENT):
            found.reload(**_waiting())
        if found.generation is None:
            return None
        with _failures_translated(location, _ABSENT | _CHANGED):
            given = {"raw_download": True, "if_generation_match": found.generation}
            content = bytes(found.download_as_bytes(**given, **_waiting()))
            return Stamped(content, str(found.generation), (_now(location) - found.time_created).total_seconds())


def _now(location: RemoteLocation) -> datetime:
    """The time by the service's own clock, in whole seconds."""
    asked = f"{endpoint() or _GOOGLES}/storage/v1/b/{location.bucket}?fields=name"
    answer = _waiting()["retry"](_session().get)(asked, timeout=60)
    return parsedate_to_datetime(answer.headers["Date"])


def read_range(location: RemoteLocation, tag: str, first: int, last: int) -> bytes:
    """Read the bytes from `first` to `last`, both included, of the content with this tag."""
    with _failures_translated(location):
        given = {"start": first, "end": last, "raw_download": True, "if_generation_match": int(tag)}
        return bytes(_blob(location).download_as_bytes(**given, **_waiting()))


def head(location: RemoteLocation) -> Head | None:
    """The object's size and tag; None if there is no object."""
    with _failures_translated(location, _ABSENT):
        found = _blob(location)
        found.reload(**_waiting())
        return Head(int(found.size), str(found.generation))
    return None


def put(location: RemoteLocation, content: bytes) -> None:
    """Write an object, replacing any earlier one."""
    with _failures_translated(location):
        _blob(location).upload_from_string(content, _KIND, **_waiting())


def put_if(location: RemoteLocation, content: bytes, tag: str | None) -> str | None:
    """Write an object if its present tag is `tag` (None: if there is no object). Returns the new tag; None if the
    condition did not hold."""
    with _failures_translated(location, _CHANGED):
        made = _blob(location)
        made.upload_from_string(content, _KIND, if_generation_match=int(tag or 0), **_waiting())
        return str(made.generation)
    return None


def copy(source: RemoteLocation, target: RemoteLocation) -> None:
    """Copy an object within the service."""
    with _failures_translated(source):
        made = _blob(target)
        token, _, _ = made.rewrite(_blob(source), **_waiting())
        while token:
            token, _, _ = made.rewrite(_blob(source), token=token, **_waiting())


def delete(location: RemoteLocation) -> None:
    """Delete an object, if it exists."""
    with _failures_translated(location, _ABSENT):
        _blob(location).delete(**_waiting())


def _waiting() -> dict[str, Any]:
    """Timeouts and retries of a request. Every request of this module may be repeated."""
    from google.cloud.storage.retry import DEFAULT_RETRY

    return {"timeout": (10, 60), "retry": DEFAULT_RETRY.with_timeout(_LONGEST)}


def _blob(location: RemoteLocation) -> Any:  # noqa: ANN401 # Google's own
    return _client().bucket(location.bucket).blob(location.key)


def _client() -> Any:  # noqa: ANN401 # Google's own
    """The client for the present settings, shared by all threads."""
    return _clients_of(os.environ.get(ENDPOINT), os.environ.get(CREDENTIALS))[0]


def _session() -> Any:  # noqa: ANN401 # Google's own
    """The session that makes requests with the credentials of the client."""
    return _clients_of(os.environ.get(ENDPOINT), os.environ.get(CREDENTIALS))[1]


@lru_cache(maxsize=8)
def _clients_of(address: str | None, credentials: str | None) -> tuple[Any, Any]:  # noqa: ARG001 # Google reads both
    import google.auth
    from google.auth.transport.requests import AuthorizedSession
    from google.cloud.storage import Client

    found, _ = google.auth.default(scopes=[_SCOPE])
    sessions: Any = AuthorizedSession
    return Client(project="unused", credentials=found), sessions(found)


@contextmanager
def _failures_translated(location: RemoteLocation, expected: Collection[str] = ()) -> Iterator[None]:
    """Turn failures of Google's client in the block into errors for people; a failure whose status is `expected` ends
    the block quietly, unless the bucket is missing."""
    with missing_parts_named():
        from google.api_core.exceptions import GoogleAPICallError, RetryError
        from google.auth.exceptions import GoogleAuthError
        from requests import RequestException

    try:
        yield
    except (GoogleAPICallError, RetryError) as failed:
        error = (failed.cause if isinstance(failed, RetryError) else None) or failed
        status = getattr(error, "code", None) or getattr(getattr(error, "response", None), "status_code", None)
        if status is None:
            raise failure(location, type(error).__name__) from None
        code = str(int(status))
        missing = fault("gcs", _said(error), location, _MISSING) if code in _ABSENT else None
        if missing is not None:
            raise missing from None
        if code in expected:
            return
        said = f"{type(error).__name__} status {code}"
        raise failure(location, code, [said], absent=_ABSENT, changed=_CHANGED) from None
    except (GoogleAuthError, RequestException) as error:
        raise failure(location, type(error).__name__) from None


def _said(error: Any) -> str:  # noqa: ANN401 # Google's own
    """What the service says of a failure, without the address that was asked for."""
    return str(error.errors[0].get("message", "")) if error.errors else str(error.message).rpartition(": ")[2]
