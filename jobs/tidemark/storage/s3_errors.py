"""Errors of S3, in one sentence a fault: the bucket, and what to do; never a secret.

boto3, Spark's s3a and delta-rs word a fault differently; users get one sentence for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from typing import NamedTuple, ParamSpec, TypeVar

from tidemark.config.address import S3Location
from tidemark.config.secrets import hidden
from tidemark.errors import ConfigError, TidemarkError, missing_parts_named
from tidemark.storage.damaged_files import damage_of
from tidemark.storage.disk_errors import disk_fault_of

P = ParamSpec("P")
T = TypeVar("T")

ABSENT = frozenset({"404", "NoSuchKey", "NotFound"})
"""Error codes for an object that does not exist."""
CHANGED = frozenset({"412", "PreconditionFailed", "ConditionalRequestConflict"})
"""Error codes for a condition on an object's tag that does not hold."""

_AGAIN = "run again: what was begun is finished, and nothing is done twice"


class _S3Fault(NamedTuple):
    signs: re.Pattern[str]
    message: str
    hint: str


_FAULTS = (
    _S3Fault(
        re.compile(r"NoSuchBucket|InvalidBucketName|bucket does not exist|UnknownStoreException"),
        "there is no bucket{bucket}",
        "create it, or correct `landing` or `warehouse`; AWS_ENDPOINT_URL names a service other than Amazon's",
    ),
    _S3Fault(
        re.compile(
            r"NoCredentials|PartialCredentials|NoAuthWithAWS|CredentialsNotLoaded|Unable to load credentials"
            r"|CredentialRetrieval|ProfileNotFound|no providers in chain|Unable to locate credentials"
        ),
        "no credentials for S3 were found{bucket}",
        "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give this machine a role",
    ),
    _S3Fault(
        re.compile(
            r"InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|InvalidToken|TokenRefreshRequired"
            r"|UnauthorizedSSOToken|SSOTokenLoad|Unauthenticated"
        ),
        "S3 does not accept the credentials in force{bucket}",
        "correct or renew them: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or the machine's role",
    ),
    _S3Fault(
        re.compile(r"RequestTimeTooSkewed"),
        "S3 refuses requests because this machine's clock is wrong{bucket}",
        "set the clock and run again",
    ),
    _S3Fault(
        re.compile(r"PermanentRedirect|AuthorizationHeaderMalformed|IllegalLocationConstraint|AWSRedirect|^301$"),
        "S3 has this bucket in another region{bucket}",
        "set AWS_REGION to the bucket's region",
    ),
    _S3Fault(
        re.compile(r"AccessDenied|AllAccessDisabled|PermissionDenied|InvalidObjectState|^403$|\b403 Forbidden"),
        "S3 denies access{bucket}",
        "allow s3:ListBucket and s3:GetObject, for the warehouse s3:PutObject and s3:DeleteObject too",
    ),
    _S3Fault(
        re.compile(r"SlowDown|Throttl|RequestLimitExceeded|TooManyRequests|\b503\b|ServiceUnavailable"),
        "S3 goes on refusing requests because there are too many{bucket}",
        f"wait, then {_AGAIN}; AWS_MAX_ATTEMPTS sets how often a request is made",
    ),
    _S3Fault(
        re.compile(r"InternalError|AWSStatus5\d\d|\b50[024]\b|ServiceFailure"),
        "S3 goes on answering with errors of its own{bucket}",
        f"wait, then {_AGAIN}",
    ),
    _S3Fault(
        re.compile(
            r"EndpointConnection|ConnectTimeout|ReadTimeout|ConnectionClosed|ConnectionError|SSLError|ProxyConnection"
            r"|UnknownHost|ConnectException|Connection refused|Unable to execute HTTP request|error sending request"
            r"|SocketTimeout|NoRouteToHost|ResponseStreaming|IncompleteRead|dns error|HTTPClientError"
        ),
        "S3 cannot be reached{bucket}",
        f"check the network and AWS_ENDPOINT_URL, then {_AGAIN}",
    ),
)
_OF_S3 = re.compile(r"s3a?://([a-z0-9][a-z0-9.-]*)|Generic S3 error|hadoop\.fs\.s3a|awssdk|botocore")


@contextmanager
def translate_failures(location: S3Location, expected: Collection[str] = ()) -> Iterator[None]:
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
        if code in ABSENT:
            raise FileNotFoundError(f"there is no object {location}") from None
        if code in CHANGED:
            raise OSError(f"object {location} has changed while it was read") from None
        raise (fault(code, location) or fault(status, location) or _other(code or status, location)) from None
    except (BotoCoreError, HTTPClientError) as error:
        name = type(error).__name__
        raise (fault(name, location) or _other(name, location)) from None


def explained(verb: Callable[P, T]) -> Callable[P, T]:
    """Wrap a verb: failures caused by S3, a disk or a damaged file become errors for people, whichever library met
    them. No error shows a value that a configuration has from the environment."""

    @wraps(verb)
    def translated(*args: P.args, **options: P.kwargs) -> T:
        try:
            return verb(*args, **options)
        except TidemarkError as error:
            error.message, error.hint = hidden(error.message), hidden(error.hint)
            error.args = tuple(hidden(each) if isinstance(each, str) else each for each in error.args)
            if isinstance(error, ConfigError):
                error.problems = [replace(each, message=hidden(each.message)) for each in error.problems]
            raise
        except Exception as error:
            found = known_fault(error)
            if found is None and (text := str(error)) == hidden(text):
                raise
            raise (found or _without_values(error)) from (None if found is None else error)

    return translated


def _without_values(error: Exception) -> TidemarkError:
    """An unforeseen error, in words without values from the environment, which its own text and cause may contain."""
    return TidemarkError(
        f"{type(error).__name__}: {next(iter(hidden(str(error)).splitlines()), '')}",
        hint="a setting with a value from the environment is part of what failed, which is not shown whole",
    )


def known_fault(error: BaseException) -> TidemarkError | None:
    """The error for people if S3, a disk or a damaged file caused a failure; else None."""
    return fault_of(error) or disk_fault_of(error) or damage_of(error)


def fault(text: str, location: S3Location | None = None) -> TidemarkError | None:
    """The error for people for a code or a message of S3; None if it is no known fault of S3."""
    bucket = f": bucket {location.bucket!r}" if location else ""
    for known in _FAULTS:
        if known.signs.search(text):
            return TidemarkError(known.message.format(bucket=bucket), where=str(location or ""), hint=known.hint)
    return None


def fault_of(error: BaseException) -> TidemarkError | None:
    """The error for people for a failure of Spark or delta-rs; None if S3 did not cause it."""
    text = str(error)
    found = _OF_S3.search(text)
    if found is None:
        return None
    named = re.search(r"s3a?://([a-z0-9][a-z0-9.-]*[a-z0-9])", text)
    return fault(text, S3Location(f"s3://{named[1]}") if named else None)


def _other(code: str, location: S3Location | None) -> TidemarkError:
    where = f" on bucket {location.bucket!r}" if location else ""
    return TidemarkError(f"a request to S3{where} failed: {code}", where=str(location or ""), hint=_AGAIN)
