"""Objects in Azure Storage, through azure-storage-blob. Folders of a hierarchical namespace are left out of listings.

Credentials come from the environment, as delta-rs finds them too, and none of them is stored: an account key, a
shared access signature, a client's secret or federated token, else the machine's identity. AZURE_STORAGE_ENDPOINT
names another service than Azure's own.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any

from tidemark.config.address import RemoteLocation
from tidemark.errors import TidemarkError, first_line, missing_parts_named
from tidemark.storage.object_errors import failure, other
from tidemark.storage.object_store import ATTEMPTS, PAGE, Found, Head, Stamped, is_commit, micros

ENDPOINT, _AUTHORITY = "AZURE_STORAGE_ENDPOINT", "AZURE_AUTHORITY_HOST"
_KEYS = ("AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_ACCESS_KEY")
_SIGNATURES = ("AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_SAS_KEY")
_IDENTITY = ("AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "AZURE_FEDERATED_TOKEN_FILE")
_ABSENT = frozenset({"BlobNotFound", "PathNotFound", "ResourceNotFound"})
_CHANGED = frozenset({"ConditionNotMet", "BlobAlreadyExists", "BlobModifiedWhileReading"})
_COPYING = 0.2
"""Seconds between two looks at a copy that the service is still making."""


def account_key() -> str | None:
    """The account's key; None if the environment has none."""
    return _first(_KEYS)


def signature() -> str | None:
    """The shared access signature; None if the environment has none."""
    found = _first(_SIGNATURES)
    return None if found is None else found.removeprefix("?")


def identity() -> tuple[str | None, ...]:
    """Tenant, client, its secret and the file of its federated token; None for what the environment does not have."""
    return tuple(os.environ.get(name) or None for name in _IDENTITY)


def authority() -> str:
    """Address of the service that issues tokens."""
    host = os.environ.get(_AUTHORITY) or "login.microsoftonline.com"
    return host.rstrip("/") if host.startswith("https://") else f"https://{host.rstrip('/')}"


def delta_options() -> dict[str, str]:
    """Storage options of delta-rs, which finds credentials itself. A commit is a conditional PUT, as everywhere on
    Azure."""
    options = {"max_retries": str(ATTEMPTS - 1), "retry_timeout": f"{30 * ATTEMPTS}s"}
    if os.environ.get(ENDPOINT, "").startswith("http://"):
        options["allow_http"] = "true"
    if os.environ.get(_AUTHORITY):
        options["azure_authority_host"] = authority()  # with its scheme, without which delta-rs ends
    return options


def listed(location: RemoteLocation, below: str = "", after: str = "") -> Iterator[Found]:
    """Objects whose keys begin with the location's prefix + `below` and are greater than `after`, sorted by key, page
    by page. Folders of a hierarchical namespace are no objects."""
    with _failures_translated(location):
        found = _container(location).list_blobs(
            name_starts_with=location.prefix + below, include=["metadata"], results_per_page=PAGE
        )
        for item in found:
            folder = {name.lower(): value for name, value in (item.metadata or {}).items()}.get("hdi_isfolder")
            if folder != "true" and item.name > after:
                yield Found(item.name, int(item.size), micros(item.last_modified), _tag(item.etag))


def has_commit(location: RemoteLocation) -> bool:
    """True if there is a Delta log with a commit, from one page of its listing."""
    with _failures_translated(location):
        found = _container(location).list_blobs(
            name_starts_with=f"{location.prefix}_delta_log/", results_per_page=100
        )
        return any(is_commit(item.name) for item in next(found.by_page(), ()))


def read(location: RemoteLocation) -> bytes:
    """Read a whole object."""
    with _failures_translated(location):
        return bytes(_blob(location).download_blob(decompress=False).readall())


def read_stamped(location: RemoteLocation) -> Stamped | None:
    """Read a small object with its tag and age; None if there is none."""
    dates: list[str] = []
    with _failures_translated(location, _ABSENT):
        found = _blob(location).download_blob(
            decompress=False, raw_response_hook=lambda answer: dates.append(answer.http_response.headers["Date"])
        )
        age = parsedate_to_datetime(dates[0]) - found.properties.last_modified
        return Stamped(found.readall(), _tag(found.properties.etag), age.total_seconds())
    return None


def read_range(location: RemoteLocation, tag: str, first: int, last: int) -> bytes:
    """Read the bytes from `first` to `last`, both included, of the content with this tag."""
    with _failures_translated(location):
        given = {"decompress": False, **_if_tag(tag)}
        return bytes(_blob(location).download_blob(first, last - first + 1, **given).readall())


