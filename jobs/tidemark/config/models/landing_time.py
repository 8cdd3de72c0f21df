"""Reads the landing time of an object from its name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cached_property

from pydantic import Field, field_validator

from tidemark.config.models.fields import Duration, Settings
from tidemark.core.times import MAX_TIME, MILLISECOND, from_datetime

_LETTERS: Mapping[str, tuple[str, int | str]] = {
    "yyyy": ("year", 4), "MM": ("month", 2), "dd": ("day", 2), "HH": ("hour", 2), "H": ("hour", "1,2"),
    "mm": ("minute", 2), "ss": ("second", 2), "SSS": ("millisecond", 3), "SSSSSS": ("microsecond", 6),
}  # fmt: skip
_ORDER = {"year": 0, "month": 1, "day": 1, "hour": 0, "minute": 0, "second": 0}
"""Parts of a time, coarsest first, with the value of a part that is left out."""
_PIECE = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+|(')")


def one_group(pattern: str) -> str:
    """`pattern`, if it is a regular expression with exactly one group. Raises ValueError."""
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise ValueError(f"{pattern!r} is not a regular expression: {error}") from None
    if groups != 1:
        raise ValueError(f"{pattern!r} has {groups} groups: put one pair of ( ) around the part that is wanted")
    return pattern


class LandedAtSpec(Settings):
    """`landed_at`: what `path` finds in an object's URI, read as `format` in UTC, plus `plus`."""

    path: str = Field(description="Regular expression with one group, searched in the object's URI")
    format: str = Field(description="Java letters yyyy MM dd HH H mm ss SSS and literals, such as yyyy-MM-dd")
    plus: Duration = Field(0, description="Added to the time found, such as 1d for a file a day")

    @field_validator("path")
    @classmethod
    def _path(cls, value: str) -> str:
        return one_group(value)

    @field_validator("format")
    @classmethod
    def _format(cls, value: str) -> str:
        _format_pattern(value)
        return value

    def landing_time(self, uri: str) -> int | None:
        """Microseconds since the epoch, UTC; None if the name has no such time or if it is after the year 9999."""
        found = self._path_pattern.search(uri)
        match = self._time_pattern.fullmatch(found[1]) if found and found[1] is not None else None
        if match is None:
            return None
        parts = {name: int(digits) for name, digits in match.groupdict().items()}
        year, month, day, hour, minute, second = (parts.get(name, least) for name, least in _ORDER.items())
        micros = parts.get("millisecond", 0) * MILLISECOND + parts.get("microsecond", 0)
        try:
            start = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
            time = from_datetime(start + timedelta(microseconds=micros)) + self.plus
        except (ValueError, OverflowError):
            return None
        return time if time <= MAX_TIME else None

    @cached_property
    def _path_pattern(self) -> re.Pattern[str]:
        return re.compile(self.path)

    @cached_property
    def _time_pattern(self) -> re.Pattern[str]:
        return _format_pattern(self.format)


def _format_pattern(text: str) -> re.Pattern[str]:
    """Pattern of the digits that a format describes, as named groups."""
    pattern, fields = "", []
    for piece in _PIECE.finditer(text):
        literal, letter, stray = piece.groups()
        if stray:
            raise ValueError(f"{text!r} has a ' without its partner")
        if letter:
            name, digits = _letters(text, piece[0])
            fields.append(name)
            pattern += f"(?P<{name}>[0-9]{{{digits}}})"
        else:
            pattern += re.escape(piece[0] if literal is None else literal.replace("''", "'") or "'")
    _check_fields(text, fields)
    return re.compile(pattern)


def _letters(text: str, letters: str) -> tuple[str, int | str]:
    if letters not in _LETTERS:
        raise ValueError(
            f"{text!r}: {letters!r} is not known: there are {', '.join(_LETTERS)}; put other letters"
            " in quotes, such as yyyy-MM-dd'T'HH"
        )
    return _LETTERS[letters]


def _check_fields(text: str, fields: list[str]) -> None:
    if len(set(fields)) < len(fields):
        raise ValueError(f"{text!r} has the same part of a time twice")
    whole = [name for name in fields if name in _ORDER]
    wanted = list(_ORDER)[: len(whole)]
    if not whole or sorted(whole) != sorted(wanted) or (len(fields) > len(whole) and len(whole) < len(_ORDER)):
        raise ValueError(
            f"{text!r} is not a whole time: start with yyyy and leave nothing out, such as yyyy-MM-dd HH"
        )
