"""Calls our own functions of the JVM, from `jvm/`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntFlag
from typing import Any

from pyspark import SparkContext
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

_NONE = -(1 << 63)


class Glance(IntFlag):
    """What one look at the bytes of a JSON line tells: it has something in it; a brace is closed before its end; some
    value may be none, although the parser takes it; it is no UTF-8."""

    FILLED = 1
    EARLY = 2
    DUBIOUS = 4
    INVALID = 8

    def of(self, glanced: Column) -> Column:
        """Whether a line that was looked at has it."""
        return glanced.bitwiseAND(F.lit(self.value)) != 0


def glance(spark: SparkSession, line: Column) -> Column:
    """One look at a line of JSON; `Glance` says what its bits are."""
    return call(spark, "Glance", line.cast("binary"))


def json_line(
    line: Column,
    schema: str,
    options: Mapping[str, str],
    plain: str | None = None,
    excused: Sequence[str] | None = None,
) -> Column:
    """Spark's `from_json` of one line, faster, times without a zone being UTC. The BOOLEAN column `plain` of the
    schema becomes true for a line in which nothing is that a look at it could doubt, else null.

    With `excused`, values that do not survive as their column's type, and members that are there twice, are null, and
    `plain` is false where one of another column is.
    """
    utils = running().PythonUtils
    spared = None if excused is None else utils.toSeq(list(excused))
    return invoked("JsonLine", line, settings=(schema, utils.toScalaMap(dict(options)), "UTC", plain, spared))


def outside(row: Column, schema: str, options: Mapping[str, str]) -> Column:
    """The members of a JSON object that a schema has no place for, as an object with their text; null without any."""
    given = running().PythonUtils.toScalaMap(dict(options))
    return invoked("Outside", row, settings=(schema, given))


def call(spark: SparkSession, name: str, *arguments: Column, settings: Sequence[Any] = ()) -> Column:
    """One of the user-defined functions, made with settings, as a column."""
    jvm = spark.sparkContext._jvm
    if jvm is None:
        raise RuntimeError("no Spark session is open")
    function = getattr(jvm.tidemark, name).function(*settings)
    return Column(function.apply(jvm.PythonUtils.toSeq([argument._jc for argument in arguments])))


def invoked(name: str, *arguments: Column, settings: Sequence[Any] = ()) -> Column:
    """One of the functions that compiled code calls with values as they are, made with settings, as a column; numbers
    that may be null are given `or_none`."""
    jvm = running()
    given = jvm.PythonUtils.toSeq([argument._jc for argument in arguments])
    return Column(getattr(jvm.tidemark, name).function(given, *settings))


def running() -> Any:  # noqa: ANN401 # py4j has no types
    """The JVM of the running session."""
    context = SparkContext._active_spark_context
    if context is None or context._jvm is None:
        raise RuntimeError("no Spark session is open")
    return context._jvm


def tried(value: Column) -> Column:
    """A value, or null where it cannot be computed."""
    jvm = running()
    columns = jvm.org.apache.spark.sql.classic.ExpressionUtils
    evaluated = jvm.org.apache.spark.sql.catalyst.expressions.TryEval(columns.expression(value._jc))
    return Column(columns.column(evaluated))


def or_none(number: Column) -> Column:
    """A number, or what `invoked` functions take for none."""
    return F.coalesce(number, F.lit(_NONE))


def is_utf8(text: Column) -> Column:
    """Spark's `is_valid_utf8`, faster."""
    return invoked("Utf8", text)
