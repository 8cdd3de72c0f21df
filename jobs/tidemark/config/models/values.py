"""Parsers of the values of a configuration.

Each raises ValueError with a sentence that shows the value and says what is allowed.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal

from tidemark.config.types import Column, parse_schema
from tidemark.core.times import format_duration, parse_duration, parse_size, parse_time

_PERCENT = re.compile(r"([0-9]+(?:\.[0-9]+)?)%")
_MEMBER = re.compile(r"(`[^`]+`)|([^.`\[\]]+)")
_MEMBER_PATH = re.compile(rf"(?:(?:{_MEMBER.pattern})(?:\.(?:{_MEMBER.pattern}))*)?\[\]")
_LONGEST = 120
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def shown(value: object) -> str:
    """A value as an error shows it: text in quotes, anything else as YAML, long values cut."""
    text = repr(value) if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def unfit(value: object, allowed: str) -> ValueError:
    """Error that says that `value` is not what is allowed."""
    return ValueError(f"{shown(value)} {allowed}")


def text_of(value: object, what: str, example: str) -> str:
    """A text, unchanged."""
    if isinstance(value, str):
        return value
    raise unfit(value, f"is not {what}: write text, such as {example}")


def expression(value: object) -> str:
    """A column or Spark SQL expression, not yet checked."""
    return text_of(value, "an expression", "EventTime or timestamp_millis(ts)")


def expressions(value: object) -> tuple[str, ...]:
    """One expression or a list of them."""
    return strings([value] if isinstance(value, str) else value)


def duration(value: object) -> int:
    """Microseconds, zero or more."""
    if type(value) is int:
        raise unfit(value, f"is not a duration: add one of us, ms, s, m, h, d, such as {value}s")
    return parse_duration(text_of(value, "a duration", "5s"))


def signed_duration(value: object) -> int:
    """Microseconds; may be negative."""
    if type(value) is int:
        return duration(value)
    return parse_duration(text_of(value, "a duration", "5m or -5m"), signed=True)


def positive_duration(value: object) -> int:
    """Microseconds, one or more."""
    micros = (
        duration(value) if type(value) is int else parse_duration(text_of(value, "a duration", "5s"), signed=True)
    )
    if micros <= 0:
        raise unfit(format_duration(micros) if type(value) is int else value, "must be longer than 0s")
    return micros


def instant(value: object) -> int:
    """Microseconds since the epoch, UTC."""
    return parse_time(text_of(value, "a time", "2026-01-01T00:00:00Z"))


def size(value: object) -> int:
    """Bytes, one or more."""
    count = value if type(value) is int else parse_size(text_of(value, "a size", "1GiB"))
    if count <= 0:
        raise unfit(value, "must be more than 0")
    return count


def count(value: object) -> int:
    """A whole number of 1 or more."""
    if type(value) is int and value >= 1:
        return value
    raise unfit(value, "is not a whole number of 1 or more")


def fraction(value: object) -> float:
    """A share from 0 to 1, written as a percentage: the float next to it."""
    match = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    if match is None or float(match[1]) > 100:
        raise unfit(value, "is not a share: write a percentage from 0% to 100%, such as 1%")
    return float(f"{match[1]}e-2")


def percent(share: float) -> str:
    """A share as the text that `fraction` reads back."""
    return f"{Decimal(repr(share)).scaleb(2).normalize():f}%"


def factor(value: object) -> float:
    """A number above 0."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < float("inf"):
        return float(value)
    raise unfit(value, "is not a number above 0")


def strings(value: object) -> tuple[str, ...]:
    """A list of texts."""
    wanted = 'must be text in a list, such as ["0", "1"]'
    if not isinstance(value, list | tuple):
        raise unfit(value, wanted)
    wrong = [item for item in value if not isinstance(item, str)]
    if wrong:
        raise unfit(wrong[0], wanted)
    return tuple(value)


def predicates(value: object) -> dict[str, str]:
    """Predicates by name, not yet checked; a name is part of a reason and of names of counts."""
    if not isinstance(value, dict):
        raise unfit(value, "must be a mapping of names to predicates, such as {speed_known: Speed IS NOT NULL}")
    for name, item in value.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise unfit(name, "is no name of a requirement: write letters, digits and _, such as speed_known")
        text_of(item, f"the predicate of {name}", "Speed IS NOT NULL")
    return dict(value)


def option_texts(value: object) -> dict[str, str]:
    """Reader options."""
    if not isinstance(value, dict):
        raise unfit(value, 'must be a mapping of reader options, such as {header: "true"}')
    for name, item in value.items():
        if not isinstance(item, str):
            raise unfit({name: item}, 'must be text, such as "true"')
    return dict(value)


def names_in_files(value: object) -> dict[str, str]:
    """Column names of the schema, by the names that files give these columns."""
    texts = [text for item in value.items() for text in item] if isinstance(value, dict) else [None]
    if not isinstance(value, dict) or not all(isinstance(text, str) and text for text in texts):
        raise unfit(value, 'must be a mapping of names in files to columns, such as {"User Name": user_name}')
    return dict(value)


def member_path(value: object) -> str:
    """Path of an array in a JSON document: `[]`, `Records[]`, `detail.items[]`."""
    text = text_of(value, "a member of the document", "Records[]")
    members_of(text)
    return text


def members_of(path: str) -> tuple[str, ...]:
    """Names of the members on a `member_path`. Raises ValueError."""
    if _MEMBER_PATH.fullmatch(path):
        return tuple(quoted[1:-1] if quoted else plain for quoted, plain in _MEMBER.findall(path[:-2]))
    lines = f"jq -c '.{path.removeprefix('.')}' in.json > out.json"
    more = f"; arrays within arrays are not read: make lines of them, {lines}" if path.count("[]") > 1 else ""
    raise unfit(
        path, f"is not an array in a document: write Records[], detail.items[], or [] for the document itself{more}"
    )


def selected(value: object) -> dict[str, str]:
    """Expressions by the column that they give. `*`, all columns, has none."""
    if value == "*":
        return {}
    if not isinstance(value, dict):
        raise unfit(value, 'must be a mapping of new columns to expressions, such as {n: count(*)}, or "*"')
    before = ""
    for name, item in value.items():
        if item is None and ")" in str(name) and "(" in before:
            raise ValueError(f'{before}, {name} is cut at its comma: put it in quotes, as in z: "{before}, {name}"')
        if not isinstance(item, str):
            raise unfit({name: item}, "is not an expression: write text, such as count(*), or a number")
        before = item
    return dict(value)


def columns(value: object) -> tuple[Column, ...]:
    """The columns of a DDL text."""
    if isinstance(value, tuple):
        return value
    return parse_schema(text_of(value, "a schema", '"DeviceId STRING, Speed DOUBLE", or {file: readings.ddl}'))
