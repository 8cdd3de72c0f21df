"""Reads JSON: an object on each line, or documents over lines whose rows may be elements of an array."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing

from pyspark.sql import Column, DataFrame, DataFrameReader
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.config.models.values import members_of
from tidemark.core.batch import LandedObject
from tidemark.spark.columns import BEYOND, TEXT
from tidemark.spark.jvm_functions import LineScan, json_line, scan_line, unknown_members
from tidemark.spark.read import codecs
from tidemark.spark.read.documents import documents, scanned_whole, texts_of, too_large
from tidemark.spark.read.format import METADATA, FormatReader, Sight, positioned, required_times
from tidemark.spark.read.text_formats import (
    EXACT,
    FAR,
    FLAG,
    PLAIN,
    VALUE,
    Doubts,
    Parser,
    ddl,
    has_no_line,
    line_options,
    parsed,
    types_in_files,
)

_BLANK = b" \t\n\v\f\r"
"""Bytes that make a line blank: a line of these alone is skipped."""
_TEXT = r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+\""""
_AS_DOUBLE = r"Infinity|^-?0\.0$"
"""Text that Spark makes of a JSON number beyond a double, if the column is text."""
_SCANNED = "__tidemark_scanned"


def _look(source: SourceSpec, item: LandedObject) -> Sight:
    lines = f"jq -c '.{source.rows or ''}' {item.uri}"
    return Sight(codecs.refusal(item, exact=source.exact) or too_large(source, item, lines))


def _scan(reader: DataFrameReader, source: SourceSpec, paths: Sequence[str], _: Sight) -> DataFrame:
    return scanned_whole(reader, paths) if source.spans_lines else reader.text(list(paths))


def _parse(source: SourceSpec, found: DataFrame, _: Sight, share: float) -> DataFrame:
    if source.spans_lines:
        return _rows(source, positioned(texts_of(source, found, documents), F.col(METADATA), share, F.col(VALUE)))
    return _rows(source, positioned(found.withColumnRenamed("value", VALUE), F.col(METADATA), share))


def _rows(source: SourceSpec, lines: DataFrame) -> DataFrame:
    """Rows of texts that are one object each."""
    options, scanned = line_options(source), F.col(_SCANNED)
    several = F.when(LineScan.EARLY.of(scanned), _several_documents(options)).otherwise(F.lit(False))
    outside_of_text = F.regexp_replace(F.col(VALUE), F.lit(_TEXT), F.lit("")).rlike(FAR)

    def far(text: Column) -> Column:
        return text.rlike(FAR) | (text.rlike(_AS_DOUBLE) & outside_of_text)

    def exact(value: Column, schema: str, options: dict[str, str]) -> Column:
        lines.select(F.from_json(value, schema, options))  # raises if no JSON can have this schema
        names = source.names_in_files
        excused = [names[each] for each in required_times(source) if each in names] if source.exact else None
        unknown = BEYOND if source.counts_unknown else None
        added = f", `{PLAIN}` BOOLEAN" + (f", `{BEYOND}` STRING" if unknown else "")
        return json_line(value, schema + added, options, PLAIN, excused, unknown)

    def looked(rows: DataFrame) -> DataFrame:
        plain = F.col(EXACT).getField(PLAIN)
        sound = F.when(plain, LineScan.FILLED.value).otherwise(scan_line(F.col(VALUE)))
        return rows.withColumn(_SCANNED, sound).where(LineScan.FILLED.of(scanned))

    lost = F.coalesce(~F.col(EXACT).getField(PLAIN), F.lit(False))
    doubts = Doubts(LineScan.DUBIOUS.of(scanned), several | lost, LineScan.INVALID.of(scanned), far)
    rows = parsed(source, lines, Parser(exact, json_line, looked, {}), options, doubts)
    if source.rescue is None:
        return rows
    schema = ddl(types_in_files(source), flag=False)
    return rows.withColumn(source.rescue, unknown_members(F.col(TEXT), schema, options))


def _several_documents(options: dict[str, str]) -> Column:
    """True unless a line is one document: the parser would silently ignore all but the first.

    The line is put in an array with a second element: only one whole document leaves an array of two.
    """
    value = F.col(VALUE)
    listed = F.concat(F.lit("["), value, F.lit("\n,{}]"))
    size = F.size(json_line(listed, f"ARRAY<STRUCT<`{FLAG}`: STRING>>", options))
    return F.coalesce(size != 2, F.lit(True))


def _is_bare(source: SourceSpec, item: LandedObject) -> bool:
    return _has_no_element(source, item) if source.spans_lines else has_no_line(item, _BLANK)


def _has_no_element(source: SourceSpec, item: LandedObject) -> bool:
    """True if the arrays that rows are read from are empty in each document of an object; False for large objects."""
    with closing(codecs.pieces(item)) as pieces:
        content, more = next(pieces, b""), next(pieces, None)
    try:
        text = content.decode("utf-8-sig").strip()
        while text and more is None:
            value, end = json.JSONDecoder(strict=False).raw_decode(text)
            for name in members_of(source.rows or "[]"):
                value = value.get(name) if isinstance(value, dict) else None
            if value != []:
                return False
            text = text[end:].lstrip()
    except (ValueError, RecursionError):
        return False
    return more is None


JSON = FormatReader(look=_look, scan=_scan, parse=_parse, verify=codecs.read_through, is_bare=_is_bare)
