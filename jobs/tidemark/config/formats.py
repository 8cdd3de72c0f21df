"""Facts about each file format that settings, their rules and proposals depend on: one entry a format.

`spark/read/formats.py` has the reader of each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

_TIMES = {"dateFormat", "timestampFormat", "timestampNTZFormat", "locale"}
_CSV = frozenset(_TIMES | {
    "header", "sep", "delimiter", "quote", "escape", "charToEscapeQuoteEscaping", "comment", "encoding",
    "nullValue", "emptyValue", "nanValue", "positiveInf", "negativeInf",
    "ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace", "multiLine",
})  # fmt: skip
_JSON = frozenset(_TIMES | {
    "encoding", "allowComments", "allowSingleQuotes", "allowUnquotedFieldNames",
    "allowNumericLeadingZeros", "allowNonNumericNumbers", "allowBackslashEscapingAnyCharacter",
    "allowUnquotedControlChars", "multiLine",
})  # fmt: skip
_JSON_FILES = frozenset({"encoding", "multiLine"})
_CSV_FILES = frozenset({"encoding", "header"})
"""Parsing a row of CSV gets `multiLine`, without which it would not keep line ends in values."""
_COLUMNAR = frozenset({"mergeSchema"})


@dataclass(frozen=True)
class Format:
    """Facts about one file format."""

    name: str
    options: frozenset[str]
    """Spark reader options that may be set."""
    file_options: frozenset[str] = frozenset()
    """Those of them that are about whole files: parsing a single row does not get them."""
    text: bool = False
    """True if rows are text: few for their size, and costly to parse."""
    by_position: bool = False
    """True if values go by their positions in a row. A row has none outside the schema; a header may name them."""
    renamed: bool = False
    """True if `header_columns` may give the names that columns have in files."""
    documents: bool = False
    """True if rows may be elements of a document, which `rows` says."""
    members: bool = False
    """True if rows may have members outside the schema, which are counted, and kept with `rescue`."""
    text_keys: bool = False
    """True if keys of maps are text."""
    flat: bool = False
    """True if there are neither nested nor binary values."""
    lost_signs: str = ""
    """Characters in a column's name with which Spark's reader gives null for its values."""


FORMATS = {
    each.name: each
    for each in (
        Format("json", _JSON, _JSON_FILES, text=True, renamed=True, documents=True, members=True, text_keys=True),
        Format("csv", _CSV, _CSV_FILES, text=True, by_position=True, renamed=True, flat=True),
        Format("parquet", _COLUMNAR),
        Format("orc", _COLUMNAR, lost_signs="`"),
    )
}
"""Each format by the name that `format` has in a pipeline file, in the order in which messages list them."""


def names_where(fact: Callable[[Format], bool]) -> str:
    """Names of the formats for which a fact is true, sorted, for a sentence: `csv and json`."""
    return " and ".join(sorted(each.name for each in FORMATS.values() if fact(each)))


def any_of_them() -> str:
    """Names of all formats for a sentence: `json, csv, parquet or orc`."""
    *names, last = FORMATS
    return f"{', '.join(names)} or {last}"
