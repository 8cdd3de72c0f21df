"""Instants, durations and sizes as exact integers, and the texts people write for them.

An instant is int microseconds since 1970-01-01T00:00:00Z, a duration int microseconds. Nothing here
rounds: a text that does not name a whole number of microseconds is refused.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

TICK = 1
MILLISECOND = 1_000
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

MIN_TIME = -62_135_596_800 * SECOND
"""0001-01-01T00:00:00Z."""
MAX_TIME = 253_402_300_800 * SECOND - TICK
"""The last microsecond of the year 9999."""

_UNITS = {"d": DAY, "h": HOUR, "m": MINUTE, "s": SECOND, "ms": MILLISECOND, "us": TICK}
_SIZES: dict[str, int] = {"B": 1} | {
    f"{prefix}{suffix}": base ** (power + 1)
    for suffix, base in (("iB", 1024), ("B", 1000))
    for power, prefix in enumerate("KMGT")
}
DURATION_PATTERN = "(?=[0-9])" + "".join(f"(?:[0-9]+{unit})?" for unit in _UNITS)
"""A duration without its sign: each unit once at most, the largest first."""
_DURATION = re.compile(f"(-?)({DURATION_PATTERN})")
_PART = re.compile(r"([0-9]+)([a-z]+)")
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_SIZE = re.compile(r"([0-9]+) ?([KMGT]?i?B)", re.IGNORECASE)
_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2})"
    r"(:[0-9]{2})?(\.[0-9]+)?(Z|z|[+-][0-9]{2}:?[0-9]{2})?"
)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_duration(text: str, *, signed: bool = False) -> int:
    """Microseconds named by `1us`, `250ms`, `5s`, `2m`, `1h` or `3d`, or by several of them, the largest unit first:
    `2h10m`. Negative only if `signed`, and then as a whole.

    Raises ValueError for anything else, and for a duration longer than all of time (9999 years).
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(
            f"{text!r} is not a duration: write a whole number and one of us, ms, s, m, h, d, such as 250ms, "
            "or several, the largest unit first, such as 2h10m"
        )
    if match[1] and not signed:
        raise ValueError(f"{text!r} is negative: this duration must be zero or more, such as 5s")
    parts = [(digits, _UNITS[unit]) for digits, unit in _PART.findall(match[2])]
    too_long = any(len(digits) > 20 for digits, _ in parts)
    micros = MAX_TIME - MIN_TIME + 1 if too_long else sum(int(digits) * unit for digits, unit in parts)
    if micros > MAX_TIME - MIN_TIME:
        raise ValueError(f"{text!r} is longer than 9999 years")
    return -micros if match[1] else micros


def format_duration(micros: int) -> str:
    """The text `parse_duration` reads back, in all units that are not zero, the largest first, such as `2h10m`; 0 is
    `0s`."""
    parts, rest = ["-"] if micros < 0 else [], abs(micros)
    for unit, size in _UNITS.items():
        count, rest = divmod(rest, size)
        parts += [f"{count}{unit}"] if count else []
    return "".join(parts) or "0s"


def recorded_duration(micros: int) -> str:
    """The text `parse_duration` reads back, in the largest unit that divides `micros`, such as `130m`; 0 is `0s`.

    Recorded configurations and findings have durations so: fingerprints and digests depend on every character.
    """
    if micros == 0:
        return "0s"
    unit = next(unit for unit, size in _UNITS.items() if micros % size == 0)
    return f"{micros // _UNITS[unit]}{unit}"


def parse_time(text: str) -> int:
    """The instant named by an ISO 8601 text with `Z` or an offset, such as `2026-01-01T00:00:00Z`.

    Raises ValueError for a text without offset, more than six digits of a second, and years outside 1-9999.
    """
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a time: write it like 2026-01-01T00:00:00Z")
    day, minute, second, fraction, offset = match.groups()
    if offset is None:
        raise ValueError(f"{text!r} has no offset: end it with Z (UTC) or an offset such as +02:00")
    if fraction and (len(fraction) > 7 or not second):
        raise ValueError(f"{text!r} has a fraction that is not a number of microseconds: at most six digits")
    try:
        local = datetime.fromisoformat(f"{day}T{minute}{second or ':00'}Z")
    except ValueError as error:
        raise ValueError(f"{text!r} is not a time: {error}") from None
    micros = from_datetime(local) + int((fraction or ".0")[1:].ljust(6, "0"))
    return _in_range(micros - _offset(offset, text), text)


def parse_moment(text: str, now: int) -> int:
    """The instant that a person names at `now`: a date (its midnight UTC), an age (`2d`, back from `now`), or a text
    that `parse_time` reads.

    Raises ValueError for anything else, a time of day without an offset too.
    """
    if age := _DURATION.fullmatch(text):
        if age[1]:
            raise ValueError(f"{text!r} is negative: an age counts back from now, such as {age[2]}")
        return _in_range(now - parse_duration(text), text)
    if DATE.fullmatch(text):
        return parse_time(f"{text}T00:00:00Z")
    try:
        return parse_time(text)
    except ValueError as error:
        if _TIME.fullmatch(text):
            raise
        raise ValueError(
            f"{error}, a date like 2026-01-01 (midnight UTC), or an age like 2d (back from now)"
        ) from None


def within_years(micros: int) -> int:
    """The time as tables and texts show it: one beyond the years 1 to 9999, which few readers can hold, is set to
    their bound."""
    return min(max(micros, MIN_TIME), MAX_TIME)


def format_time(micros: int) -> str:
    """ISO 8601 in UTC with `Z`; six digits of a second only where it has a fraction.

    Raises ValueError outside the years 1-9999.
    """
    return (EPOCH + timedelta(microseconds=_in_range(micros, f"{micros} us"))).isoformat()[:-6] + "Z"


def parse_size(text: str) -> int:
    """Bytes named by a whole number and B, KB, MB, GB, TB (1000) or KiB, MiB, GiB, TiB (1024)."""
    match = _SIZE.fullmatch(text)
    if match is None or len(match[1]) > 20:
        raise ValueError(
            f"{text!r} is not a size: write a whole number and one of B, KB, MB, GB, TB, KiB, MiB, GiB, TiB, "
            "such as 256MiB"
        )
    return int(match[1]) * _SIZES[match[2].upper().replace("I", "i")]


def format_size(size: int) -> str:
    """The text `parse_size` reads back, in the largest binary unit that divides `size`."""
    unit = next(
        unit for unit in ("TiB", "GiB", "MiB", "KiB", "B") if size % _SIZES[unit] == 0 and (size or unit == "B")
    )
    return f"{size // _SIZES[unit]}{unit}"


def from_datetime(value: datetime) -> int:
    """The instant of a datetime; one without zone is taken as UTC."""
    zoned = value if value.tzinfo else value.replace(tzinfo=UTC)
    return (zoned - EPOCH) // timedelta(microseconds=1)


def _offset(text: str, whole: str) -> int:
    if text in "Zz":
        return 0
    hours, minutes = int(text[1:3]), int(text[-2:])
    if hours > 23 or minutes > 59:
        raise ValueError(f"{whole!r} has no such offset: write one like +02:00, or Z")
    micros = hours * HOUR + minutes * MINUTE
    return -micros if text[0] == "-" else micros


def _in_range(micros: int, shown: str) -> int:
    if not MIN_TIME <= micros <= MAX_TIME:
        raise ValueError(f"{shown} is outside the years 0001 to 9999 (UTC)")
    return micros
