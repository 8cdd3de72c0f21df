"""Failures of boto3 as errors for people."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from tidemark.config.address import RemoteLocation
from tidemark.errors import missing_parts_named
from tidemark.storage.object_errors import failure

ABSENT = frozenset({"404", "NoSuchKey", "NotFound"})
"""Error codes for an object that does not exist."""
CHANGED = frozenset({"412", "PreconditionFailed", "ConditionalRequestConflict"})
"""Error codes for a condition on an object's tag that does not hold."""


@contextmanager
def translate_failures(location: RemoteLocation, expected: Collection[str] = ()) -> Iterator[None]:
    """Turn failures of boto3 in the block into errors for people; a failure whose code is `expected` ends the block
    quietly.

    Raises FileNotFoundError for an object that does not exist, OSError for one that has changed.
    """
    with missing_parts_named():
        from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError

    try:
        yield
    except ClientError as error:
        code = str(error.response.get("Error", {}).get("Code", ""))
        status = str(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", ""))
        if code in expected:
            return
        raise failure(location, code or status, (code, status), absent=ABSENT, changed=CHANGED) from None
    except (BotoCoreError, HTTPClientError) as error:
        raise failure(location, type(error).__name__) from None
