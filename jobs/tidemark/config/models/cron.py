"""Checks schedules as Airflow takes them: cron texts of five fields, and named presets."""

from __future__ import annotations

import re

PRESETS = ("@hourly", "@daily", "@weekly", "@monthly", "@quarterly", "@yearly")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS = (("minute", 0, 59), ("hour", 0, 23), ("day", 1, 31), ("month", 1, 12), ("weekday", 0, 7))
_ITEM = re.compile(r"(\*|\?|[a-z]+|[0-9]+)(?:-([a-z]+|[0-9]+))?(?:/([0-9]+))?")
_NTH = re.compile(r"([a-z]+|[0-9]+)#([1-5])|l([0-7])")
_LONGEST = dict(zip(range(1, 13), (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31), strict=True))


def checked_schedule(text: str) -> str:
    """`text`, if it is a preset or a cron text that fits some time. Raises ValueError that says what is wrong."""
    if text.startswith("@"):
        if text not in PRESETS:
            raise ValueError(f"{text!r} is no preset: there are {', '.join(PRESETS)}")
        return text
    fields = text.lower().split()
    if len(fields) != len(_FIELDS):
        raise ValueError(
            f'{text!r} is not a cron text (minute hour day month weekday), such as "*/15 * * * *", or a preset, such '
            "as @daily"
        )
    for field, (name, least, most) in zip(fields, _FIELDS, strict=True):
        for item in field.split(","):
            if (wrong := _wrong(item, name, least, most)) is not None:
                raise ValueError(f"{text!r} is not a cron text: {name} {item!r} {wrong}")
    if fields[4] in {"*", "?"} and not _some_day(fields[2], fields[3]):
        raise ValueError(f"{text!r} never comes: no month of {fields[3]!r} has a day {fields[2]!r}")
    return text


def _wrong(item: str, name: str, least: int, most: int) -> str | None:
    """A sentence on the problem of one item of a field; None if it is valid."""
    if name == "day" and item == "l":
        return None
    nth = _NTH.fullmatch(item) if name == "weekday" else None
    found = _ITEM.fullmatch(item)
    if nth is None and found is None:
        return "is not *, a number, a range such as 1-5, or one of these with a step such as */15"
    first, last, step = (nth[1] or nth[3], None, None) if nth else found.groups() if found else ("", None, None)
    if first == "?" and (name not in {"day", "weekday"} or last or step):
        return "stands for any day or weekday alone"
    if first == "*" and last:
        return "is no range: write it as 1-5"
    ends = [each for each in (first, last) if each not in {None, "*", "?"}]
    if any(_number(each, name) not in range(least, most + 1) for each in ends):
        return f"is not from {least} to {most}"
    return "has a step of 0: a step is one or more" if step is not None and int(step) == 0 else None


def _number(text: str | None, name: str) -> int | None:
    """The number of a value, or of the name of a month or weekday; None if it is neither."""
    if text is None or text.isdecimal():
        return None if text is None else int(text)
    if name == "month" and text in _MONTHS:
        return _MONTHS.index(text) + 1
    return _DAYS.index(text) if name == "weekday" and text in _DAYS else None


def _some_day(days: str, months: str) -> bool:
    """True if one of the months has one of the days, in some year. Only plain numbers are checked."""
    if not all(each.isdecimal() for each in days.split(",")):
        return True
    numbers = [_number(each, "month") for each in months.split(",")]
    known = [number for number in numbers if number is not None]
    longest = max((_LONGEST[number] for number in known), default=31) if len(known) == len(numbers) else 31
    return min(map(int, days.split(","))) <= longest
