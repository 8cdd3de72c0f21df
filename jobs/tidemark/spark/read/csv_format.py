"""Reads CSV: lines, or records whose quoted values have line ends, with a header or without."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from io import StringIO

from pyspark.sql import Column, DataFrame, DataFrameReader
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.core.batch import LandedObject
from tidemark.spark.compat.plans import null_on_error
from tidemark.spark.jvm_functions import is_utf8
from tidemark.spark.read import codecs, lossless
from tidemark.spark.read.documents import records, scanned_whole, texts_of, too_large
from tidemark.spark.read.format import METADATA, SHOWN, FormatReader, Sight, positioned
from tidemark.spark.read.text_formats import (
    EXACT,
    FAR,
    FLAG,
    PERMISSIVE,
    VALUE,
    Doubts,
    Parser,
    ddl,
    has_no_line,
    line_options,
    parsed,
    types_in_files,
)

_BLANK = bytes(range(33))
"""Bytes that make a line blank: a line of these alone is skipped."""
_BYTES = "ISO-8859-1"
"""Encoding that reads bytes as they are: bytes that are no UTF-8 must be found, not replaced."""
_WHOLE_LINES = {
    "encoding": _BYTES,
    "sep": "\u2028",
    "quote": "\u2029",
    "escape": "\u2029",
    "comment": "\u2060",
    "maxCharsPerColumn": "-1",
    "mode": "PERMISSIVE",
    "columnNameOfCorruptRecord": FLAG,
}
"""CSV options with signs that no byte can give, so that a line is always one value."""
_TEXTS = "__tidemark_texts"


def _look(source: SourceSpec, item: LandedObject) -> Sight:
    refused = codecs.refusal(item, exact=source.exact) or too_large(source, item, "no line ends in values")
    return Sight(refused or (_header_finding(source, item) if _has_header(source) else None))


def _has_header(source: SourceSpec) -> bool:
    return _lower(source).get("header", "").lower() == "true"


def _lower(source: SourceSpec) -> dict[str, str]:
    """Options by their names in lower case."""
    return {name.lower(): value for name, value in source.options.items()}


def _header_finding(source: SourceSpec, item: LandedObject) -> str | None:
    """Reason why the header does not fit the schema's columns in their order; None if it fits or cannot be read."""
    options = _lower(source)
    try:
        start = _first_line(item, options.get("comment", ""), source.spans_lines)
    except codecs.DAMAGED:
        return None
    if start is None:
        return None
    found = [name.strip() for name in _values(start, options)]
    wanted = list(source.names_in_files.values())
    if [name.lower() for name in found] == [name.strip().lower() for name in wanted]:
        return None
    named = "the schema and header_columns" if source.header_columns else "the schema"
    return f"its header names the columns {_list(found)}, {named} {_list(wanted)}"


def _first_line(item: LandedObject, comment: str, spans: bool) -> str | None:
    """First line that is neither a comment nor blank; with all lines after it if names may span lines."""
    with closing(codecs.pieces(item)) as pieces:
        start = next(pieces, b"")
    lines = start.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for number, line in enumerate(lines):
        if line.strip() and not (comment and line.startswith(comment)):
            return "\n".join(lines[number:]) if spans else line
    return None


def _values(text: str, options: Mapping[str, str]) -> list[str]:
    sep, mark = options.get("sep", options.get("delimiter", ",")), options.get("quote", '"')
    first = text.partition("\n")[0]
    if len(sep) > 1 or not mark or mark not in first:
        return first.split(sep)
    escape = options.get("escape", "\\")
    lines = StringIO(text)
    reader = csv.reader(lines, delimiter=sep, quotechar=mark, escapechar=escape if escape != mark else None)
    try:
        return next(reader)
    except csv.Error:
        return [first]


def _list(names: list[str]) -> str:
    text = ", ".join(names)
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."


