"""Finds CSV values that change when they get their column's type: rounded, cut, or out of range.

Spark's parser silently keeps the changed value. Lines that may have such values are parsed once more, as text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pyspark.sql import Column

from tidemark.spark.jvm_functions import invoked

_SUSPECTS = {
    "DOUBLE": r"[0-9]{16}|[0-9.][eE][+-]?[0-9]{2}|[0-9.]{300}",
    "FLOAT": r"[0-9]{8}|[0-9.][eE][+-]?[0-9]|[0-9.]{38}",
    "DATE": r"[0-9]-[0-9]{1,2}[T ]",
}
"""By type, the pattern of lines in which a value of the type may change."""
_USUAL = "en-US"
_HOURS = re.compile(r"[HhKk]")
_QUOTED = re.compile(r"'[^']*'")


def checked(types: Mapping[str, str], options: Mapping[str, str]) -> dict[str, str]:
    """Columns, with their types, in which the parser may silently change a value.

    DATE columns whose format has hours are left out: their hours are meant to be lost.
    """
    given = {name.lower(): value for name, value in options.items()}
    timed = _HOURS.search(_QUOTED.sub("", given.get("dateformat", ""))) is not None
    return {
        name: kind
        for name, kind in types.items()
        if kind in ("DOUBLE", "FLOAT") or kind.startswith("DECIMAL") or (kind == "DATE" and not timed)
    }


def suspects(kinds: Mapping[str, str], options: Mapping[str, str]) -> str:
    """Pattern of lines in which a value of one of these columns may change.

    With decimals in a locale other than en-US it is empty, and so fits every line.
    """
    found = {_SUSPECTS[kind] for kind in kinds.values() if kind in _SUSPECTS}
    scales = [int(kind[:-1].rpartition(",")[2]) for kind in kinds.values() if kind.startswith("DECIMAL")]
    if scales:
        found.add(rf"[0-9.][eE][+-]?[0-9]|[.][0-9]{{{min(scales) + 1}}}")
        found.add("," if options.get("sep", ",") != "," else re.escape(options.get("quote", '"')) or "$.")
    return "" if scales and _language(options) != _USUAL else "|".join(sorted(found))


def lost(texts: Column, kinds: Mapping[str, str], options: Mapping[str, str]) -> dict[str, Column]:
    """By column, true if its value in `texts`, a struct, changes when it is read; null if there is no value."""
    settings = {name: (kind, _language(options)) for name, kind in kinds.items()}
    return {
        name: ~invoked("text.LosslessColumn", texts.getField(name), settings=given)
        for name, given in settings.items()
    }


def _language(options: Mapping[str, str]) -> str:
    return next((value for name, value in options.items() if name.lower() == "locale"), _USUAL)
