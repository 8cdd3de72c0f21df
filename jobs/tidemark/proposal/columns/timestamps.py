"""Forms of times in values: texts in the forms that Spark reads, and numbers counted since 1970."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice

from tidemark.core.times import DATE, MAX_TIME, MILLISECOND, MIN_TIME, SECOND, from_datetime

_ISO = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?)"
    r"(?: ?(Z|UTC|GMT|[+-][0-9]{2}(?::?[0-9]{2})?))?"
)
_CLOCK = re.compile(r"[0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?( ?[AP]M)?")
_DIGITS = re.compile(r"[0-9]{9,19}")
_FEW = 300
_ENOUGH = 0.8
"""Share of values that must be times for a column to hold times."""

_FIRST, _LAST = 631_152_000, 4_102_444_800
"""Seconds of 1990 and 2100: numbers of these years in four units do not overlap."""
_UNITS = {"seconds": 1, "millis": 1_000, "micros": 1_000_000, "nanos": 1_000_000_000}

DAYS = ("yyyy/MM/dd", "d.M.yyyy", "M/d/yyyy", "d/M/yyyy")
"""Formats of days without a time of day."""
FORMATS = (
    "yyyy/MM/dd HH:mm[:ss][.SSSSSS]",
    "d.M.yyyy H:mm[:ss][.SSSSSS]",
    "M/d/yyyy H:mm[:ss][.SSSSSS]",
    "d/M/yyyy H:mm[:ss][.SSSSSS]",
    "M/d/yyyy h:mm[:ss] a",
    "d/M/yyyy h:mm[:ss] a",
    "d-M-yyyy H:mm[:ss][.SSSSSS]",
    "yyyyMMdd HH:mm[:ss]",
    "yyyyMMddHHmmss",
    "dd/MMM/yyyy:HH:mm:ss Z",
    *DAYS,
)
"""Formats for `to_timestamp` of texts in other forms. Where days and months are ambiguous, the first counts."""
WAYS = ("timestamp", "date", *_UNITS, *(f"text {unit}" for unit in _UNITS), *FORMATS)
"""All forms of times."""
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_LETTERS = {
    "yyyy": r"(?P<year>[0-9]{4})",
    "MMM": rf"(?P<name>{'|'.join(_MONTHS)})",
    "MM": r"(?P<month>[0-9]{2})",
    "dd": r"(?P<day>[0-9]{2})",
    "HH": r"(?P<hour>[0-9]{2})",
    "M": r"(?P<month>[0-9]{1,2})",
    "d": r"(?P<day>[0-9]{1,2})",
    "H": r"(?P<hour>[0-9]{1,2})",
    "h": r"(?P<half>[0-9]{1,2})",
    "mm": r"(?P<minute>[0-9]{2})",
    "[:ss]": r"(?::(?P<second>[0-9]{2}))?",
    "ss": r"(?P<second>[0-9]{2})",
    "[.SSSSSS]": r"(?:\.(?P<fraction>[0-9]{1,6}))?",
    "a": r"(?P<noon>AM|PM)",
    "Z": r"(?P<zone>[+-][0-9]{4})",
}
_TOKEN = re.compile("|".join(map(re.escape, sorted(_LETTERS, key=len, reverse=True))))


@dataclass(frozen=True)
class TimeFormat:
    """The form of times in a column. `way`: `timestamp` (as the type TIMESTAMP has them), `date`, a unit of _UNITS,
    `text <unit>`, or a format of FORMATS. `native`: values are microseconds already."""

    way: str
    native: bool = False

    def expression(self, column: str) -> str:
        """Return Spark SQL of the time; `column` is the column as SQL."""
        unit = self.way.removeprefix("text ")
        if unit in _UNITS:
            number = f"CAST({column} AS BIGINT)" if unit != self.way else column
            return f"timestamp_micros({number} div 1000)" if unit == "nanos" else f"timestamp_{unit}({number})"
        return f"to_timestamp({column}, '{self.way}')" if self.way in FORMATS else column

    def of_parts(self, day: str, clock: str) -> str:
        """Return Spark SQL of the time that combines a column of days and a column of times of day."""
        both = f"concat({day}, ' ', {clock})"
        return self.expression(both) if self.way in FORMATS else f"to_timestamp({both})"

    def micros(self, value: object) -> int | None:
        """Return the instant of one value in microseconds, UTC if it names no zone; None if it is not a time."""
        if self.native:
            return value if isinstance(value, int) else None
        unit = self.way.removeprefix("text ")
        if unit in _UNITS:
            return _of_number(value, unit, as_text=unit != self.way)
        if isinstance(value, datetime):
            return from_datetime(value)
        if not isinstance(value, str):
            return None
        if self.way == "date":
            return iso_micros(f"{value} 00:00") if DATE.fullmatch(value) else None
        return of_format(value, self.way) if self.way in FORMATS else iso_micros(value)

    @property
    def counted(self) -> bool:
        """True if values are numbers since 1970; such numbers may also mean something else."""
        return self.way.removeprefix("text ") in _UNITS

    @property
    def dated(self) -> bool:
        """True if values are days without a time of day."""
        return self.way == "date" or self.way in DAYS

    @property
    def words(self) -> str:
        """Description for people."""
        unit = self.way.removeprefix("text ")
        if unit in _UNITS:
            return {"seconds": "seconds", "millis": "milliseconds", "micros": "microseconds"}.get(
                unit, "nanoseconds"
            ) + " since 1970"
        return {"timestamp": "a time", "date": "a day without a time of day"}.get(self.way, f"text as {self.way}")


def iso_micros(text: str) -> int | None:
    """Return the instant of an ISO 8601 text in the forms that Spark casts to TIMESTAMP, in microseconds, UTC if it
    has no zone; None for another text."""
    match = _ISO.fullmatch(text)
    if match is None:
        return None
    day, clock, zone = match.groups()
    try:
        return _bounded(from_datetime(datetime.fromisoformat(f"{day}T{clock[:15]}{_offset(zone)}")))
    except ValueError:
        return None


def has_zone(text: str) -> bool:
    """True if a text that `iso_micros` reads names its zone."""
    match = _ISO.fullmatch(text)
    return match is not None and match[3] is not None


def are_clocks(values: Sequence[object]) -> bool:
    """True if there are values, and all are texts with a time of day without a day."""
    there = [value for value in values if value is not None]
    return bool(there) and all(isinstance(value, str) and _CLOCK.fullmatch(value) for value in there)


def joined(days: Sequence[object], clocks: Sequence[object]) -> list[object]:
    """Return days combined with times of day, as `concat` does; None if either is missing."""
    pairs = zip(days, clocks, strict=True)
    return [None if day is None or clock is None else f"{day} {clock}" for day, clock in pairs]


def of_format(text: str, form: str) -> int | None:
    """Return the instant of a text in one of FORMATS, in microseconds; None if the text does not match."""
    match = _pattern(form).fullmatch(text)
    if match is None:
        return None
    part = match.groupdict()
    month = _MONTHS.index(part["name"]) + 1 if "name" in part else int(part["month"])
    hour = int(part.get("hour") or 0) if "half" not in part else int(part["half"]) % 12 + 12 * (part["noon"] == "PM")
    fraction = int((part.get("fraction") or "0").ljust(6, "0"))
    try:
        zone = datetime.strptime(part["zone"], "%z").tzinfo if "zone" in part else UTC
        time = datetime(
            int(part["year"]), month, int(part["day"]), hour, int(part.get("minute") or 0),
            int(part.get("second") or 0), fraction, zone,
        )  # fmt: skip
        return _bounded(from_datetime(time))
    except ValueError:
        return None


def reading_of(values: Sequence[object]) -> tuple[TimeFormat, float] | None:
    """Return the form of times in values without nulls, and the share of values that fit; None if too few fit."""
    few = list(islice(values, _FEW))
    found = max((_rated(reading, few) for reading in _ways(few)), key=lambda each: each[1], default=None)
    if found is None or found[1] < _ENOUGH:
        return None
    best = max((_rated(reading, values) for reading in _alike(found[0])), key=lambda each: each[1])
    return best if best[1] >= _ENOUGH else None


def _rated(reading: TimeFormat, values: Sequence[object]) -> tuple[TimeFormat, float]:
    return reading, sum(reading.micros(value) is not None for value in values) / len(values)


def _ways(values: Sequence[object]) -> list[TimeFormat]:
    units = Counter(unit for value in values if (unit := _unit(value)) is not None)
    if units:
        return [TimeFormat(units.most_common(1)[0][0])]
    texts = any(isinstance(value, str | datetime) for value in values)
    return [TimeFormat(way) for way in ("timestamp", "date", *FORMATS)] if texts else []


def _alike(reading: TimeFormat) -> list[TimeFormat]:
    """Return the formats that a few values may not distinguish: this one, and with days and months swapped."""
    swapped = {"M/d": "d/M", "d/M": "M/d"}.get(reading.way[:3], "") + reading.way[3:]
    return [reading, TimeFormat(swapped)] if swapped in FORMATS and swapped != reading.way else [reading]


def ambiguous(reading: TimeFormat, values: Sequence[object]) -> bool:
    """True if days and months may be swapped."""
    return any(_rated(other, values)[1] >= _ENOUGH for other in _alike(reading)[1:])


def _unit(value: object) -> str | None:
    text = isinstance(value, str)
    if text:
        if not _DIGITS.fullmatch(str(value)):
            return None
        number: float = int(str(value))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        number = value
    else:
        return None
    unit = next((unit for unit, size in _UNITS.items() if _FIRST * size <= number < _LAST * size), None)
    return None if unit is None else f"text {unit}" * text or unit


def _of_number(value: object, unit: str, *, as_text: bool) -> int | None:
    if as_text:
        value = int(value) if isinstance(value, str) and _DIGITS.fullmatch(value) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:  # noqa: PLR0124 # NaN
        return None
    size = _UNITS[unit]
    if not _FIRST * size <= value < _LAST * size:
        return None
    match unit:
        case "seconds":
            return round(value * SECOND)
        case "millis":
            return int(value * MILLISECOND)
        case "micros":
            return int(value)
    return int(value) // 1000


@lru_cache
def _pattern(form: str) -> re.Pattern[str]:
    pattern, end = "", 0
    for token in _TOKEN.finditer(form):
        pattern += re.escape(form[end : token.start()]) + _LETTERS[token[0]]
        end = token.end()
    return re.compile(pattern + re.escape(form[end:]))


def _offset(zone: str | None) -> str:
    return "+00:00" if zone in (None, "Z", "UTC", "GMT") else str(zone)


def _bounded(micros: int) -> int | None:
    return micros if MIN_TIME <= micros <= MAX_TIME else None
