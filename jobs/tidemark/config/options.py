"""Spark reader options that change how values are read and nothing else.

Options are refused that change the number or order of rows, or that hide damage.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from tidemark.config.formats import FORMATS

_SPLIT_ROWS = "it changes which rows a file has, and with them every offset"
_HIDES = "it hides damage: rows and files that cannot be read are quarantined and counted instead"
_LISTING = "it changes which files are taken: that is decided by landing, settle and max_object_age"
_SCHEMA = "types come from the schema alone"
_REASONS = {
    "multiline": _SPLIT_ROWS, "linesep": _SPLIT_ROWS, "maxcolumns": _SPLIT_ROWS,
    "maxcharspercolumn": _SPLIT_ROWS,
    "mode": _HIDES, "ignorecorruptfiles": _HIDES, "ignoremissingfiles": _HIDES,
    "columnnameofcorruptrecord": _HIDES,
    "recursivefilelookup": _LISTING, "pathglobfilter": _LISTING, "modifiedbefore": _LISTING,
    "modifiedafter": _LISTING, "basepath": _LISTING, "path": _LISTING,
    "inferschema": _SCHEMA, "samplingratio": _SCHEMA, "enforceschema": _SCHEMA, "primitivesasstring": _SCHEMA,
    "prefersdecimal": _SCHEMA, "prefersdate": _SCHEMA, "dropfieldifallnull": _SCHEMA,
    "timestamptype": _SCHEMA,
}  # fmt: skip
_BOOLEANS = re.compile("header|multiLine|(allow|ignore).*")


def option_findings(kind: str, options: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Problems of the options of one source, each as (option, sentence)."""
    names = {name.lower(): name for name in FORMATS[kind].options}
    seen: dict[str, str] = {}
    for name, value in options.items():
        same = "sep" if name.lower() == "delimiter" else name.lower()
        if seen.setdefault(same, name) != name:
            yield name, f"is the same option as {seen[same]!r}: remove one"
        known = names.get(name.lower())
        finding = _value_finding(known, value) if known else _refusal(kind, name)
        if finding:
            yield name, finding


def canonical(kind: str, options: Mapping[str, str]) -> dict[str, str]:
    """The options in Spark's own spelling, sorted, so that two spellings are equal."""
    names = {name.lower(): name for name in FORMATS[kind].options} | {"delimiter": "sep"}
    spelt = sorted((names.get(name.lower(), name), value) for name, value in options.items())
    return {name: value.lower() if _BOOLEANS.fullmatch(name) else value for name, value in spelt}


def _refusal(kind: str, name: str) -> str:
    options = FORMATS[kind].options
    allowed = ", ".join(sorted(options))
    reason = _REASONS.get(name.lower())
    if reason:
        return f"the reader option {name!r} cannot be set: {reason}. For {kind} there are: {allowed}"
    close = get_close_matches(name.lower(), [known.lower() for known in options], 1)
    meant = f" Did you mean {next(known for known in options if known.lower() == close[0])!r}?" if close else ""
    return f"{name!r} is not a reader option that can be set for {kind}.{meant} There are: {allowed}"


def _value_finding(name: str, value: str) -> str:  # noqa: PLR0911 # one rule a line
    lower = value.lower()
    if name == "encoding" and lower.replace("-", "") != "utf8":
        return f"{value!r}: only UTF-8 is read: convert the files before they land"
    if name == "mergeSchema" and lower != "false":
        return f"{value!r}: types come from the schema alone, so only false is allowed"
    if _BOOLEANS.fullmatch(name) and lower not in ("true", "false"):
        return f"{value!r} is not true or false"
    if name in ("quote", "escape", "comment", "charToEscapeQuoteEscaping") and len(value) > 1:
        return f"{value!r} must be one character"
    if name in ("sep", "delimiter") and (not value or "\n" in value or "\r" in value):
        return f"{value!r} must be a character that is no line end"
    if name == "comment" and not value.isascii():
        return f"{value!r} must be an ASCII character"
    return ""
