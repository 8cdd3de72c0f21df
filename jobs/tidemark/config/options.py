"""Spark reader options that change how values are read and nothing else.

Options are refused that change the number or order of rows, or that hide damage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

_TIMES = {"dateFormat", "timestampFormat", "timestampNTZFormat", "locale"}
ALLOWED: Mapping[str, frozenset[str]] = {
    "csv": frozenset(_TIMES | {
        "header", "sep", "delimiter", "quote", "escape", "charToEscapeQuoteEscaping", "comment", "encoding",
        "nullValue", "emptyValue", "nanValue", "positiveInf", "negativeInf",
        "ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace", "multiLine",
    }),
    "json": frozenset(_TIMES | {
        "encoding", "allowComments", "allowSingleQuotes", "allowUnquotedFieldNames",
        "allowNumericLeadingZeros", "allowNonNumericNumbers", "allowBackslashEscapingAnyCharacter",
        "allowUnquotedControlChars", "multiLine",
    }),
    "parquet": frozenset({"mergeSchema"}),
    "orc": frozenset({"mergeSchema"}),
}  # fmt: skip

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
_BOOLEANS = {"header", "multiLine"} | {
    name for name in ALLOWED["csv"] | ALLOWED["json"] if name.startswith(("allow", "ignore"))
}


def option_findings(kind: str, options: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Problems of the options of one source, each as (option, sentence)."""
    names = {name.lower(): name for name in ALLOWED[kind]}
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
    names = {name.lower(): name for name in ALLOWED[kind]} | {"delimiter": "sep"}
    return dict(sorted((names.get(name.lower(), name), value) for name, value in options.items()))


def _refusal(kind: str, name: str) -> str:
    allowed = ", ".join(sorted(ALLOWED[kind]))
    reason = _REASONS.get(name.lower())
    if reason:
        return f"the reader option {name!r} cannot be set: {reason}. For {kind} there are: {allowed}"
    close = get_close_matches(name.lower(), [known.lower() for known in ALLOWED[kind]], 1)
    meant = f" Did you mean {next(known for known in ALLOWED[kind] if known.lower() == close[0])!r}?" if close else ""
    return f"{name!r} is not a reader option that can be set for {kind}.{meant} There are: {allowed}"


def _value_finding(name: str, value: str) -> str:  # noqa: PLR0911 # one rule a line
    lower = value.lower()
    if name == "encoding" and lower.replace("-", "") != "utf8":
        return f"{value!r}: only UTF-8 is read: convert the files before they land"
    if name == "mergeSchema" and lower != "false":
        return f"{value!r}: types come from the schema alone, so only false is allowed"
    if name in _BOOLEANS and lower not in ("true", "false"):
        return f"{value!r} is not true or false"
    if name in ("quote", "escape", "comment", "charToEscapeQuoteEscaping") and len(value) > 1:
        return f"{value!r} must be one character"
    if name in ("sep", "delimiter") and (not value or "\n" in value or "\r" in value):
        return f"{value!r} must be a character that is no line end"
    if name == "comment" and not value.isascii():
        return f"{value!r} must be an ASCII character"
    return ""
