"""Parses lines of JSON and CSV and keeps the raw text of every row.

A value that does not fit the schema makes the row corrupt, unless it is in a required time: then the time is missing
and the row has a bad time instead. Values that Spark's parsers would accept silently are refused, too: a second
document on the line, a number that overflows, a time of day, which they complete with today's date.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import cast

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from tidemark.config import SourceSpec
from tidemark.config.sql.expressions import plain_names
from tidemark.config.types import parse_type, quoted
from tidemark.spark.columns import BEYOND, BLOCK, CORRUPT, PATH, ROW, TEXT
from tidemark.spark.compat.plans import null_on_error
from tidemark.spark.expressions import TIME_OF_DAY
from tidemark.spark.jvm_functions import LineScan, is_utf8, json_line, scan_line, unknown_members
from tidemark.spark.read import lossless
from tidemark.spark.validity import Leaf, any_leaf, beyond_years, column_of, payload_of

VALUE = "__tidemark_value"
FLAG = "__tidemark_flag"
_PERMISSIVE = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": FLAG}
_LOOSE = "__tidemark_loose"
_EXACT = "__tidemark_exact"
_TEXTS = "__tidemark_texts"
_TIMES = ("TIMESTAMP", "DATE")
_OVERFLOWING = "^-?[0-9]{14,}$"
"""A JSON number of seconds that may not fit a timestamp, and so may wrap to a plausible one."""

_FAR = "[eE][+-]?0*[1-9][0-9]{3,}"
"""An exponent beyond what a DECIMAL can hold: written out as one, such a number keeps Java busy for hours."""
_TEXT = r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+\""""
_AS_DOUBLE = r"Infinity|^-?0\.0$"
"""Text that Spark makes of a JSON number beyond a double, where the schema has text."""
_DECIMALS = re.compile(r"\bDECIMAL\b(\([^()]*\))?(?=\s*(?:[,>]|$))")

_SCANNED = "__tidemark_scanned"
_PLAIN = "__tidemark_plain"

Parse = Callable[[Column, str, dict[str, str]], Column]


@dataclass(frozen=True)
class Parser:
    """Functions and conditions by which lines of one format are parsed.

    `exact` parses each line by the schema, `again` parses some lines once more with other types. `looked` adds
    columns with findings on parsed lines, before anything else is computed from them. `lost` is, by column, true if
    its value was lost.
    """

    exact: Parse
    again: Parse
    looked: Callable[[DataFrame], DataFrame]
    lost: Mapping[str, Column]


@dataclass(frozen=True)
class Doubts:
    """Conditions on a line, and one on the text of a number in it (`far`: far from any DECIMAL).

    `dubious`: some value may be invalid although the parser takes it. `flawed`: the line has a flaw that the parser
    does not see. `invalid`: it is no UTF-8.
    """

    dubious: Column
    flawed: Column
    invalid: Column
    far: Leaf


def parse_json(source: SourceSpec, lines: DataFrame) -> DataFrame:
    """Rows of JSON lines: one object a line."""
    options, scanned = line_options(source), F.col(_SCANNED)
    several = F.when(LineScan.EARLY.of(scanned), _several_documents(options)).otherwise(F.lit(False))
    outside_of_text = F.regexp_replace(F.col(VALUE), F.lit(_TEXT), F.lit("")).rlike(_FAR)

    def far(text: Column) -> Column:
        return text.rlike(_FAR) | (text.rlike(_AS_DOUBLE) & outside_of_text)

    def exact(value: Column, schema: str, options: dict[str, str]) -> Column:
        lines.select(F.from_json(value, schema, options))  # raises if no JSON can have this schema
        names = source.names_in_files
        excused = [names[each] for each in required_times(source) if each in names] if source.exact else None
        unknown = BEYOND if source.counts_unknown else None
        added = f", `{_PLAIN}` BOOLEAN" + (f", `{BEYOND}` STRING" if unknown else "")
        return json_line(value, schema + added, options, _PLAIN, excused, unknown)

    def looked(rows: DataFrame) -> DataFrame:
        plain = F.col(_EXACT).getField(_PLAIN)
        sound = F.when(plain, LineScan.FILLED.value).otherwise(scan_line(F.col(VALUE)))
        return rows.withColumn(_SCANNED, sound).where(LineScan.FILLED.of(scanned))

    lost = F.coalesce(~F.col(_EXACT).getField(_PLAIN), F.lit(False))
    doubts = Doubts(LineScan.DUBIOUS.of(scanned), several | lost, LineScan.INVALID.of(scanned), far)
    rows = _parsed(source, lines, Parser(exact, json_line, looked, {}), options, doubts)
    if source.rescue is None:
        return rows
    schema = _ddl(types_in_files(source), flag=False)
    return rows.withColumn(source.rescue, unknown_members(F.col(TEXT), schema, options))