def head(location: RemoteLocation) -> Head | None:
    """The object's size and tag; None if there is no object."""
    with _failures_translated(location, _ABSENT):
        found = _blob(location).get_blob_properties()
        return Head(int(found.size), _tag(found.etag))
    return None


def put(location: RemoteLocation, content: bytes) -> None:
    """Write an object, replacing any earlier one."""
    with _failures_translated(location):
        _blob(location).upload_blob(content, overwrite=True)


def put_if(location: RemoteLocation, content: bytes, tag: str | None) -> str | None:
    """Write an object if its present tag is `tag` (None: if there is no object). Returns the new tag; None if the
    condition did not hold."""
    condition = {"overwrite": False} if tag is None else {"overwrite": True, **_if_tag(tag)}
    with _failures_translated(location, _CHANGED):
        return _tag(_blob(location).upload_blob(content, **condition)["etag"])
    return None


def copy(source: RemoteLocation, target: RemoteLocation) -> None:
    """Copy an object within the account."""
    with _failures_translated(source):
        made = _blob(target)
        signed = "" if account_key() or not signature() else f"?{signature()}"
        status = made.start_copy_from_url(f"{_blob(source).url}{signed}")["copy_status"]
        while status == "pending":
            time.sleep(_COPYING)
            status = made.get_blob_properties().copy.status
        if status != "success":
            raise other(f"a copy to {target} ended as {status}", source)


def delete(location: RemoteLocation) -> None:
    """Delete an object, if it exists."""
    with _failures_translated(location, _ABSENT):
        _blob(location).delete_blob()


def _first(names: Collection[str]) -> str | None:
    return next((value for name in names if (value := os.environ.get(name))), None)


def _tag(etag: str) -> str:
    return etag.strip('"')


def _if_tag(tag: str) -> dict[str, Any]:
    from azure.core import MatchConditions

    return {"etag": f'"{tag}"', "match_condition": MatchConditions.IfNotModified}


def _blob(location: RemoteLocation) -> Any:  # noqa: ANN401 # azure's own
    return _container(location).get_blob_client(location.key)


def _container(location: RemoteLocation) -> Any:  # noqa: ANN401 # azure's own
    """The client of a container for the present settings, shared by all threads."""
    settings = tuple(os.environ.get(name) for name in (ENDPOINT, _AUTHORITY, *_KEYS, *_SIGNATURES, *_IDENTITY))
    return _container_of(location.bucket, settings)


@lru_cache(maxsize=8)
def _container_of(bucket: str, settings: tuple[str | None, ...]) -> Any:  # noqa: ANN401, ARG001 # read from there
    from azure.storage.blob import ContainerClient

    container, _, host = bucket.partition("@")
    url = os.environ.get(ENDPOINT) or f"https://{host.replace('.dfs.', '.blob.', 1)}"
    logging.getLogger("azure.core.pipeline.policies.http_logging_policy").setLevel(logging.WARNING)
    waiting: dict[str, Any] = {"retry_total": ATTEMPTS - 1, "connection_timeout": 10, "read_timeout": 60}
    return ContainerClient(url, container, credential=_credential(), **waiting)


def _credential() -> Any:  # noqa: ANN401 # azure's own
    if key := account_key():
        return key
    if signed := signature():
        from azure.core.credentials import AzureSasCredential

        return AzureSasCredential(signed)
    from azure.identity import ClientSecretCredential, ManagedIdentityCredential, WorkloadIdentityCredential

    tenant, client, secret, token_file = identity()
    try:
        if tenant and client and secret:
            return ClientSecretCredential(tenant, client, secret)
        if token_file:
            return WorkloadIdentityCredential()
        return ManagedIdentityCredential(client_id=client) if client else ManagedIdentityCredential()
    except ValueError as error:
        hint = f"correct {', '.join(_IDENTITY)} or {_AUTHORITY}"
        raise TidemarkError(
            f"credentials for Azure Storage are not complete: {first_line(error)}", hint=hint
        ) from None


@contextmanager
def _failures_translated(location: RemoteLocation, expected: Collection[str] = ()) -> Iterator[None]:
    """Turn failures of Azure's client in the block into errors for people; a failure whose code is `expected` ends
    the block quietly."""
    with missing_parts_named():
        from azure.core.exceptions import AzureError, HttpResponseError
        from azure.storage.blob import StorageErrorCode

    try:
        yield
    except HttpResponseError as error:
        given = getattr(error, "error_code", None) or error.status_code or type(error).__name__
        code = str(given.value if isinstance(given, StorageErrorCode) else given)
        if code in expected:
            return
        said = f"{code} status {error.status_code or ''} {type(error).__name__} {first_line(error)}"
        raise failure(location, code, [said], absent=_ABSENT, changed=_CHANGED) from None
    except AzureError as error:
        raise failure(location, type(error).__name__) from None
