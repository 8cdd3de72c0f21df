"""Faults of object storage services: the codes or words that show each fault, and what to do about it."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from tidemark.core.services import Service

Kind: TypeAlias = Literal[
    "missing", "no credentials", "refused", "clock", "region", "denied", "busy", "broken", "unreachable"
]
AGAIN = "run again: what was begun is finished, and nothing is done twice"

MESSAGES: dict[Kind, str] = {
    "missing": "there is no {what}",
    "no credentials": "no credentials for {name} were found",
    "refused": "{name} does not accept the credentials in force",
    "clock": "{name} refuses requests because this machine's clock is wrong",
    "region": "{name} has this {what} in another region",
    "denied": "{name} denies access",
    "busy": "{name} goes on refusing requests because there are too many",
    "broken": "{name} goes on answering with errors of its own",
    "unreachable": "{name} cannot be reached",
}


def _status(*codes: int) -> str:
    """A pattern for HTTP statuses as clients write them; it must not match numbers of lines, of tasks or in names."""
    before = r"^|[Ss]tatus(?: ?[Cc]ode)?:? ?|HTTP/[\d.]+ |\", |ResponseException: "
    return rf"(?:{before})(?:{'|'.join(map(str, codes))})\b"


_CREATE = "create it, or correct `landing` or `warehouse`"
_WAIT = f"wait, then {AGAIN}"
_NETWORK = (
    r"Connection refused|error sending request|SocketTimeout|NoRouteToHost|UnknownHost|ConnectException|dns error"
    r"|IncompleteRead|ConnectTimeout|ReadTimeout"
)

Faults: TypeAlias = dict[Kind, tuple[re.Pattern[str], str]]
"""By kind, in the order of the search: the signs of a fault, and what to do."""

_S3: Faults = {
    "missing": (
        re.compile(r"NoSuchBucket|InvalidBucketName|bucket does not exist|UnknownStoreException"),
        f"{_CREATE}; AWS_ENDPOINT_URL names a service other than Amazon's",
    ),
    "no credentials": (
        re.compile(
            r"NoCredentials|PartialCredentials|NoAuthWithAWS|CredentialsNotLoaded|Unable to load credentials"
            r"|CredentialRetrieval|ProfileNotFound|no providers in chain|Unable to locate credentials"
        ),
        "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give this machine a role",
    ),
    "refused": (
        re.compile(
            r"InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|InvalidToken|TokenRefreshRequired"
            r"|UnauthorizedSSOToken|SSOTokenLoad|Unauthenticated"
        ),
        "correct or renew them: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or the machine's role",
    ),
    "clock": (re.compile(r"RequestTimeTooSkewed"), "set the clock and run again"),
    "region": (
        re.compile(r"PermanentRedirect|AuthorizationHeaderMalformed|IllegalLocationConstraint|AWSRedirect|^301$"),
        "set AWS_REGION to the bucket's region",
    ),
    "denied": (
        re.compile(r"AccessDenied|AllAccessDisabled|PermissionDenied|InvalidObjectState|^403$|\b403 Forbidden"),
        "allow s3:ListBucket and s3:GetObject, for the warehouse s3:PutObject and s3:DeleteObject too",
    ),
    "busy": (
        re.compile(r"SlowDown|Throttl|RequestLimitExceeded|TooManyRequests|ServiceUnavailable|" + _status(503)),
        f"{_WAIT}; AWS_MAX_ATTEMPTS sets how often a request is made",
    ),
    "broken": (re.compile(r"InternalError|AWSStatus5\d\d|ServiceFailure|" + _status(500, 502, 504)), _WAIT),
    "unreachable": (
        re.compile(
            rf"EndpointConnection|ConnectionClosed|ConnectionError|SSLError|ProxyConnection|HTTPClientError"
            rf"|ResponseStreaming|Unable to execute HTTP request|{_NETWORK}"
        ),
        f"check the network and AWS_ENDPOINT_URL, then {AGAIN}",
    ),
}

_AZURE: Faults = {
    "missing": (
        re.compile(r"ContainerNotFound|FilesystemNotFound|container does not exist|filesystem does not exist"),
        _CREATE,
    ),
    "no credentials": (
        re.compile(r"CredentialUnavailable|MissingCredential|Failure in initializing|IMDS|169\.254\.169\.254"),
        "set AZURE_STORAGE_ACCOUNT_KEY, or AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET, or give this"
        " machine an identity",
    ),
    "refused": (
        re.compile(
            r"AuthenticationFailed|InvalidAuthenticationInfo|NoAuthenticationInformation|ClientAuthenticationError"
            r"|failed to authenticate|AADToken|" + _status(401)
        ),
        "correct or renew them: AZURE_STORAGE_ACCOUNT_KEY, AZURE_CLIENT_SECRET or AZURE_STORAGE_SAS_TOKEN",
    ),
    "denied": (
        re.compile(
            r"AuthorizationPermission|AuthorizationFailure|InsufficientAccountPermissions|PublicAccessNotPermitted|AccessDenied|"
            + _status(403)
        ),
        "give the identity the role Storage Blob Data Contributor (Reader is enough for a landing), and let the"
        " account's network rules admit this machine",
    ),
    "busy": (re.compile(r"ServerBusy|Throttl|TooManyRequests|" + _status(503, 429)), _WAIT),
    "broken": (re.compile(r"InternalError|OperationTimedOut|" + _status(500, 502, 504)), _WAIT),
    "unreachable": (
        re.compile(rf"ServiceRequest|ServiceResponse|SSLException|Unable to execute|{_NETWORK}"),
        f"check the network and the account's name, then {AGAIN}",
    ),
}

_GCS: Faults = {
    "missing": (re.compile(r"NoSuchBucket|bucket does not exist|specified bucket"), _CREATE),
    "no credentials": (
        re.compile(r"DefaultCredentialsError|default credentials|metadata\.google\.internal|MetadataServer"),
        "let GOOGLE_APPLICATION_CREDENTIALS name a service account's file, or give this machine a service account",
    ),
    "refused": (
        re.compile(r"Unauthorized|RefreshError|Invalid Credentials|invalid_grant|" + _status(401)),
        "correct or renew the file that GOOGLE_APPLICATION_CREDENTIALS names, or the machine's service account",
    ),
    "denied": (
        re.compile(r"Forbidden|AccessDenied|does not have storage|" + _status(403)),
        "give the service account the role Storage Object User (Storage Object Viewer is enough for a landing)",
    ),
    "busy": (
        re.compile(r"TooManyRequests|rateLimitExceeded|ServiceUnavailable|" + _status(429, 503)),
        _WAIT,
    ),
    "broken": (re.compile(r"InternalServerError|InternalError|backendError|" + _status(500, 502, 504)), _WAIT),
    "unreachable": (
        re.compile(rf"ConnectionError|TransportError|RetryError|SSLError|{_NETWORK}"),
        f"check the network, then {AGAIN}",
    ),
}

FAULTS: dict[Service, Faults] = {"s3": _S3, "azure": _AZURE, "gcs": _GCS}
OF_SERVICE: dict[Service, re.Pattern[str]] = {
    "s3": re.compile(r"s3a?://[a-z0-9]|Generic S3 error|amazonaws\.com|hadoop\.fs\.s3a|awssdk|botocore"),
    "azure": re.compile(r"abfss?://|\.(?:blob|dfs)\.core\.|Generic MicrosoftAzure error|hadoop\.fs\.azurebfs"),
    "gcs": re.compile(r"gs://[a-z0-9]|storage\.googleapis|Generic GCS error|cloud\.hadoop|hadoop\.fs\.gs"),
}
"""Words in a failure of Spark or delta-rs that show which service caused it."""