def parse_csv(source: SourceSpec, lines: DataFrame) -> DataFrame:
    """Rows of CSV: as many values a line as the schema has columns, every quote closed."""
    options = line_options(source)
    sep, mark = options.get("sep", ","), options.get("quote", '"')
    suspects = rf"(^|{re.escape(sep)}|{re.escape(mark)})[\x00-\x20]*(T[0-9]|[0-9]{{1,2}}:)"
    value = F.col(VALUE)
    invalid = ~is_utf8(value)
    flawed = _broken_quotes(options) | F.col(_EXACT).isNull()  # null also if the parser cannot hold so many fields
    doubts = Doubts(value.rlike(suspects), flawed, invalid, lambda text: text.rlike(_FAR))

    def parse(value: Column, schema: str, options: dict[str, str]) -> Column:
        return null_on_error(F.from_csv(value, schema, options))

    types = types_in_files(source)
    kinds = lossless.checked(types, options) if source.exact else {}
    suspect = value.rlike(lossless.suspects(kinds, options))

    def looked(rows: DataFrame) -> DataFrame:
        texts = parse(value, _ddl(dict.fromkeys(types, "STRING")), options | _PERMISSIVE)
        return rows.withColumn(_TEXTS, F.when(suspect, texts)) if kinds else rows

    lost = lossless.lost(F.col(_TEXTS), kinds, options)
    return _parsed(source, lines, Parser(parse, parse, looked, lost), options, doubts)


def line_options(source: SourceSpec) -> dict[str, str]:
    """Reader options for parsing single rows.

    Options for whole files are left out: `encoding`, `header` of CSV, `multiLine` of JSON. CSV keeps `multiLine`,
    without which the parser would not keep line ends in values.
    """
    whole = ("header", "encoding") if source.format == "csv" else ("encoding", "multiline")
    spelled = {"delimiter": "sep"} | {name.lower(): name for name in ("sep", "quote", "escape", "comment")}
    given = {spelled.get(key.lower(), key): value for key, value in source.options.items()}
    return {key: value for key, value in given.items() if key.lower() not in whole}


def _parsed(
    source: SourceSpec, lines: DataFrame, parser: Parser, options: dict[str, str], doubts: Doubts
) -> DataFrame:
    options = options | _PERMISSIVE
    types = types_in_files(source)
    parse = parser.again
    far = _far(parse, types, options, doubts)
    value = F.col(VALUE) if far is None else F.when(~far, F.col(VALUE))
    rows = parser.looked(lines.withColumn(_EXACT, parser.exact(value, _ddl(types), options)))
    texts = F.when(
        doubts.dubious, parse(value, _ddl({name: _without_times(kind) for name, kind in types.items()}), options)
    )
    rows = rows.withColumn(_LOOSE, texts)
    unfit = F.col(_EXACT).isNull() | F.col(_EXACT).getField(FLAG).isNotNull()
    times = required_times(source)
    if times:
        named = {source.names_in_files[name]: paths for name, paths in times.items() if name in source.names_in_files}
        required = {name: _as_text(kind, named[name]) if name in named else kind for name, kind in types.items()}
        unfit = F.when(unfit, parse(value, _ddl(required), options).getField(FLAG).isNotNull()).otherwise(
            F.lit(False)
        )
    names = source.names_in_files
    exact = {column: F.col(_EXACT).getField(name) for column, name in names.items()}
    bad = _not_values(rows, "timestampFormat" in options)
    for name, lost in parser.lost.items():
        bad[name] = bad.get(name, F.lit(False)) | F.coalesce(lost, F.lit(False))
    wrong = {column: bad[name] for column, name in names.items() if name in bad}
    payload, misfits = payload_of(exact, wrong, times)
    corrupt = unfit | misfits | doubts.flawed | doubts.invalid | (F.lit(False) if far is None else far)
    return rows.select(
        *payload,
        F.coalesce(corrupt, F.lit(True)).alias(CORRUPT),
        F.col(VALUE).alias(TEXT),
        *([F.col(_EXACT).getField(BEYOND).alias(BEYOND)] if source.counts_unknown else []),
        PATH,
        BLOCK,
        ROW,
    )


