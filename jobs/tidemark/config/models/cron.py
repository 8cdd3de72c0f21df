"""Checks schedules as Airflow takes them: cron texts of five fields, and named presets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

PRESETS = ("@hourly", "@daily", "@weekly", "@monthly", "@quarterly", "@yearly")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS = (("minute", 0, 59), ("hour", 0, 23), ("day", 1, 31), ("month", 1, 12), ("weekday", 0, 7))
_ITEM = re.compile(r"(\*|\?|[a-z]+|[0-9]+)(?:-([a-z]+|[0-9]+))?(?:/([0-9]+))?")
_NTH = re.compile(r"([a-z]+|[0-9]+)#([1-5])|l([0-7])")
_FEBRUARY = 2
_LONGEST = dict(zip(range(1, 13), (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31), strict=True))


def checked_schedule(text: str) -> str:
    """`text`, if it is a preset or a cron text. Raises ValueError that says what is wrong."""
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
    return text


def no_time(text: str) -> str | None:
    """A sentence that says why the scheduler finds no time for a checked schedule; None if it finds one."""
    if text in PRESETS:
        return None
    days, months, weekdays = text.lower().split()[2:]
    certain = [found for item in weekdays.split(",") if (found := _NTH.fullmatch(item)) is not None]
    if certain and len(certain) < len(weekdays.split(",")):
        return f"{text!r} has weekdays with and without # or l, {weekdays!r}: write all of them in one way"
    if (certain or weekdays in {"*", "?"}) and not _some_day(days, months, certain):
        that_is = f" that is {weekdays!r}" if certain else ""
        return f"{text!r} never comes: no month of {months!r} has a day {days!r}{that_is}"
    return None


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


def _some_day(days: str, months: str, certain: Sequence[re.Match[str]]) -> bool:
    """True if one of the months has one of the days, in some year. Where there are certain weekdays of a month, such
    as `5#3`, the day has to be one of these, too."""
    plain = set(_values([each for each in days.split(",") if each != "l"], "day", 1, 31))
    for month in _values(months.split(","), "month", 1, 12):
        for last in (28, 29) if month == _FEBRUARY else (_LONGEST[month],):
            wanted = plain | {last} if "l" in days.split(",") else plain
            fitting = [day for match in certain for day in _week(match[2], last)] if certain else range(1, last + 1)
            if not wanted.isdisjoint(fitting):
                return True
    return False


def _week(number: str | None, last: int) -> range:
    """The days of a month that may be the first, second and so on of a weekday, or the last (None)."""
    return range(last - 6, last + 1) if number is None else range(7 * int(number) - 6, min(7 * int(number), last) + 1)


def _values(items: Iterable[str], name: str, least: int, most: int) -> Iterator[int]:
    """The values of a field; of a range over its end, the ones after the end without the step."""
    for item in items:
        first, last, step = _ITEM.fullmatch(item).groups()  # type: ignore[union-attr] # it was checked
        low, high = _number(first, name), _number(last, name)
        if low is None or low == high:
            low, high = least, most  # any value: the scheduler reads 4-4 so, too
        elif high is None:
            high = low if step is None else most
        yield from range(low, (high if low <= high else most) + 1, int(step or 1))
        yield from range(least, high + 1 if low > high else least)
