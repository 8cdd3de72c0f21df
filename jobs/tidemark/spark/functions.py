"""Calls our own functions of the JVM, from `jvm/`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntFlag
from typing import Any

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F


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
    spark: SparkSession, line: Column, schema: str, options: Mapping[str, str], plain: str | None = None
) -> Column:
    """Spark's `from_json` of one line, faster, times without a zone being UTC. The BOOLEAN column `plain` of the schema
    becomes true for a line in which nothing is that a look at it could doubt, else null."""
    jvm = spark.sparkContext._jvm
    if jvm is None:
        raise RuntimeError("no Spark session is open")
    lines, given = jvm.PythonUtils.toSeq([line._jc]), jvm.PythonUtils.toScalaMap(dict(options))
    return Column(jvm.tidemark.JsonLine.function(lines, schema, given, "UTC", plain))


def call(spark: SparkSession, name: str, *arguments: Column, settings: Sequence[Any] = ()) -> Column:
    """One of the functions, made with settings, as a column."""
    context = spark.sparkContext
    jvm = context._jvm
    if jvm is None:
        raise RuntimeError("no Spark session is open")
    function = getattr(jvm.tidemark, name).function(*settings)
    return Column(function.apply(jvm.PythonUtils.toSeq([argument._jc for argument in arguments])))
