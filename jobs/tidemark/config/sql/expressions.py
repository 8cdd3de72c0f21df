"""Checks expressions over a row without a JVM: a column, a member of one, or Spark SQL.

Each check returns the problems of one text, none if it can be used. Spark SQL beyond plain columns is checked by
`tidemark.config.sql.checks`, which is loaded only for that.
"""

from __future__ import annotations

import re

from tidemark.config.sql.names import CONSTANTS, plain_names
from tidemark.config.sql.row import ReadableColumns
from tidemark.config.types import Type, quoted

_TIME_TYPES = ("TIMESTAMP", "TIMESTAMP_NTZ", "DATE", "STRING")
_NUMERIC = re.compile(r"TINYINT|SMALLINT|INT|BIGINT|FLOAT|DOUBLE|DECIMAL\(.*\)")


def time_findings(text: str, row: ReadableColumns) -> list[str]:
    """Problems of an expression that must give a time; a plain column must be a time or text."""
    findings = expression_findings(text, row)
    if findings:
        return findings
    if not plain_names(text):
        return _checked(text, row, time=True)
    plain = plain_type(text, row)
    if plain is None or plain.text in _TIME_TYPES:
        return []
    if _NUMERIC.fullmatch(plain.text):
        return [
            f"{text!r} is a number ({plain.text}), not a time: write timestamp_millis({text}) for"
            f" milliseconds since 1970, timestamp_seconds({text}) for seconds, timestamp_micros({text}) for"
            " microseconds"
        ]
    return [f"{text!r} is {plain.text}, not a time: name a column of {', '.join(_TIME_TYPES)}"]


def key_findings(text: str, row: ReadableColumns) -> list[str]:
    """Problems of an expression for a partition or substream; a plain column must not be nested."""
    findings = expression_findings(text, row)
    plain = None if findings else plain_type(text, row)
    if plain is not None and plain.nested:
        return [f"{text!r} is {plain.text}, not one value: name a member of it, or write to_json({text})"]
    return findings


def text_findings(text: str, row: ReadableColumns) -> list[str]:
    """Problems of an expression for a key that is compared as text; a plain column must not be BINARY, either."""
    findings = key_findings(text, row)
    plain = None if findings else plain_type(text, row)
    return [binary_key(text, plain.text)] if plain is not None and plain.text == "BINARY" else findings


def binary_key(text: str, kind: str) -> str:
    """The message about a key whose type holds bytes."""
    return f"{text!r} is {kind}: keys are compared as text, and bytes need not be text; write hex(...) or base64(...)"


def comparison_findings(text: str, row: ReadableColumns) -> list[str]:
    """Problems of an expression by whose equal values rows are put together; a plain column must hold no MAP."""
    findings = expression_findings(text, row)
    plain = None if findings else plain_type(text, row)
    if plain is not None and any(part.key for part in plain.parts()):
        return [f"{text!r} is {plain.text}: rows cannot be compared by a MAP; write to_json({text})"]
    return findings


def predicate_findings(text: str, row: ReadableColumns) -> list[str]:
    """Problems of an expression that must be true or false; a plain column must be BOOLEAN."""
    findings = expression_findings(text, row)
    plain = None if findings else plain_type(text, row)
    if plain is not None and plain.text != "BOOLEAN":
        return [f"{text!r} is {plain.text}, not true or false: compare it, as in Kind = 'cti'"]
    return findings


def expression_findings(text: str, row: ReadableColumns, *, constants: bool = False) -> list[str]:
    """Problems of any expression over a row; with `constants` it need not read a column."""
    if not text.strip():
        return ["is empty: name a column or write a Spark SQL expression"]
    if constants and text.strip().lower() in CONSTANTS:
        return []
    names = plain_names(text)
    if names:
        return row.findings(names)
    written = row.find(text.strip())
    if written:
        return [f"{text!r} is read as an expression: write the column as {quoted(written.name)}"]
    return _checked(text, row, constants=constants)


def plain_type(text: str, row: ReadableColumns) -> Type | None:
    """The type of an expression that is a column, a member of one, or a call of `from_json`; None for any other."""
    if text.strip().lower().startswith("from_json"):
        from tidemark.config.sql.json_schemas import json_type  # its parser is slow to load, as below

        return json_type(text)
    names = plain_names(text)
    return row.type(names) if names else None


def _checked(text: str, row: ReadableColumns, *, time: bool = False, constants: bool = False) -> list[str]:
    from tidemark.config.sql import checks  # its parser takes a tenth of a second to load

    return checks.no_time(text) if time else checks.findings(text, row, constants=constants)
