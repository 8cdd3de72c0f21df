"""Parses the four formats row by row, keeping the text of what does not parse.

Text formats are read as lines and parsed from them, so that the raw text of every row is at hand. A value
that does not fit the schema makes the row corrupt, unless it stands in a time column: then the time is
missing and the row has a bad time instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.spark.names import BLOCK, CORRUPT, PATH, ROW, TEXT

UNREADABLE = "object cannot be read: "
"""How the one row of an object that cannot be read begins its raw text."""
_VALUE = "__tidemark_value"
_FLAG = "__tidemark_flag"
_LINE_OPTIONS = {
    "sep": "\x01",
    "quote": "\x00",
    "escape": "\x00",
    "comment": "\x00",
    "maxCharsPerColumn": "-1",
    "maxColumns": "1000000",
    "mode": "PERMISSIVE",
    "columnNameOfCorruptRecord": _FLAG,
}
_OVERFLOWING = "[0-9]{14}"
"""Digits of a JSON number of seconds that may not fit a timestamp, and so may wrap to a plausible one."""


def read(spark: SparkSession, source: SourceSpec, paths: Sequence[str]) -> DataFrame:
    """Payload columns, whether the row is corrupt, its text, its file and its place in the file."""
    lines = _lines(spark, source, paths)
    placed = lines.select(
        *lines.columns,
        F.col("_metadata.file_path").alias(PATH),
        F.col("_metadata.file_block_start").alias(BLOCK),
        F.monotonically_increasing_id().alias(ROW),
    )
    if source.format == "json":
        return _parsed(source, placed, F.from_json, _json_flaws())
    if source.format == "csv":
        return _parsed(source, placed, F.from_csv, _csv_flaws(source))
    payload = [_column(column.name) for column in source.columns]
    text = F.to_json(F.struct(*payload)) if payload else F.lit("")
    return placed.select(*payload, F.lit(False).alias(CORRUPT), text.alias(TEXT), PATH, BLOCK, ROW)


def unreadable(spark: SparkSession, source: SourceSpec, notes: Sequence[tuple[str, str]]) -> DataFrame:
    """One corrupt row for each (path, note): an object that cannot be read, with the reason as its text."""
    texts = [(path, UNREADABLE + note) for path, note in notes]
    found = spark.createDataFrame(texts, f"`{PATH}` STRING, `{TEXT}` STRING")
    payload = [F.lit(None).cast(column.type).alias(column.name) for column in source.columns]
    return found.select(
        *payload,
        F.lit(True).alias(CORRUPT),
        TEXT,
        PATH,
        F.lit(0).cast("long").alias(BLOCK),
        F.lit(0).cast("long").alias(ROW),
    )


def _column(name: str) -> Column:
    return F.col(f"`{name.replace('`', '``')}`")


def _lines(spark: SparkSession, source: SourceSpec, paths: Sequence[str]) -> DataFrame:
    reader = spark.read.option("recursiveFileLookup", "true").option("__globPaths__", "false")
    if source.format == "json":
        return reader.text(list(paths)).withColumnRenamed("value", _VALUE)
    if source.format == "csv":
        header = source.options.get("header", "false")
        reader = reader.options(**_LINE_OPTIONS).option("header", header)
        lines = reader.schema(f"`{_VALUE}` STRING, `{_FLAG}` STRING").csv(list(paths))
        return lines.withColumn(_VALUE, F.coalesce(_FLAG, _VALUE)).drop(_FLAG)
    return reader.options(**source.options).schema(_ddl(source)).format(source.format).load(list(paths))


def _ddl(source: SourceSpec, as_text: frozenset[str] = frozenset(), flag: bool = False) -> str:
    quoted = [(column.name.replace("`", "``"), column.type) for column in source.columns]
    fields = [f"`{name}` {'STRING' if name.lower() in as_text else kind}" for name, kind in quoted]
    return ", ".join([*fields, f"`{_FLAG}` STRING"] if flag else fields)


def _time_columns(source: SourceSpec) -> frozenset[str]:
    named = {expression.strip("`").lower() for expression in (source.timestamp_by, source.arrival_time) if expression}
    return frozenset(
        column.name.lower()
        for column in source.columns
        if column.name.lower() in named and column.type.upper().startswith(("TIMESTAMP", "DATE"))
    )


def _parsed(source: SourceSpec, lines: DataFrame, parse: Callable[..., Column], flaws: Column) -> DataFrame:
    options = {key: value for key, value in source.options.items() if key.lower() != "header"}
    options |= {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _FLAG}
    value = F.col(_VALUE)
    parsed = lines.withColumn("row", parse(value, _ddl(source, flag=True), options))
    parsed = parsed.where(value.rlike(r"\S"))
    unfit = F.col(f"row.{_FLAG}").isNotNull()
    times = _time_columns(source)
    fields = {column.name: F.col("row").getField(column.name) for column in source.columns}
    if times:
        loose = parse(value, _ddl(source, as_text=times, flag=True), options)
        unfit = F.when(unfit, loose.getField(_FLAG).isNotNull()).otherwise(F.lit(False))
        if source.format == "json":
            suspicious = value.rlike(_OVERFLOWING)
            for name in [name for name in fields if name.lower() in times]:
                wraps = suspicious & loose.getField(name).rlike("^-?[0-9]{14,}$")
                fields[name] = F.when(~F.coalesce(wraps, F.lit(False)), fields[name])
    payload = [field.alias(name) for name, field in fields.items()]
    corrupt = unfit | flaws | ~F.is_valid_utf8(value)
    return parsed.select(*payload, corrupt.alias(CORRUPT), F.make_valid_utf8(value).alias(TEXT), PATH, BLOCK, ROW)


def _json_flaws() -> Column:
    """More than one document on a line: the parser would silently take the first alone."""
    value = F.col(_VALUE)
    bare = F.regexp_replace(value, r'"(\\.|[^"\\])*"', '""')
    early = F.instr(value, "}") < F.length(F.rtrim(value))
    return F.coalesce(early & bare.rlike(r"\}\s*[^\s,\]\}]"), F.lit(False))


def _csv_flaws(source: SourceSpec) -> Column:
    """A quote that is opened and never closed: an odd number of quotes that are not escaped."""
    options = {key.lower(): value for key, value in source.options.items()}
    mark, escape = options.get("quote", '"'), options.get("escape", "\\")
    if not mark or mark == "\x00":
        return F.lit(False)
    text: Column = F.col(_VALUE)
    if escape and escape != mark:
        text = F.regexp_replace(text, f"{re.escape(escape)}.", "")
    return (F.length(text) - F.length(F.replace(text, F.lit(mark), F.lit("")))) % 2 == 1
