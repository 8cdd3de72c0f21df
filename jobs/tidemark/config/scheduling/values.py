"""Reads values of keys that only a scheduler uses. Functions raise TypeError or ValueError with what is allowed."""

from __future__ import annotations

from datetime import datetime, timedelta
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tidemark.core.times import parse_duration


class KeyProblem(ValueError):
    """A wrong value of a key below the one that is read; `key` is its path from there."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(f"{key}: {message}")
        self.key, self.message = key, message


def text(value: object) -> str:
    """Read a text that is not empty."""
    if not isinstance(value, str) or not value:
        raise ValueError("must be a text")
    return value


def texts(value: object) -> tuple[str, ...]:
    """Read a list of texts."""
    if not isinstance(value, list):
        raise TypeError("must be a list of texts")
    return tuple(map(text, value))


def count(value: object) -> int:
    """Read a whole number that is not negative."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("must be a whole number, 0 or more")
    return value


def flag(value: object) -> bool:
    """Read true or false."""
    if not isinstance(value, bool):
        raise TypeError("must be true or false")
    return value


def delay(value: object) -> timedelta:
    """Read a duration."""
    return timedelta(microseconds=parse_duration(text(value)))


def date(value: object) -> datetime:
    """Read a date or a time; without an offset it has no time zone."""
    return datetime.fromisoformat(str(value))


def zone(value: object) -> ZoneInfo:
    """Read the name of a time zone."""
    try:
        return ZoneInfo(text(value))
    except (ZoneInfoNotFoundError, OSError) as error:
        raise ValueError("must be a time zone by its name, such as Europe/Amsterdam") from error


def multiplier(value: object) -> float:
    """Read the factor by which each delay of a retry is longer than the one before: true is 2, false none (0)."""
    if isinstance(value, bool):
        return 2.0 if value else 0.0
    if not isinstance(value, int | float) or value < 1:
        raise ValueError("must be true, false, or a factor of at least 1")
    return float(value)


def address(value: object) -> str:
    """Read an address that a page can link to."""
    found = text(value)
    if urlsplit(found).scheme not in ("http", "https", "mailto"):
        raise ValueError("must begin with https://, http:// or mailto:")
    return found
