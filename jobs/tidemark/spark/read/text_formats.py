"""Parses rows that are text, of JSON and CSV, and keeps the raw text of every row.

A value that does not fit the schema makes the row corrupt, unless it is in a required time: then the time is missing
and the row has a bad time instead. Values that Spark's parsers would accept silently are refused, too: a second
document on the line, a number that overflows, a time of day, which they complete with today's date.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import cast

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from tidemark.config import SourceSpec
from tidemark.config.types import parse_type, quoted
from tidemark.core.batch import LandedObject
from tidemark.spark.columns import BEYOND, BLOCK, CORRUPT, PATH, ROW, TEXT
from tidemark.spark.expressions import TIME_OF_DAY
from tidemark.spark.read import codecs
from tidemark.spark.read.format import required_times
from tidemark.spark.validity import Leaf, any_leaf, beyond_years, column_of, payload_of

VALUE = "__tidemark_value"
FLAG = "__tidemark_flag"
PERMISSIVE = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": FLAG}
_LOOSE = "__tidemark_loose"
EXACT = "__tidemark_exact"
_TIMES = ("TIMESTAMP", "DATE")
_OVERFLOWING = "^-?[0-9]{14,}$"
"""A JSON number of seconds that may not fit a timestamp, and so may wrap to a plausible one."""

FAR = "[eE][+-]?0*[1-9][0-9]{3,}"
"""An exponent beyond any DECIMAL: converting such a number to a DECIMAL keeps Java busy for hours."""
_DECIMALS = re.compile(r"\bDECIMAL\b(\([^()]*\))?(?=\s*(?:[,>]|$))")
PLAIN = "__tidemark_plain"
"""Field of a parsed row, true if a parser that looks for losses found nothing doubtful in it."""
_MARK = b"\xef\xbb\xbf"

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


def line_options(source: SourceSpec) -> dict[str, str]:
    """Reader options for parsing single rows: all but the options about whole files."""
    whole = {name.lower() for name in source.file_format.file_options}
    spelled = {"delimiter": "sep"} | {name.lower(): name for name in ("sep", "quote", "escape", "comment")}
    given = {spelled.get(key.lower(), key): value for key, value in source.options.items()}
    return {key: value for key, value in given.items() if key.lower() not in whole}


def has_no_line(item: LandedObject, blank: bytes, *, comment: bytes = b"", headers: int = 0) -> bool:
    """True if an object has only blank lines (of bytes in `blank`), comments and at most `headers` header lines.
    Reads it up to its first row. Raises one of `codecs.DAMAGED`."""
    with closing(codecs.lines(item)) as lines:
        for line in lines:
            if not line.removeprefix(_MARK).strip(blank) or (comment and line.startswith(comment)):
                continue
            headers -= 1
            if headers < 0:
                return False
    return True


def parsed(
    source: SourceSpec, lines: DataFrame, parser: Parser, options: dict[str, str], doubts: Doubts
) -> DataFrame:
    """Parse `lines`, with their text as `VALUE`, into rows as `FormatReader.parse` returns them."""
    options = options | PERMISSIVE
    types = types_in_files(source)
    parse = parser.again
    far = _far(parse, types, options, doubts)
    value = F.col(VALUE) if far is None else F.when(~far, F.col(VALUE))
    rows = parser.looked(lines.withColumn(EXACT, parser.exact(value, ddl(types), options)))
    texts = F.when(
        doubts.dubious, parse(value, ddl({name: _without_times(kind) for name, kind in types.items()}), options)
    )
    rows = rows.withColumn(_LOOSE, texts)
    names, times = source.names_in_files, required_times(source)
    exact = {column: F.col(EXACT).getField(name) for column, name in names.items()}
    bad = _bad(rows, parser, options)
    payload, misfits = payload_of(exact, {name: bad[own] for name, own in names.items() if own in bad}, times)
    unfit = _unfit(lambda kinds: parse(value, ddl(kinds), options), source, types, times)
    corrupt = unfit | misfits | doubts.flawed | doubts.invalid | (F.lit(False) if far is None else far)
    return rows.select(
        *payload,
        F.coalesce(corrupt, F.lit(True)).alias(CORRUPT),
        F.col(VALUE).alias(TEXT),
        *([F.col(EXACT).getField(BEYOND).alias(BEYOND)] if source.counts_unknown else []),
        PATH,
        BLOCK,
        ROW,
    )


def _unfit(
    parse: Callable[[Mapping[str, str]], Column],
    source: SourceSpec,
    types: Mapping[str, str],
    times: Mapping[str, list[list[str]]],
) -> Column:
    """True if a line does not fit the schema, even if its required times may be any text and are then missing."""
    unfit = F.col(EXACT).isNull() | F.col(EXACT).getField(FLAG).isNotNull()
    if not times:
        return unfit
    named = {source.names_in_files[name]: paths for name, paths in times.items() if name in source.names_in_files}
    required = {name: _as_text(kind, named[name]) if name in named else kind for name, kind in types.items()}
    return F.when(unfit, parse(required).getField(FLAG).isNotNull()).otherwise(F.lit(False))


def _bad(rows: DataFrame, parser: Parser, options: Mapping[str, str]) -> dict[str, Column]:
    """By column in files, true if its value is not valid or was lost; only columns where this can happen."""
    bad = _not_values(rows, "timestampFormat" in options)
    for name, lost in parser.lost.items():
        bad[name] = bad.get(name, F.lit(False)) | F.coalesce(lost, F.lit(False))
    return bad


def types_in_files(source: SourceSpec) -> dict[str, str]:
    """The types of the columns that files have, by the names that files give them."""
    names = source.names_in_files
    return {names[column.name]: column.type for column in source.columns if column.name in names}


def _not_values(rows: DataFrame, formatted: bool) -> dict[str, Column]:
    """By column, true if the parser took something that is no valid value; only columns where this can happen."""
    no_time = _OVERFLOWING if formatted else f"{_OVERFLOWING}|{TIME_OF_DAY}"
    huge = ~F.col(VALUE).rlike("(?i)inf")
    found: dict[str, Column] = {}
    exact, loose = F.col(EXACT), F.col(_LOOSE)
    for field in cast(StructType, rows.schema[EXACT].dataType):
        if field.name in (FLAG, PLAIN, BEYOND):
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
    """True if a line has a number beyond any DECIMAL in a DECIMAL column; None if the schema has no DECIMAL."""
    texts = {name: _DECIMALS.sub("STRING", kind) for name, kind in types.items()}
    read = parse(F.col(VALUE), ddl(texts), options)
    found = any_leaf(StructType.fromDDL(ddl(types)), read, {"decimal": doubts.far})
    return None if found is None else F.when(F.col(VALUE).rlike(FAR), found).otherwise(F.lit(False))


def _infinite(number: Column) -> Column:
    return F.abs(number) == float("inf")


def ddl(types: Mapping[str, str], *, flag: bool = True) -> str:
    columns = [f"{column_of(name)} {kind}" for name, kind in types.items()]
    return ", ".join([*columns, f"`{FLAG}` STRING"] if flag else columns)


def _without_times(kind: str) -> str:
    """A type with text wherever it has a TIMESTAMP."""
    return re.sub(r"\bTIMESTAMP\b(?=\s*(?:[,>]|$))", "STRING", kind)


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
