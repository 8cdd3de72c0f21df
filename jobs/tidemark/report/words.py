"""Times, durations and values as people read them. Exact: nothing is rounded except by `brief`."""

from __future__ import annotations

import json

from tidemark.core.times import DAY, HOUR, MAX_TIME, MILLISECOND, MIN_TIME, MINUTE, SECOND, TICK, format_time

_UNITS = (("d", DAY), ("h", HOUR), ("m", MINUTE), ("s", SECOND), ("ms", MILLISECOND), ("us", TICK))


def duration(micros: int) -> str:
    """Return every unit that is not zero, largest first: `3m 20s`; below zero with a minus; zero is `0s`."""
    return _units(micros, len(_UNITS))


def signed(micros: int) -> str:
    """Return a duration with its sign: `+1m`, `-1m`, `0s`."""
    return f"+{duration(micros)}" if micros > 0 else duration(micros)


def brief(micros: int) -> str:
    """Return the two largest units, cut off toward zero, for columns of a table."""
    return _units(micros, 2)


def counted(number: int, name: str, more: str = "s") -> str:
    """Return `1 row`, `1,200 rows`; `more` is the plural's ending."""
    return f"{number:,} {name}{more * (number != 1)}"


def value_text(value: object) -> str | None:
    """Return text as it is, and other values as JSON; None stays None."""
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def iso(micros: int | None) -> str | None:
    """Return ISO 8601 in UTC with Z; a time outside the years 1 to 9999 as its number of microseconds."""
    if micros is None:
        return None
    if not MIN_TIME <= micros <= MAX_TIME:
        return f"{micros} us since 1970-01-01T00:00:00Z"
    return format_time(micros)


def moment(micros: int | None, day: str | None = None) -> str:
    """Return `2026-01-01 12:07:00.25`, or only the time of day if it is on `day`; for None the text `none`."""
    return "none" if micros is None else moment_of(iso(micros), day)


def moment_of(text: str | None, day: str | None = None) -> str:
    """Return a time that `iso` wrote in the form of `moment`; empty for None."""
    if text is None or not text.endswith("Z") or " " in text:
        return text or ""
    date, _, clock = text.removesuffix("Z").partition("T")
    clock = clock.rstrip("0") if "." in clock else clock
    return clock if date == day else f"{date} {clock}"


def second(micros: int, day: str | None = None) -> str:
    """Return `moment`, cut to the second."""
    return moment(micros - micros % SECOND, day)


def span(first: int, end: int) -> str:
    """Return a range of times, its day once: `2026-01-01 06:00:00 to 09:00:00`."""
    return f"{moment(first)} to {moment(end, day_of(first))}"


def away(micros: int) -> str:
    """Return event time less arrival in words: `40m 2s late`, `3s early`, `at once`."""
    return f"{duration(abs(micros))} {'late' if micros < 0 else 'early'}" if micros else "at once"


def percent(part: int, whole: int) -> str:
    """Return a share in per cent; 0 % and 100 % only if it is exactly none or all."""
    if part in {0, whole}:
        return "100 %" if part else "0 %"
    share = 100 * part / whole
    if share < 0.1 or share > 99.9:
        return "under 0.1 %" if share < 1 else "over 99.9 %"
    return f"{share:.1f} %"


def day_of(micros: int | None) -> str | None:
    """Return the UTC day of a time, as `moment` takes it."""
    text = iso(micros)
    return text[:10] if text and " " not in text else None


def _units(micros: int, most: int) -> str:
    parts: list[str] = []
    rest = abs(micros)
    for unit, size in _UNITS:
        count, rest = divmod(rest, size)
        if count and len(parts) < most:
            parts.append(f"{count}{unit}")
        elif parts and most < len(_UNITS):
            break
    return "-" * (micros < 0) + " ".join(parts) if parts else "0s"
