"""Conditions on rows, taken by the reading commands, and their checks."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeAlias, TypedDict, TypeVar, get_type_hints

from tidemark.arguments import known_names, number, texts
from tidemark.arguments import partition as name_of_partition
from tidemark.core.times import from_datetime, parse_moment
from tidemark.errors import UsageError

Moment: TypeAlias = str | int | datetime | None
"""A time as callers give it: text that `instant` reads, microseconds UTC, a datetime with its zone, or None: no
bound."""

V = TypeVar("V", bound=Callable[..., Any])


class Filters(TypedDict, total=False):
    """Conditions on rows; all given ones must hold. Times are times of arrival: ISO 8601 with an offset, a date, an
    age such as `2d`, a datetime with its zone, or microseconds UTC."""

    source: str | None
    fate: str | None
    reason: str | None
    partition: str | int | None
    since: Moment
    until: Moment
    batch: int | None
    dead_letters: str | None


def instant(value: Moment, now: int) -> int | None:
    """A given time in microseconds UTC; ages are counted back from `now`. Raises UsageError for other values."""
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise UsageError(f"{value!r} has no zone", hint="give it one: value.replace(tzinfo=datetime.UTC)")
        return from_datetime(value)
    if value is not None and (isinstance(value, bool) or not isinstance(value, str | int)):
        hint = (
            "give text: ISO 8601 with an offset, a date, or an age such as 2d; or microseconds UTC as a whole number"
        )
        raise UsageError(f"{value!r} is not a time", hint=hint)
    try:
        return parse_moment(value, now) if isinstance(value, str) else value
    except ValueError as error:
        raise UsageError(str(error)) from error


def instants(now: int, *values: Moment) -> list[int | None]:
    """Given times in microseconds UTC, as `instant` reads them; all ages are counted back from one time."""
    return [instant(value, now) for value in values]


def filters_shown(verb: V) -> V:
    """Show each filter in the signature of a verb that takes `**filters`, for `help` and editors."""
    shown: Any = verb
    signature = inspect.signature(verb)
    own = [each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
    filters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in get_type_hints(Filters).items()
    ]
    shown.__signature__ = signature.replace(parameters=[*own, *filters])
    return verb


def checked_filters(verb: str, filters: Filters) -> Filters:
    """Filters with the partition as text. Raises UsageError for an unknown filter or an impossible value."""
    known_names(verb, filters, ["limit", *["by"] * (verb == "rows"), *Filters.__annotations__])
    found = Filters(**filters)
    if filters.get("partition") is not None:
        found["partition"] = name_of_partition(filters["partition"])
    if filters.get("dead_letters") is not None:
        (found["dead_letters"],) = texts("dead_letters", [filters["dead_letters"]], "hourly")
    if filters.get("batch") is not None:
        found["batch"] = number("batch", filters["batch"], 1)
    return found
