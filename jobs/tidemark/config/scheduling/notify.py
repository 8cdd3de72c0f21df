"""Keys of `airflow` that ask for messages: whom they go to, and after how long."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from tidemark.core.times import parse_duration

Recipient = str | Mapping[str, Any]
"""The id of an Airflow connection, or a notifier's class with its arguments."""
NOTIFIER_CLASS = "class"
"""Key of such a mapping: the full name of the class. The other keys are arguments."""


def recipients(value: object) -> tuple[Recipient, ...]:
    """Return a list of recipients. Raises TypeError and ValueError for anything else."""
    if not isinstance(value, list):
        raise TypeError("must be a list of connection ids, and of mappings with a notifier's class and its arguments")
    return tuple(map(_recipient, value))


def _recipient(value: object) -> Recipient:
    if isinstance(value, str) and value:
        return value
    if not isinstance(value, Mapping):
        raise TypeError("must have connection ids and mappings")
    named = value.get(NOTIFIER_CLASS)
    if not isinstance(named, str) or "." not in named.strip("."):
        raise ValueError(f"a mapping must have the full name of a notifier's class as {NOTIFIER_CLASS!r}")
    return dict(value)


def span(value: object) -> timedelta:
    """Return a duration longer than 0."""
    if not isinstance(value, str):
        raise TypeError("must be a duration, such as 1h")
    if (micros := parse_duration(value)) <= 0:
        raise ValueError("must be longer than 0")
    return timedelta(microseconds=micros)
