"""Decides whether a value in a file can be read as a column's type without loss."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from tidemark.config.types import Type, parse_type
from tidemark.core.times import DATE
from tidemark.proposal.columns.timestamps import iso_micros
from tidemark.proposal.columns.types import wider
from tidemark.proposal.samples import JsonText

_BITS = {"TINYINT": 7, "SMALLINT": 15, "INT": 31, "BIGINT": 63}
_WHOLE = re.compile(r"[+-]?[0-9]{1,20}")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|NaN|[+-]?Inf(inity)?", re.IGNORECASE)
_DECIMAL = re.compile(r"DECIMAL\(([0-9]+), ([0-9]+)\)")
_TIMES = {"DATE", "TIMESTAMP", "TIMESTAMP_NTZ"}


def holds(kind: Type, value: object, *, cells: bool, forms: bool) -> bool:
    """True if `value` fits a column of a text format; null fits every type.

    `cells`: values are cells of CSV, where numbers are text. `forms`: times have a format of their own, which is not
    checked.
    """
    if isinstance(value, JsonText):
        value = json.loads(value)
    if value is None or kind.text in ("STRING", "BINARY") or (forms and kind.text in _TIMES):
        return True
    if kind.nested:
        return _holds_parts(kind, value, forms=forms)
    if kind.text == "BOOLEAN":
        return isinstance(value, bool) or (cells and str(value).lower() in ("true", "false"))
    if kind.text in _TIMES:
        return _is_time(value, cells=cells)
    return _is_number(kind.text, value, cells=cells)


def read_as(found: str, declared: str) -> bool:
    """True if a column of the type `found` in columnar files is read as the declared type."""
    return wider(found, declared) == declared or {found, declared} == {"TIMESTAMP", "TIMESTAMP_NTZ"}


def _holds_parts(kind: Type, value: object, *, forms: bool) -> bool:
    """True if each part of a JSON value fits a nested type."""
    pairs: list[tuple[Type, object]] = []
    if kind.fields and isinstance(value, Mapping):
        pairs = [(parse_type(each.type), value.get(each.name)) for each in kind.fields]
    elif kind.key is not None and kind.element is not None and isinstance(value, Mapping):
        pairs = [(kind.element, each) for each in value.values()]
    elif kind.key is None and kind.element is not None and isinstance(value, list):
        pairs = [(kind.element, each) for each in value]
    else:
        return False
    return all(holds(part, each, cells=False, forms=forms) for part, each in pairs)


def _is_time(value: object, *, cells: bool) -> bool:
    """True for a text that Spark casts to a time or day, and for a number in JSON, which Spark must check."""
    if isinstance(value, int) and not isinstance(value, bool):
        return not cells
    text = value if isinstance(value, str) else ""
    return iso_micros(f"{text} 00:00" if DATE.fullmatch(text) else text) is not None


def _is_number(kind: str, value: object, *, cells: bool) -> bool:
    whole = kind in _BITS
    if cells:
        text = str(value)
        if not (_WHOLE if whole else _NUMBER).fullmatch(text):
            return False
        value = int(text) if whole else float(text.lower())
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if whole:
        return isinstance(value, int) and -(1 << _BITS[kind]) <= value < 1 << _BITS[kind]
    size = _DECIMAL.fullmatch(kind)
    return size is None or abs(value) < 10 ** (int(size[1]) - int(size[2]))
