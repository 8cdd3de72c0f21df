"""Errors of object storage services: one sentence for each fault, with the bucket and what to do; never a secret.

A service's own client, Spark's file system and delta-rs word a fault differently; users get one sentence for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Iterable
from dataclasses import replace
from functools import wraps
from typing import ParamSpec, TypeVar

from tidemark.config.address import RemoteLocation
from tidemark.config.secrets import hidden
from tidemark.core.services import NAMES, Service
from tidemark.errors import Blocked, ConfigError, TidemarkError
from tidemark.storage.damaged_files import damage_of
from tidemark.storage.disk_errors import disk_fault_of
from tidemark.storage.faults import AGAIN, FAULTS, MESSAGES, OF_SERVICE, Kind

P = ParamSpec("P")
T = TypeVar("T")

_WHAT: dict[Service, str] = {"s3": "bucket", "azure": "container", "gcs": "bucket"}
_ADDRESS: dict[Service, re.Pattern[str]] = {
    "s3": re.compile(r"(s3)a?://([a-z0-9][a-z0-9.-]*[a-z0-9])"),
    "azure": re.compile(r"(abfss?)://([a-z0-9$][a-z0-9-]*@[a-z0-9.-]*[a-z0-9])"),
    "gcs": re.compile(r"(gs)://([a-z0-9][a-z0-9._-]*[a-z0-9])"),
}


def explained(verb: Callable[P, T]) -> Callable[P, T]:
    """Wrap a verb: failures caused by object storage, a disk or a damaged file become errors for people, whichever
    library met them. No error shows a value that a configuration has from the environment."""

    @wraps(verb)
    def translated(*args: P.args, **options: P.kwargs) -> T:
        try:
            return verb(*args, **options)
        except Blocked:
            raise
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
    """The error for an unforeseen failure; values from the environment that its text may contain are hidden."""
    return TidemarkError(
        f"{type(error).__name__}: {next(iter(hidden(str(error)).splitlines()), '')}",
        hint="a setting with a value from the environment is part of what failed, which is not shown whole",
    )


def known_fault(error: BaseException) -> TidemarkError | None:
    """The error for people if object storage, a disk or a damaged file caused a failure; else None."""
    return fault_of(error) or disk_fault_of(error) or damage_of(error)


def fault(
    service: Service, text: str, location: RemoteLocation | None = None, kinds: Collection[Kind] = tuple(MESSAGES)
) -> TidemarkError | None:
    """The error for people for a code or a message of a service; None if it is no known fault of these kinds."""
    for kind, (signs, hint) in FAULTS[service].items():
        if kind in kinds and signs.search(text):
            message = MESSAGES[kind].format(name=NAMES[service], what=_WHAT[service])
            bucket = f": {_WHAT[service]} {location.bucket!r}" if location else ""
            return TidemarkError(f"{message}{bucket}", where=str(location or ""), hint=hint)
    return None


def fault_of(error: BaseException) -> TidemarkError | None:
    """The error for people for a failure of Spark or delta-rs; None if no service caused it."""
    text = str(error)
    for service, signs in OF_SERVICE.items():
        if signs.search(text):
            named = _ADDRESS[service].search(text)
            found = fault(service, text, RemoteLocation(f"{named[1]}://{named[2]}") if named else None)
            if found is not None:
                return found
    return None


def failure(
    location: RemoteLocation,
    code: str,
    said: Iterable[str] = (),
    *,
    absent: Container[str] = (),
    changed: Container[str] = (),
) -> Exception:
    """The error for a failure of a service's client: FileNotFoundError if `code` is in `absent`, OSError if it is in
    `changed`, else a TidemarkError for people, chosen by the texts in `said` (default: by `code`)."""
    if code in absent:
        return FileNotFoundError(f"there is no object {location}")
    if code in changed:
        return OSError(f"object {location} has changed while it was read")
    known = (fault(location.service, text, location) for text in said or (code,))
    return next(filter(None, known), None) or other(code, location)


def other(code: str, location: RemoteLocation) -> TidemarkError:
    """The error for people for a failure that is no known fault."""
    where = f" on {_WHAT[location.service]} {location.bucket!r}"
    return TidemarkError(
        f"a request to {NAMES[location.service]}{where} failed: {code}", where=str(location), hint=AGAIN
    )