def _scan(reader: DataFrameReader, source: SourceSpec, paths: Sequence[str], _: Sight) -> DataFrame:
    """Whole objects if rows may span lines; else lines without headers, comments and blank ones, bytes as characters.

    Spark skips the header also in a file that it splits.
    """
    if source.spans_lines:
        return scanned_whole(reader, paths)
    given = _lower(source)
    options = _WHOLE_LINES | {key: given[key] for key in ("header", "comment") if given.get(key)}
    return reader.options(**options).schema(f"`{VALUE}` STRING, `{FLAG}` STRING").csv(list(paths))


def _parse(source: SourceSpec, found: DataFrame, _: Sight, share: float) -> DataFrame:
    if source.spans_lines:
        return _rows(source, positioned(texts_of(source, found, records), F.col(METADATA), share, F.col(VALUE)))
    line = F.encode(F.coalesce(FLAG, VALUE), _BYTES).cast("string").alias(VALUE)
    return _rows(source, positioned(found, F.col(METADATA), share, line))


def _rows(source: SourceSpec, lines: DataFrame) -> DataFrame:
    """Rows of CSV: as many values a line as the schema has columns, every quote closed."""
    options = line_options(source)
    sep, mark = options.get("sep", ","), options.get("quote", '"')
    suspects = rf"(^|{re.escape(sep)}|{re.escape(mark)})[\x00-\x20]*(T[0-9]|[0-9]{{1,2}}:)"
    value = F.col(VALUE)
    invalid = ~is_utf8(value)
    flawed = _broken_quotes(options) | F.col(EXACT).isNull()  # null also if the parser cannot hold so many fields
    doubts = Doubts(value.rlike(suspects), flawed, invalid, lambda text: text.rlike(FAR))

    def parse(value: Column, schema: str, options: dict[str, str]) -> Column:
        return null_on_error(F.from_csv(value, schema, options))

    types = types_in_files(source)
    kinds = lossless.checked(types, options) if source.exact else {}
    suspect = value.rlike(lossless.suspects(kinds, options))

    def looked(rows: DataFrame) -> DataFrame:
        texts = parse(value, ddl(dict.fromkeys(types, "STRING")), options | PERMISSIVE)
        return rows.withColumn(_TEXTS, F.when(suspect, texts)) if kinds else rows

    lost = lossless.lost(F.col(_TEXTS), kinds, options)
    return parsed(source, lines, Parser(parse, parse, looked, lost), options, doubts)


def _broken_quotes(options: dict[str, str]) -> Column:
    """True if a quote is never closed, or is where none can be: Spark would guess the meaning.

    Quantifiers are possessive, so that rows of any length are matched without recursion.
    """
    mark, sep = options.get("quote", '"'), options.get("sep", ",")
    escape = options.get("escape", "\\")
    if not mark or mark == "\x00":
        return F.lit(False)
    q, s, e = re.escape(mark), re.escape(sep), re.escape(escape) if escape else ""
    blank = r"[\x00-\x20&&[^" + s + r"]]*+" if len(sep) == 1 else ""
    lead = blank if options.get("ignoreLeadingWhiteSpace", "false").lower() == "true" else ""
    inside = rf"[^{q}]++|{q}{q}" if escape == mark else rf"[^{q}{e}]++|{e}(?s:.)" if e else rf"[^{q}]++"
    plain = rf"(?:(?!{s})[^{q}])*+(?:{q}(?:(?!{s})[^{q}])*+{q}(?:(?!{s})[^{q}])*+)*+"
    field = rf"(?:{lead}{q}(?:{inside})*+{q}{blank}|(?!{lead}{q}){plain})"
    value = F.col(VALUE)
    return F.contains(value, F.lit(mark)) & ~value.rlike(rf"\A{field}(?:{s}{field})*+\z")


def _is_bare(source: SourceSpec, item: LandedObject) -> bool:
    comment = _lower(source).get("comment", "").encode()
    return has_no_line(item, _BLANK, comment=comment, headers=int(_has_header(source)))


CSV = FormatReader(look=_look, scan=_scan, parse=_parse, verify=codecs.read_through, is_bare=_is_bare)
