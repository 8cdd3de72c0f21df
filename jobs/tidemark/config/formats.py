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
_COLUMNAR = frozenset({"mergeSchema"})


@dataclass(frozen=True)
class Format:
    """Facts about one file format.

    `options`: Spark reader options that may be set. `text`: rows are text, few for their size and costly to parse.
    `by_place`: values go by their places in a row, so that a row has none outside the schema; a header may name them.
    `renamed`: `header_columns` may give names in files. `documents`: rows may be elements of a document (`rows`).
    `members`: a row may have members outside the schema, which are counted, and kept with `rescue`. `text_keys`: keys
    of maps are text. `flat`: there are neither nested nor binary values. `lost_signs`: characters in a column's name
    with which Spark's reader gives null for its values.
    """

    name: str
    options: frozenset[str]
    text: bool = False
    by_place: bool = False
    renamed: bool = False
    documents: bool = False
    members: bool = False
    text_keys: bool = False
    flat: bool = False
    lost_signs: str = ""


FORMATS = {
    each.name: each
    for each in (
        Format("json", _JSON, text=True, renamed=True, documents=True, members=True, text_keys=True),
        Format("csv", _CSV, text=True, by_place=True, renamed=True, flat=True),
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
