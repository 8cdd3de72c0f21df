"""Landing times in names of objects, for files that were copied and so lost their own modification times."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tidemark.config.models.landing_time import LandedAtSpec
from tidemark.core.times import DAY, MINUTE
from tidemark.proposal.columns.times import SKEW, Times
from tidemark.proposal.columns.words import DATED, words_of
from tidemark.proposal.objects import ListedObject, in_log_order

_LETTERS = {"yyyy": 4, "MM": 2, "dd": 2, "HH": 2, "H": "1,2", "mm": 2, "ss": 2}
_PIECE = re.compile(r"'([^']*)'|(yyyy|MM|dd|HH|H|mm|ss)|([^A-Za-z'])")
_DATES = ("yyyy/MM/dd", "yyyy-MM-dd", "yyyy_MM_dd", "yyyy.MM.dd", "yyyyMMdd")
_CLOCKS = (
    *("HH/mm/ss", "HH:mm:ss", "HH-mm-ss", "HH_mm_ss", "HH.mm.ss", "HHmmss"),
    *("HH/mm", "HH:mm", "HH-mm", "HH_mm", "HH.mm", "HHmm", "HH"),
)
_FORMS = (
    *(
        f"{date}{between}{clock}"
        for clock in _CLOCKS
        for date in _DATES
        for between in ("/", "'T'", "-", "_", ".", " ", "")
        if between or (date + clock).isalpha()
    ),
    "yyyy-MM-dd-H",
    *_DATES,
    *("yyyy-MM", "yyyy/MM"),
)
"""Formats of times in names, the most exact first."""
_PLUS = {"ss": ("0s", "1m", "5m", "15m", "1h"), "mm": ("0s", "1m", "5m", "15m", "1h"), "HH": ("1h",), "H": ("1h",),
         "dd": ("1d",), "MM": ("31d",)}  # fmt: skip
"""Durations that may be added to a time, by its finest part, the shortest first. An hour, day or month gets its own
length, since a file holds the rows of that whole time. A minute or second may be when a file was begun or when it
was written."""
_UNITS = {"HH": "hour", "H": "hour", "dd": "day", "MM": "month"}
_FOLDERS = {
    "MM": {"month", "mm", "mon", "m"}, "dd": {"day", "dd", "d"}, "HH": {"hour", "hr", "hh", "h"},
    "mm": {"minute", "min"},
}  # fmt: skip
_DAYS = {"yyyy-MM-dd": r"[0-9]{4}-[0-9]{2}-[0-9]{2}", "yyyyMMdd": "[0-9]{8}", "yyyy": "[0-9]{4}"}
_LONG_AFTER = 3 * DAY
_FIT = 0.999
_MOSTLY = 0.5


def dated(objects: Sequence[ListedObject]) -> list[dict[str, str]]:
    """Return `landed_at` settings for objects whose names all contain a time: the most exact format first, for each
    format the shortest `plus` first."""
    found = []
    folders = _of_folders(objects[0].uri)
    for path, form in [*([folders] if folders else []), *((_pattern(form), form) for form in _FORMS)]:
        spec = LandedAtSpec.model_validate({"path": path, "format": form})
        if all(spec.landing_time(item.uri) is not None for item in objects):
            found += [{"path": path, "format": form, "plus": plus} for plus in _PLUS[_last(form)]]
    return found


def _last(form: str) -> str:
    """Return the smallest unit of time in a format."""
    return [match[2] for match in _PIECE.finditer(form) if match[2]][-1]


def _pattern(form: str) -> str:
    """Return a regular expression for the digits of a format, with no digit directly before or after them."""
    parts = [re.escape(m[1] or m[3]) if m[2] is None else f"[0-9]{{{_LETTERS[m[2]]}}}" for m in _PIECE.finditer(form)]
    return f"(?:^|[^0-9])({''.join(parts)})(?![0-9])"


def _of_folders(uri: str) -> tuple[str, str] | None:
    """Return path and format of folders that divide rows by time: `dt=2026-03-01/hr=06/` or `year=2026/month=03/`."""
    parts = [folder.partition("=") for folder in uri.split("/")[:-1]]
    path, form, wanted = "", "", list(_FOLDERS)
    for name, sign, value in parts:
        first = next((each for each, digits in _DAYS.items() if re.fullmatch(digits, value)), None)
        if not form and sign and first and DATED & set(words_of(name)):
            path, form = f"{re.escape(name)}=({_DAYS[first]}", first
            wanted = wanted if first == "yyyy" else wanted[2:]
        elif form and wanted and name.lower() in _FOLDERS[wanted[0]] and re.fullmatch("[0-9]{2}", value):
            path, form = f"{path}/{re.escape(name)}=[0-9]{{2}}", f"{form}'/{name}='{wanted.pop(0)}"
        elif form:
            break
    return (f"(?:^|/){path})/", form) if form and form != "yyyy" else None


def redated(objects: Sequence[ListedObject], landed_at: dict[str, str]) -> list[ListedObject]:
    """Return the objects with the landing times from their names, sorted by them."""
    spec = LandedAtSpec.model_validate(landed_at)
    return in_log_order([item._replace(modified=spec.landing_time(item.uri) or item.modified) for item in objects])


def copied(objects: Sequence[ListedObject], times: Times) -> bool:
    """True if the objects seem to be copies: most rows are later than the landing; or all objects landed long after
    their rows, and within a short time compared with the time span of the rows."""
    chosen = times.arrival or times.event
    found = sorted(time for time in chosen.micros if time is not None) if chosen else []
    if not found or chosen is None:
        return False
    if chosen.landed < _MOSTLY:
        return True
    first, last = objects[0].modified, objects[-1].modified
    span = found[-1] - found[0]
    return first - found[-1] > _LONG_AFTER and last - first < max(span // 10, MINUTE)


def agree(objects: Sequence[ListedObject], of: Sequence[int], times: Times, landed_at: dict[str, str]) -> bool:
    """True if hardly any row of a sample is later than the landing time in its object's name."""
    chosen = times.arrival or times.event
    if chosen is None:
        return False
    spec = LandedAtSpec.model_validate(landed_at)
    said = [spec.landing_time(item.uri) for item in objects]
    pairs = [(said[number], time) for number, time in zip(of, chosen.micros, strict=True) if time is not None]
    return sum(landed is not None and time <= landed + SKEW for landed, time in pairs) >= _FIT * len(pairs)


def remark(landed_at: dict[str, str]) -> str:
    """Return the reason for proposing `landed_at`."""
    unit = _UNITS.get(_last(landed_at["format"]))
    end = f" (the end of that {unit})" if unit else ""
    return f"The files' own times are those of a copy: their names say when they landed{end}"