def types_in_files(source: SourceSpec) -> dict[str, str]:
    """The types of the columns that files have, by the names that files give them."""
    names = source.names_in_files
    return {names[column.name]: column.type for column in source.columns if column.name in names}


def _not_values(rows: DataFrame, formatted: bool) -> dict[str, Column]:
    """By column, true if the parser took something that is no valid value; only columns where this can happen."""
    no_time = _OVERFLOWING if formatted else f"{_OVERFLOWING}|{TIME_OF_DAY}"
    huge = ~F.col(VALUE).rlike("(?i)inf")
    found: dict[str, Column] = {}
    exact, loose = F.col(_EXACT), F.col(_LOOSE)
    for field in cast(StructType, rows.schema[_EXACT].dataType):
        if field.name in (FLAG, _PLAIN, BEYOND):
            continue
        checks = [
            beyond_years(field.dataType, exact.getField(field.name)),
            any_leaf(field.dataType, exact.getField(field.name), {"float": _infinite, "double": _infinite}),
            any_leaf(field.dataType, loose.getField(field.name), {"timestamp": lambda text: text.rlike(no_time)}),
        ]
        checks[1] = None if checks[1] is None else checks[1] & huge
        there = [F.coalesce(check, F.lit(False)) for check in checks if check is not None]
        if there:
            found[field.name] = reduce(or_, there)
    return found


def _far(parse: Parse, types: Mapping[str, str], options: dict[str, str], doubts: Doubts) -> Column | None:
    """True if a line has a number far from any DECIMAL where one is due; None if the schema has no DECIMAL."""
    texts = {name: _DECIMALS.sub("STRING", kind) for name, kind in types.items()}
    read = parse(F.col(VALUE), _ddl(texts), options)
    found = any_leaf(StructType.fromDDL(_ddl(types)), read, {"decimal": doubts.far})
    return None if found is None else F.when(F.col(VALUE).rlike(_FAR), found).otherwise(F.lit(False))


def _infinite(number: Column) -> Column:
    return F.abs(number) == float("inf")


def _ddl(types: Mapping[str, str], *, flag: bool = True) -> str:
    columns = [f"{column_of(name)} {kind}" for name, kind in types.items()]
    return ", ".join([*columns, f"`{FLAG}` STRING"] if flag else columns)


def _without_times(kind: str) -> str:
    """A type with text wherever it has a TIMESTAMP."""
    return re.sub(r"\bTIMESTAMP\b(?=\s*(?:[,>]|$))", "STRING", kind)


def required_times(source: SourceSpec) -> dict[str, list[list[str]]]:
    """By column, the paths to its members that are the row's required times; an empty path is the column itself."""
    found: dict[str, list[list[str]]] = {}
    columns = {column.name.lower(): column.name for column in source.columns}
    ends = source.lifetimes.end_time if source.lifetimes.kind is None else None
    for expression in (source.timestamp_by, source.arrival_time, ends):
        names = plain_names(expression or "")
        if names and names[0].lower() in columns:
            found.setdefault(columns[names[0].lower()], []).append(names[1:])
    return found


def _as_text(kind: str, paths: list[list[str]]) -> str:
    """A type with text for the times at the end of `paths`."""
    if [] in paths:
        return "STRING" if kind.startswith(_TIMES) else kind
    fields = parse_type(kind).fields
    if not fields:
        return kind
    members = []
    for field in fields:
        below = [path[1:] for path in paths if path[0].lower() == field.name.lower()]
        members.append(f"{quoted(field.name)}: {_as_text(field.type, below) if below else field.type}")
    return f"STRUCT<{', '.join(members)}>"


def _several_documents(options: dict[str, str]) -> Column:
    """True unless a line is one document: of several, the parser would silently take the first alone.

    The line is put in an array with a second element: only one whole document leaves an array of two.
    """
    value = F.col(VALUE)
    listed = F.concat(F.lit("["), value, F.lit("\n,{}]"))
    size = F.size(json_line(listed, f"ARRAY<STRUCT<`{FLAG}`: STRING>>", options))
    return F.coalesce(size != 2, F.lit(True))


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
